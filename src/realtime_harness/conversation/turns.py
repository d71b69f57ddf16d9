"""Edges of speech out of probabilities: when a turn starts, may be ending, goes on, ends.

The rule that reproduces the offsets of recorded sessions (docs/decisions/0003): speech starts with the first 32 ms
frame at or above the threshold, less the prefix padding; it ends when `silence` has passed since the end of the first
frame below threshold - 0.15, unless a frame at or above the threshold comes before. All in samples at 24 kHz.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from realtime_harness.realtime.pcm import samples_of_ms
from realtime_harness.realtime.session import SemanticVad, ServerVad, TurnDetection

FRAME_SAMPLES = 768  # 32 ms: 512 samples at the detector's 16 kHz
RELEASE_MARGIN = 0.15
LEAST_RELEASE = 0.01  # a low threshold must still let a turn end
EARLY_MS = 160  # of silence, before recognition is worth starting: most pauses inside a sentence are shorter
SEMANTIC_MIN_MS = 256  # of silence, before a finished sentence ends the turn
# OpenAI Realtime, semantic_vad: the longest wait by eagerness; auto is medium.
SEMANTIC_MAX_MS = {"low": 8_000, "medium": 4_000, "auto": 4_000, "high": 2_000}
SEMANTIC_ENOUGH = {"low": 0.75, "medium": 0.5, "auto": 0.5, "high": 0.25}


class Edge(Enum):
    """What one frame changed."""

    STARTED = auto()
    MAYBE_ENDING = auto()
    RESUMED = auto()
    ENDED = auto()


@dataclass(slots=True)
class TurnDetector:
    """Follows one stream of frames. `speaking` while a turn is open; `start_sample` is its onset less padding."""

    speaking: bool = False
    start_sample: int = 0
    _quiet_since: int | None = None
    _told_maybe: bool = False
    _finished_p: float | None = None

    def frame(self, settings: TurnDetection, end_sample: int, p: float) -> Edge | None:
        """One frame of 32 ms that ends at `end_sample`; at most one edge comes of it."""
        threshold = settings.threshold if isinstance(settings, ServerVad) else 0.5
        padding_ms = settings.prefix_padding_ms if isinstance(settings, ServerVad) else 300
        if p >= threshold:
            return self._loud(end_sample, padding_ms)
        if not self.speaking:
            return None
        if self._quiet_since is None:
            if p >= max(threshold - RELEASE_MARGIN, LEAST_RELEASE):
                return None
            self._quiet_since = end_sample
        return self._quiet(settings, end_sample - self._quiet_since)

    def judged(self, p: float) -> None:
        """The semantic detector's word on the silence that is running: probability that the speaker has finished."""
        if self._told_maybe:
            self._finished_p = p

    def reset(self) -> None:
        """No turn is open any more, and none was."""
        self.speaking = False
        self._settle()

    def _settle(self) -> None:
        self._quiet_since = None
        self._told_maybe = False
        self._finished_p = None

    def _loud(self, end_sample: int, padding_ms: int) -> Edge | None:
        told = self._told_maybe
        self._settle()
        if self.speaking:
            return Edge.RESUMED if told else None
        self.speaking = True
        self.start_sample = max(0, end_sample - FRAME_SAMPLES - samples_of_ms(padding_ms))
        return Edge.STARTED

    def _quiet(self, settings: TurnDetection, quiet_samples: int) -> Edge | None:
        if quiet_samples >= samples_of_ms(self._wait_ms(settings)):
            self.reset()
            return Edge.ENDED
        if not self._told_maybe and quiet_samples >= samples_of_ms(EARLY_MS):
            self._told_maybe = True
            return Edge.MAYBE_ENDING
        return None

    def _wait_ms(self, settings: TurnDetection) -> int:
        if isinstance(settings, ServerVad):
            return settings.silence_duration_ms
        return self._semantic_wait_ms(settings)

    def _semantic_wait_ms(self, settings: SemanticVad) -> int:
        enough = SEMANTIC_ENOUGH[settings.eagerness]
        if self._finished_p is not None and self._finished_p >= enough:
            return SEMANTIC_MIN_MS
        return SEMANTIC_MAX_MS[settings.eagerness]
