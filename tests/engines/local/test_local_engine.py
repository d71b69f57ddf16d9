"""The engine: sessions over one set of models, as many as fit, and nothing left of them."""

from __future__ import annotations

import asyncio
import io
import threading
from collections.abc import AsyncIterator, Callable, Iterator

import orjson
import pybase64
import pytest
from PIL import Image
from tests.engines.local.stage import Judge, Listener, Mind, Speaker, in_loop, see

from realtime_harness.clock import SystemClock
from realtime_harness.engines.local.engine import LocalEngine
from realtime_harness.engines.local.workshop import Workshop
from realtime_harness.errors import Refused
from realtime_harness.realtime import events as e
from realtime_harness.realtime.pcm import bytes_of_ms, silence
from realtime_harness.realtime.session import Session

POOLS = ("hearing", "voice", "sight")


def engine(capacity: int = 2, mind: Mind | None = None) -> LocalEngine:
    return LocalEngine(Workshop(Listener(), Judge(), Speaker(), see, mind or Mind()), capacity)


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith(POOLS)]


async def next_of(events: AsyncIterator[object], kind: type) -> object:
    async for event in events:
        if isinstance(event, kind):
            return event
    raise AssertionError(f"no {kind.__name__} came")


@in_loop
async def test_one_session_more_than_fits_is_refused_until_another_ends() -> None:
    local = engine(capacity=2)
    one = await local.open(Session(), (), SystemClock())
    await local.open(Session(), (), SystemClock())

    with pytest.raises(Refused, match="takes 2 calls at once") as refusal:
        await local.open(Session(), (), SystemClock())
    assert refusal.value.reason == "capacity"

    await one.close("done")
    await local.open(Session(), (), SystemClock())
    await local.close()


@in_loop
async def test_a_closed_engine_leaves_no_thread_and_no_task() -> None:
    mind = Mind()
    local = engine(mind=mind)
    session = await local.open(Session(), (), SystemClock())
    events = session.events()
    await session.send(e.ResponseCreate(response={}))
    await next_of(events, e.ResponseDone)
    assert threads()

    await local.close()
    await local.close()

    assert threads() == []
    assert mind.closed >= 1
    assert not [event async for event in events if isinstance(event, e.EngineEnded)]


@in_loop
async def test_an_opening_that_is_given_up_gives_its_place_back() -> None:
    local = engine(capacity=1)
    opening = asyncio.create_task(local.open(Session(), (), SystemClock()))
    await asyncio.sleep(0.01)
    opening.cancel()
    await asyncio.gather(opening, return_exceptions=True)

    await local.open(Session(), (), SystemClock())
    await local.close()


@in_loop
async def test_sessions_go_by_the_minds_name_and_declare_what_they_can() -> None:
    local = engine()
    session = await local.open(Session(), (), SystemClock())

    created = await next_of(session.events(), e.SessionCreated)

    assert isinstance(created, e.SessionCreated)
    assert created.session["model"] == local.profile.model == "local/fake"
    assert local.profile.forced_tool == local.profile.turn_detection == "native"
    await local.close()


# --- with the models --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def answers() -> Iterator[Callable[[list[e.ClientEvent]], list[object]]]:
    """What a session of its own answers to these events, up to the end of its response."""
    from realtime_harness.engines.local import load
    from realtime_harness.minds.embedded import EmbeddedMind
    from realtime_harness.models import ModelStore
    from realtime_harness.models.defaults import SMALL_MIND

    async def loaded() -> LocalEngine:
        return await load(await EmbeddedMind.load(ModelStore().file(SMALL_MIND)), capacity=1)

    async def answer(sent: list[e.ClientEvent]) -> list[object]:
        async with asyncio.timeout(120):
            session = await local.open(Session(), (), SystemClock())
            seen: list[object] = []
            for event in sent:
                await session.send(event)
            async for event in session.events():
                seen.append(event)
                if isinstance(event, e.ResponseDone):
                    break
            await session.close("done")
            return seen

    with asyncio.Runner() as runner:
        local = runner.run(loaded())
        yield lambda sent: runner.run(answer(sent))
        runner.run(local.close())
    assert threads() == []


@pytest.mark.real
def test_a_spoken_question_gets_a_right_spoken_answer(
    answers: Callable[[list[e.ClientEvent]], list[object]], speech: Callable[[str], bytes], hear: Callable[[bytes], str]
) -> None:
    asked = {"type": "realtime", "audio": {"input": {"transcription": {"model": "any"}}}}
    audio = speech("What is the capital of France?") + silence(1_000)
    step = bytes_of_ms(100)

    seen = answers(
        [
            e.SessionUpdate(session=asked),
            *(e.AudioAppend(audio=audio[start : start + step]) for start in range(0, len(audio), step)),
        ]
    )

    (words,) = [event.transcript for event in seen if isinstance(event, e.TranscriptionCompleted)]
    assert words == "What is the capital of France?"
    assert "Paris" in hear(b"".join(event.delta for event in seen if isinstance(event, e.OutputAudioDelta)))


@pytest.mark.real
@pytest.mark.parametrize("colour", ["red", "blue"])
def test_an_image_is_seen_and_a_question_about_it_is_answered_in_silence(
    answers: Callable[[list[e.ClientEvent]], list[object]], colour: str
) -> None:
    file = io.BytesIO()
    Image.new("RGB", (64, 64), colour).save(file, "PNG")
    url = "data:image/png;base64," + pybase64.b64encode_as_string(file.getvalue())
    parameters = {
        "type": "object",
        "properties": {"choice": {"type": "string"}},
        "required": ["choice"],
        "additionalProperties": False,
    }
    description = "Answer the on-screen multiple-choice question with one choice, using its exact text."
    tool = {"type": "function", "name": "answer_choice", "description": description, "parameters": parameters}
    event = {
        "event": "question",
        "tool": "answer_choice",
        "question": "Which colour fills the image?\nOptions: red, green, blue",
    }
    content = [
        {"type": "input_text", "text": "[context] " + orjson.dumps(event).decode()},
        {"type": "input_image", "image_url": url},
    ]
    silent = {"output_modalities": ["text"], "tool_choice": {"type": "function", "name": "answer_choice"}}

    seen = answers(
        [
            e.SessionUpdate(session={"type": "realtime", "tools": [tool]}),
            e.ItemCreate(item={"type": "message", "role": "user", "content": content}),
            e.ResponseCreate(response=silent),
        ]
    )

    (call,) = [event for event in seen if isinstance(event, e.FunctionArgumentsDone)]
    assert (call.name, orjson.loads(call.arguments)) == ("answer_choice", {"choice": colour})
    assert not any(isinstance(event, e.OutputAudioDelta) for event in seen)
