"""The turn that asks the model for a function's arguments, and what is made of its answer."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

import orjson

from realtime_harness.minds.chatml import Part, answer_head, render
from realtime_harness.minds.mind import ChatMessage, ChatRequest, ChatTool
from realtime_harness.minds.numbers import lone_number
from realtime_harness.minds.schema import closed, faults

# How far back the open question may stand and still count as just read. Not behind so much as one image: asked what
# filled it, the smaller mind then named a wrong colour in 8 of 54 questions, and in none with the question read again.
_JUST_SAID = 1


def asking(request: ChatRequest, tool: ChatTool, *, forced: bool, mended: Sequence[str] = ()) -> tuple[Part, ...]:
    """The end of the prompt: what the function is for, the open question unless it was just read, and how to answer.

    `forced` means that the model is to answer for itself; otherwise it takes the arguments from what was just said.
    `mended` says what was wrong with a first answer.
    """
    names = ", ".join(cast("Mapping[str, Any]", tool.parameters.get("properties") or {}))
    how = (
        "Decide for yourself, as the person you are." if forced else "Take its arguments from the user's last sentence."
    )
    lines = [f"Call the function {tool.name}: {tool.description.rstrip('.')}. {how} Answer with JSON ({names})."]
    if request.question and not _was_said(request.question, request.messages[-_JUST_SAID:]):
        lines.insert(0, request.question)
    lines += [f"Mind that {fault}." for fault in mended[:3]]
    # A system message: in the user's voice, a small model takes it for something to say.
    return (*render((ChatMessage("system", "\n".join(lines)),)), *answer_head())


def by_rule(request: ChatRequest, schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """The arguments where no model is needed: none at all, or a lone number that was just said, unless the model is to
    answer a question for itself."""
    properties = cast("Mapping[str, Any]", schema.get("properties") or {})
    if not properties and not schema.get("additionalProperties"):
        return {}
    last = request.messages[-1] if request.messages else None
    if last is None or last.role != "user" or len(properties) != 1 or request.question is not None:
        return None
    name, rules = next(iter(properties.items()))
    kind = cast("Mapping[str, Any]", rules).get("type") if isinstance(rules, Mapping) else None
    value = lone_number(last.text) if kind in ("number", "integer") else None
    if value is None or faults({name: value}, schema):
        return None
    return {name: value}


def read_arguments(text: str, schema: Mapping[str, Any]) -> tuple[dict[str, Any] | None, list[str]]:
    """The arguments in the model's answer and what is wrong with them; None if there are none to be read."""
    whole = closed(text.strip())
    value: Any = orjson.loads(whole) if whole is not None else None
    if not isinstance(value, dict):
        return None, ["arguments must be a JSON object"]
    mended = mend(cast("dict[str, Any]", value), schema)
    return mended, faults(mended, schema)


def mend(value: dict[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """What can be put right by rule: a list of distinct options loses repeats. What is missing is asked for again."""
    properties = cast("Mapping[str, Any]", schema.get("properties") or {})
    return {name: _mend(item, properties.get(name)) for name, item in value.items()}


def _mend(value: Any, rules: Any) -> Any:
    if not isinstance(value, list) or not isinstance(rules, Mapping):
        return cast(Any, value)
    kept = cast("Mapping[str, Any]", rules)
    items = kept.get("items")
    allowed = cast("Mapping[str, Any]", items).get("enum") if isinstance(items, Mapping) else None
    if not allowed or not kept.get("uniqueItems"):
        return cast("list[Any]", value)
    return [item for item in dict.fromkeys(cast("list[str]", value)) if item in allowed]


def _was_said(question: str, messages: Sequence[ChatMessage]) -> bool:
    wanted = _plain(question)
    return any(wanted in _plain(message.text) for message in messages)


def _plain(text: str) -> str:
    """Letters and digits only, so that a question inside JSON is recognised."""
    return re.sub(r"[\W_]+", "", re.sub(r"\\[nrt]", "", text)).casefold()
