"""What a session hears: a bounded store of its input audio, and the speech detector on its way in.

Samples count at 24 kHz from the start of the epoch (docs/decisions/0001). The detector runs in line: one probability
for each 32 ms (docs/design.md 4.5).
"""

from __future__ import annotations

from typing import Protocol

from realtime_harness.audio.vad import SpeechDetector
from realtime_harness.realtime.facts import SpeechProbability
from realtime_harness.realtime.pcm import BYTES_PER_SAMPLE, samples_of_ms

KEPT_MS = 30_000  # before now, while no turn is open: more than any padding reaches back
MAX_TURN_MS = 600_000  # of one turn, or of audio that waits for a manual commit; the oldest goes first
TRIM_MS = 5_000  # trimmed in steps: moving the buffer costs
MAYBE_SPEECH_P = 0.3  # lower than any threshold in use: what stays below it has no word in it


class Detector(Protocol):
    """Speech probabilities of a stream, as (end_sample, p)."""

    def feed(self, pcm24k: bytes) -> list[tuple[int, float]]: ...
    def reset(self) -> None: ...


class _Deaf:
    """Hears nothing."""

    def feed(self, pcm24k: bytes) -> list[tuple[int, float]]:  # noqa: ARG002 - it hears nothing
        return []

    def reset(self) -> None:
        pass


class Ears:
    """Keeps as much input as a turn may still need, and no more."""

    def __init__(self, detector: Detector | None = None) -> None:
        self._detector: Detector = SpeechDetector() if detector is None else detector
        self._audio = bytearray()
        self._first = 0  # the sample that the store begins with
        self._keep_from: int | None = None
        self._manual = False
        self._loud_until = 0
        self.epoch = 0

    @property
    def held_bytes(self) -> int:
        """What is kept now."""
        return len(self._audio)

    def hear(self, epoch: int, pcm: bytes, *, detect: bool) -> list[SpeechProbability]:
        """Takes more input. With `detect`, the probabilities of the frames it completes."""
        if epoch != self.epoch:
            self.drop(epoch)
        self._audio += pcm
        self._manual = not detect
        self._trim()
        if not detect:
            self._loud_until = self._now
            return []
        found = self._detector.feed(pcm)
        self._loud_until = max([self._loud_until, *(end for end, p in found if p >= MAYBE_SPEECH_P)])
        return [SpeechProbability(epoch, end_sample, p) for end_sample, p in found]

    def quiet_since(self, sample: int) -> bool:
        """Whether nothing that may be a word came in after `sample`."""
        return self._loud_until <= sample

    def turn_open(self, from_sample: int | None) -> None:
        """The audio from here on belongs to an open turn; None when no turn is open."""
        self._keep_from = from_sample

    def drop(self, epoch: int) -> None:
        """Forgets what is uncommitted. A new epoch counts from 0 and begins with a fresh detector."""
        self._keep_from = None
        self._first = self._now
        self._audio.clear()
        if epoch != self.epoch:
            self.epoch = epoch
            self._detector.reset()
            self._first = self._loud_until = 0

    def close(self) -> None:
        """Forgets everything, and lets go of the detector: it holds over a mebibyte, which a session's remains must not."""
        self._detector = _Deaf()
        self._audio.clear()

    def recording(self, from_sample: int, to_sample: int) -> bytes:
        """The input between two samples, PCM16 at 24 kHz; what is no longer kept is missing at its start."""
        start = max(0, from_sample - self._first) * BYTES_PER_SAMPLE
        end = max(0, to_sample - self._first) * BYTES_PER_SAMPLE
        return bytes(self._audio[start:end])

    @property
    def _now(self) -> int:
        return self._first + len(self._audio) // BYTES_PER_SAMPLE

    def _trim(self) -> None:
        now = self._now
        keep = samples_of_ms(MAX_TURN_MS if self._manual else KEPT_MS)
        if self._keep_from is not None:
            keep = min(samples_of_ms(MAX_TURN_MS), max(keep, now - self._keep_from))
        held = now - self._first
        if held > keep + samples_of_ms(TRIM_MS):
            del self._audio[: (held - keep) * BYTES_PER_SAMPLE]
            self._first = now - keep
