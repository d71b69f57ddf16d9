"""A participant speaks while the agent is talking. Source: HRP 0.2.0; docs/design.md 5.3."""

from __future__ import annotations

import pytest

from realtime_harness.realtime import events as e
from realtime_harness.realtime import facts as f
from realtime_harness.realtime import orders as o

from .driver import USAGE, Talk


@pytest.fixture
def talking(talk: Talk) -> Talk:
    """The agent is two seconds into an answer of eight that its backend is still making."""
    talk.turn()
    talk.tell(f.ReplyStarted(talk.ref))
    talk.say("One two three four five six seven eight nine ten.", 8000)
    talk.wait(2)
    talk.see()
    return talk


CLOSING = [
    "input_audio_buffer.speech_started",
    "response.output_audio.done",
    "response.output_audio_transcript.done",
    "response.content_part.done",
    "conversation.item.done",
    "response.output_item.done",
]


def test_speech_started_then_the_closing_events_then_one_cancelled_end(talking: Talk) -> None:
    talking.speak_ms(64)
    assert talking.see() == CLOSING
    talking.end("cancelled")
    talking.wait(10)
    assert talking.see() == ["response.done"]
    assert talking.done["status"] == "cancelled"
    assert talking.done["status_details"] == {"type": "cancelled", "reason": "turn_detected"}
    assert talking.done["output"][0]["status"] == "incomplete"


def test_no_audio_follows_the_edge(talking: Talk) -> None:
    talking.speak_ms(32)
    heard = talking.audio_ms
    talking.say("and more", 2000)
    talking.speak_ms(500)
    talking.end("cancelled")
    talking.wait(5)
    assert talking.audio_ms == heard


def test_the_backend_is_told_once(talking: Talk) -> None:
    talking.speak_ms(500)
    assert [order.reply_ref for order in talking.all(o.CancelReply)] == [talking.ref]


def test_the_end_waits_a_moment_for_its_usage_and_no_longer(talking: Talk) -> None:
    talking.speak_ms(32)
    talking.wait(0.25)
    assert not talking.all(e.ResponseDone)
    talking.wait(0.1)
    assert talking.done["usage"] is None
    talking.end("cancelled")
    assert len(talking.all(e.ResponseDone)) == 1


def test_usage_is_kept_on_a_cancelled_response(talking: Talk) -> None:
    talking.speak_ms(32)
    talking.end("cancelled")
    assert talking.done["usage"] == USAGE.to_wire()


def test_usage_is_kept_when_the_backend_had_already_finished(talking: Talk) -> None:
    """The reply's end waited behind paced audio; the barge-in threw it away, and with it the usage."""
    talking.end()
    talking.speak_ms(32)
    assert talking.see()[-1] == "response.done"
    assert (talking.done["status"], talking.done["usage"]) == ("cancelled", USAGE.to_wire())
    assert not talking.all(o.CancelReply)


def test_while_only_response_created_is_out(talk: Talk) -> None:
    talk.turn()
    talk.speak_ms(32)
    talk.end("cancelled")
    assert talk.see()[-3:] == ["response.created", "input_audio_buffer.speech_started", "response.done"]
    assert (talk.done["status"], talk.done["output"]) == ("cancelled", [])


def test_the_interruption_is_answered(talking: Talk) -> None:
    talking.turn()
    assert talking.see()[-1] == "response.created"
    talking.reply()
    talking.wait(2)
    assert [done.response["status"] for done in talking.all(e.ResponseDone)] == ["cancelled", "completed"]


def test_an_interruption_that_ends_within_the_grace_is_answered_at_once(talking: Talk) -> None:
    talking.detection({"type": "server_vad", "silence_duration_ms": 64})
    talking.speak_ms(32)
    talking.quiet_ms(128)
    assert talking.see()[-2:] == ["response.done", "response.created"]


def test_with_interrupt_response_false_the_agent_goes_on_and_answers_after(talking: Talk) -> None:
    talking.detection({"type": "server_vad", "interrupt_response": False})
    talking.turn()
    assert len(talking.all(e.ResponseCreated)) == 1
    talking.end()
    talking.wait(10)
    assert [done.response["status"] for done in talking.all(e.ResponseDone)] == ["completed"]
    assert talking.audio_ms == 8000
    assert len(talking.all(e.ResponseCreated)) == 2


def test_speech_after_the_response_ended_but_while_it_plays(talk: Talk) -> None:
    """Nothing is left to cancel; speech_started comes, and the finished item may still be truncated."""
    talk.turn()
    talk.reply(ms=900)
    talk.wait(0.2)
    assert talk.done["status"] == "completed"
    talk.see()
    talk.speak_ms(32)
    assert talk.see() == ["input_audio_buffer.speech_started"]
    talk.truncate(talk.spoken_item, 200)
    assert talk.see() == ["conversation.item.truncated"]


def test_a_silent_answer_is_not_cancelled(talk: Talk) -> None:
    """HRP cancels when the agent "is talking": a silent answer is not."""
    talk.ask_silently("answer_scale")
    talk.speak_ms(320)
    talk.call("answer_scale", '{"value": 70}')
    talk.end()
    assert talk.done["status"] == "completed"
    assert not talk.all(o.CancelReply)


def test_a_turn_that_ends_during_a_silent_answer_is_answered_after_it(talk: Talk) -> None:
    talk.ask_silently("answer_scale")
    talk.turn()
    assert len(talk.all(e.ResponseCreated)) == 1
    talk.see()
    talk.call("answer_scale", '{"value": 70}')
    talk.end()
    assert talk.see()[-2:] == ["response.done", "response.created"]
    assert talk.last(e.ResponseCreated).response["output_modalities"] == ["audio"]


def test_an_aside_is_not_cancelled(talk: Talk) -> None:
    talk.create(conversation="none")
    talk.say("aside", 2000)
    talk.speak_ms(320)
    talk.end()
    talk.wait(3)
    assert talk.done["status"] == "completed"


def test_the_record_holds_what_went_out_not_what_was_meant(talking: Talk) -> None:
    item = talking.spoken_item
    talking.speak_ms(32)
    said = talking.shown(item)["content"][0]["transcript"]
    assert "One two three".startswith(said[:13])
    assert "nine" not in said
    assert talking.last(o.AddItem).item.text == said


def test_the_next_answer_may_start_with_a_burst(talking: Talk) -> None:
    """The client throws away what it had in hand: the lead begins anew."""
    talking.turn()
    before = talking.audio_ms
    talking.say("Yes?", 4000)
    assert talking.audio_ms - before >= 1000
