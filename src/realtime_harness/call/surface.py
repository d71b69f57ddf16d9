"""What a call sees of its client: a codec with two ends. One small module in `serve/` for each kind."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Protocol

from realtime_harness.errors import InvalidEvent
from realtime_harness.realtime.events import ClientEvent, ServerEvent


@dataclass(frozen=True, slots=True)
class Malformed:
    """Something came that is no client event: answered by an `error` event, and the call goes on."""

    refusal: InvalidEvent


@dataclass(frozen=True, slots=True)
class Emit:
    """A server event, for the client."""

    event: ServerEvent


class Surface(Protocol):
    """One attached client."""

    def inputs(self) -> AsyncIterator[ClientEvent | Malformed]:
        """What the client sends, one after the other; ends when the client has gone. While nobody asks for the next
        one, nothing more is read (back-pressure)."""
        ...

    async def deliver(self, out: Emit) -> None:
        """Never waits for the client: raises TooSlow when it is further behind than the surface's bound."""
        ...

    async def close(self, code: int, reason: str) -> None:
        """Sends what is still to be sent, then closes, in bounded time. May be called twice, and after the client has
        gone."""
        ...
