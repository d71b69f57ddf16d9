"""JSON at the border: strict reading, fast writing, and pydantic's complaints turned into the wire's error object."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import orjson
from pydantic import BaseModel, ConfigDict, ValidationError

from realtime_harness.errors import InvalidEvent

Json = dict[str, Any]
MAX_DEPTH = 100  # JSON nested deeper is nobody's session or item, and breaks whoever walks it
MAX_ECHO_BYTES = 512 * 1024  # what a client has echoed to it: clients refuse frames of 1 MiB
MAX_SHOWN_CHARS = 80


def new_object() -> Json:
    """An empty JSON object."""
    return {}


class WireModel(BaseModel):
    """A JSON object of the wire: unknown fields survive, and a copy is made to change one."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)


def load_object(text: str | bytes) -> Json:
    """One JSON object, or InvalidEvent: not JSON, NaN, nested too deep, or no object."""
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError as reason:
        raise InvalidEvent(f"Expected one JSON object per message; got text that is not JSON ({reason}).") from None
    if not isinstance(value, dict):
        raise InvalidEvent(f"Expected a JSON object; got a JSON {kind_of(value)}.", code="invalid_event")
    opened = (text.count("{") + text.count("[")) if isinstance(text, str) else (text.count(b"{") + text.count(b"["))
    if opened > MAX_DEPTH and _deeper_than(cast("Json", value), MAX_DEPTH):
        raise InvalidEvent(f"Expected JSON nested at most {MAX_DEPTH} deep; got deeper.", code="invalid_event")
    return cast("Json", value)


def _deeper_than(value: Json, limit: int) -> bool:
    level: list[Any] = [value]
    for _ in range(limit):
        level = [
            child
            for parent in level
            for child in (cast("Json", parent).values() if isinstance(parent, dict) else cast("list[Any]", parent))
            if isinstance(child, dict | list)
        ]
        if not level:
            return False
    return True


def check_echo(value: Json, param: str) -> None:
    """Raises InvalidEvent where `value` is too large to be sent back."""
    size = len(orjson.dumps(value))
    if size > MAX_ECHO_BYTES:
        raise InvalidEvent(
            f"Invalid '{param}': expected at most {MAX_ECHO_BYTES} bytes of JSON; got {size}.",
            code="invalid_value",
            param=param,
        )


def kind_of(value: object) -> str:
    """The JSON name of a value's type, for messages."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case str():
            return "string"
        case Mapping():
            return "object"
        case _:
            return "array"


def refused_by(error: ValidationError, root: str) -> InvalidEvent:
    """The first complaint of pydantic as the wire's error: `param` is the dotted path below `root`."""
    first = error.errors(include_url=False, include_context=False)[0]
    path = root
    for step in first["loc"]:
        if isinstance(step, int):
            path += f"[{step}]"
        elif step not in _UNION_TAGS and not step.startswith(("literal[", "dict[", "constrained-", "function-")):
            path += f".{step[:MAX_SHOWN_CHARS]}"
    if first["type"] == "missing":
        return InvalidEvent(f"Missing required parameter: '{path}'.", code="missing_required_parameter", param=path)
    got = first["input"]
    shown = f"{got!r}"[:MAX_SHOWN_CHARS] if isinstance(got, str | int | float | bool) else kind_of(got)
    return InvalidEvent(f"Invalid '{path}': {first['msg']}; got {shown}.", code="invalid_value", param=path)


# pydantic names the branch of a union in the path: it is no field of the wire.
_UNION_TAGS = frozenset({"server_vad", "semantic_vad", "str", "int", "ForcedTool"})
