"""The responses under way: at most one in the conversation, a few beside it, and the reply that is still owed.

HRP 0.2.0, "Turn-taking and interruptions"; docs/design.md 5.10.
"""

from __future__ import annotations

from dataclasses import dataclass

from realtime_harness.conversation.ledger import Ledger
from realtime_harness.conversation.outbox import Outbox
from realtime_harness.conversation.response_run import Playhead, Queued, ResponseRun
from realtime_harness.errors import InvalidEvent
from realtime_harness.realtime import facts as f
from realtime_harness.realtime import orders as o
from realtime_harness.realtime.items import Item
from realtime_harness.realtime.responses import ResponsePlan, Usage
from realtime_harness.realtime.wire import Json

MAX_OUT_OF_BAND = 4
CANCEL_GRACE_S = 0.3  # how long a cancelled response waits for its usage
STALL_S = 60.0  # a reply of which the backend says nothing for so long has failed


@dataclass(slots=True)
class Running:
    """A response and the reply that feeds it. `deadline` is None once the backend has said all: the pacer alone decides."""

    run: ResponseRun
    ref: int
    deadline: float | None
    cancelling: Json | None = None  # status_details, once it is being cancelled


class Replies:
    """What is under way, what is owed, and since when nobody has had anything to say."""

    def __init__(self, out: Outbox, ledger: Ledger, conversation_id: str) -> None:
        self._out = out
        self._ledger = ledger
        self._conversation_id = conversation_id
        self._playhead = Playhead()
        self._active: Running | None = None
        self._beside: list[Running] = []
        self._owed = False
        self._idle_from: float | None = None

    @property
    def busy(self) -> bool:
        """A response of the conversation is under way."""
        return self._active is not None

    @property
    def owed(self) -> bool:
        """A spoken turn ended and is not answered yet."""
        return self._owed

    @property
    def idle_from(self) -> float | None:
        """Since when nobody has had anything to say; None while somebody has."""
        return self._idle_from

    def owe(self, now: float) -> None:
        """A spoken turn has ended: it is to be answered. A response that is being cancelled ends here."""
        self._owed = True
        self.end_cancelled(now)

    def lapse(self) -> None:
        """Whatever was to be answered no longer is."""
        self._owed = False

    def idle(self, since: float | None) -> None:
        """Silence counts from `since`; None: somebody speaks."""
        self._idle_from = since

    def check_room(self, out_of_band: bool, now: float) -> None:
        """Raises InvalidEvent where one more response may not start. One that is being cancelled ends here."""
        if out_of_band:
            if len(self._beside) >= MAX_OUT_OF_BAND:
                raise InvalidEvent(
                    f"At most {MAX_OUT_OF_BAND} responses may run outside the conversation at once.",
                    code="too_many_responses",
                )
            return
        self.end_cancelled(now)
        if self._active is not None:
            raise InvalidEvent(
                f"Conversation already has an active response in progress: {self._active.run.id}. "
                "Wait until the response is finished before creating a new one.",
                code="conversation_already_has_active_response",
            )

    def start(self, plan: ResponsePlan, context: tuple[Item, ...] | None, now: float) -> None:
        """A response begins: announced, and ordered from the backend."""
        run = ResponseRun(self._out, self._ledger, self._playhead, plan, self._conversation_id)
        run.created()
        ref = self._out.order(o.Reply, plan=plan, context=context)
        running = Running(run, ref, now + STALL_S)
        if plan.out_of_band:
            self._beside.append(running)
            return
        self._active = running
        self._owed = False
        self._idle_from = None

    def cancel(self, response_id: str | None, now: float) -> None:
        """The client stops the active response, or the one it names. Raises InvalidEvent when that is not under way."""
        for running in self._all():
            named = response_id == running.run.id or (response_id is None and running is self._active)
            if named and running.cancelling is None:
                self._cancel(running, "client_cancelled", now)
                return
        raise InvalidEvent("Cancellation failed: no active response found", code="response_cancel_not_active")

    def interrupt(self, now: float) -> None:
        """A participant speaks: what may be heard stops. A silent answer goes on."""
        active = self._active
        if active is not None and active.run.spoken and active.cancelling is None:
            self._cancel(active, "turn_detected", now)
        self.lapse()  # they go on speaking: the reply is to all of it
        self._playhead.stop(now)

    def end_cancelled(self, now: float) -> None:
        """The active response, if it is being cancelled, ends without waiting longer for its usage."""
        if self._active is not None and self._active.cancelling is not None:
            self._finish(self._active, None, now)

    def fact(self, fact: f.ReplyStarted | Queued, now: float) -> None:
        """What the backend says of a reply; of one that is over, nothing."""
        running = next((running for running in self._all() if running.ref == fact.ref), None)
        if running is None:
            return
        if running.cancelling is not None:
            if isinstance(fact, f.ReplyEnded):
                self._finish(running, fact.usage, now)
            return
        if running.deadline is None:
            return
        running.deadline = None if isinstance(fact, f.ReplyEnded) else now + STALL_S
        if not isinstance(fact, f.ReplyStarted):
            running.run.accept(fact)

    def release(self, now: float) -> None:
        """Sends downstream what may go out now."""
        for running in self._all():
            if running.cancelling is None:
                running.run.release(now)
                if running.run.ended:
                    self._close(running, now)

    def wake_at(self) -> float | None:
        """When `wake` or `release` is next due."""
        times: list[float] = []
        for running in self._all():
            times += [time for time in (running.deadline, running.run.wake_at()) if time is not None]
        return min(times, default=None)

    def wake(self, now: float) -> None:
        """Ends what waited too long."""
        for running in self._all():
            if running.deadline is None or running.deadline > now:
                continue
            if running.cancelling is not None:
                self._finish(running, None, now)
            else:
                self._out.order(o.CancelReply, reply_ref=running.ref)
                self._fail(running, "engine_timeout", f"The engine fell silent for {STALL_S:g} s.", now)

    def lost(self, code: str, message: str, now: float) -> None:
        """The backend is gone: everything under way has failed, and nothing is owed any more."""
        self.lapse()
        for running in self._all():
            if running.cancelling is not None:
                self._finish(running, None, now)
            else:
                self._fail(running, code, message, now)

    def _all(self) -> list[Running]:
        return [*([self._active] if self._active is not None else []), *self._beside]

    def _cancel(self, running: Running, reason: str, now: float) -> None:
        """Stops the response at once; its one terminal event waits a moment for the usage, unless that is known."""
        end = running.run.cut()
        running.cancelling = {"type": "cancelled", "reason": reason}
        if running is self._active:
            self._playhead.stop(now)  # whoever cancels does not play on
        if end is not None:
            self._finish(running, end.usage, now)
            return
        running.deadline = now + CANCEL_GRACE_S
        self._out.order(o.CancelReply, reply_ref=running.ref)

    def _finish(self, running: Running, usage: Usage | None, now: float) -> None:
        """The end of a response that was being cancelled."""
        self._close(running, now)
        running.run.done("cancelled", running.cancelling, usage)

    def _fail(self, running: Running, code: str, message: str, now: float) -> None:
        self._close(running, now)
        error = {"type": "server_error", "code": code, "message": message}
        running.run.done("failed", {"type": "failed", "error": error}, None)

    def _close(self, running: Running, now: float) -> None:
        if running is self._active:
            self._active = None
            self._idle_from = max(now, self._playhead.until)
        else:
            self._beside.remove(running)
