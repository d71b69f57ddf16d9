"""Who may ask a mind now: so many at once, the next in turn, and nobody who could not be answered in time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from realtime_harness.errors import Refused

FIRST_GUESS_S = 4.0  # of one answer, before any was seen
MEMORY = 0.3  # the weight of the newest answer in the mean


class DecisionDesk:
    """Admits to one mind. `at_once`: how many it answers side by side."""

    def __init__(self, at_once: int) -> None:
        self.at_once = at_once
        self._free = asyncio.Semaphore(at_once)
        self._here = 0
        self._mean_s = FIRST_GUESS_S

    @property
    def wait_s(self) -> float:
        """How long one that comes now would wait for its turn, by what was seen."""
        before = max(0, self._here - self.at_once + 1)
        return before / self.at_once * self._mean_s

    @asynccontextmanager
    async def turn(self, deadline: float) -> AsyncGenerator[None]:
        """A turn, in order of coming. `deadline` is in the event loop's monotonic seconds.

        Raises Refused (`busy`) at once where it could not be answered by then, and where its turn did not come.
        """
        clock = asyncio.get_running_loop().time
        if clock() + self.wait_s + self._mean_s > deadline and self._here >= self.at_once:
            raise self._busy()
        self._here += 1
        try:
            try:
                async with asyncio.timeout_at(deadline):
                    await self._free.acquire()
            except TimeoutError:
                raise self._busy() from None
            start = clock()
            try:
                yield
            finally:
                self._free.release()
                self._mean_s += MEMORY * (clock() - start - self._mean_s)
        finally:
            self._here -= 1

    def _busy(self) -> Refused:
        return Refused(
            "busy",
            f"{self._here} requests are before this one, and an answer takes about {self._mean_s:.0f} s: it could not be "
            f"answered in time. {self.at_once} are answered at once.",
        )
