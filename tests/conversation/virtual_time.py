"""An event loop whose time passes at once: every sleep and every timeout in it is virtual."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _Selector(selectors.DefaultSelector):
    """Never waits: the time it was to wait has passed."""

    passed = 0.0

    def select(self, timeout: float | None = None) -> Any:
        ready = super().select(0)
        if not ready and timeout is None:
            raise AssertionError("everything waits, and for nothing")
        if not ready and timeout:
            self.passed += timeout
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._virtual = _Selector()
        super().__init__(self._virtual)

    def time(self) -> float:
        return 1_000.0 + self._virtual.passed


class LoopClock:
    """The loop's own time."""

    def now(self) -> float:
        return asyncio.get_running_loop().time()

    async def sleep_until(self, when: float) -> None:
        await asyncio.sleep(max(0.0, when - self.now()))


def run(work: Coroutine[Any, Any, T]) -> T:
    """Runs it to its end; nothing may be left of it."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:

        async def alone() -> T:
            result = await work
            left = asyncio.all_tasks() - {asyncio.current_task()}
            assert not left, f"tasks left: {left}"
            return result

        return runner.run(alone())
