"""What one call is made from: a frozen plan, and who owns its session."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from realtime_harness.realtime.items import Item
from realtime_harness.realtime.session import Session

ANYBODY = ""


class Grant(Enum):
    """Who owns the session and its tools."""

    OPEN = "open"  # HRP: the client does


@dataclass(frozen=True, slots=True)
class CallLimits:
    """How long one call may last, in seconds."""

    max_duration_s: float = 3600.0
    idle_s: float = 900.0  # no client event and no response
    attach_s: float = 15.0  # from the start of the call to its first surface


@dataclass(frozen=True, slots=True)
class CallPlan:
    """A frozen copy of everything a call needs.

    `engine` is a name in the registry; one that is not there means the default engine. `owner` is an opaque name of
    the key that asked.
    """

    session: Session
    engine: str = ""
    seed: tuple[Item, ...] = ()
    limits: CallLimits = CallLimits()
    owner: str = ANYBODY
