"""One HRP client: sends typed events, and keeps everything that comes with the time it came."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Self, TypeVar

from realtime_harness.client.transport import Transport
from realtime_harness.errors import Disconnected, HarnessError, InvalidEvent
from realtime_harness.realtime.codec import decode_server, encode_client
from realtime_harness.realtime.engine import Clock
from realtime_harness.realtime.events import ClientEvent, ServerEvent, UnknownServerEvent

_E = TypeVar("_E", bound=ServerEvent)


@dataclass(frozen=True, slots=True)
class Received:
    """One frame of the server's: when it came (monotonic seconds), its text as it came, and what it means.

    `event` is None where the text is no event of HRP; `fault` then says why.
    """

    at: float
    raw: str
    event: ServerEvent | UnknownServerEvent | None
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class Sent:
    """One event of ours, and when it had been handed to the transport."""

    at: float
    event: ClientEvent


class HrpClient:
    """An open session. An async context: on leaving it the connection is closed and its reader is gone."""

    def __init__(self, transport: Transport, clock: Clock, on_event: Callable[[Received], None] | None = None) -> None:
        """`on_event` is called for everything that comes, in order."""
        self.received: list[Received] = []
        self.sent: list[Sent] = []
        self.ended: Disconnected | None = None
        self._transport = transport
        self._clock = clock
        self._on_event = on_event
        self._news = asyncio.Condition()
        self._reader: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._reader = asyncio.create_task(self._read(), name="hrp client")
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
                    raise outcome  # of on_event

    def now(self) -> float:
        """Monotonic seconds, of the clock that times what comes."""
        return self._clock.now()

    async def send(self, event: ClientEvent) -> None:
        """Sends one event. Raises Disconnected when the connection is over."""
        await self._transport.send(encode_client(event))
        self.sent.append(Sent(self._clock.now(), event))

    async def send_raw(self, text: str) -> None:
        """Sends any text, an event or not. Raises Disconnected when the connection is over."""
        await self._transport.send(text)

    async def wait(
        self,
        kind: type[_E],
        *,
        since: int = 0,
        timeout_s: float = 20.0,
        where: Callable[[_E], bool] = lambda _: True,
    ) -> _E:
        """The first event of that kind at or after the index `since` of `received`, once it is there.

        Raises Disconnected when the connection ends before it, and NotHeard when the time is over.
        """
        found = await self.wait_received(kind, since=since, timeout_s=timeout_s, where=where)
        return found[1]

    async def wait_received(
        self,
        kind: type[_E],
        *,
        since: int = 0,
        timeout_s: float = 20.0,
        where: Callable[[_E], bool] = lambda _: True,
    ) -> tuple[Received, _E]:
        """As `wait`, with the time and the text."""
        deadline = self._clock.now() + timeout_s
        index = since
        while True:
            for one in self.received[index:]:
                if isinstance(one.event, kind) and where(one.event):
                    return one, one.event
            index = max(since, len(self.received))
            if not await self.more(index, deadline - self._clock.now()):
                raise NotHeard(f"No {kind.type} came within {timeout_s:g} s.")

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
            received = _understood(self._clock.now(), raw)
            self.received.append(received)
            if self._on_event is not None:
                self._on_event(received)
            async with self._news:
                self._news.notify_all()
        async with self._news:
            self._news.notify_all()


class NotHeard(HarnessError):
    """Something that was waited for did not come in time."""


def _understood(at: float, raw: str) -> Received:
    try:
        return Received(at, raw, decode_server(raw))
    except InvalidEvent as fault:
        return Received(at, raw, None, fault.message)
