"""Every event that we send satisfies the official SDK's own types, strictly: openai-agents checks each one so."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from openai.types.realtime import RealtimeClientEvent, RealtimeServerEvent
from pydantic import TypeAdapter

from realtime_harness.realtime import events as e
from realtime_harness.realtime import facts as f
from realtime_harness.realtime import orders as o
from realtime_harness.realtime.codec import encode_client, encode_server
from realtime_harness.realtime.responses import Usage
from tests.conversation.driver import Talk

from .hrp_examples import EXAMPLES, START, message

SERVER: TypeAdapter[Any] = TypeAdapter(RealtimeServerEvent)
CLIENT: TypeAdapter[Any] = TypeAdapter(RealtimeClientEvent)
NEVER_SENT = {e.TranscriptionDelta}  # words come whole


def everything() -> Talk:
    """A conversation in which every event that we send occurs."""
    talk = Talk()
    talk.update(**{key: value for key, value in START["session"].items() if key != "type"})
    talk.update(
        truncation={"type": "retention_ratio", "retention_ratio": 0.8},
        audio={
            "input": {
                "transcription": {"model": "whisper-1"},
                "turn_detection": {"type": "server_vad", "idle_timeout_ms": 6000},
            }
        },
    )
    talk.turn()
    talk.understood("hello")
    talk.reply("Good morning to you.", 2000)
    talk.wait(3)
    talk.truncate(talk.spoken_item, 800)
    talk.shown(talk.spoken_item)
    talk.type("first", after="root")
    talk.send(e.ItemCreate(item=message({"type": "input_text", "text": "typed"})["item"]))
    talk.send(e.ItemCreate(item=next(m["item"] for m in EXAMPLES if "input_image" in str(m))))
    for item in (
        {"type": "message", "role": "system", "content": [{"type": "input_text", "text": "be kind"}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hi"}]},
        {"type": "message", "role": "assistant", "content": [{"type": "audio", "transcript": "hi"}]},
        {"type": "function_call", "call_id": "call_mine", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "call_mine", "output": "{}"},
    ):
        talk.send(e.ItemCreate(item=item))
    talk.ask_silently("answer_scale")
    talk.call("answer_scale", '{"value": 70}')
    talk.end(usage=Usage(1, 2, 1, 0, 0, 0, 2, 0))
    talk.answer(talk.last(e.FunctionArgumentsDone).call_id)
    talk.create(conversation="none", output_modalities=["text"], metadata={"a": "b"})
    talk.write("aside")
    talk.end("incomplete")
    talk.create()
    talk.say("I was saying", 3000)
    talk.speak_ms(640)
    talk.wait(1)
    talk.quiet_ms(640)
    talk.tell(f.UserTextFailed(talk.order(o.EndTurn).ref, "x", "stt_failed", "No."))
    talk.end("failed", error={"type": "server_error", "code": "rate_limit_exceeded", "message": "Slow down."})
    talk.wait(8)
    talk.cancel()
    talk.wait(1)
    talk.delete(talk.spoken_item)
    talk.clear()
    talk.detection(None)
    talk.detection({"type": "semantic_vad"})
    talk.send(e.AudioCommit(event_id="mine"))
    talk.send(e.SessionUpdate(session={}))
    talk.create(output_modalities=["text"])
    talk.tell(f.Lost("gone", "Gone."))
    return talk


SENT = [output for _, output in everything().log if isinstance(output, e.ServerEventBase)]


@pytest.mark.parametrize("kind", set(get_args(e.ServerEvent)) - NEVER_SENT, ids=lambda kind: kind.type)
def test_a_server_event(kind: type[e.ServerEvent]) -> None:
    mine = [event for event in SENT if isinstance(event, kind)]
    assert mine, f"the script never makes a {kind.type}"
    for event in mine:
        assert SERVER.validate_json(encode_server(event), strict=True).type == kind.type


@pytest.mark.parametrize(
    "event",
    [
        *(e.SessionUpdate(session=example["session"]) for example in EXAMPLES if "session" in example),
        e.AudioAppend(audio=b"\0\0"),
        e.AudioCommit(event_id="mine"),
        e.AudioClear(),
        *(e.ItemCreate(item=example["item"]) for example in EXAMPLES if "item" in example),
        e.ItemRetrieve(item_id="a"),
        e.ItemDelete(item_id="a"),
        e.ItemTruncate(item_id="a", content_index=0, audio_end_ms=5),
        *(e.ResponseCreate(response=example["response"]) for example in EXAMPLES if "response" in example),
        e.ResponseCancel(response_id="resp_x"),
    ],
    ids=lambda event: event.type,
)
def test_a_client_event(event: e.ClientEvent) -> None:
    assert CLIENT.validate_json(encode_client(event), strict=True).type == event.type
