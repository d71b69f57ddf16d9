"""The runner: lifetimes, limits and faults, over scripted engines, without sockets and on a virtual clock."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import structlog
from structlog.contextvars import merge_contextvars
from structlog.testing import capture_logs
from tests.fakes.clock import VirtualClock, settle
from tests.fakes.engine import ScriptedEngine, ScriptedSession, answer
from tests.fakes.surface import MemorySurface

from realtime_harness.call import Call, CallLimits, CallPlan, Calls, CallsLimits, Grant, Malformed
from realtime_harness.call import calls as runner
from realtime_harness.errors import EngineError, InvalidEvent, Refused
from realtime_harness.realtime import events as e
from realtime_harness.realtime.session import Session

pytestmark = pytest.mark.anyio
PLAN = CallPlan(session=Session(model="asked"))


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


def ours() -> list[str]:
    """Tasks that run code of ours, by name."""
    return [
        task.get_name()
        for task in asyncio.all_tasks()
        if "realtime_harness" in getattr(getattr(task.get_coro(), "cr_code", None), "co_filename", "")
    ]


class Bench:
    """Calls over one scripted engine, with clients that are tasks."""

    def __init__(self, calls: Calls, clock: VirtualClock, engine: ScriptedEngine) -> None:
        self.calls, self.clock, self.engine = calls, clock, engine
        self.clients: list[asyncio.Task[None]] = []

    async def join(self, plan: CallPlan = PLAN, surface: MemorySurface | None = None) -> MemorySurface:
        call_id = await self.calls.start(plan, Grant.OPEN)
        surface = surface or MemorySurface()
        self.clients.append(asyncio.create_task(self.calls.attach(call_id, surface)))
        await settle()
        return surface


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    """Fails where a task is left when all is over."""
    clock, engine = VirtualClock(), ScriptedEngine()
    async with Calls(clock, CallsLimits(max_calls=10, max_calls_per_owner=3)) as calls:
        calls.ready({"scripted": engine, "other": ScriptedEngine()}, "scripted")
        made = Bench(calls, clock, engine)
        yield made
    await asyncio.gather(*made.clients)
    await settle()
    assert ours() == []
    assert engine.open_now == 0
    assert all(session.closed for session in engine.sessions)


async def test_events_pass_both_ways(bench: Bench) -> None:
    client = await bench.join()
    assert ours(), "while a call runs, its tasks are seen"
    assert client.types == ["session.created"]
    client.put(e.ResponseCreate())
    await settle()
    assert client.types[1] == "response.created" and client.types[-1] == "response.done"
    (session,) = bench.engine.sessions
    assert session.sent == [e.ResponseCreate()]


async def test_a_malformed_event_is_answered_and_what_follows_is_carried_out(bench: Bench) -> None:
    client = await bench.join()
    client.put(Malformed(InvalidEvent("No.", event_id="mine")))
    client.put(e.ResponseCreate())
    await settle()
    assert client.types[1] == "error" and client.types[-1] == "response.done"


async def test_when_the_client_goes_the_engine_session_is_closed(bench: Bench) -> None:
    client = await bench.join()
    client.vanish()
    await settle()
    assert bench.engine.sessions[0].closed
    assert bench.calls.count == 0
    assert client.closed == [(1000, "the client has gone")]


async def test_a_call_that_hangs_in_closing_is_let_go(bench: Bench) -> None:
    client = await bench.join()
    (session,) = bench.engine.sessions
    never = asyncio.Event()
    real_close = session.close

    async def stuck(reason: str) -> None:
        await real_close(reason)
        await never.wait()

    session.close = stuck  # type: ignore[method-assign]
    from realtime_harness.call import running

    timeout_s, running.CLOSE_TIMEOUT_S = running.CLOSE_TIMEOUT_S, 0.01
    try:
        client.vanish()
        await asyncio.wait_for(asyncio.gather(*bench.clients), 5)
    finally:
        running.CLOSE_TIMEOUT_S = timeout_s
    assert bench.calls.count == 0


async def test_an_hour_of_silence_ends_with_the_hour(bench: Bench) -> None:
    client = await bench.join()
    for _ in range(360):
        client.put(e.AudioAppend(audio=bytes(9_600)))
        await bench.clock.advance(9.999)
    assert client.closed == []
    await bench.clock.advance(10)
    assert client.out[-1].type == "error"
    assert client.closed == [(1001, "Your session hit the maximum duration of 60 minutes.")]


async def test_an_idle_call_is_closed(bench: Bench) -> None:
    client = await bench.join()
    await bench.clock.advance(901)
    assert client.closed == [(1000, "Nothing happened for 15 minutes.")]


async def test_a_call_that_nobody_joins_frees_its_place(bench: Bench) -> None:
    await bench.calls.start(PLAN, Grant.OPEN)
    await bench.clock.advance(16)
    assert bench.calls.count == 0 and bench.engine.open_now == 0


async def test_a_crashing_engine_ends_its_own_call_and_no_other(bench: Bench) -> None:
    broken, fine = await bench.join(), await bench.join()
    bench.engine.sessions[0].put(RuntimeError("a secret detail"))
    await settle()
    assert broken.closed == [(1011, "Something failed inside the server.")]
    assert "secret" not in str(broken.out)
    fine.put(e.ResponseCreate())
    await settle()
    assert fine.types[-1] == "response.done" and fine.closed == []


async def test_a_script_that_fails_in_send_ends_only_that_call(bench: Bench) -> None:
    def fail(*_: object) -> None:
        raise EngineError("The socket below is gone.")

    broken, fine = await bench.join(), await bench.join()
    bench.engine.sessions[0].script = fail
    broken.put(e.AudioClear())
    await settle()
    assert broken.closed == [(1011, "The socket below is gone.")]
    assert fine.closed == []


async def test_an_engine_that_is_behind_stops_the_reading_of_its_client_and_of_no_other(bench: Bench) -> None:
    slow, fine = await bench.join(), await bench.join()
    bench.engine.sessions[0].hold = asyncio.Event()
    for _ in range(50):
        slow.put(e.AudioAppend(audio=bytes(480)))
        fine.put(e.AudioAppend(audio=bytes(480)))
    await settle(300)
    assert slow.taken == 1
    assert fine.taken == 50
    bench.engine.sessions[0].hold.set()
    await settle(300)
    assert slow.taken == 50


async def test_a_client_that_does_not_read_is_closed_with_a_reason(bench: Bench) -> None:
    client = await bench.join(surface=MemorySurface(room=5))
    answer(bench.engine.sessions[0])
    await settle()
    ((code, reason),) = client.closed
    assert code == 1008 and "do not read" in reason


async def test_what_the_engine_said_before_it_ended_still_reaches_the_client(bench: Bench) -> None:
    client = await bench.join()
    answer(bench.engine.sessions[0])
    bench.engine.sessions[0].put(e.EngineEnded("engine_failed", "Out of memory."))
    await settle()
    assert client.types[-2:] == ["response.done", "error"]
    assert client.closed == [(1011, "Out of memory.")]


async def test_an_owner_has_no_more_calls_than_allowed_and_others_are_not_touched(bench: Bench) -> None:
    mine = CallPlan(session=Session(), owner="me")
    clients = [await bench.join(mine) for _ in range(3)]
    with pytest.raises(Refused) as refused:
        await bench.calls.start(mine, Grant.OPEN)
    assert refused.value.reason == "limit"
    await bench.join(CallPlan(session=Session(), owner="another"))
    clients[0].vanish()
    await settle()
    await bench.join(mine)


async def test_calls_that_start_at_once_are_counted_too(bench: Bench) -> None:
    mine = CallPlan(session=Session(), owner="me")
    starts = await asyncio.gather(*(bench.calls.start(mine, Grant.OPEN) for _ in range(8)), return_exceptions=True)
    assert sum(isinstance(start, str) for start in starts) == 3


async def test_one_call_more_than_the_engine_holds_is_refused(bench: Bench) -> None:
    bench.engine.capacity = 1
    await bench.join()
    with pytest.raises(Refused) as refused:
        await bench.calls.start(PLAN, Grant.OPEN)
    assert refused.value.reason == "capacity"
    assert bench.calls.count == 1


async def test_a_new_call_gets_the_place_of_one_that_is_just_ending(bench: Bench) -> None:
    bench.engine.capacity = 1
    client = await bench.join()
    client.vanish()
    for _ in range(3):  # the end has begun, and is not over
        await asyncio.sleep(0)
    await bench.join()
    assert bench.engine.open_now == 1


async def test_an_engine_that_does_not_open_is_a_refusal(bench: Bench) -> None:
    bench.engine.problem = EngineError("It did not open in time.")
    with pytest.raises(Refused) as refused:
        await bench.calls.start(PLAN, Grant.OPEN)
    assert refused.value.reason == "engine" and "in time" in str(refused.value)
    bench.engine.problem = None
    await bench.join()


async def test_a_drain_refuses_new_calls_and_ends_running_ones_after_their_grace(bench: Bench) -> None:
    client = await bench.join()
    draining = asyncio.create_task(bench.calls.drain(10))
    await settle()
    assert bench.calls.state == "draining"
    with pytest.raises(Refused) as refused:
        await bench.calls.start(PLAN, Grant.OPEN)
    assert refused.value.reason == "draining"
    client.put(e.ResponseCreate())
    await bench.clock.advance(9)
    assert client.types[-1] == "response.done" and client.closed == []
    await bench.clock.advance(1)
    await draining
    assert client.closed == [(1001, "The server is going away.")]


async def test_a_drain_is_over_as_soon_as_the_last_client_has_gone(bench: Bench) -> None:
    client = await bench.join()
    draining = asyncio.create_task(bench.calls.drain(3_600))
    await settle()
    client.vanish()
    await settle()
    assert draining.done()


async def test_leaving_the_context_ends_every_call() -> None:
    engine, surface = ScriptedEngine(), MemorySurface()
    async with Calls(VirtualClock()) as calls:
        calls.ready({"scripted": engine}, "scripted")
        bench = Bench(calls, VirtualClock(), engine)
        await bench.join(surface=surface)
    await asyncio.gather(*bench.clients)
    assert surface.closed == [(1001, "The server is going away.")]
    assert engine.open_now == 0


async def test_leaving_the_context_waits_for_no_call_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "LEAVE_S", 0.05)
    engine = ScriptedEngine()
    async with Calls(VirtualClock()) as calls:
        calls.ready({"scripted": engine}, "scripted")
        call_id = await calls.start(PLAN, Grant.OPEN)

        async def stuck(_: str) -> None:
            await asyncio.Event().wait()

        engine.sessions[0].close = stuck  # type: ignore[method-assign]
        with capture_logs([merge_contextvars]) as lines:
            await asyncio.wait_for(calls.__aexit__(None, None, None), 5)
    assert ("call did not end in time", call_id) in [(line["event"], line["call_id"]) for line in lines]
    await settle()
    assert ours() == []


async def test_before_it_is_ready_every_call_is_refused() -> None:
    async with Calls(VirtualClock()) as calls:
        assert calls.state == "starting"
        with pytest.raises(Refused) as refused:
            await calls.start(PLAN, Grant.OPEN)
        assert refused.value.reason == "starting"


async def test_a_name_picks_its_engine_and_any_other_the_default(bench: Bench) -> None:
    await bench.calls.start(CallPlan(session=Session(), engine="other"), Grant.OPEN)
    assert bench.engine.open_now == 0
    await bench.calls.start(CallPlan(session=Session(), engine="gpt-realtime"), Grant.OPEN)
    assert bench.engine.open_now == 1


async def test_a_second_client_cannot_join_a_call(bench: Bench) -> None:
    call_id = await bench.calls.start(PLAN, Grant.OPEN)
    bench.clients.append(asyncio.create_task(bench.calls.attach(call_id, MemorySurface())))
    await settle()
    with pytest.raises(Refused):
        await bench.calls.attach(call_id, MemorySurface())


async def test_every_line_that_is_logged_in_a_call_names_it(bench: Bench) -> None:
    class Engine(ScriptedEngine):
        """Has a task of its own for each session, made while it opens, as engines do."""

        async def open(self, *given: Any) -> ScriptedSession:
            opened = await super().open(*given)
            bench.clients.append(asyncio.create_task(self.speak_up(opened)))
            return opened

        async def speak_up(self, opened: ScriptedSession) -> None:
            while not opened.closed:
                await asyncio.sleep(0)
            structlog.get_logger().info("the engine's own")

    bench.calls.ready({"scripted": Engine()}, "scripted")
    with capture_logs([merge_contextvars]) as lines:
        clients = [await bench.join(), await bench.join()]
        for client in clients:
            client.vanish()
        await settle()
    by_call: dict[str, list[str]] = {}
    for line in lines:
        by_call.setdefault(line["call_id"], []).append(line["event"])
    assert [sorted(said) for said in by_call.values()] == [["call ended", "call started", "the engine's own"]] * 2


async def test_no_word_of_one_call_reaches_another(bench: Bench) -> None:
    clients = [await bench.join(CallPlan(session=Session(), owner=str(number))) for number in range(5)]
    for number, session in enumerate(bench.engine.sessions):
        answer(session, text=f"word{number}")
    await settle(200)
    for number, client in enumerate(clients):
        assert f"word{number}" in str(client.out)
        assert not any(f"word{other}" in str(client.out) for other in range(5) if other != number)


def test_the_limits_of_a_plan_are_its_own() -> None:
    call = Call(CallPlan(session=Session(), limits=CallLimits(max_duration_s=60)), 0.0)
    assert call.wake(60)[-1].reason == "Your session hit the maximum duration of 1 minutes."  # type: ignore[union-attr]
