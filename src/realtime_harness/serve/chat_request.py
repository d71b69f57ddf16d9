"""A Chat Completions request as a mind reads it. Pure.

Any extra parameter is accepted and ignored: platforms and SDKs send many (agent-spec 0.2.0, `modelEndpoint`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from realtime_harness.errors import InvalidEvent
from realtime_harness.minds.mind import ChatMessage, ChatRequest, ChatTool, ToolCall, ToolChoice, ToolName
from realtime_harness.minds.schema import nonsense
from realtime_harness.realtime.wire import Json

DEFAULT_TOKENS = 512
MAX_MESSAGES = 2_000
MAX_TOOLS = 128
MAX_IMAGES = 32
NOT_FETCHED = "(An image that is not shown here: it was given as a link, and links are not followed.)"
_ROLES: Mapping[str, Literal["system", "user", "assistant", "tool"]] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
}


@dataclass(frozen=True, slots=True)
class ChatAsked:
    """What a client asks for. `request` has the images of its messages as data URLs."""

    request: ChatRequest
    model: str | None
    stream: bool
    stream_usage: bool


def read_chat(body: Json) -> ChatAsked:
    """The request. Raises InvalidEvent that names the parameter, what was expected and what came."""
    messages = _list(body, "messages", MAX_MESSAGES)
    if not messages:
        raise _wrong("messages", "at least one message", "none")
    read = tuple(_message(message, f"messages[{place}]") for place, message in enumerate(messages))
    if sum(len(message.images) for message in read) > MAX_IMAGES:
        raise _wrong("messages", f"at most {MAX_IMAGES} images", "more")
    tools = tuple(
        _tool(tool, f"tools[{place}]") for place, tool in enumerate(_list(body, "tools", MAX_TOOLS, optional=True))
    )
    options = body.get("stream_options")
    stream_usage = isinstance(options, dict) and cast("Json", options).get("include_usage") is True
    temperature = _number(body, "temperature", 0.0, 2.0)
    seed = body.get("seed")
    request = ChatRequest(
        messages=read,
        tools=tools,
        tool_choice=_choice(body.get("tool_choice"), tools),
        max_tokens=_tokens(body),
        temperature=0.3 if temperature is None else temperature,
        seed=seed if isinstance(seed, int) and not isinstance(seed, bool) and seed >= 0 else None,
    )
    model = body.get("model")
    return ChatAsked(request, model if isinstance(model, str) else None, body.get("stream") is True, stream_usage)


def _message(value: Any, where: str) -> ChatMessage:
    message = _object(value, where)
    role = _ROLES.get(str(message.get("role")))
    if role is None:
        raise _wrong(f"{where}.role", f"one of {', '.join(_ROLES)}", repr(message.get("role"))[:40])
    text, images = _content(message.get("content"), f"{where}.content")
    given = message.get("tool_calls")
    calls = tuple(
        _call(call, f"{where}.tool_calls[{place}]")
        for place, call in enumerate(cast("list[Any]", given) if isinstance(given, list) else [])
    )
    call_id = message.get("tool_call_id")
    return ChatMessage(
        role,
        text,
        calls=calls if role == "assistant" else (),
        call_id=call_id if role == "tool" and isinstance(call_id, str) else None,
        droppable=False,
        images=images,
    )


def _content(value: Any, where: str) -> tuple[str, tuple[str, ...]]:
    """The text of a message's content, and its images."""
    if value is None:
        return "", ()
    if isinstance(value, str):
        return value, ()
    if not isinstance(value, list):
        raise _wrong(where, "text or a list of parts", type(value).__name__)
    texts: list[str] = []
    images: list[str] = []
    for place, each in enumerate(cast("list[Any]", value)):
        part = _object(each, f"{where}[{place}]")
        match part.get("type"):
            case "text" | "input_text" | "output_text" | "refusal":
                texts.append(str(part.get("text") or part.get("refusal") or ""))
            case "image_url" | "input_image":
                given = part.get("image_url")
                url = cast("Json", given).get("url") if isinstance(given, dict) else given
                if isinstance(url, str) and url.startswith("data:"):
                    images.append(url)
                else:
                    texts.append(NOT_FETCHED)
            case other:
                raise _wrong(f"{where}[{place}].type", "text or image_url", repr(other)[:40])
    return "\n".join(texts), tuple(images)


def _call(value: Any, where: str) -> ToolCall:
    call = _object(value, where)
    function = _object(call.get("function"), f"{where}.function")
    return ToolCall(str(call.get("id") or ""), str(function.get("name") or ""), str(function.get("arguments") or "{}"))


def _tool(value: Any, where: str) -> ChatTool:
    tool = _object(value, where)
    if tool.get("type", "function") != "function":
        raise _wrong(f"{where}.type", "function", repr(tool.get("type"))[:40])
    function = _object(tool.get("function"), f"{where}.function")
    name = function.get("name")
    if not isinstance(name, str) or not name:
        raise _wrong(f"{where}.function.name", "a name", repr(name)[:40])
    parameters = function.get("parameters")
    given = cast("Json", parameters) if isinstance(parameters, dict) else {}
    if (wrong := nonsense(given)) is not None:
        raise _wrong(f"{where}.function.parameters", "a JSON schema", wrong)
    return ChatTool(name, str(function.get("description") or ""), given)


def _choice(value: Any, tools: tuple[ChatTool, ...]) -> ToolChoice:
    match value:
        case None:
            return "auto"
        case "auto" | "none" | "required":
            return value
        case {"function": {"name": str(name)}} | {"name": str(name)}:
            if all(tool.name != name for tool in tools):
                raise _wrong("tool_choice", "the name of a tool in `tools`", repr(name)[:60])
            return ToolName(name)
        case _:
            raise _wrong("tool_choice", "auto, none, required or a function", repr(value)[:60])


def _tokens(body: Json) -> int:
    for name in ("max_completion_tokens", "max_tokens"):
        if body.get(name) is not None:
            value = _number(body, name, 1, 1_000_000)
            return int(value or 1)
    return DEFAULT_TOKENS


def _number(body: Json, name: str, least: float, most: float) -> float | None:
    value = body.get(name)
    if value is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool) or not least <= value <= most:
        raise _wrong(name, f"a number from {least:g} to {most:g}", repr(value)[:40])
    return value


def _list(body: Json, name: str, most: int, *, optional: bool = False) -> list[Any]:
    value = body.get(name)
    if value is None and optional:
        return []
    if not isinstance(value, list):
        raise _wrong(name, "a list", "nothing" if value is None else type(value).__name__)
    given = cast("list[Any]", value)
    if len(given) > most:
        raise _wrong(name, f"at most {most} entries", str(len(given)))
    return given


def _object(value: Any, where: str) -> Json:
    if not isinstance(value, dict):
        raise _wrong(where, "an object", type(value).__name__)
    return cast("Json", value)


def _wrong(param: str, expected: str, came: str) -> InvalidEvent:
    return InvalidEvent(f"Invalid {param!r}: expected {expected}; got {came}.", code="invalid_value", param=param)
