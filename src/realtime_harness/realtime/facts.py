"""Facts: what a backend tells `Conversation`. Each names the `ref` of the Order it answers, so that what is stale is dropped.

Samples count from the start of the input audio's epoch at 24 kHz (docs/decisions/0001).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from realtime_harness.realtime.responses import Usage
from realtime_harness.realtime.wire import Json


@dataclass(frozen=True, slots=True)
class Opened:
    """The backend is ready; `model` is the name it goes by."""

    ref: int
    model: str


@dataclass(frozen=True, slots=True)
class SpeechProbability:
    """Probability that the 32 ms frame that ends at `end_sample` is speech."""

    epoch: int
    end_sample: int
    p: float


@dataclass(frozen=True, slots=True)
class TurnComplete:
    """Answers TurnMaybeEnding: probability that the speaker has finished."""

    ref: int
    p: float


@dataclass(frozen=True, slots=True)
class UserText:
    """Answers EndTurn: the words of the turn `item_id`. `seconds` is the audio that was read."""

    ref: int
    item_id: str
    text: str
    seconds: float


@dataclass(frozen=True, slots=True)
class UserTextFailed:
    """Answers EndTurn: the words could not be had."""

    ref: int
    item_id: str
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class ReplyStarted:
    """Answers Reply: work has begun."""

    ref: int


@dataclass(frozen=True, slots=True)
class PartStarted:
    """Reply `ref` opens its message `part` (0, 1, …), spoken or written."""

    ref: int
    part: int
    kind: Literal["audio", "text"]


@dataclass(frozen=True, slots=True)
class TextOut:
    """More words of `part`: of the answer, or of what the voice will say. They come before the audio that speaks them."""

    ref: int
    part: int
    text: str


@dataclass(frozen=True, slots=True)
class AudioOut:
    """More audio of `part`: PCM16 mono 24 kHz, whole samples. By its end the voice has said `text_end` characters of the part's text."""

    ref: int
    part: int
    pcm: bytes
    text_end: int


@dataclass(frozen=True, slots=True)
class CallOut:
    """Reply `ref` calls a function; `upstream_id` is the backend's own name for the call.

    The client gets an id that `Conversation` mints; the backend meets it in the AddItem of this call.
    """

    ref: int
    upstream_id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ReplyEnded:
    """The last fact of a Reply. `error` has type, code and message when it failed; usage is None when unknown."""

    ref: int
    status: Literal["completed", "incomplete", "failed", "cancelled"]
    usage: Usage | None = None
    reason: str | None = None
    error: Json | None = None


@dataclass(frozen=True, slots=True)
class CallsCancelled:
    """The backend takes back calls that were not answered."""

    upstream_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OrderRefused:
    """An Order that was not carried out, and why."""

    ref: int
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Expiring:
    """The backend's session ends in `seconds`."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Lost:
    """The backend's session is gone."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Foreign:
    """Something upstream that has no place in this vocabulary: named here, never passed on."""

    kind: str


Fact = (
    Opened
    | SpeechProbability
    | TurnComplete
    | UserText
    | UserTextFailed
    | ReplyStarted
    | PartStarted
    | TextOut
    | AudioOut
    | CallOut
    | ReplyEnded
    | CallsCancelled
    | OrderRefused
    | Expiring
    | Lost
    | Foreign
)
