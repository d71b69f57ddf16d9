"""Which conversation sits in which slot of the runtime. A slot keeps what was last read in it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


def _nobody() -> None: ...


@dataclass(slots=True)
class Slot:
    """One window of the runtime. `tokens` is what we know it to hold; `used` orders slots by when they were claimed."""

    index: int
    owner: str | None = None
    tokens: Sequence[int] = ()
    used: int = 0
    became_idle: Callable[[], None] = _nobody
    _holders: int = 0  # who holds it, and all who wait for it
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def idle(self) -> bool:
        """Whether nobody holds it or waits for it."""
        return self._holders == 0

    @asynccontextmanager
    async def held(self) -> AsyncGenerator[None]:
        """Hold it, to work in it; in order of arrival."""
        self._holders += 1
        try:
            async with self._lock:
                yield
        finally:
            self._holders -= 1
            if self.idle:
                self.became_idle()

    def common(self, tokens: Sequence[int]) -> int:
        """How many of `tokens` need not be read again."""
        return common_prefix(self.tokens, tokens)


class Slots:
    """Gives each owner a slot and lets it keep it: a free one that has read the most, else the longest unused."""

    def __init__(self, indexes: Sequence[int]) -> None:
        self._slots = [Slot(index, became_idle=self._wake) for index in indexes]
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._claims = 0

    async def claim(self, owner: str, tokens: Sequence[int]) -> Slot:
        """The slot of `owner`, which it may be working in; else an idle one, waited for if there is none.

        Hold it before anything else is awaited: from then on it stays the owner's.
        """
        while (slot := self.find(owner) or self._choose(tokens)) is None:
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            try:
                await turn
            except asyncio.CancelledError:
                if not turn.cancelled():
                    self._wake()
                raise
        self._claims += 1
        slot.owner, slot.used = owner, self._claims
        return slot

    def find(self, owner: str) -> Slot | None:
        """The slot that `owner` has, if it has one."""
        return next((slot for slot in self._slots if slot.owner == owner), None)

    def release(self, owner: str) -> None:
        """`owner` needs its slot no more."""
        slot = self.find(owner)
        if slot is not None:
            slot.owner = None

    def _choose(self, tokens: Sequence[int]) -> Slot | None:
        idle = [slot for slot in self._slots if slot.idle]
        free = [slot for slot in idle if slot.owner is None]
        if free:
            return max(free, key=lambda slot: (slot.common(tokens), -slot.used))
        return min(idle, key=lambda slot: slot.used, default=None)

    def _wake(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return


def common_prefix(left: Sequence[int], right: Sequence[int]) -> int:
    """The length of the common beginning."""
    size = min(len(left), len(right))
    if left[:size] == right[:size]:
        return size
    return next((index for index in range(size) if left[index] != right[index]), size)
