"""The protocols that join the rooms: what an engine is, seen from above and from below. docs/design.md 4.1."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from realtime_harness.realtime.events import ClientEvent, EngineEvent, ServerEvent
from realtime_harness.realtime.facts import Fact
from realtime_harness.realtime.items import Item
from realtime_harness.realtime.orders import Order
from realtime_harness.realtime.session import Session

How = Literal["native", "emulated", "no"]


@dataclass(frozen=True, slots=True)
class Profile:
    """What an engine can do, as data, so that nobody asks which engine it is.

    "emulated": done by us where the model cannot. "no" is never claimed: whoever declares capabilities reads it here.
    """

    name: str
    model: str
    turn_detection: How = "native"
    semantic_turn_detection: How = "native"
    text_only_output: How = "native"
    forced_tool: How = "native"
    images: How = "native"
    truncate: How = "native"
    max_session_s: float | None = None  # enforced by the session loop (engines/session.py)


class Clock(Protocol):
    """Monotonic seconds, and a sleep on the same clock: a virtual one in tests."""

    def now(self) -> float: ...
    async def sleep_until(self, when: float) -> None: ...


class EngineSession(Protocol):
    """One conversation with an engine."""

    async def send(self, event: ClientEvent) -> None:
        """Waits when the engine is behind; a refusal comes back as an `error` event."""
        ...

    def events(self) -> AsyncIterator[ServerEvent | EngineEvent]:
        """Everything that happens, until the session is over. For one reader."""
        ...

    async def close(self, reason: str) -> None:
        """Ends the session and frees what it held. May be called twice."""
        ...


class Engine(Protocol):
    """Where sessions come from."""

    @property
    def profile(self) -> Profile: ...

    async def open(self, session: Session, seed: Sequence[Item], clock: Clock) -> EngineSession:
        """Raises Refused when there is no room for one more."""
        ...

    async def close(self) -> None:
        """Frees what all sessions share, once none is left."""
        ...


class Backend(Protocol):
    """What stands below a `Conversation`: the local pipeline, or a provider's socket."""

    def send(self, order: Order) -> None:
        """Never blocks; bounded in milliseconds."""
        ...

    def facts(self) -> AsyncIterator[Fact]:
        """Everything that happens, until closed. For one reader."""
        ...

    async def close(self) -> None:
        """Frees what it held. May be called twice."""
        ...
