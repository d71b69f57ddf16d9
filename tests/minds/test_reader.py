"""Reading: in pieces, one at a time, the urgent first, and slowly beside a reply."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from realtime_harness.minds.reader import LEAST_PIECE, MOST_PIECE, Reader, Ticket, Turnstile
from realtime_harness.minds.slots import Slot


class Runtime:
    """Reads at a steady rate on a clock of its own, and notes each piece."""

    def __init__(self, tokens_per_second: float = 64.0) -> None:
        self.now = 0.0
        self.rate = tokens_per_second
        self.pieces: list[tuple[int, int]] = []
        self.at_once = 0
        self.reader = Reader(self.read, lambda: self.now)

    async def read(self, slot: Slot, tokens: Sequence[int], ticket: Ticket) -> bool:
        self.at_once += 1
        assert self.at_once == 1, "two pieces at once"
        await asyncio.sleep(0)
        new = len(tokens) - len(slot.tokens)
        self.now += new / self.rate
        self.pieces.append((slot.index, new))
        self.at_once -= 1
        return not ticket.dropped


PROMPT = list(range(200))


async def test_a_prompt_is_read_ahead_whole_and_in_pieces() -> None:
    runtime, slot = Runtime(), Slot(0, owner="a")
    await runtime.reader.read_ahead(slot, PROMPT, Ticket())
    assert slot.tokens == PROMPT
    assert all(new <= 16 for _, new in runtime.pieces)


async def test_a_piece_is_what_the_machine_reads_in_a_quarter_of_a_second() -> None:
    for rate, size in ((1000.0, MOST_PIECE), (128.0, 32), (5.0, LEAST_PIECE)):
        runtime = Runtime(rate)
        for index in range(4):
            await runtime.reader.read_ahead(Slot(index, owner="a"), PROMPT, Ticket())
        assert abs(runtime.reader.piece_tokens - size) <= 8


async def test_what_is_urgent_leaves_its_last_piece_to_the_reply() -> None:
    runtime, slot = Runtime(), Slot(0)
    await runtime.reader.read_now(slot, PROMPT, Ticket())
    assert 0 < len(PROMPT) - len(slot.tokens) <= 16


async def test_a_dropped_ticket_ends_reading_and_keeps_what_was_read() -> None:
    runtime, slot, ticket = Runtime(), Slot(0, owner="a"), Ticket()
    reading = asyncio.create_task(runtime.reader.read_ahead(slot, PROMPT, ticket))
    while len(runtime.pieces) < 3:
        await asyncio.sleep(0)
    ticket.dropped = True
    await reading
    assert 32 <= len(slot.tokens) < 100


async def test_a_slot_that_changed_hands_is_left_alone() -> None:
    runtime, slot = Runtime(), Slot(0, owner="a")
    reading = asyncio.create_task(runtime.reader.read_ahead(slot, PROMPT, Ticket()))
    while not runtime.pieces:
        await asyncio.sleep(0)
    slot.owner = "b"
    await reading
    assert len(slot.tokens) < len(PROMPT)


async def test_reading_ahead_rests_beside_a_reply_and_goes_on_after_it() -> None:
    runtime, slot = Runtime(), Slot(0, owner="a")
    async with runtime.reader.replying():
        reading = asyncio.create_task(runtime.reader.read_ahead(slot, PROMPT, Ticket()))
        for _ in range(50):
            await asyncio.sleep(0)
        assert runtime.pieces == []
    await reading
    assert slot.tokens == PROMPT


async def test_two_readers_take_turns() -> None:
    runtime = Runtime()
    slots = [Slot(0, owner="a"), Slot(1, owner="b")]
    await asyncio.gather(*(runtime.reader.read_ahead(slot, PROMPT, Ticket()) for slot in slots))
    first = [index for index, _ in runtime.pieces[:8]]
    assert 3 <= first.count(0) <= 5


async def test_the_urgent_pass_first_and_others_in_order() -> None:
    turnstile, passed = Turnstile(), list[str]()

    async def go(name: str, *, urgent: bool) -> None:
        async with turnstile.pass_through(urgent=urgent):
            passed.append(name)
            await asyncio.sleep(0)

    async with turnstile.pass_through(urgent=False):
        going = [asyncio.create_task(go(name, urgent=name == "urgent")) for name in ("one", "two", "urgent")]
        await asyncio.sleep(0)
        going[0].cancel()
    await asyncio.gather(*going, return_exceptions=True)
    assert passed == ["urgent", "two"]
