"""The one session loop: a `Conversation` over any Backend. Every engine's sessions are made of it.

All steps of the machine run on the event loop, one at a time; orders go to the backend in the step that made them.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence

import structlog

from realtime_harness.clock import Alarm
from realtime_harness.conversation import Conversation, Output
from realtime_harness.errors import EngineError
from realtime_harness.realtime import events as e
from realtime_harness.realtime import facts as f
from realtime_harness.realtime import orders as o
from realtime_harness.realtime.engine import Backend, Clock, EngineSession
from realtime_harness.realtime.ids import IdMint
from realtime_harness.realtime.items import Item
from realtime_harness.realtime.pcm import bytes_of_ms
from realtime_harness.realtime.session import Session

OPEN_TIMEOUT_S = 30.0
CLOSE_TIMEOUT_S = 5.0
MAX_EVENTS_AHEAD = 2_000  # then the session waits for its reader: some minutes of speech
APPEND_STEP_BYTES = bytes_of_ms(200)  # a long append is taken in steps, so that no other call waits for it
_log = structlog.get_logger(__name__)


async def open_session(
    backend: Backend,
    session: Session,
    seed: Sequence[Item],
    clock: Clock,
    *,
    on_close: Callable[[], None] | None = None,
    max_session_s: float | None = None,
    ids: IdMint | None = None,
) -> EngineSession:
    """Starts a conversation over `backend` and waits until it is open. `on_close` is called once, at the end.

    After `max_session_s` (`Profile`) the session is over: `rth.engine_ended`, `session_expired`. Raises EngineError when the backend does not open in time; the backend is closed then.
    """
    opened = _ConversationSession(backend, Conversation(session, seed, ids), clock, on_close, max_session_s)
    try:
        opened.start()
        await asyncio.wait_for(opened.ready(), OPEN_TIMEOUT_S)
    except BaseException as reason:
        await opened.close("not opened")
        if isinstance(reason, TimeoutError):
            raise EngineError(f"The engine did not open within {OPEN_TIMEOUT_S:g} s.") from None
        raise
    return opened


class _ConversationSession:
    def __init__(
        self,
        backend: Backend,
        conversation: Conversation,
        clock: Clock,
        on_close: Callable[[], None] | None,
        max_session_s: float | None,
    ) -> None:
        self._backend = backend
        self._conversation = conversation
        self._clock = clock
        self._on_close = on_close
        self._max_session_s = max_session_s
        self._events: asyncio.Queue[e.ServerEvent | e.EngineEvent | None] = asyncio.Queue()
        self._room = asyncio.Event()
        self._room.set()
        self._ready = asyncio.Event()
        self._alarm = Alarm(clock, conversation.wake_at)
        self._tasks: list[asyncio.Task[None]] = []
        self._lost: e.EngineEnded | None = None
        self._closed = False
        self._closing: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._tasks = [
            asyncio.create_task(self._guard(self._pump(), "facts")),
            asyncio.create_task(self._guard(self._keep_time(), "time")),
        ]
        if self._max_session_s is not None:
            self._tasks.append(asyncio.create_task(self._guard(self._expire(self._max_session_s), "expiry")))
        self._carry_out(self._conversation.begin())

    async def ready(self) -> None:
        await self._ready.wait()
        if self._lost is not None:
            raise EngineError(f"The engine ended before it was open: {self._lost.message}")

    async def send(self, event: e.ClientEvent) -> None:
        """Waits when the reader of `events` is behind."""
        await self._room.wait()
        if isinstance(event, e.AudioAppend):
            for start in range(0, len(event.audio), APPEND_STEP_BYTES):
                piece = event.audio[start : start + APPEND_STEP_BYTES]
                self._step(e.AudioAppend(event_id=event.event_id, audio=piece))
                # What the detector said of this audio comes before whatever the client sends next.
                await asyncio.sleep(0)
                await asyncio.sleep(0)
                await self._room.wait()
        else:
            self._step(event)

    async def events(self) -> AsyncIterator[e.ServerEvent | e.EngineEvent]:
        while (event := await self._events.get()) is not None:
            if self._events.qsize() < MAX_EVENTS_AHEAD // 2:
                self._room.set()
            yield event

    async def close(self, reason: str) -> None:
        if self._closing is None:
            self._closed = True
            self._closing = asyncio.create_task(self._close(reason, asyncio.current_task()))
        await asyncio.shield(self._closing)  # a caller that is cancelled leaves nothing behind

    async def _close(self, reason: str, caller: asyncio.Task[object] | None) -> None:
        self._room.set()
        self._ready.set()
        self._ordered(o.Stop(ref=0, reason=reason))
        tasks = [task for task in self._tasks if task is not caller]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        try:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._backend.close(), CLOSE_TIMEOUT_S)
        except Exception:  # noqa: BLE001 - the top of a task
            _log.exception("engine did not close")
        finally:
            self._events.put_nowait(None)
            if self._on_close is not None:
                self._on_close()

    def _step(self, x: e.ClientEvent | f.Fact) -> None:
        if not self._closed:
            self._carry_out(self._conversation.handle(x, self._clock.now()))

    def _carry_out(self, outputs: Sequence[Output]) -> None:
        problem: Exception | None = None
        for output in outputs:
            if isinstance(output, o.Order):
                problem = self._ordered(output) or problem
                continue
            self._events.put_nowait(output)
            if isinstance(output, e.EngineEnded):
                self._lost = output
                self._events.put_nowait(None)
        if self._conversation.opened or self._conversation.ended:
            self._ready.set()
        if self._events.qsize() > MAX_EVENTS_AHEAD:
            self._room.clear()
        if problem is not None and not self._conversation.ended:
            self._step(_failed(problem))
        self._alarm.check()

    def _ordered(self, order: o.Order) -> Exception | None:
        """Sends one order. A backend that breaks ends this session, not whoever caused the order."""
        try:
            self._backend.send(order)
        except Exception as problem:  # noqa: BLE001 - as at the top of a task
            _log.exception("engine took no order", order=type(order).__name__)
            return problem
        return None

    async def _pump(self) -> None:
        async for fact in self._backend.facts():
            await self._room.wait()
            self._step(fact)
        self._step(f.Lost("engine_ended", "The engine's session ended without saying why."))

    async def _keep_time(self) -> None:
        """Wakes the machine when it asked to be woken."""
        while not self._conversation.ended:
            await self._alarm.rings()
            await self._room.wait()
            self._carry_out(self._conversation.wake(self._clock.now()))
            await asyncio.sleep(0)  # however much is due, everyone else has a turn

    async def _expire(self, after_s: float) -> None:
        await self._clock.sleep_until(self._clock.now() + after_s)
        self._step(f.Lost("session_expired", f"Your session hit the maximum duration of {after_s / 60:g} minutes."))

    async def _guard(self, work: Coroutine[object, object, None], what: str) -> None:
        """A task's top: whatever breaks is logged and ends this session, and no other."""
        try:
            await work
        except asyncio.CancelledError:
            raise
        except Exception as problem:  # noqa: BLE001 - the top of a task
            _log.exception("session task failed", what=what)
            self._step(_failed(problem))


def _failed(problem: Exception) -> f.Lost:
    return f.Lost("engine_failed", f"The engine failed: {type(problem).__name__}.")
