"""The runner: starts calls, joins clients to them, drains them. The tasks of a call belong to it, never to a socket."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Literal, Self

import structlog
from structlog.contextvars import bound_contextvars

from realtime_harness.call.machine import GOING_AWAY, INTERNAL, Call, Drain
from realtime_harness.call.plan import CallPlan, Grant
from realtime_harness.call.running import RunningCall
from realtime_harness.call.surface import Surface
from realtime_harness.clock import first_of
from realtime_harness.errors import EngineError, Refused
from realtime_harness.realtime.engine import Clock, Engine, EngineSession
from realtime_harness.realtime.ids import IdMint

State = Literal["starting", "ready", "draining"]
LEAVE_S = 15.0  # more than a call takes to free its engine session and its surface, both of which are bounded
HANDOVER_S = 2.0  # how long a new call waits for the place of one that is just ending
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class CallsLimits:
    """How many calls at once: of all, and of one owner. An engine has its own capacity beside it."""

    max_calls: int = 1_000
    max_calls_per_owner: int = 100


class Calls:
    """All calls of this process. An async context: on leaving it, every call is ended and every task is gone."""

    def __init__(self, clock: Clock, limits: CallsLimits | None = None, ids: IdMint | None = None) -> None:
        self._clock = clock
        self._limits = limits or CallsLimits()
        self._ids = ids or IdMint()
        self._engines: Mapping[str, Engine] = {}
        self._default = ""
        self._state: State = "starting"
        self._calls: dict[str, RunningCall] = {}
        self._opening: Counter[str] = Counter()
        self._tasks: set[asyncio.Task[None]] = set()
        self._entered = False

    async def __aenter__(self) -> Self:
        self._entered = True
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._state = "draining"
        for running in self._calls.values():
            running.end(GOING_AWAY, "The server is going away.")
        try:
            if self._tasks:
                _, late = await asyncio.wait(self._tasks, timeout=LEAVE_S)
                for task in late:
                    _log.error("call did not end in time", call_id=task.get_name(), seconds=LEAVE_S)
        finally:  # late, or cancelled itself: what is left is cancelled too
            for task in self._tasks:
                task.cancel()

    def ready(self, engines: Mapping[str, Engine], default: str) -> None:
        """From now on calls may start. `engines` maps names to engines; `default` is one of those names."""
        self._engines = engines
        self._default = default
        if self._state == "starting":
            self._state = "ready"

    @property
    def state(self) -> State:
        """Whether calls may start, and if not, why."""
        return self._state

    @property
    def count(self) -> int:
        """Calls that run now."""
        return len(self._calls)

    async def start(self, plan: CallPlan, grant: Grant) -> str:
        """Opens an engine session; returns the call's id. Raises Refused: capacity, limit, starting, draining, engine."""
        self._check(plan)
        call_id = self._ids.mint("call")
        # Every task that is made in here, the engine's among them, logs with the call's id.
        with bound_contextvars(call_id=call_id):
            self._opening[plan.owner] += 1
            try:
                session = await self._open(plan)
            finally:
                self._opening[plan.owner] -= 1
                self._opening += Counter()  # forgets owners that open nothing
            if self._state != "ready" or not self._entered:
                await session.close("draining")
                raise _going_away()
            running = RunningCall(call_id, Call(plan, self._clock.now()), session, self._clock)
            self._calls[call_id] = running
            task = asyncio.create_task(self._run(running), name=call_id)
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            _log.info("call started", grant=grant.value, engine=self._engine_name(plan.engine))
        return call_id

    async def attach(self, call_id: str, surface: Surface) -> None:
        """Joins a client to a call; runs until either side ends. Raises Refused when there is no such call to join."""
        running = self._calls.get(call_id)
        if running is None or running.ending or running.attached:
            raise Refused("unknown_call", "There is no such call to join; it may have ended.")
        with bound_contextvars(call_id=call_id):
            await running.attach(surface)

    async def close(self, call_id: str, reason: str) -> None:
        """Ends a call and waits until all it held is free."""
        running = self._calls.get(call_id)
        if running is not None:
            running.end(GOING_AWAY, reason)
            await running.gone.wait()

    async def drain(self, grace_s: float) -> None:
        """No call starts any more; those that run get up to `grace_s` seconds. Returns when none is left."""
        self._state = "draining"
        calls = list(self._calls.values())
        if calls:
            _log.info("draining", calls=len(calls), grace_s=grace_s)
        for running in calls:
            await running.step(Drain(grace_s))
        for running in calls:
            await running.gone.wait()

    def engine_for(self, name: str | None) -> Engine | None:
        """The engine that `name` picks: its own, or the default one. None before `ready`."""
        return self._engines.get(self._engine_name(name or ""))

    def _engine_name(self, asked: str) -> str:
        return asked if asked in self._engines else self._default

    def _check(self, plan: CallPlan) -> None:
        if self._state == "starting":
            raise Refused("starting", "The server is starting. Try again in some seconds.")
        if self._state == "draining":
            raise _going_away()
        going_on = [running for running in self._calls.values() if not running.ending]
        if len(going_on) + self._opening.total() >= self._limits.max_calls:
            raise Refused("capacity", f"All {self._limits.max_calls} places are taken. Try again later.")
        mine = sum(running.owner == plan.owner for running in going_on) + self._opening[plan.owner]
        if mine >= self._limits.max_calls_per_owner:
            raise Refused("limit", f"This key has {mine} sessions already, and may have no more. Close one first.")

    async def _open(self, plan: CallPlan) -> EngineSession:
        engine = self.engine_for(plan.engine)
        if engine is None:
            raise Refused("starting", "The server has no engine yet. Try again in some seconds.")
        try:
            try:
                return await engine.open(plan.session, plan.seed, self._clock)
            except Refused as refusal:
                ending = [running for running in self._calls.values() if running.ending]
                if refusal.reason != "capacity" or not ending:
                    raise
                await first_of(*(running.gone.wait() for running in ending), timeout_s=HANDOVER_S)
                return await engine.open(plan.session, plan.seed, self._clock)
        except EngineError as problem:
            _log.exception("engine did not open", engine=self._engine_name(plan.engine))
            raise Refused("engine", str(problem)) from problem

    async def _run(self, running: RunningCall) -> None:
        try:
            await running.run()
        except Exception:  # noqa: BLE001 - the top of a task: one call never disturbs another
            _log.exception("call failed")
            running.end(INTERNAL, "Something failed inside the server.")
        finally:
            del self._calls[running.call_id]


def _going_away() -> Refused:
    return Refused("draining", "The server is going away and takes no new session.")
