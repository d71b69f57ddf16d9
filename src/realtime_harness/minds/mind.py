"""The Mind protocol: stateless chat, as the local engine and the model endpoint see it.

A mind keeps no conversation. Every request carries all of it, and `affinity` names the conversation it belongs to, so
that a mind that can keep work between requests (a prompt cache, a warm slot) knows whose it is.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias


@dataclass(frozen=True, slots=True)
class ChatTool:
    """A function the model may call. `parameters` is a JSON schema of an object."""

    name: str
    description: str
    parameters: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of a function. `arguments` is a JSON string, as on the wire."""

    call_id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message of a conversation.

    `calls` belong to an assistant message; `call_id` says which call a tool message answers. `droppable` marks speech
    that may go, oldest first, when the window fills (docs/design.md 5.8). `kind` says what a user message is:
    words of the user's; what is told of an image in them; or an event, which is information and never a request.
    `images` are data URLs, for a mind that sees; whoever asks one that does not tells it of them in words.
    """

    role: Literal["system", "user", "assistant", "tool"]
    text: str
    calls: tuple[ToolCall, ...] = ()
    call_id: str | None = None
    droppable: bool = False
    kind: Literal["words", "image", "event"] = "words"
    images: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolName:
    """A tool choice that forces the tool of this name."""

    name: str


ToolChoice: TypeAlias = Literal["auto", "none", "required"] | ToolName


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """All that is needed for one completion.

    `affinity` names the conversation. `question` is the text of the open on-screen question that a forced tool
    answers, if there is one.
    """

    messages: tuple[ChatMessage, ...]
    tools: tuple[ChatTool, ...] = ()
    tool_choice: ToolChoice = "auto"
    max_tokens: int = 120
    temperature: float = 0.3
    seed: int | None = None
    affinity: str = ""
    question: str | None = None


@dataclass(frozen=True, slots=True)
class MindUsage:
    """Tokens of one completion; `cached_tokens` is the part of `input_tokens` that was not read again."""

    input_tokens: int
    output_tokens: int
    cached_tokens: int


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the answer. Pieces joined are the answer; each is whole characters."""

    text: str


@dataclass(frozen=True, slots=True)
class CallMade:
    """A whole call: its arguments are complete."""

    call: ToolCall


@dataclass(frozen=True, slots=True)
class Finished:
    """The last chunk of every completion that did not fail."""

    reason: Literal["stop", "length", "tool_calls"]
    usage: MindUsage


ChatChunk: TypeAlias = TextDelta | CallMade | Finished


class Mind(Protocol):
    """A chat model. One object serves every conversation; its methods may run at the same time.

    `context_tokens` is the window of one conversation: messages, tools and the answer together.
    """

    @property
    def name(self) -> str: ...

    @property
    def context_tokens(self) -> int: ...

    async def prepare(self, request: ChatRequest) -> None:
        """Read what will be asked later, so that its answer starts sooner. Returns when it is read or superseded.

        A later `prepare` or `complete` with the same affinity supersedes it. It never raises for a request that cannot
        be answered: `complete` will say so.
        """
        ...

    def complete(self, request: ChatRequest, deadline: float) -> AsyncGenerator[ChatChunk]:
        """Answer. `deadline` is in the event loop's monotonic seconds.

        `aclose()` on the iterator (it is an async generator) stops the model's work within 0.1 s.
        Raises MindError: `deadline`, `context_length_exceeded`, `mind_failed` and what the implementation names.
        """
        ...

    async def release(self, affinity: str) -> None:
        """The conversation is over: free what was kept for it."""
        ...

    async def close(self) -> None:
        """End every completion, thread and connection of this mind. May be called twice."""
        ...
