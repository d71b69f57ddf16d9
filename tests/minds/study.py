"""The tools that a study declares, as agent-spec 0.2.0 lists them, and questions for each."""

from __future__ import annotations

from typing import Any

from realtime_harness.minds.mind import ChatTool


def _tool(name: str, description: str, **properties: Any) -> ChatTool:
    return ChatTool(
        name,
        description,
        {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False},
    )


_TEXTS = {"type": "array", "items": {"type": "string"}}
_ALL = (
    _tool(
        "send_chat",
        "Type a message in the text chat that the other participant can see.",
        message={"type": "string", "description": "The message to type."},
    ),
    _tool(
        "answer_choice",
        "Answer the on-screen multiple-choice question with one choice, using its exact text.",
        choice={"type": "string"},
    ),
    _tool(
        "answer_choices",
        "Answer the on-screen multiple-choice question that allows several choices, using their exact texts.",
        choices=_TEXTS,
    ),
    _tool("answer_scale", "Answer the on-screen rating scale with a number in its range.", value={"type": "number"}),
    _tool("answer_ranking", "Answer the on-screen ranking with every item text, in your order.", order=_TEXTS),
    _tool(
        "answer_text",
        "Answer the on-screen question that asks for text (or for words you would say aloud).",
        text={"type": "string"},
    ),
    _tool(
        "answer_dimensions",
        "Answer the on-screen multi-dimension rating with a score for every dimension, keyed by its label.",
        scores={"type": "object", "additionalProperties": {"type": "number"}},
    ),
)
TOOLS = {tool.name: tool for tool in _ALL}

QUESTIONS: dict[str, tuple[str, ...]] = {
    "answer_choice": (
        "Question: Which drink do you prefer?\nOptions:\n- Coffee\n- Tea\nRespond with the exact text of one option.",
        'Question: How was it? Choose one of "Rather good", "So-so", "It\'s hard to say".',
    ),
    "answer_choices": (
        "Question: Which colours do you like?\nOptions: Red, Green, Blue\nRespond with the exact texts.",
        "Question: What did you see?\n1. A dog\n2. A cat\n3. A house\n4. Nothing",
    ),
    "answer_scale": (
        "Question: How warm was your partner?\nThis is a visual analog rating scale from 0 to 100.\n"
        "Respond with a number between 0 and 100.",
        "Question: I enjoyed the conversation.\nThis is a scale from 1 to 7.",
    ),
    "answer_ranking": (
        "Question: Rank these activities.\n1. Reading\n2. Hiking\n3. Cooking\nRespond with all items in order.",
        "Question: Rank these.\nItems: Sun; Rain; Snow; Wind; Fog",
    ),
    "answer_text": (
        "Question: Describe your partner in one sentence.",
        "Say what just happened.",
    ),
    "answer_dimensions": (
        'Question: How do you feel right now?\nRate each dimension from 0 to 100: "Calm", "Happy".',
        "Question: How do you feel?\nDimensions:\n- Calm\n- Happy\n- Awake\nGive each a number from 0 to 100.",
    ),
}
