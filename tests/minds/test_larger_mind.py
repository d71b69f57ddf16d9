"""The 1.5B mind: what a small one cannot be asked. Run by `make soak`."""

from __future__ import annotations

import asyncio

import pytest

from realtime_harness.minds.factory import make_mind
from realtime_harness.minds.mind import CallMade, ChatMessage, ChatRequest, ChatTool, TextDelta

pytestmark = pytest.mark.large
WEATHER = ChatTool(
    "get_weather",
    "Get the current weather in a city.",
    {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)


def test_it_remembers_a_name_and_picks_the_tool_only_when_asked_for() -> None:
    async def run() -> tuple[str, list[str], list[str]]:
        mind = await make_mind("embedded:1.5b")
        try:

            async def ask(*said: ChatMessage) -> tuple[str, list[str]]:
                system = ChatMessage("system", "You are a friendly assistant. Answer in one short sentence.")
                request = ChatRequest((system, *said), (WEATHER,), temperature=0.0, affinity="test")
                chunks = [chunk async for chunk in mind.complete(request, asyncio.get_running_loop().time() + 60)]
                calls = [chunk.call.name for chunk in chunks if isinstance(chunk, CallMade)]
                return "".join(chunk.text for chunk in chunks if isinstance(chunk, TextDelta)), calls

            name, none = await ask(
                ChatMessage("user", "My name is Anna.", droppable=True),
                ChatMessage("assistant", "Nice to meet you, Anna.", droppable=True),
                ChatMessage("user", "What is my name?", droppable=True),
            )
            _, calls = await ask(ChatMessage("user", "What is the weather in Paris right now?", droppable=True))
            return name, none, calls
        finally:
            await mind.close()

    name, none, calls = asyncio.run(run())
    assert "anna" in name.lower()
    assert none == []
    assert calls == ["get_weather"]
