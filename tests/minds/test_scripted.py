"""The scripted mind: answers by rule, notes what it was asked."""

from __future__ import annotations

import asyncio

import pytest

from realtime_harness.errors import MindError
from realtime_harness.minds.mind import CallMade, ChatChunk, ChatMessage, ChatRequest, Finished, TextDelta, ToolName
from realtime_harness.minds.scripted import Answer, ScriptedMind


def asked(text: str, **settings: object) -> ChatRequest:
    return ChatRequest((ChatMessage("user", text),), **settings)  # type: ignore[arg-type]


async def answered(mind: ScriptedMind, request: ChatRequest) -> list[ChatChunk]:
    return [chunk async for chunk in mind.complete(request, 1e9)]


async def test_without_rules_it_echoes_word_by_word() -> None:
    chunks = await answered(ScriptedMind(), asked("one two"))
    assert chunks[:-1] == [TextDelta("one"), TextDelta(" two")]
    assert isinstance(chunks[-1], Finished)


async def test_rules_give_words_calls_and_errors() -> None:
    def rule(request: ChatRequest) -> Answer | None:
        match request.messages[-1].text:
            case "call":
                return "look", '{"at": 1}'
            case "fail":
                return MindError("no", code="down")
            case _:
                return None

    mind = ScriptedMind([rule])
    called = (await answered(mind, asked("call")))[0]
    assert isinstance(called, CallMade)
    assert called.call.name == "look"
    with pytest.raises(MindError, match="no"):
        await answered(mind, asked("fail"))
    assert (await answered(mind, asked("else")))[0] == TextDelta("else")
    assert len(mind.asked) == 3


async def test_a_forced_tool_is_called() -> None:
    chunk = (await answered(ScriptedMind(), asked("x", tool_choice=ToolName("look"))))[0]
    assert isinstance(chunk, CallMade)


async def test_it_can_be_stopped_in_the_middle() -> None:
    gate = asyncio.get_running_loop().create_future()
    mind = ScriptedMind(pause=lambda: gate)
    reply = mind.complete(asked("one two three"), 1e9)
    gate.set_result(None)
    assert await anext(reply) == TextDelta("one")
    await reply.aclose()
    assert mind.stopped == 1
