"""Seeded defects: each is put into the machine, and the replays or the watch must catch it. A test that cannot fail is one."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from realtime_harness.conversation import machine, replies, response_run
from realtime_harness.conversation.buffer import InputBuffer
from realtime_harness.conversation.ledger import Ledger
from realtime_harness.conversation.outbox import Outbox
from realtime_harness.realtime import events as e
from realtime_harness.realtime.ids import IdMint

from . import test_barge_in, test_conversation_items, test_listening_pause, test_pacing, test_responses
from . import test_spoken_turns as turns
from .chaos import OPS, Chaos
from .driver import Talk, tool
from .test_random_interleavings import COMMON

Defect = Callable[[pytest.MonkeyPatch], None]


def audio_after_cancel(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(response_run.ResponseRun, "cut", lambda self: None)
    patch.setattr(
        replies.Replies, "release", lambda self, now: [running.run.release(now) for running in self._all()] and None
    )


def wrong_id_on_commit(patch: pytest.MonkeyPatch) -> None:
    end_turn = machine.Conversation._end_turn

    def other(self: Any, to_sample: int, now: float) -> None:
        if self._turn is not None:
            self._turn.item_id = self._out.mint("item")
        end_turn(self, to_sample, now)

    patch.setattr(machine.Conversation, "_end_turn", other)


def offsets_not_restarted(patch: pytest.MonkeyPatch) -> None:
    def restart(self: InputBuffer) -> None:
        self.epoch += 1
        self.uncommitted_from = self.appended

    patch.setattr(InputBuffer, "restart", restart)


def odd_byte_leaks_over_the_switch(patch: pytest.MonkeyPatch) -> None:
    restart = InputBuffer.restart

    def kept(self: InputBuffer) -> None:
        odd = self._odd
        restart(self)
        self._odd = odd

    patch.setattr(InputBuffer, "restart", kept)


def two_terminal_events(patch: pytest.MonkeyPatch) -> None:
    done = response_run.ResponseRun.done

    def twice(self: Any, *how: Any) -> None:
        done(self, *how)
        done(self, *how)

    patch.setattr(response_run.ResponseRun, "done", twice)


def reply_after_the_pause(patch: pytest.MonkeyPatch) -> None:
    commit = machine.Conversation._commit

    def replying(self: Any, now: float) -> None:
        commit(self, now)
        self._owe_reply(now)

    patch.setattr(machine.Conversation, "_commit", replying)


def a_part_left_open(patch: pytest.MonkeyPatch) -> None:
    def leave(self: Any, status: str) -> None:
        self._open = None

    patch.setattr(response_run.ResponseRun, "_close_message", leave)


def done_before_speech_started(patch: pytest.MonkeyPatch) -> None:
    """As two other servers do it (reference wire, section 3)."""
    started = machine.Conversation._speech_started

    def late(self: Any, interrupt: bool, now: float) -> None:
        if interrupt:
            self._replies.interrupt(now)
        started(self, interrupt, now)

    patch.setattr(machine.Conversation, "_speech_started", late)


def silent_answers_are_interrupted(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(response_run.ResponseRun, "spoken", property(lambda self: True))


def a_second_active_response(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(replies.Replies, "check_room", lambda self, out_of_band, now: None)


def a_call_answered_twice(patch: pytest.MonkeyPatch) -> None:
    check = Ledger.check_new

    def forgetful(self: Any, item: Any, previous: str | None) -> None:
        self._calls = dict.fromkeys(self._calls, False)
        check(self, item, previous)

    patch.setattr(Ledger, "check_new", forgetful)


def ids_repeat(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(IdMint, "mint", lambda self, kind: f"{kind}_{random.randrange(20):021}")


def no_pacing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(response_run.Playhead, "may_release", lambda self, now: True)


def huge_deltas(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(response_run, "DELTA_BYTES", 96_000)


def the_pacer_spins(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(response_run.Playhead, "may_release", lambda self, now: self.until - now < 0.9)


def truncation_is_not_clamped(patch: pytest.MonkeyPatch) -> None:
    cut = Ledger.cut

    def as_asked(self: Any, item_id: str, index: int, ms: int) -> tuple[int, str]:
        return ms, cut(self, item_id, index, ms)[1]

    patch.setattr(Ledger, "cut", as_asked)


def the_backend_is_pointed_at_what_it_does_not_have(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Ledger, "mirrored_before", Ledger.before)


def errors_without_the_clients_event_id(patch: pytest.MonkeyPatch) -> None:
    event = Outbox.event

    def anonymous(self: Any, kind: Any, **fields: Any) -> None:
        if kind is e.ErrorEvent:
            fields["error"] = {**fields["error"], "event_id": None}
        event(self, kind, **fields)

    patch.setattr(Outbox, "event", anonymous)


def a_refused_update_is_half_done(patch: pytest.MonkeyPatch) -> None:
    update = machine.Conversation._update

    def eager(self: Any, session: dict[str, Any], now: float) -> None:
        if "instructions" in session:
            self._session = self._session.model_copy(update={"instructions": str(session["instructions"])})
        update(self, session, now)

    patch.setattr(machine.Conversation, "_update", eager)


def old_facts_feed_the_new_response(patch: pytest.MonkeyPatch) -> None:
    fact = replies.Replies.fact

    def any_ref(self: Any, x: Any, now: float) -> None:
        fact(self, replace(x, ref=self._active.ref) if self._active else x, now)

    patch.setattr(replies.Replies, "fact", any_ref)


DEFECTS: list[Defect] = [
    audio_after_cancel,
    wrong_id_on_commit,
    offsets_not_restarted,
    odd_byte_leaks_over_the_switch,
    two_terminal_events,
    reply_after_the_pause,
    a_part_left_open,
    done_before_speech_started,
    silent_answers_are_interrupted,
    a_second_active_response,
    a_call_answered_twice,
    ids_repeat,
    no_pacing,
    huge_deltas,
    the_pacer_spins,
    truncation_is_not_clamped,
    the_backend_is_pointed_at_what_it_does_not_have,
    errors_without_the_clients_event_id,
    a_refused_update_is_half_done,
    old_facts_feed_the_new_response,
]


def _talk() -> Talk:
    return Talk(tools=[tool("answer_scale"), tool("send_chat")])


def _refused_update() -> None:
    talk = _talk()
    talk.update(instructions="Changed.", audio={"input": {"turn_detection": {"type": "sonar"}}})
    talk.update()
    assert talk.last(e.SessionUpdated).session["instructions"] == ""


REPLAYS: list[Callable[[], None]] = [
    lambda: turns.test_a_spoken_turn_comes_in_the_recorded_order(_talk()),
    lambda: turns.test_a_stray_commit_is_an_error_and_no_item(_talk(), True),
    lambda: test_listening_pause.test_in_mid_speech_the_commit_is_the_announced_turn_without_a_reply(_talk()),
    lambda: test_listening_pause.test_afterwards_offsets_count_from_the_switch(_talk()),
    lambda: test_listening_pause.test_an_odd_byte_does_not_leak_over_the_switch(_talk()),
    lambda: test_barge_in.test_no_audio_follows_the_edge(_talking()),
    lambda: test_barge_in.test_speech_started_then_the_closing_events_then_one_cancelled_end(_talking()),
    lambda: test_barge_in.test_a_silent_answer_is_not_cancelled(_talk()),
    lambda: test_pacing.test_a_first_burst_of_a_second_then_real_time(_talk()),
    lambda: test_responses.test_create_while_one_is_active_is_an_error_and_harms_nothing(_talk()),
    lambda: test_responses.test_cancel_then_create_at_once(_talk()),
    lambda: test_conversation_items.test_an_item_still_being_spoken_is_cut_to_what_is_out(_talk()),
    lambda: test_conversation_items.test_a_user_turn_after_an_open_answer_is_placed_where_the_backend_can_find_it(_talk()),
    _refused_update,
]  # fmt: skip


def _talking() -> Talk:
    talk = _talk()
    talk.turn()
    talk.say("One two three four five six seven eight nine ten.", 8000)
    talk.wait(2)
    talk.see()
    return talk


def _one_call_two_outputs() -> None:
    talk = _talk()
    talk.create()
    talk.call("send_chat")
    talk.end()
    for _ in range(2):
        talk.answer(talk.last(e.FunctionArgumentsDone).call_id)


def _everything() -> None:
    for replay in (*REPLAYS, _one_call_two_outputs):
        replay()
    for seed in range(6):
        source = random.Random(seed)
        chaos = Chaos()
        chaos.play((source.choice(OPS + COMMON), source.randrange(100_000)) for _ in range(100))
        chaos.rest()


def test_without_a_defect_everything_passes() -> None:
    _everything()


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.__name__)
def test_a_seeded_defect_is_caught(defect: Defect, monkeypatch: pytest.MonkeyPatch) -> None:
    defect(monkeypatch)
    with pytest.raises(AssertionError):
        _everything()
