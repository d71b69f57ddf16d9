"""Reads prompts into slots in small pieces, one piece at a time, so that nobody's long prompt stops another's speech.

The runtime puts every slot's work into one batch, so the tokens of a reply wait for whatever is read beside them. A
piece is therefore what this machine reads in a quarter of a second. While a reply is being made elsewhere, reading
rests between pieces in proportion to what the last one took, and more so when it is only read ahead.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeAlias

from realtime_harness.minds.slots import Slot

PIECE_SECONDS = 0.25
LEAST_PIECE = 8
MOST_PIECE = 64
FIRST_GUESS_TOKENS_PER_SECOND = 64.0
RATE_MEMORY = 0.3  # the weight of the newest piece in the rate

# A rest beside somebody's reply, as a multiple of what the last piece took.
REST_URGENT = 0.5
REST_AHEAD = 3.0


@dataclass(slots=True)
class Ticket:
    """Permission to read. Whoever asks for something newer drops it; what was read by then is kept."""

    dropped: bool = False


ReadPiece: TypeAlias = Callable[[Slot, Sequence[int], Ticket], Awaitable[bool]]


class Reader:
    """Owns the order of reading. `read_piece` makes the runtime read a prompt of which all but the end is
    known, and says whether it was read to its end.
    """

    def __init__(self, read_piece: ReadPiece, clock: Callable[[], float] = time.monotonic) -> None:
        self._read_piece = read_piece
        self._clock = clock
        self._rate = FIRST_GUESS_TOKENS_PER_SECOND
        self._replies = 0
        self._quiet = asyncio.Event()
        self._quiet.set()
        self._gate = Turnstile()

    @property
    def piece_tokens(self) -> int:
        """How many tokens are read at once, by the rate seen so far: a multiple of eight."""
        return max(LEAST_PIECE, min(MOST_PIECE, int(self._rate * PIECE_SECONDS) // 8 * 8))

    @asynccontextmanager
    async def replying(self) -> AsyncGenerator[None]:
        """While a reply is being made: reading beside it goes slowly."""
        self._replies += 1
        self._quiet.clear()
        try:
            yield
        finally:
            self._replies -= 1
            if self._replies == 0:
                self._quiet.set()

    async def read_ahead(self, slot: Slot, tokens: Sequence[int], ticket: Ticket) -> None:
        """Read all of `tokens` into `slot`, giving way to everybody else. The slot is held only for each piece."""
        took = PIECE_SECONDS
        owner = slot.owner
        while True:
            await self._rest(took * REST_AHEAD)
            async with slot.held():
                done = slot.common(tokens)
                if ticket.dropped or slot.owner != owner or done >= len(tokens):
                    return
                took = await self._piece(slot, tokens, done, ticket, urgent=False)

    async def read_now(self, slot: Slot, tokens: Sequence[int], ticket: Ticket) -> None:
        """Read `tokens` into a slot that the caller holds, but for a last piece that is read with the reply itself."""
        while not ticket.dropped and len(tokens) - (done := slot.common(tokens)) > self.piece_tokens:
            took = await self._piece(slot, tokens, done, ticket, urgent=True)
            await self._rest(took * REST_URGENT)

    async def _rest(self, seconds: float) -> None:
        """Nothing if nobody is replying; else until nobody is, or for `seconds`."""
        if self._replies:
            try:
                async with asyncio.timeout(seconds):
                    await self._quiet.wait()
            except TimeoutError:
                return

    async def _piece(self, slot: Slot, tokens: Sequence[int], done: int, ticket: Ticket, *, urgent: bool) -> float:
        async with self._gate.pass_through(urgent=urgent):
            end = min(len(tokens), done + self.piece_tokens)
            started = self._clock()
            whole = await self._read_piece(slot, tokens[:end], ticket)
            slot.tokens = tokens[: end if whole else done]
            took = self._clock() - started
        if whole and not self._replies and end - done >= LEAST_PIECE:
            self._rate += RATE_MEMORY * ((end - done) / max(took, 1e-3) - self._rate)
        return took


class Turnstile:
    """One at a time: the urgent first, then in order of arrival."""

    def __init__(self) -> None:
        self._taken = False
        self._waiting: list[tuple[bool, int, asyncio.Future[None]]] = []
        self._count = itertools.count()

    @asynccontextmanager
    async def pass_through(self, *, urgent: bool) -> AsyncGenerator[None]:
        """Hold the turnstile."""
        if self._taken:
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            heapq.heappush(self._waiting, (not urgent, next(self._count), turn))
            try:
                await turn
            except asyncio.CancelledError:
                if turn.done() and not turn.cancelled():
                    self._next()
                raise
        self._taken = True
        try:
            yield
        finally:
            self._next()

    def _next(self) -> None:
        """Let the next one in; the turnstile stays taken for it."""
        while self._waiting:
            turn = heapq.heappop(self._waiting)[2]
            if not turn.done():
                turn.set_result(None)
                return
        self._taken = False
