"""The official `openai` SDK, unmodified, on the real local engine. Issue A, "Done when" 2."""

from __future__ import annotations

import asyncio
import base64
import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from PIL import Image

from tests.sdk.line import Line, open_line

pytestmark = [pytest.mark.real, pytest.mark.anyio]
Speech = Callable[[str], bytes]
SERVER_VAD = {"type": "server_vad", "silence_duration_ms": 500, "create_response": True, "interrupt_response": True}
BOTH = pytest.mark.parametrize("sdk", ["sync", "async"])


def tool(name: str, description: str, properties: dict[str, Any]) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}
    return {"type": "function", "name": name, "description": description, "parameters": schema}


# HRP 0.2.0, "Tools": the seven that a study declares.
STRINGS = {"type": "array", "items": {"type": "string"}}
STUDY_TOOLS = [
    tool(
        "send_chat",
        "Type a message in the text chat that the other participant can see.",
        {"message": {"type": "string"}},
    ),
    tool(
        "answer_choice",
        "Answer the on-screen multiple-choice question with one choice, using its exact text.",
        {"choice": {"type": "string"}},
    ),
    tool(
        "answer_choices",
        "Answer the on-screen multiple-choice question that allows several choices, using their exact texts.",
        {"choices": STRINGS},
    ),
    tool(
        "answer_scale", "Answer the on-screen rating scale with a number in its range.", {"value": {"type": "number"}}
    ),
    tool("answer_ranking", "Answer the on-screen ranking with every item text, in your order.", {"order": STRINGS}),
    tool(
        "answer_text",
        "Answer the on-screen question that asks for text (or for words you would say aloud).",
        {"text": {"type": "string"}},
    ),
    tool(
        "answer_dimensions",
        "Answer the on-screen multi-dimension rating with a score for every dimension, keyed by its label.",
        {"scores": {"type": "object", "additionalProperties": {"type": "number"}}},
    ),
]
WEATHER = tool("get_weather", "Get the current weather in a city.", {"city": {"type": "string"}})


@BOTH
async def test_a_spoken_question_gets_a_right_spoken_answer(
    sdk: str, engine_url: str, key: str, speech: Speech, hear: Any
) -> None:
    async with open_line(sdk, engine_url, key) as line:
        await line.configure(audio={"input": {"transcription": {"model": "whisper-1"}}})
        await line.say(speech("What is the capital of France?"))
        done = await line.wait("response.done")
        assert done.event.response.status == "completed"
        assert done.event.response.usage.output_tokens > 0
        assert "paris" in line.said().lower()
        assert "paris" in hear(line.audio()).lower()
        words = (await line.wait("conversation.item.input_audio_transcription.completed")).event.transcript
        assert "capital of france" in words.lower()
        committed = line.of("input_audio_buffer.committed")
        assert [event.item_id for event in line.of("input_audio_buffer.speech_started")] == [
            event.item_id for event in committed
        ]
        assert not line.of("error")


@BOTH
async def test_a_tool_is_called_and_its_result_is_spoken(sdk: str, engine_url: str, key: str, speech: Speech) -> None:
    async with open_line(sdk, engine_url, key) as line:
        await line.configure(tools=[WEATHER], instructions="You are a weather assistant. Answer in one short sentence.")
        await line.say(speech("What is the weather in Paris right now?"))
        call = (await line.wait("response.function_call_arguments.done")).event
        assert call.name == "get_weather"
        assert "paris" in json.loads(call.arguments)["city"].lower()
        first = await line.wait("response.done")
        assert [item.type for item in first.event.response.output] == ["function_call"]
        start = len(line.events)
        await line.output(call.call_id, '{"city": "Paris", "temperature_celsius": 17, "sky": "cloudy"}')
        await line.send(type="response.create")
        await line.wait("response.done", start)
        assert line.audio(start)
        assert any(word in line.said(start).lower() for word in ("17", "seventeen", "cloudy")), line.said(start)


@BOTH
async def test_an_interruption_cancels_the_reply_and_truncates_what_was_heard(
    sdk: str, engine_url: str, key: str, speech: Speech
) -> None:
    async with open_line(sdk, engine_url, key) as line:
        await line.send(
            type="conversation.item.create",
            item={
                "type": "message",
                "role": "user",
                "content": [{"type": "input_text", "text": "Count slowly from one to thirty."}],
            },
        )
        await line.send(
            type="response.create",
            response={
                "instructions": "Say: one, two, three, four, five, six, seven, eight, nine, ten, eleven, twelve, thirteen, fourteen, fifteen, and so on up to thirty."
            },
        )
        await line.wait("response.output_audio.delta")
        start = len(line.events)
        await line.say(speech("Wait, stop for a moment please."))
        edge = next(index for index, seen in enumerate(line.events) if seen.type == "input_audio_buffer.speech_started")
        done = await line.wait("response.done", start)
        response = done.event.response
        assert (response.status, response.status_details.reason) == ("cancelled", "turn_detected")
        after = [
            seen
            for seen in line.events[edge:]
            if seen.type == "response.output_audio.delta" and seen.event.response_id == response.id
        ]
        assert not after
        item_id = response.output[0].id
        await line.send(type="conversation.item.truncate", item_id=item_id, content_index=0, audio_end_ms=700)
        cut = (await line.wait("conversation.item.truncated")).event
        assert (cut.item_id, cut.audio_end_ms) == (item_id, 700)
        await line.send(type="conversation.item.retrieve", item_id=item_id)
        kept = (await line.wait("conversation.item.retrieved")).event.item.content[0].transcript
        assert len(kept.split()) <= 6
        await line.wait("response.created", start)  # the interruption itself is answered
        assert not line.of("error")


def picture(colour: str, kind: str) -> str:
    out = io.BytesIO()
    Image.new("RGB", (320, 240), colour).save(out, kind)
    return f"data:image/{kind.lower()};base64,{base64.b64encode(out.getvalue()).decode()}"


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
async def test_six_colours_are_seen(kind: str, engine_url: str, key: str) -> None:
    sdk = "sync" if kind == "JPEG" else "async"
    for colour in ("red", "green", "blue", "yellow", "black", "white"):
        async with open_line(sdk, engine_url, key) as line:
            line.muted = True
            event = {
                "event": "screen",
                "type": "showimage",
                "text": "Look at this picture.",
                "images": ["attached: the image (a square)"],
            }
            await line.context(json.dumps(event), picture(colour, kind))
            question = {"type": "input_text", "text": "Which colour fills the picture?"}
            await line.send(
                type="conversation.item.create", item={"type": "message", "role": "user", "content": [question]}
            )
            await line.send(type="response.create")
            await line.wait("response.done", timeout_s=40)
            assert colour in line.said().lower(), (colour, kind, line.said())


QUESTIONS = [
    (
        "answer_choice",
        "Which fruit do you like best?\nOptions:\n- Apple\n- Banana\n- Cherry",
        lambda v: v["choice"] in ("Apple", "Banana", "Cherry"),
    ),
    (
        "answer_choices",
        "Which of these do you drink? Choose all that apply.\nOptions:\n- Tea\n- Coffee\n- Milk",
        lambda v: v["choices"] and set(v["choices"]) <= {"Tea", "Coffee", "Milk"},
    ),
    (
        "answer_scale",
        "Question: How warm was your partner?\nThis is a visual analog rating scale from 0 to 100.\nRespond with a number between 0 and 100.",
        lambda v: 0 <= v["value"] <= 100,
    ),
    (
        "answer_ranking",
        "Rank these from best to worst.\nItems:\n- Summer\n- Winter\n- Spring",
        lambda v: sorted(v["order"]) == ["Spring", "Summer", "Winter"],
    ),
    ("answer_text", "In one sentence, describe your partner.", lambda v: len(v["text"].strip()) > 0),
    (
        "answer_dimensions",
        "Rate your partner on each dimension from 0 to 100.\nDimensions:\n- Warmth\n- Competence",
        lambda v: (
            set(v["scores"]) == {"Warmth", "Competence"} and all(0 <= score <= 100 for score in v["scores"].values())
        ),
    ),
]


@BOTH
async def test_every_answer_tool_is_called_silently_and_once(sdk: str, engine_url: str, key: str) -> None:
    async with open_line(sdk, engine_url, key) as line:
        await line.configure(tools=STUDY_TOOLS, instructions="You are Sam, a participant in a study. You are friendly.")
        for name, question, fits in QUESTIONS:
            event = {"event": "question", "tool": name, "question": question, "duringVideo": False}
            await line.context(json.dumps(event))
            call = await line.silent_answer(name)
            arguments = json.loads(call.arguments)
            assert fits(arguments), (name, arguments)
            await line.output(call.call_id, '{"accepted":true}')
        await line.context('{"event":"typed","speaker":"Alex","said":"hello? are you there?"}')
        call = await line.silent_answer("send_chat")
        assert json.loads(call.arguments)["message"].strip()
        await line.output(call.call_id, '{"accepted":true}')
        created = len(line.of("response.created"))
        await asyncio.sleep(1.5)
        assert len(line.of("response.created")) == created, "an accepted answer is not followed by a response"
        assert not line.of("error")


@BOTH
async def test_a_listening_pause_in_mid_speech_keeps_the_turn_and_restarts_the_clock(
    sdk: str, engine_url: str, key: str, speech: Speech
) -> None:
    async with open_line(sdk, engine_url, key) as line:
        await line.configure(audio={"input": {"turn_detection": SERVER_VAD, "transcription": None}})
        await asyncio.sleep(0.5)
        cut_off = speech("I think that we should first of all go to the")
        await line.say(cut_off[: len(cut_off) // 2 // 2 * 2])
        started = (await line.wait("input_audio_buffer.speech_started")).event
        line.muted = True
        await line.turn_detection(None)
        await line.send(type="input_audio_buffer.commit")
        committed = (await line.wait("input_audio_buffer.committed")).event
        assert committed.item_id == started.item_id
        await asyncio.sleep(1.5)
        assert not line.of("response.created")
        await line.turn_detection(SERVER_VAD)
        start = len(line.events)
        line.muted = False
        await line.say(bytes(24_000) + speech("What is two plus two?"))
        again = (await line.wait("input_audio_buffer.speech_started", start)).event
        assert again.item_id != started.item_id
        assert again.audio_start_ms < 1_000  # half a second of silence, counted from the switch
        await line.wait("response.done", start)
        assert not line.of("error")


@BOTH
async def test_a_silent_listening_pause_leaves_no_trace(sdk: str, engine_url: str, key: str, speech: Speech) -> None:
    async with open_line(sdk, engine_url, key) as line:
        await line.configure(audio={"input": {"turn_detection": SERVER_VAD}})
        await asyncio.sleep(1.0)
        line.muted = True
        await line.turn_detection(None)
        await asyncio.sleep(0.5)
        await line.turn_detection(SERVER_VAD)
        line.muted = False
        assert not line.of("input_audio_buffer.committed")
        assert not line.of("conversation.item.added")
        await line.say(speech("What is two plus two?"))
        done = await line.wait("response.done")
        assert done.event.response.status == "completed"
        assert len(line.of("input_audio_buffer.committed")) == 1


@BOTH
async def test_a_change_of_instructions_keeps_everything_else(sdk: str, engine_url: str, key: str) -> None:
    async with open_line(sdk, engine_url, key) as line:
        line.muted = True
        before = await line.configure(
            tools=STUDY_TOOLS,
            instructions="You are Sam.",
            audio={
                "input": {"turn_detection": {"type": "semantic_vad", "eagerness": "low"}},
                "output": {"voice": "cedar", "speed": 1.1},
            },
        )
        after = await line.configure(
            instructions="You are Sam. In this part, whatever you are asked, you answer with the word banana."
        )
        assert after.instructions.endswith("banana.")
        assert before.model_dump(exclude={"instructions"}) == after.model_dump(exclude={"instructions"})
        question = {"type": "input_text", "text": "What is your favourite fruit?"}
        await line.send(
            type="conversation.item.create", item={"type": "message", "role": "user", "content": [question]}
        )
        await line.send(type="response.create", response={"tool_choice": "none"})
        await line.wait("response.done", timeout_s=40)
        assert "banana" in line.said().lower()


async def test_two_lines_do_not_mix(engine_url: str, key: str, speech: Speech) -> None:
    async def ask(question: str) -> Line:
        async with open_line("async", engine_url, key) as line:
            await line.say(speech(question))
            await line.wait("response.done", timeout_s=40)
            return line

    france, italy = await asyncio.gather(ask("What is the capital of France?"), ask("What is the capital of Italy?"))
    assert "paris" in france.said().lower()
    assert "rome" in italy.said().lower()
    assert not {seen.event.event_id for seen in france.events} & {seen.event.event_id for seen in italy.events}
