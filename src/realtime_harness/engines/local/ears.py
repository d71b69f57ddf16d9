"""What a session hears: a bounded store of its input audio, and the speech detector on its way in.

Samples count at 24 kHz from the start of the epoch (docs/decisions/0001). The detector runs in line: one probability
for each 32 ms (DESIGN 4.7).
"""

from __future__ import annotations

from realtime_harness.audio.resample import Float32, resample, to_float
from realtime_harness.audio.vad import INPUT_HZ, MODEL_HZ, SpeechDetector
from realtime_harness.realtime.facts import SpeechProbability
from realtime_harness.realtime.pcm import BYTES_PER_SAMPLE, samples_of_ms

KEPT_MS = 30_000  # before now, while no turn is open: more than any padding reaches back
MAX_TURN_MS = 600_000  # of one turn; the oldest goes first
TRIM_MS = 5_000  # trimmed in steps: moving the buffer costs


class Ears:
    """Keeps as much input as a turn may still need, and no more."""

    def __init__(self) -> None:
        self._detector = SpeechDetector()
        self._audio = bytearray()
        self._first = 0  # the sample that the store begins with
        self._keep_from: int | None = None
        self._manual = False
        self.epoch = 0

    def hear(self, epoch: int, pcm: bytes, *, detect: bool) -> list[SpeechProbability]:
        """Takes more input. With `detect`, the probabilities of the frames it completes."""
        if epoch != self.epoch:
            self.drop(epoch)
        self._audio += pcm
        self._manual = not detect
        self._trim()
        if not detect:
            return []
        return [SpeechProbability(epoch, end_sample, p) for end_sample, p in self._detector.feed(pcm)]

    def turn_open(self, from_sample: int | None) -> None:
        """The audio from here on belongs to an open turn; None when no turn is open."""
        self._keep_from = from_sample

    def drop(self, epoch: int) -> None:
        """Forgets what is uncommitted. A new epoch counts from 0 and begins with a fresh detector."""
        self._keep_from = None
        if epoch != self.epoch:
            self.epoch = epoch
            self._detector.reset()
            self._audio.clear()
            self._first = 0

    def recording(self, from_sample: int, to_sample: int) -> Float32:
        """The input between two samples, at 16 kHz; what is no longer kept is missing at its start."""
        start = max(0, from_sample - self._first) * BYTES_PER_SAMPLE
        end = max(0, to_sample - self._first) * BYTES_PER_SAMPLE
        return resample(to_float(bytes(self._audio[start:end])), INPUT_HZ, MODEL_HZ)

    def _trim(self) -> None:
        held = len(self._audio) // BYTES_PER_SAMPLE
        now = self._first + held
        keep = samples_of_ms(MAX_TURN_MS if self._manual else KEPT_MS)
        if self._keep_from is not None:
            keep = min(samples_of_ms(MAX_TURN_MS), max(keep, now - self._keep_from))
        if held > keep + samples_of_ms(TRIM_MS):
            del self._audio[: (held - keep) * BYTES_PER_SAMPLE]
            self._first = now - keep
