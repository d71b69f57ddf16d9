"""The mirror of the conversation follows the orders. realtime/orders.py."""

from __future__ import annotations

import asyncio

from tests.engines.local.stage import in_loop, said

from realtime_harness.engines.local.history import FOLD_CHARS, GivenItem, History, NewInstructions, SpokenTurn


def ids(history: History) -> list[str]:
    return [f"<{entry.text}>" if isinstance(entry, NewInstructions) else entry.id for entry in history.entries]


def with_items(*names: str) -> History:
    history = History("base")
    for before, name in zip((None, *names), names, strict=False):
        history.place(GivenItem(said(name, name)), before)
    return history


def test_items_stand_where_they_are_put() -> None:
    history = with_items("a", "b")

    history.place(SpokenTurn("turn"), "a")
    history.place(SpokenTurn("first"), None)
    history.place(SpokenTurn("lost"), "unknown")

    assert ids(history) == ["first", "a", "turn", "b", "lost"]


def test_a_change_of_instructions_stays_behind_what_it_came_behind() -> None:
    history = with_items("a")
    history.instruct("new")

    history.place(GivenItem(said("b", "b")), "a")

    assert ids(history) == ["a", "<new>", "b"]
    assert history.instructions == "base"
    assert history.in_force == "new"


def test_before_anything_was_said_instructions_are_simply_changed() -> None:
    history = History("base")

    history.instruct("new")

    assert history.instructions == "new"
    assert ids(history) == []


def test_of_changes_with_nothing_between_them_only_the_last_counts() -> None:
    history = with_items("a")

    history.instruct("one")
    history.instruct("two")
    history.instruct("base")

    assert ids(history) == ["a"]


def test_the_same_instructions_again_change_nothing() -> None:
    history = with_items("a")
    history.instruct("one")
    history.place(SpokenTurn("b"), "a")

    history.instruct("one")

    assert ids(history) == ["a", "<one>", "b"]


def test_many_changes_are_folded_into_the_beginning_at_a_bound() -> None:
    history = with_items("a")
    for number in range(200):
        history.instruct(f"{number} " * 100)
        history.place(SpokenTurn(f"t{number}"), f"t{number - 1}" if number else "a")
        told = sum(len(entry.text) for entry in history.entries if isinstance(entry, NewInstructions))
        assert told <= FOLD_CHARS
        assert history.in_force == f"{number} " * 100


def test_an_item_that_is_dropped_or_cut() -> None:
    history = with_items("a")
    history.place(GivenItem(said("b", "one two three", "assistant")), "a")

    history.truncate("b", "one two")
    history.drop("a")
    history.drop("unknown")
    history.truncate("unknown", "x")

    (entry,) = history.entries
    assert isinstance(entry, GivenItem)
    assert entry.item.text == "one two"  # type: ignore[union-attr]


def test_dropping_no_id_drops_no_change_of_instructions() -> None:
    history = with_items("a")
    history.instruct("new")

    history.drop("")

    assert ids(history) == ["a", "<new>"]


@in_loop
async def test_waiting_for_words_ends_with_the_last_of_them_or_in_time() -> None:
    history = History()
    turn = SpokenTurn("t")
    history.place(turn, None)

    await history.known(0.02)  # nobody spoke up: it returns all the same
    waiting = asyncio.create_task(history.known(5))
    await asyncio.sleep(0)
    turn.resolve("Hello.")
    await waiting
