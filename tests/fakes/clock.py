"""A clock that only moves when it is told to."""

from __future__ import annotations

import asyncio
import heapq
import itertools


class VirtualClock:
    """`advance` wakes the sleepers in order, and lets everybody run between."""

    def __init__(self, now: float = 1_000.0) -> None:
        self._now = now
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._order = itertools.count()

    def now(self) -> float:
        return self._now

    async def sleep_until(self, when: float) -> None:
        if when <= self._now:
            await asyncio.sleep(0)
            return
        future = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (when, next(self._order), future))
        await future

    async def advance(self, seconds: float) -> None:
        until = self._now + seconds
        await settle()
        while self._sleepers and self._sleepers[0][0] <= until:
            when, _, future = heapq.heappop(self._sleepers)
            self._now = max(self._now, when)
            if not future.done():
                future.set_result(None)
            await settle()
        self._now = until
        await settle()


async def settle(turns: int = 30) -> None:
    """Lets every task run until it waits for something else than the loop."""
    for _ in range(turns):
        await asyncio.sleep(0)
