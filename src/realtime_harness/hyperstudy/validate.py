"""Whether an answer is one: checked against its schema and against the question, with a reason where it is refused.

Source: HRP 0.2.0, "Answering questions"; agent-spec 0.2.0, `answers`. The texts of a study are matched exactly: no case
folding, no trimming. Bounds are inclusive. The reason is written for the model that answers again.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, assert_never, cast

from realtime_harness.errors import InvalidEvent
from realtime_harness.hyperstudy.answers import voice_tool
from realtime_harness.hyperstudy.endpoint import SUBMIT_RESPONSE, SUBMITTED
from realtime_harness.hyperstudy.questions import (
    Dimension,
    Dimensions,
    Number,
    OneChoice,
    Question,
    Ranking,
    Rating,
    ScalePoint,
    SomeChoices,
    Spoken,
    Text,
)
from realtime_harness.realtime.wire import Json, kind_of, load_object

Code = Literal[
    "wrong_type",
    "not_finite",
    "not_whole",
    "below_minimum",
    "above_maximum",
    "not_a_choice",
    "empty",
    "repeated",
    "missing",
    "unknown",
    "too_short",
    "too_long",
    "not_text",
    "bad_arguments",
    "wrong_tool",
]
MAX_LISTED = 40  # texts that a reason names
MAX_SHOWN_CHARS = 80


@dataclass(frozen=True, slots=True)
class Accepted:
    """An answer that is one. `value` is what is recorded: as given, but a whole scale point is an int."""

    value: Any

    def as_output(self) -> Json:
        """What the call is answered with."""
        return {"accepted": True}


@dataclass(frozen=True, slots=True)
class Refusal:
    """An answer that is none: a short `code` for programs, and the `reason` that goes back to the model."""

    code: Code
    reason: str

    def as_output(self) -> Json:
        """What the call is answered with."""
        return {"error": self.reason}


Verdict = Accepted | Refusal


def check_voice_call(question: Question, name: str, arguments: str) -> Verdict:
    """The verdict on a function call of a voice engine. `arguments` is its JSON text."""
    tool = voice_tool(question)
    return _check_call(question, tool.name, tool.argument, name, arguments)


def check_submission(question: Question, name: str, arguments: str) -> Verdict:
    """The verdict on a `submit_response` call of a model endpoint. `arguments` is its JSON text."""
    return _check_call(question, SUBMIT_RESPONSE, SUBMITTED, name, arguments)


def _check_call(question: Question, tool: str, argument: str, name: str, arguments: str) -> Verdict:
    if name != tool:
        return Refusal("wrong_tool", f"This question is answered by {tool}; got a call of {_shown(name)}.")
    try:
        given = load_object(arguments)
    except InvalidEvent as problem:
        return Refusal("bad_arguments", f"{tool}: the arguments are not one JSON object. {problem.message}")
    if set(given) != {argument}:
        names = ", ".join(_shown(key) for key in list(given)[:MAX_LISTED]) or "none"
        return Refusal("bad_arguments", f"{tool} takes exactly one argument, {argument!r}; got {names}.")
    return check_answer(question, given[argument])


def check_answer(question: Question, value: object) -> Verdict:
    """The verdict on `value`, a JSON value, as the answer to `question`."""
    match question:
        case OneChoice(choices=choices):
            return _one_of(choices, value)
        case SomeChoices():
            return _some_of(question, value)
        case ScalePoint(points=points):
            return _scale_point(points, value)
        case Rating(minimum=low, maximum=high):
            return _number("a rating", low, high, value) or Accepted(value)
        case Ranking(items=items):
            return _order_of(items, value)
        case Text(min_chars=low, max_chars=high):
            return _text(value, low, high)
        case Dimensions(dimensions=dimensions):
            return _scores(dimensions, value)
        case Spoken():
            return _text(value, None, None)
        case _:
            assert_never(question)


def _one_of(choices: Sequence[str], value: object) -> Verdict:
    if not isinstance(value, str):
        return _wrong_type("the exact text of one choice, a string", value)
    return Accepted(value) if value in choices else _not_a_choice(choices, value)


def _some_of(question: SomeChoices, value: object) -> Verdict:
    chosen = _strings(value)
    if chosen is None:
        return _wrong_type("a list of the exact texts of the choices, each a string", value)
    if not chosen and not question.may_be_empty:
        return Refusal("empty", f"Expected at least one choice of {_listed(question.choices)}; got none.")
    for text in chosen:
        if text not in question.choices:
            return _not_a_choice(question.choices, text)
    if (twice := _repeated(chosen)) is not None:
        return Refusal("repeated", f"Expected each choice at most once; got {_shown(twice)} more than once.")
    return Accepted(chosen)


def _order_of(items: Sequence[str], value: object) -> Verdict:
    order = _strings(value)
    if order is None:
        return _wrong_type("a list of every item text, each a string", value)
    for text in order:
        if text not in items:
            return Refusal(
                "unknown", f"Expected only the items {_listed(items)}, by their exact text; got {_shown(text)}."
            )
    if (twice := _repeated(order)) is not None:
        return Refusal("repeated", f"Expected every item once; got {_shown(twice)} more than once.")
    if missing := [item for item in items if item not in order]:
        return Refusal("missing", f"Expected every item once; missing: {_listed(missing)}.")
    return Accepted(order)


def _scale_point(points: int, value: object) -> Verdict:
    expected = f"a whole number from 1 to {points}"
    if (refusal := _number(expected, 1, points, value, whole=True)) is not None:
        return refusal
    return Accepted(int(cast("Number", value)))


def _scores(dimensions: Sequence[Dimension], value: object) -> Verdict:
    if not isinstance(value, Mapping):
        return _wrong_type("an object with a number for each dimension, keyed by its label", value)
    scores = cast("Mapping[object, object]", value)
    labels = [dimension.label for dimension in dimensions]
    for label in scores:
        if label not in labels:
            return Refusal("unknown", f"Expected only the dimensions {_listed(labels)}; got {_shown(label)}.")
    if missing := [label for label in labels if label not in scores]:
        return Refusal("missing", f"Expected a score for every dimension; missing: {_listed(missing)}.")
    for one in dimensions:
        what = f"for {_shown(one.label)} a number"
        if (refusal := _number(what, one.minimum, one.maximum, scores[one.label])) is not None:
            return refusal
    return Accepted(dict(scores))


def _text(value: object, low: int | None, high: int | None) -> Verdict:
    if not isinstance(value, str):
        return _wrong_type("a string", value)
    if low is not None and len(value) < low:
        return Refusal("too_short", f"Expected at least {low} characters; got {len(value)}.")
    if high is not None and len(value) > high:
        return Refusal("too_long", f"Expected at most {high} characters; got {len(value)}.")
    try:
        value.encode()
    except UnicodeEncodeError:
        return Refusal("not_text", "Expected text; got half of a surrogate pair, which is no character.")
    return Accepted(value)


def _number(expected: str, low: Number, high: Number, value: object, *, whole: bool = False) -> Refusal | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return _wrong_type(f"{expected}, as a number", value)
    if isinstance(value, float) and not math.isfinite(value):
        return Refusal("not_finite", f"Expected {expected}; got {value}, which is no finite number.")
    if whole and isinstance(value, float) and not value.is_integer():
        return Refusal("not_whole", f"Expected {expected}; got {value}.")
    if value < low:
        return Refusal("below_minimum", f"Expected {expected}, at least {low}; got {_shown(value)}.")
    if value > high:
        return Refusal("above_maximum", f"Expected {expected}, at most {high}; got {_shown(value)}.")
    return None


def _wrong_type(expected: str, value: object) -> Refusal:
    got = kind_of(value)
    if got in ("string", "number", "boolean"):
        got = f"the {got} {_shown(value)}"
    elif isinstance(value, list | tuple):
        entries = cast("Sequence[object]", value)
        strays = [kind_of(entry) for entry in entries if not isinstance(entry, str)]
        got = f"a list with a {strays[0]} in it" if strays else "a list"
    return Refusal("wrong_type", f"Expected {expected}; got {got}.")


def _not_a_choice(choices: Sequence[str], value: str) -> Refusal:
    return Refusal("not_a_choice", f"Expected the exact text of a choice: {_listed(choices)}; got {_shown(value)}.")


def _strings(value: object) -> list[str] | None:
    if not isinstance(value, list | tuple):
        return None
    entries = list(cast("Sequence[object]", value))
    return cast("list[str]", entries) if all(isinstance(entry, str) for entry in entries) else None


def _repeated(texts: Sequence[str]) -> str | None:
    seen: set[str] = set()
    for text in texts:
        if text in seen:
            return text
        seen.add(text)
    return None


def _listed(texts: Sequence[str]) -> str:
    """All of them whole, for they are what an answer must repeat; a very long list ends with its count."""
    listed = ", ".join(json.dumps(text, ensure_ascii=False) for text in texts[:MAX_LISTED])
    return listed if len(texts) <= MAX_LISTED else f"{listed} and {len(texts) - MAX_LISTED} more"


def _shown(value: object) -> str:
    """What came, cut short: it may be anything."""
    if isinstance(value, int) and value.bit_length() > 256:
        return "a number of very many digits"
    if isinstance(value, str):
        value = value[:MAX_SHOWN_CHARS]
        return json.dumps(value, ensure_ascii=False)
    return str(value)[:MAX_SHOWN_CHARS].lower() if isinstance(value, bool) else repr(value)[:MAX_SHOWN_CHARS]
