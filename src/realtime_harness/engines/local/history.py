"""The backend's mirror of the conversation: what was said, shown, called and changed, in order.

It follows the orders AddItem, DropItem, Truncate and EndTurn. A spoken turn stands at its place from its commit on, and
its words come when they are recognised; an image stands as the description of what can be seen in it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field

from realtime_harness.realtime.items import ContentPart, Item, MessageItem


@dataclass(slots=True)
class SpokenTurn:
    """A participant's turn. `text` is None while its words are not known yet."""

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

    def place(self, entry: Entry, after_id: str | None) -> None:
        """Puts the entry behind `after_id` (None: first). An id that is not here means the end."""
        self._entries.insert(self._index_after(after_id), entry)

    def drop(self, item_id: str) -> None:
        """Takes the entry out, if it is here."""
        self._entries = [entry for entry in self._entries if not item_id or entry.id != item_id]

    def truncate(self, item_id: str, text: str) -> None:
        """Of that item only `text` was heard."""
        for entry in self._entries:
            if isinstance(entry, GivenItem) and entry.id == item_id and isinstance(entry.item, MessageItem):
                part = ContentPart(type="output_audio", transcript=text)
                entry.item = entry.item.model_copy(update={"content": (part,)})

    def instruct(self, text: str, limit_chars: int) -> None:
        """The session's instructions change. Behind the history, so that what was read before is not read again.

        When the changes add up to more than `limit_chars`, they are folded into the beginning, once.
        """
        if text == self.in_force:
            return
        changes = [entry for entry in self._entries if isinstance(entry, NewInstructions)]
        if not self._entries or sum(len(change.text) for change in changes) + len(text) > limit_chars:
            self._entries = [entry for entry in self._entries if not isinstance(entry, NewInstructions)]
            self.instructions = text
            return
        if isinstance(self._entries[-1], NewInstructions):
            self._entries.pop()
        if text != self.in_force:
            self._entries.append(NewInstructions(text))

    @property
    def in_force(self) -> str:
        """The session's instructions now."""
        changes = [entry.text for entry in self._entries if isinstance(entry, NewInstructions)]
        return changes[-1] if changes else self.instructions

    async def known(self, timeout_s: float) -> None:
        """Waits until all words and images are known, or for `timeout_s`."""
        waited = [entry.known for entry in self._entries if not isinstance(entry, NewInstructions)]
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                for event in waited:
                    await event.wait()

    def _index_after(self, after_id: str | None) -> int:
        if after_id is None:
            return 0
        for index in range(len(self._entries) - 1, -1, -1):
            if self._entries[index].id == after_id:
                # A change of instructions stays behind what it came behind.
                while index + 1 < len(self._entries) and isinstance(self._entries[index + 1], NewInstructions):
                    index += 1  # noqa: PLW2901 - walks on from the place found
                return index + 1
        return len(self._entries)
