"""What one step of the machine produces, in order, with the ids it needs."""

from __future__ import annotations

from typing import Any, TypeVar

from realtime_harness.errors import InvalidEvent
from realtime_harness.realtime.codec import error_body
from realtime_harness.realtime.events import EngineEvent, ErrorEvent, ServerEvent
from realtime_harness.realtime.ids import IdMint
from realtime_harness.realtime.orders import Order

Output = ServerEvent | EngineEvent | Order
_E = TypeVar("_E", bound=ServerEvent)
_O = TypeVar("_O", bound=Order)


class Outbox:
    """Collects events and orders; mints every id and every `ref`."""

    def __init__(self, ids: IdMint) -> None:
        self._ids = ids
        self._refs = 0
        self._out: list[Output] = []

    def mint(self, kind: str) -> str:
        """A new id (`realtime.ids`)."""
        return self._ids.mint(kind)

    def event(self, kind: type[_E], **fields: Any) -> None:
        """A server event, with an `event_id` of its own."""
        self._out.append(kind(event_id=self._ids.mint("event"), **fields))

    def engine_event(self, event: EngineEvent) -> None:
        """An event that only the harness sees."""
        self._out.append(event)

    def refuse(self, refusal: InvalidEvent) -> None:
        """An `error` event."""
        self.event(ErrorEvent, error=error_body(refusal))

    def order(self, kind: type[_O], **fields: Any) -> int:
        """An order with a new `ref`, which is returned."""
        self._refs += 1
        self._out.append(kind(ref=self._refs, **fields))
        return self._refs

    def take(self) -> list[Output]:
        """All since the last call."""
        out, self._out = self._out, []
        return out
