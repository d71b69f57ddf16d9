"""One connection: everything that comes is kept, in order, with the time it came; and can be waited for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Generic, Self, TypeVar

from realtime_harness.client.transport import Transport
from realtime_harness.errors import Disconnected
from realtime_harness.realtime.engine import Clock

R = TypeVar("R")


class Line(Generic[R]):
    """An open connection. An async context: on leaving it the connection is closed and its reader is gone."""

    def __init__(
        self,
        transport: Transport,
        clock: Clock,
        understand: Callable[[float, str], R],
        on_received: Callable[[R], None] | None = None,
    ) -> None:
        """`understand` makes a record of a time (monotonic seconds) and a frame's text; `on_received` is told each."""
        self.received: list[R] = []
        self.ended: Disconnected | None = None
        self._transport = transport
        self._clock = clock
        self._understand = understand
        self._on_received = on_received
        self._news = asyncio.Condition()
        self._reader: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._reader = asyncio.create_task(self._read(), name="client line")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self._transport.close()
        finally:
            if self._reader is not None:
                self._reader.cancel()
                (outcome,) = await asyncio.gather(self._reader, return_exceptions=True)
                if isinstance(outcome, Exception) and problem is None:
                    raise outcome  # of on_received

    def now(self) -> float:
        """Monotonic seconds, of the clock that times what comes."""
        return self._clock.now()

    async def send_text(self, text: str) -> None:
        """Sends one frame. Raises Disconnected when the connection is over."""
        await self._transport.send(text)

    async def more(self, count: int, within_s: float) -> bool:
        """True once more than `count` frames have come; False when the time is over. Raises Disconnected at the end."""
        deadline = self._clock.now() + within_s
        async with self._news:
            while len(self.received) <= count:
                if self.ended is not None:
                    raise self.ended
                if self._clock.now() >= deadline:
                    return False
                timer = asyncio.ensure_future(self._wake_at(deadline))
                try:
                    await self._news.wait()
                finally:
                    timer.cancel()
        return True

    async def _wake_at(self, when: float) -> None:
        await self._clock.sleep_until(when)
        async with self._news:
            self._news.notify_all()

    async def _read(self) -> None:
        while True:
            try:
                raw = await self._transport.receive()
            except Disconnected as ended:
                self.ended = ended
                break
            received = self._understand(self._clock.now(), raw)
            self.received.append(received)
            if self._on_received is not None:
                self._on_received(received)
            async with self._news:
                self._news.notify_all()
        async with self._news:
            self._news.notify_all()
