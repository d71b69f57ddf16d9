"""Fits a conversation into the model's window: the oldest speech goes first, and nothing else goes at all.

Speech goes in steps of a quarter of the window, so that the prompt keeps its beginning, which the model has read
already, for many turns; not one message a turn, which would make it read all of it again each time.
"""

from __future__ import annotations

from collections.abc import Sequence

from realtime_harness.errors import MindError

STEPS = 4


def fit(costs: Sequence[int], droppable: Sequence[bool], budget: int) -> list[int]:
    """The indexes of the messages to keep, in order. `costs` and `budget` are tokens.

    Depends on nothing but its arguments: as a conversation grows, what is dropped only grows, a step at a time.
    Raises MindError (`context_length_exceeded`) if what may not be dropped is too long by itself.
    """
    over = sum(costs) - budget
    if over <= 0:
        return list(range(len(costs)))
    fixed = sum(cost for cost, may_go in zip(costs, droppable, strict=True) if not may_go)
    if fixed > budget:
        raise MindError(
            f"instructions, tools and items that must stay take {fixed} tokens; this mind's window leaves {budget}. "
            "Shorten them, or use a mind with a larger window.",
            code="context_length_exceeded",
        )
    step = max(1, budget // STEPS)
    to_go = -(-over // step) * step
    kept: list[int] = []
    for index, (cost, may_go) in enumerate(zip(costs, droppable, strict=True)):
        if may_go and to_go > 0:
            to_go -= cost
        else:
            kept.append(index)
    return kept
