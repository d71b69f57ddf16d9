"""One running call: the machine, its engine session and its surface, joined by three tasks."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import assert_never

import structlog

from realtime_harness.call.machine import (
    INTERNAL,
    Attached,
    Call,
    CallInput,
    ClientGone,
    ClientTooSlow,
    Effect,
    EngineGone,
    Finish,
    ToEngine,
)
from realtime_harness.call.surface import Emit, Surface
from realtime_harness.clock import Alarm
from realtime_harness.errors import EngineError, TooSlow
from realtime_harness.realtime.engine import Clock, EngineSession

CLOSE_TIMEOUT_S = 5.0
_log = structlog.get_logger(__name__)


class RunningCall:
    """Runs until the machine says Finish, then frees the engine session and the surface in bounded time."""

    def __init__(self, call_id: str, call: Call, session: EngineSession, clock: Clock) -> None:
        self.call_id = call_id
        self.owner = call.plan.owner
        self._call = call
        self._session = session
        self._clock = clock
        self._surface: Surface | None = None
        self._finish: Finish | None = None
        self._alarm = Alarm(clock, call.wake_at)
        self._over = asyncio.Event()
        self._attached = asyncio.Event()
        self.gone = asyncio.Event()

    @property
    def ending(self) -> bool:
        """The call is over, though what it held may not be free yet."""
        return self._over.is_set()

    @property
    def attached(self) -> bool:
        """It has, or has had, a surface."""
        return self._surface is not None

    async def attach(self, surface: Surface) -> None:
        """Joins the client to the call; returns when both are done with."""
        self._surface = surface
        await self.step(Attached())
        self._attached.set()
        await self.gone.wait()

    async def run(self) -> None:
        """The call's whole life, from the open engine session on."""
        tasks = [
            asyncio.create_task(self._guard(work, what), name=f"{self.call_id} {what}")
            for work, what in (
                (self._read_client(), "client"),
                (self._read_engine(), "engine"),
                (self._keep_time(), "time"),
            )
        ]
        try:
            await self._over.wait()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self._free()
            self.gone.set()

    async def step(self, x: CallInput) -> None:
        """One input through the machine, and its effects carried out."""
        await self._carry_out(self._call.handle(x, self._clock.now()))

    def end(self, code: int, reason: str) -> None:
        """Ends the call from outside the machine."""
        if self._finish is None:
            self._finish = Finish(code, reason)
        self._over.set()

    async def _carry_out(self, effects: Sequence[Effect]) -> None:
        for effect in effects:
            match effect:
                case ToEngine(event):
                    await self._session.send(event)
                case Emit():
                    await self._deliver(effect)
                case Finish(code, reason):
                    self.end(code, reason)
                case _:
                    assert_never(effect)
        self._alarm.check()

    async def _deliver(self, out: Emit) -> None:
        if self._surface is None:
            return
        try:
            await self._surface.deliver(out)
        except TooSlow:
            await self.step(ClientTooSlow())

    async def _read_client(self) -> None:
        await self._attached.wait()
        if self._surface is None:
            return
        async for x in self._surface.inputs():
            await self.step(x)
        await self.step(ClientGone())

    async def _read_engine(self) -> None:
        await self._attached.wait()
        async for event in self._session.events():
            await self.step(event)
        await self.step(EngineGone())

    async def _keep_time(self) -> None:
        while not self._call.finished:
            await self._alarm.rings()
            await self._carry_out(self._call.wake(self._clock.now()))

    async def _guard(self, work: Coroutine[object, object, None], what: str) -> None:
        """A task's top: what breaks here ends this call, and no other."""
        try:
            await work
        except EngineError as problem:
            await self.step(EngineGone(str(problem)))
        except Exception as problem:  # noqa: BLE001 - the top of a task
            _log.error("call failed", task=what, problem=type(problem).__name__, exc_info=True)
            self.end(INTERNAL, "Something failed inside the server.")

    async def _free(self) -> None:
        finish = self._finish or Finish(INTERNAL, "The call was stopped.")
        _log.info("call ended", code=finish.code, reason=finish.reason)
        # The engine first: who is told that the call is over finds its place free.
        await self._bounded(self._session.close(finish.reason), "engine")
        if self._surface is not None:
            await self._bounded(self._surface.close(finish.code, finish.reason), "surface")

    async def _bounded(self, closing: Coroutine[object, object, None], what: str) -> None:
        try:
            await asyncio.wait_for(closing, CLOSE_TIMEOUT_S)
        except TimeoutError:
            _log.warning("did not close in time", what=what, seconds=CLOSE_TIMEOUT_S)
        except Exception:  # noqa: BLE001 - the top of a task: the other end must still be freed
            _log.exception("did not close", what=what)
