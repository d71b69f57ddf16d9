"""Reads a number that was just said. Rules come first, because a small model misreads number words."""

from __future__ import annotations

import re

_ONES = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16,
    "seventeen": 17, "eighteen": 18, "nineteen": 19,
}  # fmt: skip
_TENS = {
    "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
}  # fmt: skip
_WORD = re.compile(r"\d+(?:\.\d+)?|[a-z]+")

# Words that may stand around a lone number. Anything else means that more was said than the number.
_AROUND = re.compile(
    r"i|d|id|would|ll|will|say|said|give|it|that|my|answer|rating|score|is|was|number|a|an|the|of|on|scale|about"
    r"|around|roughly|maybe|perhaps|probably|think|guess|um|uh|er|well|yes|okay|ok|please|percent|points?|out"
    r"|absolutely|exactly|just|or|so|not|more|to"
)


def numbers(text: str) -> list[float]:
    """Every number in `text`, digits or English words (0 to 100 in words), in order.

    >>> numbers("thirty-five or 40.5")
    [35, 40.5]
    """
    found: list[float] = []
    words = _WORD.findall(text.lower().replace("-", " "))
    index = 0
    while index < len(words):
        value, used = _one(words, index)
        if value is not None:
            found.append(value)
        index += used
    return found


def lone_number(text: str) -> float | None:
    """The number that `text` says and nothing else ("Seventy five.", "I'd say 75"), or None."""
    found = numbers(text)
    if len(found) != 1:
        return None
    rest = [word for word in _WORD.findall(text.lower().replace("-", " ")) if not _is_number(word)]
    return found[0] if all(_AROUND.fullmatch(word) for word in rest) else None


def _is_number(word: str) -> bool:
    return word[0].isdigit() or word in _ONES or word in _TENS or word == "hundred"


def _one(words: list[str], index: int) -> tuple[float | None, int]:
    word = words[index]
    after = words[index + 1] if index + 1 < len(words) else ""
    if word[0].isdigit():
        value = float(word)
        return (int(value) if value.is_integer() else value), 1
    if word in _TENS:
        if 0 < _ONES.get(after, 0) < 10:
            return _TENS[word] + _ONES[after], 2
        return _TENS[word], 1
    if word in ("one", "a") and after == "hundred":
        return 100, 2
    if word == "hundred":
        return 100, 1
    if word in _ONES:
        return _ONES[word], 1
    return None, 1
