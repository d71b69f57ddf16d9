"""The backend's mirror of the conversation: what was said, shown, called and changed, in order.

It follows the orders AddItem, DropItem, Truncate and EndTurn. A spoken turn stands at its place from its commit on, and
its words come when they are recognised; an image stands as the description of what can be seen in it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field

from realtime_harness.engines.local.instructions import change
from realtime_harness.realtime.items import ContentPart, Item, MessageItem

FOLD_CHARS = 4_000  # of told changes, before they are folded into the beginning: about a sixth of the window


@dataclass(slots=True)
class SpokenTurn:
    """A participant's turn. `text` is None while its words are not known yet, and empty where there were none."""

    id: str
    text: str | None = None
    known: asyncio.Event = field(default_factory=asyncio.Event)

    def resolve(self, text: str) -> None:
        """These were the words."""
        self.text = text
        self.known.set()


@dataclass(slots=True)
class GivenItem:
    """An item as it was given, and what is seen in its images, in order. `seen` is complete once `known` is set."""

    item: Item
    images: int = 0
    seen: list[str] = field(default_factory=list[str])
    known: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def id(self) -> str:
        """The item's id."""
        return self.item.id

    @property
    def context(self) -> str:
        """The text that may be a `[context]` item: a user message's only text."""
        if not isinstance(self.item, MessageItem) or self.item.role != "user":
            return ""
        texts = [part.text for part in self.item.content if part.text is not None]
        return texts[0] if len(texts) == 1 else ""


@dataclass(slots=True)
class NewInstructions:
    """From here on the session's instructions are `text`."""

    text: str
    id: str = ""


Entry = SpokenTurn | GivenItem | NewInstructions


class History:
    """Entries in order; the instructions that the conversation began with stand before them all."""

    def __init__(self, instructions: str = "") -> None:
        self.instructions = instructions
        self._entries: list[Entry] = []

    @property
    def entries(self) -> Sequence[Entry]:
        """All of it, oldest first."""
        return self._entries

    @property
    def in_force(self) -> str:
        """The session's instructions now."""
        changes = self._changes()
        return changes[-1].text if changes else self.instructions

    def find(self, item_id: str) -> Entry | None:
        """The entry of that id."""
        return next((entry for entry in self._entries if item_id and entry.id == item_id), None)

    def place(self, entry: Entry, after_id: str | None) -> None:
        """Puts the entry behind `after_id` (None: first). An id that is not here means the end."""
        self._entries.insert(self._index_after(after_id), entry)

    def drop(self, item_id: str) -> None:
        """Takes the entry out, if it is here."""
        self._entries = [entry for entry in self._entries if not item_id or entry.id != item_id]

    def truncate(self, item_id: str, text: str) -> None:
        """Of that item only `text` was heard."""
        entry = self.find(item_id)
        if isinstance(entry, GivenItem) and isinstance(entry.item, MessageItem):
            part = ContentPart(type="output_audio", transcript=text)
            entry.item = entry.item.model_copy(update={"content": (part,)})

    def instruct(self, text: str) -> None:
        """The session's instructions change: behind the history, so that what was read before is not read again.

        Once all that was told of changes is longer than FOLD_CHARS, they are folded into the beginning.
        """
        if text == self.in_force:
            return
        if self._entries and isinstance(self._entries[-1], NewInstructions):
            self._entries.pop()  # nothing was said under it
        told = sum(len(change(self.instructions, each.text)) for each in self._changes())
        if not self._entries or told + len(change(self.instructions, text)) > FOLD_CHARS:
            self._entries = [entry for entry in self._entries if not isinstance(entry, NewInstructions)]
            self.instructions = text
        elif text != self.in_force:
            self._entries.append(NewInstructions(text))

    async def known(self, timeout_s: float) -> None:
        """Waits until all words and images are known, or for `timeout_s`."""
        await known(self._entries, timeout_s)

    def _changes(self) -> list[NewInstructions]:
        return [entry for entry in self._entries if isinstance(entry, NewInstructions)]

    def _index_after(self, after_id: str | None) -> int:
        place = 0
        if after_id is not None:
            place = next((i + 1 for i, entry in enumerate(self._entries) if entry.id == after_id), len(self._entries))
        # A change of instructions stays behind what it came behind.
        while place < len(self._entries) and isinstance(self._entries[place], NewInstructions):
            place += 1
        return place


async def known(entries: Sequence[Entry], timeout_s: float) -> None:
    """Waits until all words and images of `entries` are known, or for `timeout_s`."""
    waited = [entry.known for entry in entries if not isinstance(entry, NewInstructions)]
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(timeout_s):
            for event in waited:
                await event.wait()
