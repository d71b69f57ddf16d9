"""One HRP client: sends typed events, and keeps everything that comes with the time it came."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from realtime_harness.client.line import Line
from realtime_harness.client.transport import Transport
from realtime_harness.errors import InvalidEvent, NotHeard
from realtime_harness.realtime.codec import decode_server, encode_client
from realtime_harness.realtime.engine import Clock
from realtime_harness.realtime.events import AudioAppend, ClientEvent, ServerEvent, UnknownServerEvent

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


class HrpClient(Line[Received]):
    """An open session (see Line)."""

    def __init__(self, transport: Transport, clock: Clock, on_event: Callable[[Received], None] | None = None) -> None:
        """`on_event` is called for everything that comes, in order."""
        super().__init__(transport, clock, _understood, on_event)
        self.sent: list[Sent] = []

    async def send(self, event: ClientEvent) -> None:
        """Sends one event. Raises Disconnected when the connection is over."""
        await self.send_text(encode_client(event))
        self.sent.append(Sent(self._clock.now(), event))

    async def append(self, pcm: bytes) -> None:
        """Sends so much audio of the user's (PCM16 mono 24 kHz)."""
        await self.send(AudioAppend(audio=pcm))

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


def _understood(at: float, raw: str) -> Received:
    try:
        return Received(at, raw, decode_server(raw))
    except InvalidEvent as fault:
        return Received(at, raw, None, fault.message)
