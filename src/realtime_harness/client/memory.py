"""A connection without a network: two ends in one process, for engines and suites that run side by side."""

from __future__ import annotations

import asyncio

from realtime_harness.errors import Disconnected

MAX_FRAMES = 4_096  # in flight each way; a side that does not read then holds the other up


class MemoryEnd:
    """One end (protocol: Transport). Made by `memory_pair`."""

    def __init__(self, inward: asyncio.Queue[str | Disconnected], outward: asyncio.Queue[str | Disconnected]) -> None:
        self._inward = inward
        self._outward = outward
        self._over: Disconnected | None = None

    async def send(self, text: str) -> None:
        """Waits while the other side does not read. Raises Disconnected once the connection is over."""
        if self._over is not None:
            raise self._over
        await self._outward.put(text)

    async def receive(self) -> str:
        """The other side's next frame. Raises Disconnected once the connection is over."""
        if self._over is not None:
            raise self._over
        frame = await self._inward.get()
        if isinstance(frame, Disconnected):
            self._over = frame
            raise frame
        return frame

    async def close(self, code: int = 1000, reason: str = "") -> None:
        """Ends the connection, for both sides. May be called twice."""
        if self._over is None:
            self._over = Disconnected(code, reason)
            while self._outward.full():
                self._outward.get_nowait()
            self._outward.put_nowait(self._over)


def memory_pair() -> tuple[MemoryEnd, MemoryEnd]:
    """The two ends of a new connection."""
    one: asyncio.Queue[str | Disconnected] = asyncio.Queue(MAX_FRAMES)
    other: asyncio.Queue[str | Disconnected] = asyncio.Queue(MAX_FRAMES)
    return MemoryEnd(one, other), MemoryEnd(other, one)
