"""Reads a number that was just said. Rules come first, because a small model misreads number words."""

from __future__ import annotations

import re

_ONES = {
    word: value
    for value, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen".split()
    )
}
_TENS = {
    word: value
    for value, word in zip(
        range(20, 100, 10), "twenty thirty forty fifty sixty seventy eighty ninety".split(), strict=True
    )
}
_WORD = re.compile(r"\d+(?:\.\d+)?|[a-z]+")

# Words that may stand around a lone number. Anything else means that more was said than the number.
_AROUND = frozenset(
    "i i'd d id would ll will say said give it that my answer rating score is was number a an the of on scale about "
    "around roughly maybe perhaps probably think guess um uh er well yes okay ok please percent points point out "
    "absolutely exactly just or so not more to".split()
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
    return found[0] if all(word in _AROUND for word in rest) else None


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
