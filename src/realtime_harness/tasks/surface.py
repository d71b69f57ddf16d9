"""A text task as a call's client: it asks one thing, hears the answer, and hangs up. No device."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

from realtime_harness.call import Emit, Malformed
from realtime_harness.realtime import events as e
from realtime_harness.realtime.events import ClientEvent, ServerEvent

MAX_BEHIND = 10_000  # events of one answer that nobody has taken yet: far more than a text has


class TaskSurface:
    """One task's end of its call (protocol: Surface)."""

    def __init__(self, asked: Sequence[ClientEvent]) -> None:
        """`asked` is sent in order when the call begins."""
        self._asked = tuple(asked)
        self._heard: asyncio.Queue[ServerEvent | None] = asyncio.Queue(MAX_BEHIND)
        self._cancel = asyncio.Event()
        self._over = asyncio.Event()
        self.why_closed: str | None = None

    async def inputs(self) -> AsyncIterator[ClientEvent | Malformed]:
        """What was asked; then a cancel, if there is one; ends when the task is over."""
        for event in self._asked:
            yield event
        cancelled, over = asyncio.ensure_future(self._cancel.wait()), asyncio.ensure_future(self._over.wait())
        try:
            await asyncio.wait((cancelled, over), return_when=asyncio.FIRST_COMPLETED)
            if cancelled.done() and not over.done():
                yield e.ResponseCancel()
                await over
        finally:
            cancelled.cancel()
            over.cancel()

    async def deliver(self, out: Emit) -> None:
        """One event of the engine's."""
        if not self._heard.full():
            self._heard.put_nowait(out.event)

    async def close(self, code: int, reason: str) -> None:
        """The call is over."""
        self.why_closed = self.why_closed or reason or f"code {code}"
        self._over.set()
        if not self._heard.full():
            self._heard.put_nowait(None)

    def cancel(self) -> None:
        """Stops the answer."""
        self._cancel.set()

    def hang_up(self) -> None:
        """The task has all that it wanted."""
        self._over.set()

    async def next(self) -> ServerEvent | None:
        """The engine's next event; None when the call is over."""
        return await self._heard.get()
