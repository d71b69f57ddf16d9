"""Decisions: whatever a model's server does, exactly one valid call comes of it or a clear error, in time."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import httpx2
import orjson
import pytest
from tests.fakes.loop import VirtualLoop
from tests.minds.misbehaving import MISBEHAVIOURS, Misbehaviour, call, message, stream

from realtime_harness.errors import MindError
from realtime_harness.minds.chat_completions import ChatCompletionsMind
from realtime_harness.minds.decision import MAX_TRIES, Decision, decide
from realtime_harness.minds.mending import mended
from realtime_harness.minds.mind import ChatMessage, ChatRequest, ChatTool

KEY = "sk-secret-of-the-test"
QUESTION = "Question: Which drink do you prefer?\nOptions:\n- Coffee\n- Tea\nRespond with the exact text of one option."
DEADLINE_S = 20.0


def tool(schema: dict[str, Any], name: str = "submit_response") -> ChatTool:
    parameters = {
        "type": "object",
        "properties": {"value": schema},
        "required": ["value"],
        "additionalProperties": False,
    }
    return ChatTool(name, 'Submit your response to the current "multiplechoice" component.', parameters)


WAIT = ChatTool("wait", "Take no action.", {"type": "object", "properties": {}, "additionalProperties": False})
REQUEST = ChatRequest((ChatMessage("user", QUESTION),), (WAIT, tool({"type": "string"})), question=QUESTION)


def decide_over(handler: Any, request: ChatRequest = REQUEST) -> tuple[Decision | MindError, float, int]:
    """What comes of it, after how many seconds, and how often the server was asked."""
    asked = 0

    async def answer(incoming: httpx2.Request) -> httpx2.Response:
        nonlocal asked
        asked += 1
        return await handler(incoming, asked)

    async def run() -> tuple[Decision | MindError, float]:
        mind = ChatCompletionsMind("http://mind.test/v1", "m", KEY, transport=httpx2.MockTransport(answer))
        loop = asyncio.get_running_loop()
        start = loop.time()
        try:
            return await decide(mind, request, start + DEADLINE_S), loop.time() - start
        except MindError as problem:
            return problem, loop.time() - start
        finally:
            await mind.close()

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        outcome, took_s = runner.run(run())
    return outcome, took_s, asked


@pytest.mark.parametrize("how", MISBEHAVIOURS, ids=lambda how: how.name)
def test_a_decision_is_valid_or_there_is_a_clear_error_in_time(how: Misbehaviour) -> None:
    outcome, took_s, asked = decide_over(how.handler)

    assert took_s < DEADLINE_S
    assert asked <= MAX_TRIES + 4, "a server that is down is left alone for longer each time"
    if how.hopeless:
        assert isinstance(outcome, MindError)
        assert len(str(outcome)) > 20
        assert KEY not in str(outcome)
    else:
        assert isinstance(outcome, Decision), outcome
        assert outcome.call is not None
        assert (outcome.call.name, orjson.loads(outcome.call.arguments)) == ("submit_response", {"value": "Tea"})


def test_there_are_many_ways_to_misbehave() -> None:
    assert len({how.name for how in MISBEHAVIOURS}) == len(MISBEHAVIOURS) >= 35
    assert sum(how.hopeless for how in MISBEHAVIOURS) >= 10


def test_a_right_answer_is_taken_as_it_is() -> None:
    outcome, _, asked = decide_over(MISBEHAVIOURS[8].handler)

    assert isinstance(outcome, Decision)
    assert asked == 1
    assert outcome.repairs == ("one call taken of several",)


def test_an_option_is_never_guessed() -> None:
    """Two options that a text fits are not one."""
    question = QUESTION.replace("- Tea", "- TEA\n- Tea!")

    async def handler(_request: httpx2.Request, _number: int) -> httpx2.Response:
        return stream(message(calls=[call(arguments='{"value":"tea"}')]))

    outcome, _, _ = decide_over(handler, replace(REQUEST, messages=(ChatMessage("user", question),), question=question))

    assert isinstance(outcome, MindError)
    assert "must be one of" in str(outcome)


def test_where_the_options_are_only_guessed_at_a_valid_answer_is_kept() -> None:
    """Bullets may be anything: they are asked about once, and do not make a valid answer an error."""
    question = "You saw:\n- a red door\n- a blue door\nWhich do you choose?"

    async def handler(_request: httpx2.Request, _number: int) -> httpx2.Response:
        return stream(message(calls=[call(arguments='{"value":"the green one"}')]))

    outcome, _, asked = decide_over(
        handler, replace(REQUEST, messages=(ChatMessage("user", question),), question=question)
    )

    assert isinstance(outcome, Decision)
    assert asked == MAX_TRIES
    assert outcome.repairs[-1] == "an option that the text may not list"


def test_without_tools_the_words_are_the_answer() -> None:
    async def handler(_request: httpx2.Request, _number: int) -> httpx2.Response:
        return stream(message("They may be curious."))

    outcome, _, _ = decide_over(handler, replace(REQUEST, tools=()))

    assert isinstance(outcome, Decision)
    assert outcome.call is None
    assert outcome.text == "They may be curious."


NUMBER = {"type": "number", "minimum": 0, "maximum": 100}
CHOICE = {"type": "string", "enum": ["Coffee", "Tea", "Neither, thank you"]}


@pytest.mark.parametrize(
    ("given", "schema", "wanted"),
    [
        ("70", NUMBER, 70),
        (" 70.5 ", NUMBER, 70.5),
        ("seventy", NUMBER, "seventy"),
        (70.0, {"type": "integer"}, 70),
        (70.5, {"type": "integer"}, 70.5),
        (True, NUMBER, True),
        ("tea", CHOICE, "Tea"),
        ("b) Tea", CHOICE, "Tea"),
        ("neither thank you", CHOICE, "Neither, thank you"),
        ("Te", CHOICE, "Te"),
        (["Tea"], CHOICE, "Tea"),
        (["Tea", "Coffee"], CHOICE, ["Tea", "Coffee"]),
        ("tea", {"type": "array", "items": CHOICE}, ["Tea"]),
        ('["tea", "coffee"]', {"type": "array", "items": CHOICE}, ["Tea", "Coffee"]),
        ('{"Calm": "40"}', {"type": "object", "properties": {"Calm": NUMBER}}, {"Calm": 40}),
        ({"calm": 40}, {"type": "object", "properties": {"Calm": NUMBER}, "additionalProperties": False}, {"Calm": 40}),
        (
            {"Calm": 1, "x": 2},
            {"type": "object", "properties": {"Calm": NUMBER}, "additionalProperties": False},
            {"Calm": 1},
        ),
        (5, {"type": "string"}, "5"),
        (None, CHOICE, None),
    ],
)
def test_what_is_nearly_right_is_written_as_it_must_be_and_nothing_else_is_touched(
    given: Any, schema: dict[str, Any], wanted: Any
) -> None:
    value, done = mended(given, schema)

    assert value == wanted
    assert type(value) is type(wanted)
    assert bool(done) == (value != given or type(value) is not type(given))
