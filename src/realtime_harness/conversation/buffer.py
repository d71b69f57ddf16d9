"""The input audio buffer, as numbers: the audio itself stays with the backend.

HRP 0.2.0, "Turn-taking and interruptions": offsets count appended samples, from 0 at the session's start and again at
each switch of turn detection from off to on. docs/design.md 5.1.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from realtime_harness.realtime.pcm import BYTES_PER_SAMPLE, ms_of_samples

MIN_COMMIT_MS = 100  # OpenAI Realtime: a shorter commit is an error


@dataclass(slots=True)
class InputBuffer:
    """Where the stream stands. Samples at 24 kHz within the current `epoch`."""

    epoch: int = 0
    appended: int = 0
    uncommitted_from: int = 0
    _judged_to: int = 0
    _odd: bytes = field(default=b"")

    def append(self, audio: bytes) -> bytes:
        """The whole samples that `audio` completes. An odd byte is carried to the next append."""
        if self._odd:
            audio = self._odd + audio
        if len(audio) % BYTES_PER_SAMPLE:
            self._odd, audio = audio[-1:], audio[:-1]
        else:
            self._odd = b""
        self.appended += len(audio) // BYTES_PER_SAMPLE
        return audio

    @property
    def uncommitted_ms(self) -> int:
        """Milliseconds that a commit would take."""
        return ms_of_samples(self.appended - self.uncommitted_from)

    def judges(self, end_sample: int) -> bool:
        """Whether a detector's frame that ends at `end_sample` says something new of audio that is nobody's yet."""
        if not max(self._judged_to, self.uncommitted_from) < end_sample <= self.appended:
            return False
        self._judged_to = end_sample
        return True

    def committed(self, to_sample: int) -> None:
        """All before `to_sample` belongs to a turn, or to nobody."""
        self.uncommitted_from = to_sample

    def restart(self) -> None:
        """A new epoch: the next sample appended is at 0."""
        self.epoch += 1
        self.appended = 0
        self.uncommitted_from = 0
        self._judged_to = 0
        self._odd = b""
