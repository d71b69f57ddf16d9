"""Whatever a client and a backend do, in whatever order: `watch` lists what must hold."""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from realtime_harness.realtime import events as e
from realtime_harness.realtime import facts as f

from .chaos import OPS, Chaos

STEPS = st.tuples(st.sampled_from(OPS), st.integers(0, 100_000))
COMMON = ["speak", "quiet", "say", "end", "wait", "create", "detection", "speak", "quiet", "say", "end"]


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, database=None)
@given(script=st.lists(STEPS, max_size=50))
def test_every_invariant_holds(script: list[tuple[str, int]]) -> None:
    chaos = Chaos()
    chaos.play(script)
    chaos.rest()


@pytest.mark.parametrize("seed", range(24))
def test_every_invariant_holds_in_long_conversations(seed: int) -> None:
    source = random.Random(seed)
    chaos = Chaos()
    chaos.play((source.choice(OPS if source.random() < 0.6 else COMMON), source.randrange(100_000)) for _ in range(150))
    chaos.rest()


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, database=None)
@given(script=st.lists(STEPS, max_size=25), after=st.lists(STEPS, max_size=15))
def test_nothing_follows_the_loss_of_the_engine(script: list[tuple[str, int]], after: list[tuple[str, int]]) -> None:
    chaos = Chaos()
    chaos.play(script).tell(f.Lost("gone", "Gone."))
    assert not chaos.talk.watch.live
    told = len(chaos.talk.log)
    for name, number in after:
        if name in ("quiet", "speak", "append", "wait", "wake", "commit", "create", "cancel", "say", "end"):
            chaos.ops[name](number)
    assert len(chaos.talk.log) == told


def test_the_scripts_reach_what_they_are_for() -> None:
    """A fuzzer that never interrupts, truncates or calls proves nothing."""
    seen: set[str] = set()
    for seed in range(12):
        source = random.Random(seed)
        talk = Chaos().play((source.choice(OPS + COMMON), source.randrange(100_000)) for _ in range(150))
        for _, output in talk.log:
            if isinstance(output, e.ResponseDone):
                seen.add(output.response["status"] + str((output.response["status_details"] or {}).get("reason", "")))
            seen.add(type(output).__name__)
    assert {
        "cancelledturn_detected",
        "cancelledclient_cancelled",
        "completed",
        "failed",
        "ItemTruncated",
        "FunctionArgumentsDone",
        "TranscriptionCompleted",
        "TranscriptionFailed",
        "TimeoutTriggered",
        "AudioCleared",
        "ItemDeleted",
        "DropItem",
        "Truncate",
        "TurnResumed",
        "CancelReply",
    } <= seen
