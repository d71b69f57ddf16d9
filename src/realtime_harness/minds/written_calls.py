"""Calls that a model wrote into its text instead of making them. Pure.

Many models answer so through servers that do not know their template: a JSON object with a name and arguments, perhaps in
a fence or in tags; or only the arguments, where one tool is offered.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, cast

import orjson

from realtime_harness.minds.mind import ChatTool

MAX_TRIES = 64  # places in a text where a JSON object may begin
_NAMES = ("name", "tool", "function", "tool_name")
_ARGUMENTS = ("arguments", "parameters", "args", "input", "tool_input")
_BARE = re.compile(r"\s*(?:```(?:json)?\s*)?(\{.*\})\s*(?:```)?\s*\Z", re.DOTALL)  # nothing but the arguments
_CALL = re.compile(r"\b([A-Za-z_][\w.-]*)\s*\(\s*(\{.*\})\s*\)", re.DOTALL)


def written_call(text: str, tools: Sequence[ChatTool]) -> tuple[str, Any] | None:
    """The name and arguments of the first call that is written in `text`; None if there is none."""
    names = {tool.name for tool in tools}
    for match in _CALL.finditer(text):
        if match[1] in names and (value := _loaded(match[2])) is not None:
            return match[1], value
    for value in _objects(text):
        function = value.get("function")
        inner = cast("dict[str, Any]", function) if isinstance(function, dict) else value
        name = next((inner[key] for key in _NAMES if isinstance(inner.get(key), str)), None)
        given = next((inner[key] for key in _ARGUMENTS if key in inner), None)
        if name in names and given is not None:
            return str(name), given
        (only,) = inner.items() if len(inner) == 1 else ((None, None),)
        if only[0] in names and isinstance(only[1], dict):
            return str(only[0]), cast("dict[str, Any]", only[1])
    bare = _BARE.match(text)
    value = _loaded(bare[1]) if bare else None
    fitting = [tool for tool in tools if value and set(value) <= set(tool.parameters.get("properties") or {})]
    return (fitting[0].name, value) if len(fitting) == 1 else None


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """The JSON objects in a text, outermost first."""
    at, tries = text.find("{"), 0
    while at >= 0 and tries < MAX_TRIES:
        tries += 1
        end = _end(text, at)
        value = _loaded(text[at:end]) if end is not None else None
        if value is not None and end is not None:
            yield value
            at = text.find("{", end)
        else:
            at = text.find("{", at + 1)


def _end(text: str, start: int) -> int | None:
    """Behind the bracket that closes the one at `start`."""
    depth, quoted, escaped = 0, False, False
    for place in range(start, len(text)):
        character = text[place]
        if quoted:
            quoted = escaped or character != '"'
            escaped = character == "\\" and not escaped
        elif character == '"':
            quoted = True
        elif character == "{":
            depth += 1
        elif character == "}":
            depth -= 1
            if depth == 0:
                return place + 1
    return None


def _loaded(text: str) -> dict[str, Any] | None:
    try:
        value: object = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None
