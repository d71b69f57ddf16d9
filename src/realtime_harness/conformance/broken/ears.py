"""The scripted engine's ears: when somebody speaks, by loudness alone. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

FRAME_MS = 20
BYTES_PER_MS = 48  # PCM16 mono 24 kHz
LOUD_RMS = 150.0
NEEDED_MS = 40  # of sound, before it is speech
PREFIX_MS = 300


@dataclass(frozen=True, slots=True)
class Edge:
    """Speech began (`ms` is its onset less the padding, never below 0) or ended (`ms` is where the silence was enough)."""

    kind: Literal["started", "stopped"]
    ms: int


class Ears:
    """Takes all audio from a start that is 0 ms of its clock."""

    def __init__(self, silence_ms: int) -> None:
        self.heard_ms = 0
        self.speaking = False
        self._silence_ms = silence_ms
        self._loud_ms = 0
        self._quiet_ms = 0
        self._rest = b""

    def take(self, pcm: bytes) -> list[Edge]:
        """More audio; the edges in it."""
        self._rest += pcm
        size = FRAME_MS * BYTES_PER_MS
        edges: list[Edge] = []
        while len(self._rest) >= size:
            frame, self._rest = self._rest[:size], self._rest[size:]
            samples = np.frombuffer(frame, "<i2").astype(np.float64)
            loud = float(np.sqrt(np.mean(np.square(samples)))) > LOUD_RMS
            self.heard_ms += FRAME_MS
            self._loud_ms = self._loud_ms + FRAME_MS if loud else 0
            self._quiet_ms = 0 if loud else self._quiet_ms + FRAME_MS
            if not self.speaking and self._loud_ms >= NEEDED_MS:
                self.speaking = True
                edges.append(Edge("started", max(0, self.heard_ms - self._loud_ms - PREFIX_MS)))
            elif self.speaking and self._quiet_ms >= self._silence_ms:
                self.speaking = False
                edges.append(Edge("stopped", self.heard_ms))
        return edges
