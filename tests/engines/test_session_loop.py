"""The one session loop, over a backend that the test plays, in virtual time. Source: docs/design.md 4."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.conversation.virtual_time import LoopClock, run
from tests.fakes.surface import MemorySurface

from realtime_harness.call import CallPlan, Calls, Grant
from realtime_harness.engines import session as loop
from realtime_harness.engines.session import open_session
from realtime_harness.errors import EngineError
from realtime_harness.realtime import events as e
from realtime_harness.realtime import facts as f
from realtime_harness.realtime import orders as o
from realtime_harness.realtime.engine import EngineSession, Profile
from realtime_harness.realtime.pcm import silence
from realtime_harness.realtime.responses import Usage
from realtime_harness.realtime.session import Session


class FakeBackend:
    """Opens at once and answers every Reply; what it may do wrong are its arguments."""

    def __init__(
        self,
        *,
        opens: bool = True,
        breaks_on: type[o.Order] | None = None,
        close_takes_s: float = 0.0,
        close_breaks: bool = False,
        answers_ms: int = 400,
    ) -> None:
        self.orders: list[o.Order] = []
        self.told: asyncio.Queue[f.Fact | Exception | None] = asyncio.Queue()
        self.closed = 0
        self._opens = opens
        self._breaks_on = breaks_on
        self._close_takes_s = close_takes_s
        self._close_breaks = close_breaks
        self._answers_ms = answers_ms

    def send(self, order: o.Order) -> None:
        if self._breaks_on is not None and isinstance(order, self._breaks_on):
            raise RuntimeError("the backend broke")
        self.orders.append(order)
        match order:
            case o.Open() if self._opens:
                self.tell(f.Opened(order.ref, "fake"))
            case o.Reply() if self._answers_ms:
                self.tell(f.TextOut(order.ref, 0, "Yes."), f.AudioOut(order.ref, 0, silence(self._answers_ms), 4))
                self.tell(f.ReplyEnded(order.ref, "completed", Usage(1, 1)))
            case o.CancelReply():
                self.tell(f.ReplyEnded(order.reply_ref, "cancelled", Usage(1, 1)))
            case _:
                pass

    def tell(self, *facts: f.Fact | Exception | None) -> None:
        for fact in facts:
            self.told.put_nowait(fact)

    async def facts(self) -> AsyncIterator[f.Fact]:
        while (fact := await self.told.get()) is not None:
            if isinstance(fact, Exception):
                raise fact
            yield fact

    async def close(self) -> None:
        self.closed += 1
        await asyncio.sleep(self._close_takes_s)
        if self._close_breaks:
            raise RuntimeError("it broke on closing too")


async def opened(backend: FakeBackend, **more: Any) -> EngineSession:
    return await open_session(backend, Session(), (), LoopClock(), **more)


async def until(session: EngineSession, kind: type[Any]) -> list[Any]:
    """Events up to the first of that kind."""
    seen: list[Any] = []
    async for event in session.events():
        seen.append(event)
        if isinstance(event, kind):
            return seen
    raise AssertionError(f"no {kind.__name__} came; seen: {[type(event).__name__ for event in seen]}")


async def rest(session: EngineSession) -> list[Any]:
    return [event async for event in session.events()]


def test_a_session_opens_answers_and_closes() -> None:
    async def story() -> None:
        backend = FakeBackend()
        session = await opened(backend)
        await session.send(e.ResponseCreate())
        seen = await until(session, e.ResponseDone)
        assert isinstance(seen[0], e.SessionCreated)
        assert sum(isinstance(event, e.OutputAudioDelta) for event in seen) == 4
        await session.close("done")
        assert isinstance(backend.orders[-1], o.Stop)
        assert backend.closed == 1
        assert await rest(session) == []

    run(story())


def test_audio_is_released_at_the_pace_of_speech() -> None:
    async def story() -> None:
        session = await opened(FakeBackend(answers_ms=10_000))
        began = LoopClock().now()
        await session.send(e.ResponseCreate())
        await until(session, e.ResponseDone)
        assert 8.7 <= LoopClock().now() - began <= 9.1
        await session.close("done")

    run(story())


def test_a_backend_that_does_not_open_is_given_up_after_half_a_minute() -> None:
    async def story() -> None:
        backend, closed = FakeBackend(opens=False), []
        began = LoopClock().now()
        with pytest.raises(EngineError, match="30 s"):
            await opened(backend, on_close=lambda: closed.append(1))
        assert LoopClock().now() - began == pytest.approx(loop.OPEN_TIMEOUT_S)
        assert (backend.closed, closed) == (1, [1])

    run(story())


def test_a_backend_that_is_lost_before_it_opens_says_why() -> None:
    async def story() -> None:
        backend = FakeBackend(opens=False)
        backend.tell(f.Lost("bad_key", "The provider refused the key."))
        with pytest.raises(EngineError, match="refused the key"):
            await opened(backend)
        assert backend.closed == 1

    run(story())


@pytest.mark.parametrize("broken", [o.Open, o.AddItem])
def test_a_backend_that_breaks_while_it_opens_leaves_nothing_behind(broken: type[o.Order]) -> None:
    """The first order was sent outside the guard: both tasks stayed for ever."""

    async def story() -> None:
        from realtime_harness.realtime.items import ContentPart, MessageItem

        seed = [MessageItem(role="user", content=(ContentPart(type="input_text", text="hi"),))]
        backend = FakeBackend(breaks_on=broken, opens=False)
        with pytest.raises(EngineError):
            await open_session(backend, Session(), seed, LoopClock())
        assert backend.closed == 1

    run(story())


def test_whoever_gives_up_while_it_opens_leaves_nothing_behind() -> None:
    async def story() -> None:
        backend = FakeBackend(opens=False)
        opening = asyncio.create_task(opened(backend))
        await asyncio.sleep(1)
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening
        assert backend.closed == 1

    run(story())


@pytest.mark.parametrize("at_once", [False, True])
def test_close_may_be_called_twice(at_once: bool) -> None:
    async def story() -> None:
        backend, closed = FakeBackend(close_takes_s=1), []
        session = await opened(backend, on_close=lambda: closed.append(1))
        if at_once:
            await asyncio.gather(session.close("a"), session.close("b"))
        else:
            await session.close("a")
            await session.close("b")
        assert (backend.closed, closed) == (1, [1])
        await session.send(e.AudioCommit())
        await session.send(e.AudioAppend(audio=bytes(100_000)))

    run(story())


def test_a_close_that_is_cancelled_still_frees_the_backend() -> None:
    """Cancelled in the middle, it never closed the backend, and a second close did nothing."""

    async def story() -> None:
        backend = FakeBackend(close_takes_s=1)
        session = await opened(backend)
        closing = asyncio.create_task(session.close("shutdown"))
        await asyncio.sleep(0)
        closing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing
        await session.close("again")
        assert backend.closed == 1

    run(story())


@pytest.mark.parametrize("trouble", [{"close_takes_s": 3600.0}, {"close_breaks": True}, {"breaks_on": o.Stop}])
def test_a_backend_that_will_not_close_holds_nobody_up(trouble: dict[str, Any]) -> None:
    async def story() -> None:
        closed: list[int] = []
        session = await opened(FakeBackend(**trouble), on_close=lambda: closed.append(1))
        began = LoopClock().now()
        await session.close("done")
        assert LoopClock().now() - began <= loop.CLOSE_TIMEOUT_S + 0.1
        assert closed == [1]

    run(story())


def test_a_backend_that_breaks_on_an_order_ends_its_session_and_not_its_client() -> None:
    """The exception came out of `send`, into whoever served the client."""

    async def story() -> None:
        session = await opened(FakeBackend(breaks_on=o.Reply))
        await session.send(e.ResponseCreate())
        seen = await until(session, e.EngineEnded)
        assert [event.response["status"] for event in seen if isinstance(event, e.ResponseDone)] == ["failed"]
        assert seen[-1].code == "engine_failed"
        assert await rest(session) == []
        await session.send(e.ResponseCreate())
        await session.close("done")

    run(story())


@pytest.mark.parametrize(
    ("fact", "code"),
    [(RuntimeError("boom"), "engine_failed"), (None, "engine_ended"), (f.Lost("gone", "Gone."), "gone")],
)
def test_a_backend_that_ends_in_any_way_ends_the_session_with_a_reason(fact: Any, code: str) -> None:
    """When the facts just stopped, the session stayed and was silent for ever."""

    async def story() -> None:
        backend = FakeBackend()
        session = await opened(backend)
        backend.tell(fact)
        seen = await until(session, e.EngineEnded)
        assert seen[-1].code == code
        assert await rest(session) == []
        await session.close("done")
        assert backend.closed == 1

    run(story())


def test_an_error_never_shows_what_the_exception_said() -> None:
    async def story() -> None:
        backend = FakeBackend()
        session = await opened(backend)
        backend.tell(RuntimeError("Bearer sk-secret"))
        seen = await until(session, e.EngineEnded)
        assert "sk-secret" not in str(seen)
        await session.close("done")

    run(story())


def test_what_a_dead_session_is_sent_piles_up_nowhere() -> None:
    async def story() -> None:
        backend = FakeBackend()
        session = await opened(backend)
        backend.tell(None)
        await until(session, e.EngineEnded)
        for _ in range(100):
            await session.send(e.AudioAppend(audio=bytes(960)))
        assert session._events.qsize() <= 1  # type: ignore[attr-defined]
        await session.close("done")

    run(story())


def test_a_reader_that_does_not_read_stops_whoever_sends_and_no_one_else() -> None:
    async def story() -> None:
        stuck, other = await opened(FakeBackend()), await opened(FakeBackend())
        sent = 0

        async def flood() -> None:
            nonlocal sent
            while True:
                await stuck.send(e.AudioClear())
                sent += 1

        flooding = asyncio.create_task(flood())
        await asyncio.sleep(5)
        assert loop.MAX_EVENTS_AHEAD <= sent <= loop.MAX_EVENTS_AHEAD + 2
        await other.send(e.ResponseCreate())
        await until(other, e.ResponseDone)
        reader = stuck.events()
        for _ in range(loop.MAX_EVENTS_AHEAD):
            await anext(reader)
        await asyncio.sleep(1)
        assert sent > loop.MAX_EVENTS_AHEAD + 2
        flooding.cancel()
        await asyncio.gather(flooding, return_exceptions=True)
        await stuck.close("done")
        await other.close("done")

    run(story())


def test_closing_frees_a_sender_that_waits_for_its_reader() -> None:
    async def story() -> None:
        session = await opened(FakeBackend())
        for _ in range(loop.MAX_EVENTS_AHEAD):
            await session.send(e.AudioClear())
        waiting = asyncio.create_task(session.send(e.AudioAppend(audio=bytes(1_000_000))))
        await asyncio.sleep(1)
        assert not waiting.done()
        await session.close("done")
        await asyncio.wait_for(waiting, 1)

    run(story())


def test_a_long_append_is_taken_in_steps_and_others_have_turns_between() -> None:
    async def story() -> None:
        backend = FakeBackend()
        long, other = await opened(backend), await opened(FakeBackend())
        sending = asyncio.create_task(long.send(e.AudioAppend(audio=bytes(48_000 * 60 + 1))))
        turns = 0
        while not sending.done():
            await other.send(e.AudioClear())
            await asyncio.sleep(0)
            turns += 1
        assert turns >= 300
        pieces = [order.pcm for order in backend.orders if isinstance(order, o.Audio)]
        assert max(map(len, pieces)) <= loop.APPEND_STEP_BYTES
        assert sum(map(len, pieces)) == 48_000 * 60
        await long.close("done")
        await other.close("done")

    run(story())


def test_what_the_detector_says_of_audio_comes_before_what_the_client_sends_next() -> None:
    class Detecting(FakeBackend):
        def send(self, order: o.Order) -> None:
            super().send(order)
            if isinstance(order, o.Audio) and order.detect:
                self.tell(f.SpeechProbability(order.epoch, 768, 0.9))

    async def story() -> None:
        session = await opened(Detecting())
        await session.send(e.AudioAppend(audio=silence(40)))
        await session.send(e.SessionUpdate(session={"type": "realtime", "audio": {"input": {"turn_detection": None}}}))
        await session.send(e.AudioCommit())
        seen = await until(session, e.AudioCommitted)
        started = next(event for event in seen if isinstance(event, e.SpeechStarted))
        assert seen[-1].item_id == started.item_id
        await session.close("done")

    run(story())


def test_one_byte_after_another_is_one_sample() -> None:
    async def story() -> None:
        backend = FakeBackend()
        session = await opened(backend)
        for byte in (b"\1", b"\2", b"\3"):
            await session.send(e.AudioAppend(audio=byte))
        assert [order.pcm for order in backend.orders if isinstance(order, o.Audio)] == [b"\1\2"]
        await session.close("done")

    run(story())


def test_a_refusal_comes_back_with_the_clients_event_id() -> None:
    async def story() -> None:
        session = await opened(FakeBackend())
        await session.send(e.AudioCommit(event_id="mine"))
        assert (await until(session, e.ErrorEvent))[-1].error["event_id"] == "mine"
        await session.close("done")

    run(story())


def test_a_stalled_reply_is_ended_by_the_clock_alone() -> None:
    async def story() -> None:
        session = await opened(FakeBackend(answers_ms=0))
        began = LoopClock().now()
        await session.send(e.ResponseCreate())
        done = (await until(session, e.ResponseDone))[-1]
        assert done.response["status"] == "failed"
        assert LoopClock().now() - began == pytest.approx(60)
        await session.close("done")

    run(story())


@pytest.mark.parametrize("answering", [False, True])
def test_a_session_lasts_as_long_as_its_profile_says_and_then_says_so(answering: bool) -> None:
    async def story() -> None:
        backend = FakeBackend(answers_ms=40_000)
        began = LoopClock().now()
        session = await opened(backend, max_session_s=30.0)
        if answering:
            await session.send(e.ResponseCreate())
        seen = await until(session, e.EngineEnded)
        assert LoopClock().now() - began == pytest.approx(30)
        assert seen[-1] == e.EngineEnded("session_expired", "Your session hit the maximum duration of 0.5 minutes.")
        assert sum(isinstance(event, e.ResponseDone) for event in seen) == answering
        assert await rest(session) == []
        await session.close("done")
        assert len(asyncio.all_tasks()) == 1

    run(story())


def test_a_call_whose_session_is_over_is_told_once_and_closed_as_going_away() -> None:
    class Engine:
        profile = Profile("fake", "fake", max_session_s=30.0)

        async def open(self, session: Session, seed: Any, clock: Any) -> EngineSession:
            return await open_session(FakeBackend(), session, seed, clock, max_session_s=self.profile.max_session_s)

        async def close(self) -> None:
            pass

    async def story() -> None:
        client = MemorySurface()
        async with Calls(LoopClock()) as calls:
            calls.ready({"fake": Engine()}, "fake")
            await calls.attach(await calls.start(CallPlan(Session()), Grant.OPEN), client)
        assert client.types == ["session.created", "error"]
        assert client.out[-1].error["code"] == "session_expired"  # type: ignore[union-attr]
        assert client.closed == [(1001, "Your session hit the maximum duration of 0.5 minutes.")]

    run(story())


def test_a_session_without_such_a_limit_goes_on() -> None:
    async def story() -> None:
        session = await opened(FakeBackend())
        await asyncio.sleep(100_000)
        await session.send(e.ResponseCreate())
        await until(session, e.ResponseDone)
        await session.close("done")

    run(story())


def test_two_hundred_sessions_one_after_another_leave_nothing() -> None:
    async def story() -> None:
        for _ in range(200):
            session = await opened(FakeBackend(answers_ms=20))
            await session.send(e.ResponseCreate())
            await until(session, e.ResponseDone)
            await session.close("done")
            assert len(asyncio.all_tasks()) == 1

    run(story())
