"""Which conversation sits in which slot of the runtime. A slot keeps what was last read in it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(slots=True)
class Slot:
    """One window of the runtime. `tokens` is what we know it to hold; `lock` is held while it works."""

    index: int
    owner: str | None = None
    tokens: Sequence[int] = ()
    used: int = 0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    def common(self, tokens: Sequence[int]) -> int:
        """How many of `tokens` need not be read again."""
        return common_prefix(self.tokens, tokens)


class Slots:
    """Gives each owner a slot and lets it keep it: a free one that has read the most, else the longest unused."""

    def __init__(self, indexes: Sequence[int]) -> None:
        self._slots = [Slot(index) for index in indexes]
        self._clock = 0

    def take(self, owner: str, tokens: Sequence[int]) -> Slot:
        """The slot of `owner`. It may be busy: its lock says so. A busy slot of another owner is taken last."""
        slot = self.find(owner)
        if slot is None:
            free = [each for each in self._slots if each.owner is None and not each.lock.locked()]
            if free:
                slot = max(free, key=lambda each: (each.common(tokens), -each.used))
            else:
                slot = min(self._slots, key=lambda each: (each.lock.locked(), each.used))
            slot.owner = owner
        self._clock += 1
        slot.used = self._clock
        return slot

    def find(self, owner: str) -> Slot | None:
        """The slot that `owner` has, if it has one."""
        return next((slot for slot in self._slots if slot.owner == owner), None)

    def release(self, owner: str) -> None:
        """`owner` needs its slot no more."""
        slot = self.find(owner)
        if slot is not None:
            slot.owner = None


def common_prefix(left: Sequence[int], right: Sequence[int]) -> int:
    """The length of the common beginning."""
    size = min(len(left), len(right))
    if left[:size] == right[:size]:
        return size
    return next((index for index in range(size) if left[index] != right[index]), size)
