from __future__ import annotations

import random
import re

import pytest

from realtime_harness.realtime.ids import IdMint


@pytest.mark.parametrize(("kind", "length"), [("event", 21), ("sess", 21), ("conv", 21), ("item", 21), ("resp", 21), ("call", 16)])  # fmt: skip
def test_ids_have_the_shape_that_clients_know(kind: str, length: int) -> None:
    assert re.fullmatch(rf"{kind}_[A-Za-z0-9]{{{length}}}", IdMint().mint(kind))


def test_ids_do_not_repeat_even_from_a_source_that_does() -> None:
    """The counter had no fixed length, so letters and counter together could spell an earlier id."""

    class Stuck(random.Random):
        def choices(self, population, *_args, k=1, **_more):  # type: ignore[no-untyped-def]
            return [population[1]] * k

    mint = IdMint(Stuck())
    ids = [mint.mint("call") for _ in range(10_000)]
    assert len(set(ids)) == len(ids)


def test_a_seeded_source_makes_a_replay_deterministic() -> None:
    first, second = (IdMint(random.Random(3)) for _ in range(2))
    assert [first.mint("item") for _ in range(5)] == [second.mint("item") for _ in range(5)]


def test_two_mints_do_not_guess_each_other() -> None:
    assert IdMint().mint("sess") != IdMint().mint("sess")
