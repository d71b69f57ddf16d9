"""What a person hears of the answers: audio plays as it comes, in real time, and stops when they speak."""

from __future__ import annotations

import math

from realtime_harness.realtime.events import OutputAudioDelta
from realtime_harness.realtime.pcm import bytes_of_ms, ms_of_samples, samples_of_bytes


class Playback:
    """A loudspeaker without one. Times are monotonic seconds."""

    def __init__(self) -> None:
        self._items: dict[str, bytearray] = {}
        self._heard_ms: dict[str, int] = {}  # of items that were stopped
        self._playing: str | None = None
        self._ends_at = 0.0
        self.began_at: float | None = None  # of the item that plays now, or played last

    def take(self, event: OutputAudioDelta, at: float) -> None:
        """More audio, to be played when what came before is over."""
        if event.item_id in self._heard_ms:
            return  # was stopped: what still comes is not heard
        if event.item_id not in self._items:
            self._items[event.item_id] = bytearray()
            self.began_at = max(at, self._ends_at)
            self._ends_at = self.began_at
            self._playing = event.item_id
        self._items[event.item_id] += event.delta
        self._ends_at = max(at, self._ends_at) + samples_of_bytes(len(event.delta)) / 24_000

    def playing(self, at: float) -> str | None:
        """The item that is heard now."""
        return self._playing if self._playing is not None and at < self._ends_at else None

    def stop(self, at: float) -> tuple[str, int] | None:
        """Stops at once; returns the item that was cut and the milliseconds of it that were heard, if one was playing."""
        item_id = self.playing(at)
        if item_id is None:
            return None
        size_ms = ms_of_samples(samples_of_bytes(len(self._items[item_id])))
        unheard_ms = math.ceil(round((self._ends_at - at) * 1000, 3))  # what is begun was not heard
        heard_ms = max(0, min(size_ms, size_ms - unheard_ms))
        self._heard_ms[item_id] = heard_ms
        self._ends_at = at
        return item_id, heard_ms

    def left_s(self, at: float) -> float:
        """How long what is there still plays."""
        return max(0.0, self._ends_at - at)

    def pcm(self) -> bytes:
        """All that was heard, one answer after the other."""
        return b"".join(
            bytes(audio[: bytes_of_ms(self._heard_ms[item_id])] if item_id in self._heard_ms else audio)
            for item_id, audio in self._items.items()
        )
