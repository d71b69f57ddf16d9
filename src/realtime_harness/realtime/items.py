"""Items: what a conversation is made of. Messages, function calls, and their outputs.

Source: OpenAI Realtime (GA) items; HRP 0.2.0, "Events HyperStudy sends".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import Field, ValidationError

from realtime_harness.errors import InvalidEvent
from realtime_harness.realtime.images import ImageData, read_data_url
from realtime_harness.realtime.wire import Json, WireModel, check_echo, refused_by

ItemStatus = Literal["in_progress", "completed", "incomplete"]
Role = Literal["system", "user", "assistant"]
MAX_TEXT_CHARS = 200_000  # an echoed item stays far below the 1 MiB frames that clients accept
_INPUT_PARTS = {"user": ("input_text", "input_audio", "input_image"), "system": ("input_text",)}
_OUTPUT_PARTS = ("output_text", "output_audio", "text", "audio")
_NOW = {"text": "output_text", "audio": "output_audio"}  # names of the beta, still sent
_NEEDED = {  # the field that a part of that type cannot do without
    "input_text": "text",
    "output_text": "text",
    "text": "text",
    "input_image": "image_url",
    "input_audio": "audio",
}


class ContentPart(WireModel):
    """One part of a message. `type` says which of the other fields means something."""

    type: str
    text: str | None = Field(default=None, max_length=MAX_TEXT_CHARS)
    transcript: str | None = None
    audio: str | None = None
    image_url: str | None = None
    detail: str | None = None

    def to_wire(self) -> Json:
        """As sent to a client: never the bytes of audio or of an image, which may be larger than a frame."""
        return self.model_dump(exclude_unset=True, exclude={"audio", "image_url"})


class MessageItem(WireModel):
    """Something said or written by one side."""

    id: str = ""
    type: Literal["message"] = "message"
    role: Role
    status: ItemStatus = "completed"
    content: tuple[ContentPart, ...] = ()

    @property
    def text(self) -> str:
        """All its words: texts and transcripts, in order."""
        return " ".join(words for part in self.content if (words := part.text or part.transcript))

    def to_wire(self) -> Json:
        """As sent to a client."""
        return {**self.model_dump(exclude={"content"}), "content": [part.to_wire() for part in self.content]}


class FunctionCallItem(WireModel):
    """A call that the model made; whoever owns the tools carries it out."""

    id: str = ""
    type: Literal["function_call"] = "function_call"
    status: ItemStatus = "completed"
    call_id: str
    name: str
    arguments: str = Field(default="", max_length=MAX_TEXT_CHARS)

    def to_wire(self) -> Json:
        """As sent to a client."""
        return self.model_dump()


class FunctionCallOutputItem(WireModel):
    """What came of a call: a result, or why it was refused."""

    id: str = ""
    type: Literal["function_call_output"] = "function_call_output"
    call_id: str
    output: str = Field(max_length=MAX_TEXT_CHARS)

    def to_wire(self) -> Json:
        """As sent to a client. It has no status on the wire."""
        return self.model_dump()


Item = MessageItem | FunctionCallItem | FunctionCallOutputItem

_MODELS: Mapping[str, type[Item]] = {
    "message": MessageItem,
    "function_call": FunctionCallItem,
    "function_call_output": FunctionCallOutputItem,
}


def read_item(value: Json, param: str = "item") -> Item:
    """An item as a client sends it, validated. Raises InvalidEvent that names the field, what was expected and what came."""
    kind = value.get("type")
    if kind is None:
        raise InvalidEvent(
            f"Missing required parameter: '{param}.type'.", code="missing_required_parameter", param=f"{param}.type"
        )
    model = _MODELS.get(kind) if isinstance(kind, str) else None
    if model is None:
        raise InvalidEvent(
            f"Invalid '{param}.type': expected 'message', 'function_call' or 'function_call_output'; got {str(kind)[:60]!r}.",
            code="invalid_value",
            param=f"{param}.type",
        )
    if kind == "message" and isinstance(value.get("content"), list):
        value = {**value, "content": tuple(value["content"])}
    # A client may send an id or a status of null: the same as leaving it out.
    value = {key: field for key, field in value.items() if not (key in ("id", "status") and field is None)}
    try:
        item = model.model_validate(value)
    except ValidationError as error:
        raise refused_by(error, param) from None
    if isinstance(item, MessageItem):
        _check_content(item, param)
        if item.role == "assistant":
            parts = tuple(part.model_copy(update={"type": _NOW.get(part.type, part.type)}) for part in item.content)
            item = item.model_copy(update={"content": parts})
    check_echo(item.to_wire(), param)
    return item


def images_of(item: Item, param: str) -> tuple[ImageData, ...]:
    """The images of its parts, in order, checked. Raises InvalidEvent for a bad one, and for audio."""
    images: list[ImageData] = []
    for index, part in enumerate(item.content if isinstance(item, MessageItem) else ()):
        if part.type == "input_image":
            images.append(read_data_url(part.image_url or "", f"{param}.content[{index}].image_url"))
        elif part.type == "input_audio":
            raise InvalidEvent(
                "Items with 'input_audio' are not taken: append the audio to the input buffer and commit it.",
                code="invalid_value",
                param=f"{param}.content[{index}].type",
            )
    return tuple(images)


def _check_content(item: MessageItem, param: str) -> None:
    allowed = _INPUT_PARTS.get(item.role, _OUTPUT_PARTS)
    if not item.content:
        raise InvalidEvent(
            f"Invalid '{param}.content': expected at least one part; got none.",
            code="invalid_value",
            param=f"{param}.content",
        )
    for index, part in enumerate(item.content):
        where = f"{param}.content[{index}]"
        if part.type not in allowed:
            raise InvalidEvent(
                f"Invalid '{where}.type': a {item.role} message takes {', '.join(allowed)}; got {part.type[:60]!r}.",
                code="invalid_value",
                param=f"{where}.type",
            )
        needed = _NEEDED.get(part.type)
        if needed and getattr(part, needed) is None:
            raise InvalidEvent(
                f"Missing required parameter: '{where}.{needed}'.",
                code="missing_required_parameter",
                param=f"{where}.{needed}",
            )
