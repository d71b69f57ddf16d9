"""A mind for tests: what it answers is written down beforehand. It never thinks."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import TypeAlias

from realtime_harness.errors import MindError
from realtime_harness.minds.mind import (
    CallMade,
    ChatChunk,
    ChatRequest,
    Finished,
    MindUsage,
    TextDelta,
    ToolCall,
    ToolName,
)

Answer: TypeAlias = str | tuple[str, str] | MindError
"""Words to say, a call (name, arguments as JSON), or an error to raise."""

Rule: TypeAlias = Callable[[ChatRequest], Answer | None]


def echo(request: ChatRequest) -> Answer:
    """Says what was said last; answers a forced tool with no arguments."""
    if isinstance(request.tool_choice, ToolName):
        return request.tool_choice.name, "{}"
    return next((message.text for message in reversed(request.messages) if message.role == "user"), "")


class ScriptedMind:
    """Answers by the first rule that gives one, else by `echo`; a word a chunk. Remembers what it was asked.

    `pause` is awaited before each chunk: a test's own clock or gate, so that a reply can be stopped in its middle.
    """

    name = "scripted"

    def __init__(
        self,
        rules: Sequence[Rule] = (),
        *,
        context_tokens: int = 6144,
        pause: Callable[[], asyncio.Future[None]] | None = None,
    ) -> None:
        self.context_tokens = context_tokens
        self.prepared: list[ChatRequest] = []
        self.asked: list[ChatRequest] = []
        self.released: list[str] = []
        self.stopped = 0
        self.closed = False
        self._rules = (*rules, echo)
        self._pause = pause
        self._calls = itertools.count(1)

    async def prepare(self, request: ChatRequest) -> None:
        """Note it."""
        self.prepared.append(request)

    async def complete(self, request: ChatRequest, deadline: float) -> AsyncGenerator[ChatChunk]:  # noqa: ARG002
        """The answer, in chunks. Raises the MindError that a rule gave."""
        self.asked.append(request)
        answer = next(given for rule in self._rules if (given := rule(request)) is not None)
        done = False
        try:
            for chunk in self._chunks(answer):
                if self._pause is not None:
                    await self._pause()
                yield chunk
            done = True
        finally:
            self.stopped += not done

    async def release(self, affinity: str) -> None:
        """Note it."""
        self.released.append(affinity)

    async def close(self) -> None:
        """Note it."""
        self.closed = True

    def _chunks(self, answer: Answer) -> list[ChatChunk]:
        match answer:
            case MindError():
                raise answer
            case str():
                words = answer.split(" ")
                pieces = [TextDelta(word if index == 0 else f" {word}") for index, word in enumerate(words)]
                return [*pieces, Finished("stop", MindUsage(1, len(words), 0))]
            case (name, arguments):
                call = ToolCall(f"call_{next(self._calls)}", name, arguments)
                return [CallMade(call), Finished("tool_calls", MindUsage(1, 1, 0))]
