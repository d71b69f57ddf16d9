"""The harness-side machine of one call. Sans-I/O: inputs and the time go in, effects come out.

Under the open grant (HRP) the client owns session and tools: every client event goes to the engine and every server
event to the client. What is the call's own: malformed input, the limits, the drain, and how it ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from realtime_harness.call.plan import CallPlan
from realtime_harness.call.surface import Emit, Malformed
from realtime_harness.errors import InvalidEvent
from realtime_harness.realtime import events as e
from realtime_harness.realtime.codec import error_body
from realtime_harness.realtime.ids import IdMint

# Close codes of RFC 6455; the table in docs/hrp.md says when each is sent.
NORMAL = 1000
GOING_AWAY = 1001
POLICY = 1008
INTERNAL = 1011
MAX_REASON_BYTES = 120  # a close frame holds 123


@dataclass(frozen=True, slots=True)
class Attached:
    """A client is there."""


@dataclass(frozen=True, slots=True)
class ClientGone:
    """The client has closed or vanished."""

    reason: str = "the client has gone"


@dataclass(frozen=True, slots=True)
class ClientTooSlow:
    """The client does not read what it is sent."""


@dataclass(frozen=True, slots=True)
class EngineGone:
    """The engine's events have ended, or the engine failed."""

    reason: str = "The engine ended the session."


@dataclass(frozen=True, slots=True)
class Drain:
    """The server is going away: the call may last `grace_s` seconds more."""

    grace_s: float


CallInput = (
    e.ClientEvent
    | Malformed
    | e.ServerEvent
    | e.EngineEvent
    | Attached
    | ClientGone
    | ClientTooSlow
    | EngineGone
    | Drain
)


@dataclass(frozen=True, slots=True)
class ToEngine:
    """A client event, for the engine."""

    event: e.ClientEvent


@dataclass(frozen=True, slots=True)
class Finish:
    """The call is over. `code` and `reason` are what the client is told as its connection closes."""

    code: int
    reason: str


Effect = ToEngine | Emit | Finish


class Call:
    """One call. `handle` and `wake` take monotonic seconds; after a Finish both return nothing."""

    def __init__(self, plan: CallPlan, now: float, ids: IdMint | None = None) -> None:
        self.plan = plan
        self._ids = ids or IdMint()
        limits = plan.limits
        self._expires_at = now + limits.max_duration_s
        self._attach_by: float | None = now + limits.attach_s
        self._drained_at: float | None = None
        self._last_activity = now
        self._active: set[str] = set()
        self._finished = False

    @property
    def finished(self) -> bool:
        """True once a Finish was returned."""
        return self._finished

    def handle(self, x: CallInput, now: float) -> list[Effect]:
        """What follows from one input."""
        if self._finished:
            return []
        # The bases come first: nearly every input is a client's event or a server's.
        if isinstance(x, e.ClientEventBase):
            self._last_activity = now
            return [ToEngine(x)]  # pyright: ignore[reportArgumentType] - every subclass is in the union
        if isinstance(x, e.ServerEventBase):
            self._follow(x, now)
            return [Emit(x)]  # pyright: ignore[reportArgumentType] - every subclass is in the union
        match x:
            case Malformed(refusal):
                self._last_activity = now
                return [Emit(self._error(refusal))]
            case e.EngineEnded(code, message):
                return self._fail(code, message)
            case e.UserSaid() | e.AssistantHeard() | e.Reconnected():
                return []  # the harness's own: an HRP client never sees them
            case Attached():
                self._attach_by = None
                return []
            case ClientGone(reason):
                return self._finish(NORMAL, reason)
            case ClientTooSlow():
                return self._finish(POLICY, "You do not read what you are sent: the connection is too far behind.")
            case EngineGone(reason):
                return self._fail("engine_ended", reason)
            case Drain(grace_s):
                until = now + grace_s
                self._drained_at = until if self._drained_at is None else min(until, self._drained_at)
                return self.wake(now)
            case _:
                assert_never(x)

    def wake_at(self) -> float | None:
        """When `wake` is due, in monotonic seconds; None once the call is over."""
        if self._finished:
            return None
        due = (self._expires_at, self._idle_at(), self._attach_by, self._drained_at)
        return min(when for when in due if when is not None)

    def wake(self, now: float) -> list[Effect]:
        """What the time alone brings about."""
        if self._finished:
            return []
        if now >= self._expires_at:
            minutes = f"{self.plan.limits.max_duration_s / 60:g}"
            message = f"Your session hit the maximum duration of {minutes} minutes."
            expired = InvalidEvent(message, code="session_expired")
            return [Emit(self._error(expired)), *self._finish(GOING_AWAY, message)]
        if self._drained_at is not None and now >= self._drained_at:
            return self._finish(GOING_AWAY, "The server is going away.")
        if self._attach_by is not None and now >= self._attach_by:
            return self._finish(NORMAL, "Nobody came.")
        idle_at = self._idle_at()
        if idle_at is not None and now >= idle_at:
            minutes = f"{self.plan.limits.idle_s / 60:g}"
            return self._finish(NORMAL, f"Nothing happened for {minutes} minutes.")
        return []

    def _idle_at(self) -> float | None:
        return None if self._active else self._last_activity + self.plan.limits.idle_s

    def _follow(self, event: e.ServerEventBase, now: float) -> None:
        if isinstance(event, e.ResponseCreated):
            self._active.add(str(event.response.get("id")))
        elif isinstance(event, e.ResponseDone):
            self._active.discard(str(event.response.get("id")))
            self._last_activity = now

    def _fail(self, code: str, message: str) -> list[Effect]:
        failure = InvalidEvent(message, code=code, type="server_error")
        close = GOING_AWAY if code == "session_expired" else INTERNAL
        return [Emit(self._error(failure)), *self._finish(close, message)]

    def _finish(self, code: int, reason: str) -> list[Effect]:
        self._finished = True
        return [Finish(code, close_reason(reason))]

    def _error(self, refusal: InvalidEvent) -> e.ErrorEvent:
        return e.ErrorEvent(event_id=self._ids.mint("event"), error=error_body(refusal))


def close_reason(reason: str) -> str:
    """A reason that fits a close frame, which counts bytes; cut between two characters."""
    return reason.encode()[:MAX_REASON_BYTES].decode(errors="ignore")
