"""Slots: a conversation keeps its own; a newcomer gets the one that costs least."""

from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from realtime_harness.minds.slots import Slots, common_prefix


async def test_an_owner_keeps_its_slot() -> None:
    slots = Slots((0, 1))
    first = await slots.claim("a", [1])
    await slots.claim("b", [1])
    assert await slots.claim("a", [2]) is first


async def test_a_newcomer_gets_the_free_slot_that_has_read_most_of_its_prompt() -> None:
    slots = Slots((0, 1))
    for owner, tokens in (("a", [1, 2, 3]), ("b", [9])):
        (await slots.claim(owner, tokens)).tokens = tokens
    slots.release("a")
    slots.release("b")
    assert (await slots.claim("c", [1, 2, 4])).tokens == [1, 2, 3]


async def test_without_a_free_slot_the_longest_unused_goes_but_not_one_at_work() -> None:
    slots = Slots((0, 1, 2))
    a, b, _ = [await slots.claim(owner, []) for owner in "abc"]
    async with a.held():
        assert await slots.claim("d", []) is b
    assert slots.find("b") is None


async def test_where_all_are_at_work_a_newcomer_waits_and_one_that_gave_up_is_passed_over() -> None:
    slots = Slots((0,))
    slot = await slots.claim("a", [])
    async with slot.held():
        waiting = [asyncio.create_task(slots.claim(owner, [])) for owner in "bc"]
        await asyncio.sleep(0)
        waiting[0].cancel()
        await asyncio.sleep(0)
        assert not waiting[1].done()
    assert await waiting[1] is slot
    assert slot.owner == "c"


async def test_what_is_released_is_free_again() -> None:
    slots = Slots((0,))
    slot = await slots.claim("a", [])
    slots.release("a")
    slots.release("a")
    assert await slots.claim("b", []) is slot


@given(st.lists(st.integers(0, 3)), st.lists(st.integers(0, 3)))
def test_the_common_beginning(left: list[int], right: list[int]) -> None:
    size = common_prefix(left, right)
    assert left[:size] == right[:size]
    assert size in (len(left), len(right)) or left[size] != right[size]
