"""Renders a conversation as ChatML, the prompt format of Qwen and its kin, in parts that keep control and text apart.

What people say or type is only ever a plain part: "<|im_start|>" in it is twelve characters, not a turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from realtime_harness.minds.mind import ChatMessage

START = "<|im_start|>"
END = "<|im_end|>"
CALL = "<tool_call>"


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a prompt. In a `control` part, the model's special tokens are read as such; in a plain one, never."""

    text: str
    control: bool = False


def render_message(message: ChatMessage) -> tuple[Part, ...]:
    """One whole message. A tool's result is the user's turn, as in Qwen's own template."""
    if message.role == "tool":
        return (*_head("user"), Part(f"<tool_response>\n{message.text}\n</tool_response>"), *_TAIL)
    body: list[Part] = [Part(message.text)] if message.text else []
    for call in message.calls:
        body += [Part(CALL, control=True), Part(f'\n{{"name": "{call.name}", "arguments": {call.arguments}}}\n')]
    return (*_head(message.role), *body, *_TAIL)


def render(messages: Sequence[ChatMessage]) -> tuple[Part, ...]:
    """Whole messages, one after another."""
    return tuple(part for message in messages for part in render_message(message))


def answer_head() -> tuple[Part, ...]:
    """What comes before the model's own answer."""
    return _head("assistant")


def _head(role: str) -> tuple[Part, ...]:
    return (Part(f"{START}{role}\n", control=True),)


_TAIL = (Part(f"{END}\n", control=True),)
