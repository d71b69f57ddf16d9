"""The real clock, and waiting by any clock.

Everything that waits is given a clock, so that tests run on a virtual one (docs/design.md 4.2).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine

from realtime_harness.realtime.engine import Clock


class SystemClock:
    """Monotonic seconds of this machine."""

    def now(self) -> float:
        """Monotonic seconds; only differences mean something."""
        return time.monotonic()

    async def sleep_until(self, when: float) -> None:
        """Returns at `when`, or at once when it has passed."""
        await asyncio.sleep(max(0.0, when - time.monotonic()))


class Alarm:
    """Keeps the time of one machine, which says by `wake_at` when it is next due (monotonic seconds, or None)."""

    def __init__(self, clock: Clock, wake_at: Callable[[], float | None]) -> None:
        self._clock = clock
        self._wake_at = wake_at
        self._armed_for: float | None = None
        self._rearm = asyncio.Event()

    def check(self) -> None:
        """Call it after every step of the machine: it may be due earlier than is waited for."""
        due = self._wake_at()
        if due is not None and (self._armed_for is None or due < self._armed_for):
            self._rearm.set()

    async def rings(self) -> None:
        """Returns when the machine is due."""
        while True:
            self._rearm.clear()
            self._armed_for = due = self._wake_at()
            if due is None:
                await self._rearm.wait()
                continue
            if due > self._clock.now():
                await first_of(self._clock.sleep_until(due), self._rearm.wait())
            if due <= self._clock.now():
                return


async def first_of(*waits: Coroutine[object, object, object], timeout_s: float | None = None) -> None:
    """Returns when one of them is over, or after `timeout_s`; the others are cancelled and gone by then."""
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    try:
        await asyncio.wait(tasks, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
