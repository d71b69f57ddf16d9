"""An event loop whose time is virtual: it jumps to the next timer when nothing else is left to do."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _Selector(selectors.SelectSelector):
    """Never waits: the time that would have been waited passes at once."""

    def __init__(self) -> None:
        super().__init__()
        self.loop: VirtualLoop | None = None

    def select(self, timeout: float | None = None) -> list[Any]:
        ready = super().select(0)
        if not ready and self.loop is not None:
            if timeout is None:
                raise RuntimeError("everybody waits, and nothing is left that could wake them")
            self.loop.passed += max(0.0, timeout)
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        selector = _Selector()
        self.passed = 1_000.0
        super().__init__(selector)
        selector.loop = self

    def time(self) -> float:
        return self.passed


class LoopClock:
    """The clock of the running loop."""

    def now(self) -> float:
        return asyncio.get_running_loop().time()

    async def sleep_until(self, when: float) -> None:
        await asyncio.sleep(max(0.0, when - self.now()))


def run_virtually(work: Coroutine[Any, Any, T]) -> T:
    """Runs it to its end in virtual time."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(work)
