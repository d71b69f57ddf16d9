"""A client without a socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from realtime_harness.call import Emit, Malformed
from realtime_harness.errors import TooSlow
from realtime_harness.realtime import events as e


class MemorySurface:
    """Keeps what it is given; gives what it is told to. `room` is how many events it takes before it is too slow."""

    def __init__(self, room: int = 1_000) -> None:
        self.room = room
        self.out: list[e.ServerEvent] = []
        self.closed: list[tuple[int, str]] = []
        self.taken = 0
        self._in: asyncio.Queue[e.ClientEvent | Malformed | None] = asyncio.Queue()

    def put(self, x: e.ClientEvent | Malformed | None) -> None:
        self._in.put_nowait(x)

    def vanish(self) -> None:
        self.put(None)

    @property
    def types(self) -> list[str]:
        return [event.type for event in self.out]

    async def inputs(self) -> AsyncIterator[e.ClientEvent | Malformed]:
        while (x := await self._in.get()) is not None:
            self.taken += 1
            yield x

    async def deliver(self, out: Emit) -> None:
        if len(self.out) >= self.room:
            raise TooSlow("The client is too far behind.")
        self.out.append(out.event)

    async def close(self, code: int, reason: str) -> None:
        self.closed.append((code, reason))
