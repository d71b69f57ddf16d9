"""A number that was just said is read by rule."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime_harness.minds.numbers import lone_number, numbers

TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
ONES = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("Seventy five.", 75),
        ("I'd say 75", 75),
        ("forty-two", 42),
        ("Zero.", 0),
        ("One hundred, absolutely.", 100),
        ("A hundred.", 100),
        ("Um, maybe around sixty.", 60),
        ("About thirty, not more.", 30),
        ("I'd say 85 percent.", 85),
        ("Fifty or so.", 50),
        ("7.5", 7.5),
    ],
)
def test_a_lone_number(said: str, value: float) -> None:
    assert lone_number(said) == value


@pytest.mark.parametrize(
    "said",
    [
        "",
        "I have two dogs.",
        "Between 30 and 40.",
        "He gave the teacher 5 apples",
        "not warm at all",
        "One of them was cold",
    ],
)
def test_more_was_said_than_a_number(said: str) -> None:
    assert lone_number(said) is None


@given(st.integers(20, 99))
def test_words_and_digits_agree(value: int) -> None:
    words = TENS[value // 10 - 2] + ("-" + ONES[value % 10 - 1] if value % 10 else "")
    assert numbers(words) == numbers(str(value)) == [value]


@given(st.text())
def test_any_text_can_be_read(text: str) -> None:
    assert all(value >= 0 for value in numbers(text))
