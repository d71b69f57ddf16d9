"""Responses, calls and their ends. Sources: HRP 0.2.0, "Answering questions"; recorded event orders; docs/design.md 5."""

from __future__ import annotations

import pytest

from realtime_harness.realtime import events as e
from realtime_harness.realtime import facts as f
from realtime_harness.realtime import orders as o
from realtime_harness.realtime.pcm import silence

from .driver import USAGE, Talk, tool

CALL = [
    "response.output_item.added",
    "conversation.item.added",
    "response.function_call_arguments.delta",
    "response.function_call_arguments.done",
    "conversation.item.done",
    "response.output_item.done",
]
WRITTEN = [
    "response.output_item.added",
    "conversation.item.added",
    "response.content_part.added",
    "response.output_text.delta",
    "response.output_text.done",
    "response.content_part.done",
    "conversation.item.done",
    "response.output_item.done",
    "response.done",
]


# --- tools and silent answers ---------------------------------------------------------------------------------------


def test_a_tool_turn_comes_in_the_recorded_order(talk: Talk) -> None:
    talk.type("How warm was your partner?")
    talk.create(output_modalities=["text"])
    talk.call("answer_scale", '{"value": 70}')
    talk.end()
    assert talk.see() == [
        "conversation.item.added",
        "conversation.item.done",
        "response.created",
        *CALL,
        "response.done",
    ]
    done = talk.last(e.FunctionArgumentsDone)
    assert (done.name, done.arguments) == ("answer_scale", '{"value": 70}')
    talk.answer(done.call_id)
    assert talk.see() == ["conversation.item.added", "conversation.item.done"]
    talk.create(output_modalities=["text"])
    talk.write("Seventy.")
    talk.end()
    assert talk.see() == ["response.created", *WRITTEN]


def test_a_call_after_words_is_the_second_item(talk: Talk) -> None:
    talk.turn()
    talk.say("One moment.", 400)
    talk.call("send_chat", '{"message": "hi"}')
    talk.end()
    talk.wait(1)
    assert [item["type"] for item in talk.done["output"]] == ["message", "function_call"]
    assert talk.last(e.FunctionArgumentsDone).output_index == 1


def test_a_silent_answer_is_one_call_of_the_forced_tool_and_no_audio(talk: Talk) -> None:
    talk.ask_silently("answer_scale")
    talk.tell(f.PartStarted(talk.ref, 0, "audio"))
    talk.tell(f.AudioOut(talk.ref, 0, silence(500), 0))
    talk.call("send_chat", '{"message": "no"}')
    talk.call("answer_scale", '{"value": 70}')
    talk.call("answer_scale", '{"value": 71}')
    talk.end()
    assert talk.see() == ["response.created", *CALL, "response.done"]
    assert talk.done["output"][0]["arguments"] == '{"value": 70}'
    assert talk.order(o.Reply).plan.tool_choice.name == "answer_scale"  # type: ignore[union-attr]


def test_tool_choice_none_lets_no_call_through(talk: Talk) -> None:
    """The machine passed calls on although the client had asked for none."""
    talk.create(tool_choice="none")
    talk.call("send_chat")
    talk.end()
    assert talk.done["output"] == []


def test_a_tool_that_was_never_declared_is_not_called(talk: Talk) -> None:
    talk.create()
    talk.call("rm_rf")
    talk.end()
    assert talk.done["output"] == []


@pytest.mark.parametrize("output", ['{"accepted":true}', '{"error": "not in range"}'])
def test_an_output_starts_no_reply(talk: Talk, output: str) -> None:
    talk.ask_silently("answer_scale")
    talk.call("answer_scale")
    talk.end()
    talk.answer(talk.last(e.FunctionArgumentsDone).call_id, output)
    talk.wait(60)
    assert len(talk.all(e.ResponseCreated)) == 1


def test_a_context_item_starts_no_reply(talk: Talk) -> None:
    talk.type('[context] {"event":"experimenter_message","text":"Answer now!"}')
    talk.wait(60)
    assert not talk.all(e.ResponseCreated)


def test_an_output_that_comes_while_the_response_is_open_is_taken(talk: Talk) -> None:
    talk.turn()
    talk.call("send_chat")
    talk.answer(talk.last(e.FunctionArgumentsDone).call_id)
    talk.say("Sent.", 400)
    talk.end()
    talk.wait(1)
    assert talk.done["status"] == "completed"
    assert not talk.all(e.ErrorEvent)


def test_a_call_interrupted_by_speech_still_takes_its_output(talk: Talk) -> None:
    talk.turn()
    talk.call("send_chat")
    talk.say("I have sent", 3000)
    talk.speak_ms(64)
    talk.end("cancelled")
    talk.answer(talk.last(e.FunctionArgumentsDone).call_id)
    assert talk.last(e.ItemAdded).item["type"] == "function_call_output"


# --- create and cancel ----------------------------------------------------------------------------------------------


def test_create_while_one_is_active_is_an_error_and_harms_nothing(talk: Talk) -> None:
    talk.create()
    talk.send(e.ResponseCreate(event_id="again"))
    assert talk.error["code"] == "conversation_already_has_active_response"
    assert talk.error["event_id"] == "again"
    talk.reply()
    talk.wait(1)
    assert talk.done["status"] == "completed"


def test_a_response_is_active_until_its_audio_is_out(talk: Talk) -> None:
    talk.create()
    talk.reply(ms=5000)
    talk.create()
    assert talk.error["code"] == "conversation_already_has_active_response"


def test_cancel(talk: Talk) -> None:
    talk.create()
    talk.say("Long.", 5000)
    talk.see()
    talk.cancel(talk.last(e.ResponseCreated).response["id"])
    talk.end("cancelled")
    assert talk.see()[-1] == "response.done"
    assert talk.done["status_details"] == {"type": "cancelled", "reason": "client_cancelled"}
    assert talk.done["usage"] == USAGE.to_wire()


def test_cancel_then_create_at_once(talk: Talk) -> None:
    talk.create()
    old = talk.ref
    talk.say("Long.", 5000)
    talk.cancel()
    talk.see()
    talk.create()
    assert talk.see() == ["response.done", "response.created"]
    talk.say("late audio of the old one", 1000, ref=old)
    talk.end("cancelled", ref=old)
    talk.reply("New.", 400)
    talk.wait(2)
    assert talk.done["output"][0]["content"][0]["transcript"] == "New."
    assert len(talk.all(e.ResponseDone)) == 2


@pytest.mark.parametrize("response_id", [None, "resp_unknown"])
def test_cancel_with_nothing_active_is_an_error(talk: Talk, response_id: str | None) -> None:
    talk.cancel(response_id)
    assert talk.error["code"] == "response_cancel_not_active"


def test_cancel_of_an_old_response_does_not_hit_the_new_one(talk: Talk) -> None:
    talk.create()
    old = talk.last(e.ResponseCreated).response["id"]
    talk.end()
    talk.create()
    talk.cancel(old)
    assert talk.error["code"] == "response_cancel_not_active"
    talk.reply()
    talk.wait(1)
    assert talk.done["status"] == "completed"


def test_a_second_cancel_while_the_first_waits_makes_no_second_end(talk: Talk) -> None:
    talk.create()
    talk.cancel()
    talk.cancel()
    talk.wait(1)
    assert len(talk.all(e.ResponseDone)) == 1


# --- beside the conversation -----------------------------------------------------------------------------------------


def test_one_out_of_band_runs_beside_and_leaves_no_item(talk: Talk) -> None:
    talk.turn()
    spoken = talk.ref
    talk.create(conversation="none", output_modalities=["text"], metadata={"topic": "mood"})
    aside = talk.ref
    talk.see()
    talk.write("cheerful")
    talk.end(ref=aside)
    assert "conversation.item.added" not in talk.see()
    assert talk.done["conversation_id"] is None
    assert talk.done["metadata"] == {"topic": "mood"}
    talk.say("Hello.", 400, ref=spoken)
    talk.end(ref=spoken)
    talk.wait(1)
    assert len(talk.all(e.ResponseDone)) == 2


def test_an_id_used_beside_the_conversation_is_not_free_for_a_client(talk: Talk) -> None:
    """Only items of the conversation were remembered."""
    talk.create(conversation="none")
    talk.say("aside", 200)
    content = [{"type": "input_text", "text": "x"}]
    item = {"type": "message", "id": talk.spoken_item, "role": "user", "content": content}
    talk.send(e.ItemCreate(item=item))
    assert talk.error["code"] == "item_create_duplicate_item_id"


def test_out_of_band_with_its_own_input(talk: Talk) -> None:
    item_id = talk.type("Remember the number 7.")
    talk.create(
        conversation="none",
        input=[
            {"type": "item_reference", "id": item_id},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Which?"}]},
        ],
    )
    context = talk.order(o.Reply).context
    assert context is not None
    assert [item.text for item in context] == ["Remember the number 7.", "Which?"]  # type: ignore[union-attr]


def test_an_empty_input_is_no_context_at_all(talk: Talk) -> None:
    talk.type("Hello")
    talk.create(conversation="none", input=[])
    assert talk.order(o.Reply).context == ()


@pytest.mark.parametrize(
    ("given", "param"),
    [
        ({"type": "item_reference", "id": "item_gone"}, "response.input[0].id"),
        ({"type": "item_reference"}, "response.input[0].id"),
        ({"type": "message", "role": "user", "content": []}, "response.input[0].content"),
        (
            {"type": "message", "role": "user", "content": [{"type": "input_audio", "audio": "AAAA"}]},
            "response.input[0].content[0].type",
        ),
        (
            {"type": "message", "role": "user", "content": [{"type": "input_image", "image_url": "http://x/y.png"}]},
            "response.input[0].content[0].image_url",
        ),
    ],
)
def test_a_bad_input_starts_nothing(talk: Talk, given: dict[str, object], param: str) -> None:
    """Images and audio in `response.input` were passed on unchecked."""
    talk.create(conversation="none", input=[given])
    assert talk.error["param"] == param
    assert not talk.all(o.Reply)


def test_at_most_four_beside(talk: Talk) -> None:
    for _ in range(5):
        talk.create(conversation="none")
    assert talk.error["code"] == "too_many_responses"
    assert len(talk.all(o.Reply)) == 4


def test_an_aside_is_cancelled_by_name_only(talk: Talk) -> None:
    talk.create(conversation="none")
    aside = talk.last(e.ResponseCreated).response["id"]
    talk.cancel()
    assert talk.error["code"] == "response_cancel_not_active"
    talk.cancel(aside)
    talk.wait(1)
    assert talk.done["id"] == aside


# --- overrides ------------------------------------------------------------------------------------------------------


def test_overrides_are_of_one_response(talk: Talk) -> None:
    before = talk.last(e.SessionUpdated).session
    talk.create(instructions="Shout.", output_modalities=["text"], max_output_tokens=50, tools=[tool("other")])
    plan = talk.order(o.Reply).plan
    assert (plan.instructions, plan.modality, plan.max_output_tokens) == ("Shout.", "text", 50)
    assert [declared.name for declared in plan.tools] == ["other"]
    talk.end()
    talk.update()
    assert talk.last(e.SessionUpdated).session == before


@pytest.mark.parametrize(
    ("response", "param"),
    [
        ({"tool_choice": {"type": "function", "name": "nope"}}, "response.tool_choice"),
        ({"output_modalities": ["audio", "text"]}, "response.output_modalities"),
        ({"output_modalities": ["video"]}, "response.output_modalities[0]"),
        ({"output_modalities": []}, "response.output_modalities"),
        ({"max_output_tokens": 0}, "response.max_output_tokens"),
        ({"max_output_tokens": True}, "response.max_output_tokens"),
        ({"tools": [{"type": "mcp", "server_label": "x"}]}, "response.tools[0].type"),
        ({"tools": {}}, "response.tools"),
        ({"conversation": "other"}, "response.conversation"),
        ({"input": "hello"}, "response.input"),
        ({"metadata": {f"k{n}": "v" for n in range(17)}}, "response.metadata"),
        ({"instructions": 5}, "response.instructions"),
        ({"audio": {"output": {"voice": 3}}}, "response.audio.output.voice"),
    ],
)
def test_a_bad_override_is_named_and_starts_nothing(talk: Talk, response: dict[str, object], param: str) -> None:
    talk.create(**response)
    assert talk.error["param"] == param
    assert not talk.all(o.Reply)
    talk.create()
    assert talk.see()[-1] == "response.created"


# --- ends -----------------------------------------------------------------------------------------------------------


def test_a_stalled_engine_fails_the_response_after_a_minute(talk: Talk) -> None:
    talk.turn()
    talk.tell(f.ReplyStarted(talk.ref))
    talk.wait(59)
    assert not talk.all(e.ResponseDone)
    talk.wait(2)
    assert talk.done["status"] == "failed"
    assert talk.done["status_details"]["error"]["code"] == "engine_timeout"
    assert len(talk.all(o.CancelReply)) == 1
    talk.turn()
    talk.reply()
    talk.wait(1)
    assert talk.done["status"] == "completed"


def test_a_reply_that_is_being_made_has_not_stalled(talk: Talk) -> None:
    talk.turn()
    for _ in range(10):
        talk.wait(50)
        talk.say("still", 100)
    talk.end()
    talk.wait(2)
    assert talk.done["status"] == "completed"


def test_long_audio_that_is_all_here_has_not_stalled(talk: Talk) -> None:
    talk.turn()
    talk.reply(ms=90_000)
    talk.end()
    talk.tell(f.ReplyStarted(talk.ref))
    talk.wait(95)
    assert (talk.done["status"], talk.audio_ms) == ("completed", 90_000)


@pytest.mark.parametrize(
    ("status", "details"),
    [
        ("incomplete", {"type": "incomplete", "reason": "max_output_tokens"}),
        (
            "failed",
            {"type": "failed", "error": {"type": "server_error", "code": "failed", "message": "The reply failed."}},
        ),
        ("cancelled", {"type": "cancelled", "reason": "client_cancelled"}),
    ],
)
def test_how_it_ended(talk: Talk, status: str, details: dict[str, object]) -> None:
    talk.create()
    talk.say("So far", 400)
    talk.end(status)
    talk.wait(1)
    assert (talk.done["status"], talk.done["status_details"]) == (status, details)
    assert talk.done["output"][0]["status"] == "incomplete"


def test_facts_after_the_end_change_nothing(talk: Talk) -> None:
    talk.create()
    talk.say("All.", 400)
    talk.end()
    talk.say("More?", 400)
    talk.end("failed")
    talk.wait(2)
    assert talk.audio_ms == 400
    assert [done.response["status"] for done in talk.all(e.ResponseDone)] == ["completed"]


def test_facts_of_no_reply_change_nothing(talk: Talk) -> None:
    for ref in (0, -1, 999):
        talk.say("ghost", 200, ref=ref)
        talk.end(ref=ref)
    assert talk.see() == []


def test_audio_for_a_part_that_was_opened_as_text_is_a_part_of_its_own(talk: Talk) -> None:
    """It went out inside the text part, which then closed without `output_audio.done`."""
    talk.create()
    talk.tell(f.PartStarted(talk.ref, 0, "text"))
    talk.tell(f.TextOut(talk.ref, 0, "hm"))
    talk.tell(f.AudioOut(talk.ref, 0, silence(200), 0))
    talk.end()
    talk.wait(1)
    assert [item["content"][0]["type"] for item in talk.done["output"]] == ["output_text", "output_audio"]


class TestLost:
    """The engine's session is gone."""

    def test_everything_under_way_ends_and_nothing_follows(self, talk: Talk) -> None:
        talk.transcription({"model": "whisper-1"})
        talk.turn()
        talk.say("I was", 3000)
        talk.create(conversation="none")
        talk.see()
        talk.tell(f.Lost("upstream_gone", "The connection broke."))
        kinds = talk.see()
        assert kinds[0] == "conversation.item.input_audio_transcription.failed"
        assert kinds[-1] == "response.done"
        assert "error" not in kinds, "whoever ends the call tells it"
        assert [done.response["status"] for done in talk.all(e.ResponseDone)] == ["failed", "failed"]
        assert talk.last(e.EngineEnded).code == "upstream_gone"
        assert talk.machine.wake_at() is None
        talk.wait(100)
        assert talk.wake() == []
        assert talk.create() == []

    def test_an_owed_reply_is_not_started_any_more(self, talk: Talk) -> None:
        """A turn had ended during a silent answer: `response.created` came after the session's last event."""
        talk.ask_silently("answer_scale")
        talk.turn()
        talk.tell(f.Lost("upstream_gone", "The connection broke."))
        assert isinstance(talk.log[-1][1], e.EngineEnded)
        assert len(talk.all(e.ResponseCreated)) == 1


def test_what_a_backend_refuses_is_an_error_event(talk: Talk) -> None:
    talk.tell(f.OrderRefused(3, "too_large", "The image is too large."))
    assert (talk.error["code"], talk.error["type"]) == ("too_large", "server_error")


def test_opened_twice_is_created_once(talk: Talk) -> None:
    """A second Opened sent a second `session.created`."""
    talk.tell(f.Opened(1, "other"))
    assert talk.see() == []
