"""The window: the oldest speech goes first, in steps, and nothing else goes at all."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime_harness.errors import MindError
from realtime_harness.minds.window import fit

COSTS = st.lists(st.tuples(st.integers(1, 60), st.booleans()), max_size=60)


def test_what_fits_is_kept_whole() -> None:
    assert fit([10, 10, 10], [True, True, True], 30) == [0, 1, 2]


def test_the_oldest_speech_goes_first() -> None:
    assert fit([50, 20, 20, 20, 20], [False, True, True, True, True], 110) == [0, 3, 4]


def test_what_must_stay_too_long_is_an_error_that_says_how_long() -> None:
    with pytest.raises(MindError, match="take 120 tokens; this mind's window leaves 100") as caught:
        fit([120, 5], [False, True], 100)
    assert caught.value.code == "context_length_exceeded"


@given(COSTS, st.integers(100, 900))
def test_what_is_kept_fits_and_nothing_firm_is_lost(messages: list[tuple[int, bool]], budget: int) -> None:
    costs, droppable = [cost for cost, _ in messages], [may_go for _, may_go in messages]
    try:
        kept = fit(costs, droppable, budget)
    except MindError:
        assert sum(cost for cost, may_go in messages if not may_go) > budget
        return
    assert sum(costs[index] for index in kept) <= budget
    assert all(droppable[index] for index in range(len(costs)) if index not in kept)
    speech = [index for index in kept if droppable[index]]
    dropped = [index for index in range(len(costs)) if index not in kept]
    assert not dropped or not speech or max(dropped) < min(speech)


@given(COSTS, st.integers(200, 900))
def test_as_a_conversation_grows_nothing_comes_back(messages: list[tuple[int, bool]], budget: int) -> None:
    gone: set[int] = set()
    for end in range(len(messages) + 1):
        costs, droppable = [cost for cost, _ in messages[:end]], [may_go for _, may_go in messages[:end]]
        if sum(cost for cost, may_go in messages[:end] if not may_go) > budget:
            return
        now_gone = set(range(end)) - set(fit(costs, droppable, budget))
        assert gone <= now_gone
        gone = now_gone


def test_a_long_talk_changes_its_beginning_only_now_and_then() -> None:
    beginnings = {tuple(fit([100] + [20] * turns, [False] + [True] * turns, 1000)[1:2]) for turns in range(45, 145)}
    assert len(beginnings) <= 10  # 100 turns, 2,000 tokens, steps of 250
