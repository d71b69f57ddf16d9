"""Context items, read back from what the platform sent. Source: HRP 0.2.0, "Context items"."""

from __future__ import annotations

import math
from typing import Any, cast

from realtime_harness.errors import InvalidEvent
from realtime_harness.hyperstudy.context import (
    EVENTS,
    IMAGE_STATES,
    PREFIX,
    Asked,
    ContextItem,
    ExperimenterMessage,
    ImageNote,
    Other,
    Participants,
    Paused,
    Resumed,
    Revealed,
    Screen,
    Timer,
    Typed,
    check_attached,
    wrong_field,
)
from realtime_harness.hyperstudy.contract import TOOLS_BY_NAME, VoiceTool
from realtime_harness.realtime.wire import Json, kind_of, load_object


def read_text(text: str) -> ContextItem | None:
    """The context item that `text` is; None where it does not begin with the prefix, and so is only somebody's words.

    Fields that are not known are passed over. Raises InvalidEvent where what follows the prefix is not exactly one JSON
    object of a known form: it names the field, what was expected and what came.
    """
    if not text.startswith(PREFIX):
        return None
    fields = _Fields(load_object(text[len(PREFIX) :]))
    match fields.text("event"):
        case "participants":
            others = fields.objects("others")
            return Participants(tuple(Other(other.text("name"), other.text("role")) for other in others))
        case "screen":
            return Screen(fields.text("type"), fields.text("text"), fields.images())
        case "typed":
            return Typed(fields.text("speaker"), fields.text("said"))
        case "question":
            return Asked(fields.tool("tool"), fields.text("question"), fields.flag("duringVideo"), fields.images())
        case "timer":
            return Timer(fields.number("secondsLeft"))
        case "experimenter_message":
            return ExperimenterMessage(fields.text("text"))
        case "revealed":
            return Revealed(fields.text("name"), fields.text("role"), fields.any("answer"))
        case "paused":
            return Paused(fields.texts("waitingFor"))
        case "resumed":
            return Resumed()
        case other:
            raise wrong_field("event", f"one of {', '.join(EVENTS)}", repr(other[:60]))


def read_item(item: Json) -> ContextItem | None:
    """The context item that a user message is, or None. Raises InvalidEvent as `read_text` does, and where the images that
    are attached are not those that it notes.
    """
    content = item.get("content")
    if item.get("type") != "message" or item.get("role") != "user" or not isinstance(content, list) or not content:
        return None
    first, *rest = cast("list[Json]", content)
    text = first.get("text")
    if first.get("type") != "input_text" or not isinstance(text, str):
        return None
    context = read_text(text)
    if context is not None:
        check_attached(context, sum(part.get("type") == "input_image" for part in rest))
    return context


class _Fields:
    """The fields of one JSON object, each read as what it must be."""

    def __init__(self, value: Json) -> None:
        self._value = value

    def any(self, name: str) -> Any:
        if name not in self._value:
            raise InvalidEvent(
                f"Invalid context item: {name!r} is missing.", code="missing_required_parameter", param=name
            )
        return self._value[name]

    def text(self, name: str) -> str:
        return _as_text(name, self.any(name))

    def flag(self, name: str) -> bool:
        value = self.any(name)
        if not isinstance(value, bool):
            raise wrong_field(name, "true or false", kind_of(value))
        return value

    def number(self, name: str) -> int | float:
        value = self.any(name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise wrong_field(name, "a number", kind_of(value))
        return value

    def tool(self, name: str) -> VoiceTool:
        value = self.text(name)
        answering = [tool for tool in TOOLS_BY_NAME if tool != "send_chat"]
        if value not in answering:
            raise wrong_field(name, f"one of {', '.join(answering)}", repr(value[:60]))
        return TOOLS_BY_NAME[value].name

    def texts(self, name: str) -> tuple[str, ...]:
        return tuple(_as_text(name, entry) for entry in self._list(name))

    def objects(self, name: str) -> tuple[_Fields, ...]:
        entries = self._list(name)
        for entry in entries:
            if not isinstance(entry, dict):
                raise wrong_field(name, "a list of objects", f"{kind_of(entry)} in it")
        return tuple(_Fields(cast("Json", entry)) for entry in entries)

    def images(self) -> tuple[ImageNote, ...]:
        return tuple(_as_note(text) for text in self.texts("images")) if "images" in self._value else ()

    def _list(self, name: str) -> list[object]:
        value: object = self.any(name)
        if not isinstance(value, list):
            raise wrong_field(name, "a list", kind_of(value))
        return cast("list[object]", value)


def _as_text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise wrong_field(name, "a string", kind_of(value))
    return value


def _as_note(text: str) -> ImageNote:
    for state in IMAGE_STATES:
        if text.startswith(f"{state}: "):
            return ImageNote(state, text[len(state) + 2 :])
    raise wrong_field(
        "images", f"each image to begin with one of {', '.join(IMAGE_STATES)} and a colon", repr(text[:60])
    )
