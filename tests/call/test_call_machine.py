"""The machine of one call, on a clock that is only a number."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime_harness.call import Call, CallLimits, CallPlan, Drain, Emit, Malformed
from realtime_harness.call.machine import (
    Attached,
    ClientGone,
    ClientTooSlow,
    EngineGone,
    Finish,
    ToEngine,
    close_reason,
)
from realtime_harness.errors import InvalidEvent
from realtime_harness.realtime import events as e
from realtime_harness.realtime.session import Session

START = 50.0
LIMITS = CallLimits(max_duration_s=3600, idle_s=900, attach_s=15)


def call(limits: CallLimits = LIMITS, *, attached: bool = True) -> Call:
    made = Call(CallPlan(session=Session(), limits=limits), START)
    if attached:
        made.handle(Attached(), START)
    return made


def created(response_id: str = "resp_1") -> e.ResponseCreated:
    return e.ResponseCreated(event_id="event_1", response={"id": response_id})


def done(response_id: str = "resp_1") -> e.ResponseDone:
    return e.ResponseDone(event_id="event_2", response={"id": response_id, "status": "completed"})


def test_a_client_event_goes_to_the_engine_as_it_is() -> None:
    event = e.AudioAppend(audio=b"\x00\x01", event_id="mine")
    assert call().handle(event, START) == [ToEngine(event)]


def test_a_server_event_goes_to_the_client_as_it_is() -> None:
    event = created()
    assert call().handle(event, START) == [Emit(event)]


@pytest.mark.parametrize(
    "event", [e.UserSaid("item_1", "secret"), e.AssistantHeard("item_2", 100, "secret"), e.Reconnected("why")]
)
def test_an_event_of_the_engine_never_reaches_the_client(event: e.EngineEvent) -> None:
    assert call().handle(event, START) == []


def test_malformed_input_is_an_error_with_the_clients_event_id_and_the_call_goes_on() -> None:
    running = call()
    refusal = InvalidEvent("No.", code="invalid_event", param="type", event_id="mine")
    (effect,) = running.handle(Malformed(refusal), START)
    assert isinstance(effect, Emit) and isinstance(effect.event, e.ErrorEvent)
    assert effect.event.event_id.startswith("event_")
    assert effect.event.error["event_id"] == "mine"
    assert not running.finished


def test_two_errors_have_two_ids() -> None:
    running = call()
    first, second = (running.handle(Malformed(InvalidEvent("No.")), START)[0] for _ in range(2))
    assert isinstance(first, Emit) and isinstance(second, Emit)
    assert first.event.event_id != second.event.event_id


def test_an_hour_is_the_longest_a_session_lasts() -> None:
    running = call()
    for minute in range(60):
        running.handle(e.AudioClear(), START + 60 * minute)
        assert running.wake(START + 60 * minute) == []
    assert running.wake_at() == START + 3600
    error, finish = running.wake(START + 3600)
    assert isinstance(error, Emit) and isinstance(error.event, e.ErrorEvent)
    assert error.event.error["code"] == "session_expired"
    message = "Your session hit the maximum duration of 60 minutes."
    assert error.event.error["message"] == message
    assert finish == Finish(1001, message)


def test_a_call_in_which_nothing_happens_ends_after_a_quarter_of_an_hour() -> None:
    running = call()
    assert running.wake_at() == START + 900
    assert running.wake(START + 899.9) == []
    assert running.wake(START + 900) == [Finish(1000, "Nothing happened for 15 minutes.")]


def test_a_client_event_makes_a_call_not_idle() -> None:
    running = call()
    running.handle(e.AudioClear(), START + 800)
    assert running.wake_at() == START + 1700


def test_a_call_is_not_idle_while_a_response_is_under_way() -> None:
    running = call()
    running.handle(created(), START + 10)
    assert running.wake_at() == START + 3600
    assert running.wake(START + 2000) == []
    running.handle(done(), START + 2000)
    assert running.wake_at() == START + 2900


def test_a_call_that_nobody_joins_ends() -> None:
    running = call(attached=False)
    assert running.wake_at() == START + 15
    assert running.wake(START + 15) == [Finish(1000, "Nobody came.")]


def test_a_drain_gives_a_grace_and_then_ends_the_call() -> None:
    running = call()
    assert running.handle(Drain(10), START + 5) == []
    assert running.wake_at() == START + 15
    assert running.wake(START + 15) == [Finish(1001, "The server is going away.")]


def test_a_second_drain_never_lengthens_the_first() -> None:
    running = call()
    running.handle(Drain(10), START)
    running.handle(Drain(100), START + 1)
    assert running.wake_at() == START + 10


def test_a_drain_without_grace_ends_the_call_at_once() -> None:
    assert call().handle(Drain(0), START) == [Finish(1001, "The server is going away.")]


@pytest.mark.parametrize(("code", "close"), [("engine_failed", 1011), ("session_expired", 1001)])
def test_when_the_engine_ends_the_client_is_told_why(code: str, close: int) -> None:
    error, finish = call().handle(e.EngineEnded(code, "It broke."), START)
    assert isinstance(error, Emit) and isinstance(error.event, e.ErrorEvent)
    assert error.event.error == {
        "type": "server_error", "code": code, "message": "It broke.", "param": None, "event_id": None,
    }  # fmt: skip
    assert finish == Finish(close, "It broke.")


def test_an_engine_that_goes_without_a_word_is_a_failure() -> None:
    assert call().handle(EngineGone(), START)[-1] == Finish(1011, "The engine ended the session.")


def test_a_client_that_goes_ends_the_call_normally() -> None:
    assert call().handle(ClientGone(), START) == [Finish(1000, "the client has gone")]


def test_a_client_that_does_not_read_breaks_the_policy() -> None:
    (finish,) = call().handle(ClientTooSlow(), START)
    assert isinstance(finish, Finish) and finish.code == 1008


def test_after_the_end_nothing_follows_from_anything() -> None:
    running = call()
    running.handle(ClientGone(), START)
    assert running.finished
    assert running.wake_at() is None
    assert running.handle(created(), START) == []
    assert running.handle(e.AudioClear(), START) == []
    assert running.wake(START + 10_000) == []


def test_a_reason_fits_a_close_frame_and_is_cut_at_a_character() -> None:
    assert len(close_reason("ü" * 200).encode()) <= 123
    assert close_reason("ü" * 200) == "ü" * 60


_INPUTS = st.one_of(
    st.builds(e.AudioClear),
    st.sampled_from([created(), done(), created("resp_2"), done("resp_2")]),
    st.just(Malformed(InvalidEvent("No."))),
    st.builds(Drain, st.floats(0, 100)),
    st.just(Attached()),
)


@given(st.lists(st.tuples(_INPUTS, st.floats(0, 500)), max_size=40))
def test_a_call_always_ends_once_and_in_time(steps: list[tuple[object, float]]) -> None:
    running = call()
    now = START
    finishes = 0
    for x, wait in steps:
        now += wait
        effects = [*running.wake(now), *running.handle(x, now)]  # type: ignore[arg-type]
        finishes += sum(isinstance(effect, Finish) for effect in effects)
        if effects and any(isinstance(effect, Finish) for effect in effects):
            assert isinstance(effects[-1], Finish)
    finishes += sum(isinstance(effect, Finish) for effect in running.wake(START + 3600))
    assert finishes == 1 and running.finished
