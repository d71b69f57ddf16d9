"""What `POST /v1/responses` asks for. Source: UHP 2026-10-04, "Tasks" 1."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from realtime_harness.uhp.errors import UhpError

MAX_INPUT_CHARS = 200_000
MAX_ITEMS = 200
MAX_TIMEOUT_S = 3_600
_RESERVED = ("tools", "include")  # accepted, never acted on, always named
_KNOWN = frozenset(
    {
        "input",
        "model",
        "metadata",
        "stream",
        "previous_response_id",
        "instructions",
        "store",
        "max_output_tokens",
        "timeout_seconds",
        "max_step",
        "background",
        *_RESERVED,
    }
)


@dataclass(frozen=True, slots=True)
class TaskRequest:
    """A task as asked for. `input` are the items as they came; `text` is what they say.

    `ignored_fields` names what the request carried and nobody acts on.
    """

    input: tuple[dict[str, Any], ...]
    text: str
    model: str | None = None
    harness_id: str | None = None
    stream: bool = False
    background: bool = False
    store: bool = True
    previous_response_id: str | None = None
    instructions: str | None = None
    max_output_tokens: int | None = None
    timeout_s: float | None = None
    metadata: Mapping[str, Any] | None = None
    ignored_fields: tuple[str, ...] = ()


def read_request(body: Mapping[str, Any]) -> TaskRequest:
    """The request. Raises UhpError (`invalid_input`) that names the field, what was expected and what came."""
    items = _items(body.get("input"))
    metadata = body.get("metadata")
    if metadata is not None and not isinstance(metadata, Mapping):
        raise _wrong("metadata", "an object", metadata)
    given = cast("Mapping[str, Any]", metadata or {})
    ignored = [name for name in body if name not in _KNOWN or name in _RESERVED]
    if body.get("max_step") is not None:
        ignored.append("max_step")  # a text task here has one step
    return TaskRequest(
        input=items,
        text=_text(items),
        model=_string(body, "model"),
        harness_id=_string(given, "harness_id", "metadata.harness_id"),
        stream=_flag(body, "stream", default=False),
        background=_flag(body, "background", default=False),
        store=_flag(body, "store", default=True),
        previous_response_id=_string(body, "previous_response_id"),
        instructions=_string(body, "instructions"),
        max_output_tokens=_whole(body, "max_output_tokens", 1_000_000),
        timeout_s=_whole(body, "timeout_seconds", MAX_TIMEOUT_S),
        metadata={key: value for key, value in given.items() if key != "harness_id"},
        ignored_fields=tuple(sorted(ignored)),
    )


def _items(value: Any) -> tuple[dict[str, Any], ...]:
    if isinstance(value, str):
        value = [{"role": "user", "content": [{"type": "input_text", "text": value}]}]
    if not isinstance(value, list) or not value:
        raise _wrong("input", "text or a list of items", value)
    items = cast("list[Any]", value)
    if len(items) > MAX_ITEMS:
        raise _wrong("input", f"at most {MAX_ITEMS} items", f"{len(items)} items")
    return tuple(_item(item, f"input[{place}]") for place, item in enumerate(items))


def _item(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise _wrong(where, "an object", value)
    item = cast("Mapping[str, Any]", value)
    content: Any = item.get("content")
    if isinstance(content, str):
        content = [{"type": "input_text", "text": content}]
    if not isinstance(content, list):
        raise _wrong(f"{where}.content", "text or a list of parts", content)
    parts: list[dict[str, Any]] = []
    for place, part in enumerate(cast("list[Any]", content)):
        here = f"{where}.content[{place}]"
        if not isinstance(part, Mapping):
            raise _wrong(here, "an object", part)
        each = dict(cast("Mapping[str, Any]", part))
        if each.get("type") not in ("input_text", "text", "output_text"):
            raise _wrong(f"{here}.type", "input_text, the only kind that this server takes", each.get("type"))
        if not isinstance(each.get("text"), str):
            raise _wrong(f"{here}.text", "text", each.get("text"))
        parts.append({"type": "input_text", "text": each["text"]})
    role = item.get("role", "user")
    if role not in ("user", "system", "developer", "assistant"):
        raise _wrong(f"{where}.role", "user, system, developer or assistant", role)
    return {"type": "message", "role": role, "content": parts}


def _text(items: tuple[dict[str, Any], ...]) -> str:
    text = "\n".join(part["text"] for item in items for part in item["content"])
    if not text.strip():
        raise _wrong("input", "some text", "none")
    if len(text) > MAX_INPUT_CHARS:
        raise _wrong("input", f"at most {MAX_INPUT_CHARS} characters", f"{len(text)} characters")
    return text


def _string(body: Mapping[str, Any], name: str, where: str | None = None) -> str | None:
    value = body.get(name)
    if value is not None and not isinstance(value, str):
        raise _wrong(where or name, "text", value)
    return value


def _flag(body: Mapping[str, Any], name: str, *, default: bool) -> bool:
    value = body.get(name)
    if value is not None and not isinstance(value, bool):
        raise _wrong(name, "true or false", value)
    return default if value is None else value


def _whole(body: Mapping[str, Any], name: str, most: int) -> int | None:
    value = body.get(name)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
        raise _wrong(name, f"a whole number from 1 to {most}", value)
    return value


def _wrong(param: str, expected: str, came: Any) -> UhpError:
    return UhpError("invalid_input", f"Expected {expected} for {param}; got {str(came)[:60]!r}.", param=param)
