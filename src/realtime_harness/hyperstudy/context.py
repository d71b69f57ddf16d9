"""Context items: what the platform tells an engine of the study, built and read. Source: HRP 0.2.0, "Context items".

A context item is a user message whose text is `[context] ` and one JSON object. Text that a participant typed is quoted
in it as data. They describe the study and never instruct; a participant may *say* "[context] ...", so only a text item
that the platform itself created is one.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, assert_never, get_args

from realtime_harness.errors import InvalidEvent
from realtime_harness.hyperstudy.contract import VoiceTool
from realtime_harness.realtime.wire import Json

PREFIX = "[context] "
ImageState = Literal["attached", "attached earlier", "could not be loaded"]
IMAGE_STATES: tuple[ImageState, ...] = get_args(ImageState)


@dataclass(frozen=True, slots=True)
class ImageNote:
    """What one image of a screen is: attached to this item, attached to an earlier one, or not to be had."""

    state: ImageState
    label: str

    def to_text(self) -> str:
        """As `images` lists it."""
        return f"{self.state}: {self.label}"


@dataclass(frozen=True, slots=True)
class Other:
    """Another participant, by the name they are shown under."""

    name: str
    role: str


@dataclass(frozen=True, slots=True)
class Participants:
    """Who else is there; sent at the start and whenever it changes."""

    event: ClassVar[str] = "participants"
    others: tuple[Other, ...]


@dataclass(frozen=True, slots=True)
class Screen:
    """A new screen: its component type, its text as a participant reads it, and its images."""

    event: ClassVar[str] = "screen"
    type: str
    text: str
    images: tuple[ImageNote, ...] = ()


@dataclass(frozen=True, slots=True)
class Typed:
    """Somebody typed into the chat."""

    event: ClassVar[str] = "typed"
    speaker: str
    said: str


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, to be answered silently by `tool`; `during_video`: while a video is paused for a rating."""

    event: ClassVar[str] = "question"
    tool: VoiceTool
    question: str
    during_video: bool
    images: tuple[ImageNote, ...] = ()


@dataclass(frozen=True, slots=True)
class Timer:
    """The screen just shown has a time limit, in seconds."""

    event: ClassVar[str] = "timer"
    seconds_left: int | float


@dataclass(frozen=True, slots=True)
class ExperimenterMessage:
    """The experimenter wrote to this participant or to everyone."""

    event: ClassVar[str] = "experimenter_message"
    text: str


@dataclass(frozen=True, slots=True)
class Revealed:
    """Another participant's answer, shown to this one: any JSON value."""

    event: ClassVar[str] = "revealed"
    name: str
    role: str
    answer: Any


@dataclass(frozen=True, slots=True)
class Paused:
    """The study has stopped, for those named dropped out; the agent is not heard until it is resumed."""

    event: ClassVar[str] = "paused"
    waiting_for: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Resumed:
    """The study goes on."""

    event: ClassVar[str] = "resumed"


ContextItem = Participants | Screen | Typed | Asked | Timer | ExperimenterMessage | Revealed | Paused | Resumed
EVENTS: tuple[str, ...] = tuple(kind.event for kind in get_args(ContextItem))

EXAMPLES: tuple[ContextItem, ...] = (
    Participants((Other("Alex", "A"),)),
    Screen("showtext", "Please introduce yourselves."),
    Screen("vasrating", "How trustworthy is this face?", (ImageNote("attached", "the image (Face 3)"),)),
    Typed("Alex", "hello?"),
    Asked(
        "answer_scale",
        "Question: How warm was your partner?\nThis is a visual analog rating scale from 0 to 100.\n"
        "Respond with a number between 0 and 100.",
        during_video=False,
    ),
    Timer(30),
    ExperimenterMessage("Please answer honestly."),
    Revealed("Alex", "A", 70),
    Paused(("Alex (A)",)),
    Resumed(),
)
"""The ten forms of agent-spec 0.2.0, `voiceEngine.contextItems`."""


def to_text(context: ContextItem) -> str:
    """The text of the item. Raises InvalidEvent for what JSON cannot carry: NaN, half a surrogate pair."""
    value: Json = {"event": context.event}
    match context:
        case Participants(others=others):
            value["others"] = [{"name": other.name, "role": other.role} for other in others]
        case Screen():
            value |= {"type": context.type, "text": context.text, **_images(context.images)}
        case Typed(speaker=speaker, said=said):
            value |= {"speaker": speaker, "said": said}
        case Asked():
            value |= {"tool": context.tool, "question": context.question, "duringVideo": context.during_video}
            value |= _images(context.images)
        case Timer(seconds_left=seconds_left):
            value["secondsLeft"] = seconds_left
        case ExperimenterMessage(text=text):
            value["text"] = text
        case Revealed():
            value |= {"name": context.name, "role": context.role, "answer": context.answer}
        case Paused(waiting_for=waiting_for):
            value["waitingFor"] = list(waiting_for)
        case Resumed():
            pass
        case _:
            assert_never(context)
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        text.encode()
    except (TypeError, ValueError) as problem:
        raise InvalidEvent(
            f"Expected a context item of JSON values; got one that JSON cannot carry ({problem})."
        ) from None
    return PREFIX + text


def to_item(context: ContextItem, image_urls: Sequence[str] = ()) -> Json:
    """The `item` of a `conversation.item.create`, with a `data:` URL for each image that is noted as attached, in order.

    Raises InvalidEvent where there are more or fewer URLs than that.
    """
    check_attached(context, len(image_urls))
    return {
        "type": "message",
        "role": "user",
        "content": [
            {"type": "input_text", "text": to_text(context)},
            *({"type": "input_image", "image_url": url} for url in image_urls),
        ],
    }


def check_attached(context: ContextItem, attached: int) -> None:
    """Raises InvalidEvent where not as many images are attached as the item notes."""
    notes = context.images if isinstance(context, Screen | Asked) else ()
    noted = sum(note.state == "attached" for note in notes)
    if noted != attached:
        raise wrong_field("content", f"{noted} images, as many as `images` says are attached", str(attached))


def wrong_field(param: str, expected: str, got: str) -> InvalidEvent:
    """A context item is refused for its field `param`."""
    return InvalidEvent(
        f"Invalid context item, {param!r}: expected {expected}; got {got}.", code="invalid_value", param=param
    )


def _images(notes: Sequence[ImageNote]) -> Json:
    return {"images": [note.to_text() for note in notes]} if notes else {}
