"""Orders: what `Conversation` tells a backend. Every Order has a `ref`; Facts that answer it carry the same.

Samples count from the start of the input audio's epoch at 24 kHz (docs/decisions/0001).
"""

from __future__ import annotations

from dataclasses import dataclass

from realtime_harness.realtime.images import ImageData
from realtime_harness.realtime.items import Item
from realtime_harness.realtime.responses import ResponsePlan
from realtime_harness.realtime.session import Session


@dataclass(frozen=True, slots=True)
class Open:
    """Start, with these settings. Answered by Opened."""

    ref: int
    session: Session


@dataclass(frozen=True, slots=True)
class Configure:
    """The session's settings are now these."""

    ref: int
    session: Session


@dataclass(frozen=True, slots=True)
class Audio:
    """More input: PCM16 mono 24 kHz, whole samples. With `detect`, SpeechProbability is wanted for it."""

    ref: int
    epoch: int
    pcm: bytes
    detect: bool


@dataclass(frozen=True, slots=True)
class DropAudio:
    """Forget uncommitted input. With `epoch` new, samples count from 0 again and the detector starts afresh."""

    ref: int
    epoch: int


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """Speech began; the turn's audio starts at `from_sample` (padding included)."""

    ref: int
    item_id: str
    from_sample: int


@dataclass(frozen=True, slots=True)
class TurnMaybeEnding:
    """The speaker fell silent at `to_sample`: start to recognise. With `judge`, TurnComplete is wanted."""

    ref: int
    item_id: str
    from_sample: int
    to_sample: int
    judge: bool


@dataclass(frozen=True, slots=True)
class TurnResumed:
    """The speaker went on: what TurnMaybeEnding started is stale."""

    ref: int
    item_id: str


@dataclass(frozen=True, slots=True)
class EndTurn:
    """The turn is committed: its audio is [from_sample, to_sample). Answered by UserText or UserTextFailed, always."""

    ref: int
    item_id: str
    from_sample: int
    to_sample: int
    after_id: str | None


@dataclass(frozen=True, slots=True)
class AddItem:
    """The item stands after `after_id` (None: first). `images` are those of its input_image parts, in order."""

    ref: int
    item: Item
    after_id: str | None
    images: tuple[ImageData, ...] = ()


@dataclass(frozen=True, slots=True)
class DropItem:
    """The item is gone."""

    ref: int
    item_id: str


@dataclass(frozen=True, slots=True)
class Truncate:
    """The assistant's item was heard up to `audio_end_ms`, which is `text`."""

    ref: int
    item_id: str
    audio_end_ms: int
    text: str


@dataclass(frozen=True, slots=True)
class Reply:
    """Answer now. `context` replaces the conversation where the client gave an input of its own.

    Answered by ReplyStarted, parts, calls, and exactly one ReplyEnded, whatever happens.
    """

    ref: int
    plan: ResponsePlan
    context: tuple[Item, ...] | None = None


@dataclass(frozen=True, slots=True)
class CancelReply:
    """Stop the Reply `reply_ref`; its ReplyEnded still comes, for its usage."""

    ref: int
    reply_ref: int


@dataclass(frozen=True, slots=True)
class Stop:
    """The session is over."""

    ref: int
    reason: str


Order = (
    Open
    | Configure
    | Audio
    | DropAudio
    | TurnStarted
    | TurnMaybeEnding
    | TurnResumed
    | EndTurn
    | AddItem
    | DropItem
    | Truncate
    | Reply
    | CancelReply
    | Stop
)
