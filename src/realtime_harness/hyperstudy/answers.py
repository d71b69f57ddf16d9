"""Answer schemas: the shape of a question's answer, with the bounds of its study. Source: agent-spec 0.2.0, `answers`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, assert_never

from realtime_harness.hyperstudy.contract import TOOLS_BY_NAME, Tool, VoiceTool
from realtime_harness.hyperstudy.questions import (
    COMPONENTS,
    Component,
    Dimension,
    Dimensions,
    OneChoice,
    Question,
    Ranking,
    Rating,
    ScalePoint,
    SomeChoices,
    Spoken,
    Text,
    read_question,
)
from realtime_harness.realtime.wire import Json

PAUSE_ONLY: tuple[Component, ...] = ("rapidrate", "audiorecording")
ON_RATING_PAUSE: tuple[Component, ...] = COMPONENTS
ON_SCREEN: tuple[Component, ...] = tuple(component for component in COMPONENTS if component not in PAUSE_ONLY)


def value_schema(question: Question) -> Json:
    """The JSON schema of the answer: the `value` parameter of `submit_response`. A new object each time.

    It names no choices: an exact text, or every item once, is checked against the question (validate.py).
    """
    match question:
        case OneChoice():
            return {"type": "string", "description": "The exact text of the selected choice."}
        case SomeChoices():
            return _texts("The exact text(s) of the selected choice(s).")
        case ScalePoint(points=points):
            return {
                "type": "integer",
                "minimum": 1,
                "maximum": points,
                "description": f"Selected scale point, 1 to {points}.",
            }
        case Rating(minimum=low, maximum=high):
            return {**_number(low, high), "description": f"Rating between {low} and {high}."}
        case Ranking():
            return _texts("All item texts in ranked order.")
        case Text(min_chars=low, max_chars=high):
            schema: Json = {"type": "string"}
            if low is not None:
                schema["minLength"] = low
            if high is not None:
                schema["maxLength"] = high
            return {**schema, "description": "Free-text answer."}
        case Dimensions(dimensions=dimensions):
            return {
                "type": "object",
                "properties": {one.label: _number(one.minimum, one.maximum) for one in dimensions},
                "required": [one.label for one in dimensions],
                "additionalProperties": False,
                "description": f"{_scores(dimensions)} for every dimension, keyed by its label.",
            }
        case Spoken():
            return {"type": "string", "description": "The exact words you would say aloud."}
        case _:
            assert_never(question)


def voice_tool(question: Question) -> Tool:
    """The tool by which a voice agent answers it."""
    return TOOLS_BY_NAME[_tool_name(question)]


def shown_on(component: Component) -> str:
    """Where a participant meets it: on a screen, or only where a video pauses for a rating."""
    return "rating pause" if component in PAUSE_ONLY else "screen or rating pause"


@dataclass(frozen=True, slots=True)
class AnswerExample:
    """A row of agent-spec's `answers`: a component, and a configuration to show its schema by."""

    component: Component
    config: Mapping[str, Any]

    def as_listed(self) -> Json:
        """As agent-spec lists it."""
        question = read_question(self.component, self.config)
        return {
            "componentType": self.component,
            "shownOn": shown_on(self.component),
            "exampleConfig": dict(self.config),
            "valueSchema": value_schema(question),
            "voiceTool": voice_tool(question).name,
        }


EXAMPLES: tuple[AnswerExample, ...] = (
    AnswerExample("multiplechoice", {"question": "Which drink do you prefer?", "choices": ["Coffee", "Tea"]}),
    AnswerExample(
        "multiplechoice",
        {"question": "Which colours do you like?", "choices": ["Red", "Green", "Blue"], "allowMultiple": True},
    ),
    AnswerExample("likertscale", {"question": "I enjoyed the conversation.", "scale": 7}),
    AnswerExample("vasrating", {"question": "How warm was your partner?", "minValue": 0, "maxValue": 100}),
    AnswerExample("ranking", {"question": "Rank these activities.", "options": ["Reading", "Hiking", "Cooking"]}),
    AnswerExample("textinput", {"question": "Describe your partner in one sentence."}),
    AnswerExample(
        "rapidrate", {"prompt": "How do you feel right now?", "dimensions": [{"label": "Calm"}, {"label": "Happy"}]}
    ),
    AnswerExample("audiorecording", {"prompt": "Say what just happened."}),
)
"""One for each of the eight kinds of answer."""


def _tool_name(question: Question) -> VoiceTool:
    match question:
        case OneChoice():
            return "answer_choice"
        case SomeChoices():
            return "answer_choices"
        case ScalePoint() | Rating():
            return "answer_scale"
        case Ranking():
            return "answer_ranking"
        case Text() | Spoken():
            return "answer_text"
        case Dimensions():
            return "answer_dimensions"
        case _:
            assert_never(question)


def _texts(description: str) -> Json:
    return {"type": "array", "items": {"type": "string"}, "description": description}


def _number(low: float, high: float) -> Json:
    return {"type": "number", "minimum": low, "maximum": high}


def _scores(dimensions: tuple[Dimension, ...]) -> str:
    ranges = {(one.minimum, one.maximum) for one in dimensions}
    if len(ranges) > 1:
        return "A score in its own range"
    low, high = ranges.pop()
    return f"A {low}-{high} score"
