"""What recognised words look like: loops, the joining of windows, and hints that make the expected ones likelier."""

from __future__ import annotations

import re
from collections.abc import Sequence

MAX_CHARACTERS_PER_S = 25.0  # faster than anybody speaks
MAX_PHRASE_WORDS = 8
LOOP_REPEATS = 4
MANY_WORDS = 6
QUESTION_CHARACTERS = 200

# Numbers of every shape: with these before it, Whisper writes spoken numbers as digits and mishears fewer.
_SAMPLE_NUMBERS = "42. 75. 13. 100. 80."
_NUMBER_QUESTION = "From 0 to 100?"


def number_hint(question: str | None = None) -> str:
    """A hint for an answer that is a number, after `question` (or one that asks for a number from 0 to 100)."""
    asked = " ".join((question or "").split())[-QUESTION_CHARACTERS:]
    return f"{asked or _NUMBER_QUESTION} {_SAMPLE_NUMBERS}"


def is_loop(text: str, audio_s: float) -> bool:
    """Whether a recogniser repeats itself: few different words, one phrase again and again, or too many characters."""
    words = _plain(text)
    if len(words) > MANY_WORDS and len(set(words)) < len(words) / 3:
        return True
    return len(text) > MAX_CHARACTERS_PER_S * max(1.0, audio_s) or _loop(words) is not None


def without_loop(text: str) -> str:
    """The text with a phrase that is repeated four times or more said once."""
    kept = text.split()
    while (loop := _loop([_bare(word) for word in kept])) is not None:
        start, size, repeats = loop
        del kept[start + size : start + size * repeats]
    return " ".join(kept)


def joined(texts: Sequence[str]) -> str:
    """The words of successive windows as one text."""
    return " ".join(text.strip() for text in texts if text.strip())


def _plain(text: str) -> list[str]:
    return [_bare(word) for word in text.split()]


def _bare(word: str) -> str:
    return re.sub(r"\W", "", word).lower()


def _loop(words: Sequence[str]) -> tuple[int, int, int] | None:
    """The first phrase said LOOP_REPEATS times in a row, as (start, words in it, repeats)."""
    for size in range(1, MAX_PHRASE_WORDS + 1):
        run = 0
        for index in range(size, len(words)):
            run = run + 1 if words[index] == words[index - size] else 0
            if run >= size * (LOOP_REPEATS - 1) and (
                index + 1 == len(words) or words[index + 1] != words[index + 1 - size]
            ):
                return index + 1 - run - size, size, run // size + 1
    return None
