"""The conversation's items in order, every id it ever used, and how far each spoken item was heard."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field

from realtime_harness.errors import InvalidEvent
from realtime_harness.realtime.items import ContentPart, FunctionCallItem, FunctionCallOutputItem, Item, MessageItem
from realtime_harness.realtime.pcm import ms_of_samples, samples_of_ms

MAX_ITEMS = 10_000
MAX_ITEM_ID_CHARS = 64


@dataclass(slots=True)
class Spoken:
    """Aligns the text of a spoken part to its audio: by `ends[i]` samples the voice has said `texts[i]` characters."""

    text: str = ""
    samples: int = 0
    ends: list[int] = field(default_factory=lambda: [0])
    texts: list[int] = field(default_factory=lambda: [0])

    def add(self, samples: int, text_end: int) -> None:
        """`samples` more are out; by their end `text_end` characters have been said."""
        self.samples += samples
        self.ends.append(self.samples)
        self.texts.append(max(self.texts[-1], text_end))

    def heard(self, samples: int) -> str:
        """What has been said by `samples`, to the last whole word."""
        if samples <= 0:
            return ""
        last = bisect_right(self.ends, samples) - 1
        chars = self.texts[last]
        if last + 1 < len(self.ends):
            span = self.ends[last + 1] - self.ends[last]
            chars += (self.texts[last + 1] - chars) * (samples - self.ends[last]) // span
        chars = min(chars, len(self.text))
        while 0 < chars < len(self.text) and _one_word(self.text[chars - 1], self.text[chars]):
            chars -= 1
        return self.text[:chars].rstrip()

    def cut(self, samples: int) -> None:
        """Only `samples` of it exist from now on."""
        text = self.heard(samples)
        last = bisect_right(self.ends, samples)
        self.ends = [*self.ends[:last], samples] if self.ends[last - 1] != samples else self.ends[:last]
        self.texts = [*self.texts[:last], len(text)][: len(self.ends)]
        self.texts[-1] = len(text)
        self.text = text
        self.samples = samples


def _one_word(left: str, right: str) -> bool:
    """Two letters that no cut may part. Scripts from U+2E80 on (Chinese, Japanese) have no spaces: any place will do."""
    return not (left.isspace() or right.isspace()) and max(left, right) < "\u2e80"


@dataclass(slots=True)
class Entry:
    """An item and what the wire does not show of it. Until it is `finished` its response writes it, then the ledger."""

    item: Item
    spoken: Spoken | None = None
    finished: bool = True
    mirrored: bool = False  # the backend has it too
    cut_at: int | None = None  # samples: truncated while it was still being spoken


class Ledger:
    """Items in order. Ids are never used twice, deleted ones included."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._ids: set[str] = set()
        self._calls: dict[str, bool | None] = {}  # call_id -> has its output; None: the call was deleted

    def find(self, item_id: str) -> Entry | None:
        """The entry of that id, if it stands in the conversation."""
        return next((entry for entry in reversed(self._entries) if entry.item.id == item_id), None)

    def before(self, item_id: str) -> str | None:
        """The id of the item that stands before `item_id`."""
        previous = None
        for entry in self._entries:
            if entry.item.id == item_id:
                return previous
            previous = entry.item.id
        return None

    def mirrored_before(self, item_id: str) -> str | None:
        """The id of the nearest item before `item_id` that the backend has too: where it should put this one."""
        previous = None
        for entry in self._entries:
            if entry.item.id == item_id:
                return previous
            if entry.mirrored:
                previous = entry.item.id
        return None

    def reserve(self, item_id: str) -> None:
        """`item_id` is announced: no other item may have it."""
        self._ids.add(item_id)

    def check_new(self, item: Item, previous_item_id: str | None) -> None:
        """Raises InvalidEvent where a client's item cannot be added."""
        if item.id in self._ids:
            raise InvalidEvent(
                f"Error adding item: an item with id {item.id!r} already exists or existed in this conversation.",
                code="item_create_duplicate_item_id",
                param="item.id",
            )
        if len(item.id) > MAX_ITEM_ID_CHARS:
            raise InvalidEvent(
                f"Invalid 'item.id': expected at most {MAX_ITEM_ID_CHARS} characters; got {len(item.id)}.",
                code="invalid_value",
                param="item.id",
            )
        if len(self._entries) >= MAX_ITEMS:
            raise InvalidEvent(
                f"The conversation already has {MAX_ITEMS} items: delete some first.", code="too_many_items"
            )
        if previous_item_id not in (None, "root") and self.find(previous_item_id) is None:
            raise InvalidEvent(
                f"Error adding item: the previous item with id {previous_item_id[:64]!r} does not exist.",
                code="invalid_value",
                param="previous_item_id",
            )
        match item:
            case FunctionCallOutputItem():
                answered = self._calls.get(item.call_id)
                if answered is None:
                    raise InvalidEvent(
                        f"Tool call ID {item.call_id[:64]!r} not found in conversation.",
                        code="invalid_tool_call_id",
                        param="item.call_id",
                    )
                if answered:
                    raise InvalidEvent(
                        f"Tool call ID {item.call_id[:64]!r} already has its output.",
                        code="invalid_tool_call_id",
                        param="item.call_id",
                    )
            case FunctionCallItem():
                if item.call_id in self._calls:
                    raise InvalidEvent(
                        f"Tool call ID {item.call_id[:64]!r} already exists.",
                        code="invalid_tool_call_id",
                        param="item.call_id",
                    )
            case MessageItem():
                pass

    def add(self, entry: Entry, after: str | None = None, *, first: bool = False) -> str | None:
        """Puts the entry after `after` (None: at the end); the id of the one before it is returned."""
        item = entry.item
        self._ids.add(item.id)
        match item:
            case FunctionCallItem():
                self._calls.setdefault(item.call_id, False)
            case FunctionCallOutputItem():
                self._calls[item.call_id] = True
            case MessageItem():
                pass
        place = 0 if first else len(self._entries)
        if after is not None:
            place = 1 + next(index for index, standing in enumerate(self._entries) if standing.item.id == after)
        self._entries.insert(place, entry)
        return self._entries[place - 1].item.id if place else None

    def remove(self, item_id: str, code: str) -> Entry:
        """Takes the entry out. Raises InvalidEvent with `code` when there is none."""
        entry = self.known(item_id, code)
        self._entries.remove(entry)
        match entry.item:
            case FunctionCallItem():
                self._calls[entry.item.call_id] = None
            case FunctionCallOutputItem():
                if self._calls.get(entry.item.call_id):
                    self._calls[entry.item.call_id] = False
            case MessageItem():
                pass
        return entry

    def known(self, item_id: str, code: str) -> Entry:
        """The entry of that id. Raises InvalidEvent with `code` when there is none."""
        entry = self.find(item_id)
        if entry is None:
            raise InvalidEvent(f"Item with item_id not found: {item_id[:64]}", code=code, param="item_id")
        return entry

    def transcribe(self, item_id: str, text: str) -> None:
        """The words of a user's spoken turn, where it still stands in the conversation."""
        entry = self.find(item_id)
        if entry is not None and isinstance(entry.item, MessageItem):
            part = ContentPart(type="input_audio", transcript=text)
            entry.item = entry.item.model_copy(update={"content": (part,)})

    def cut(self, item_id: str, content_index: int, audio_end_ms: int) -> tuple[int, str]:
        """Cuts an assistant's spoken item at what was heard, clamped to the audio that exists.

        Returns where it was cut (ms) and what was heard. Raises InvalidEvent for anything but a spoken assistant part.
        Source: HRP 0.2.0, `conversation.item.truncate`; docs/design.md 5.4.
        """
        entry = self.known(item_id, "item_truncate_invalid_item_id")
        item = entry.item
        if not isinstance(item, MessageItem) or item.role != "assistant":
            what = f"a {item.role} message" if isinstance(item, MessageItem) else f"a {item.type}"
            raise InvalidEvent(
                f"Only an assistant's message can be truncated; {item_id[:64]!r} is {what}.",
                code="item_truncate_invalid_item_id",
                param="item_id",
            )
        if content_index != 0 or entry.spoken is None:
            raise InvalidEvent(
                f"Invalid 'content_index': the item has no audio at index {content_index}.",
                code="invalid_value",
                param="content_index",
            )
        if audio_end_ms < 0:
            raise InvalidEvent(
                f"Invalid 'audio_end_ms': expected 0 or more; got {audio_end_ms}.",
                code="invalid_value",
                param="audio_end_ms",
            )
        samples = min(samples_of_ms(min(audio_end_ms, 86_400_000)), entry.spoken.samples)
        cut_ms = ms_of_samples(samples)
        if entry.finished:
            if samples < entry.spoken.samples:
                entry.spoken.cut(samples)
            text = entry.spoken.heard(samples)
            entry.item = item.model_copy(
                update={"content": (ContentPart(type="output_audio", transcript=text), *item.content[1:])}
            )
        else:
            entry.cut_at = samples = samples if entry.cut_at is None else min(samples, entry.cut_at)
            cut_ms, text = ms_of_samples(samples), entry.spoken.heard(samples)
        return cut_ms, text
