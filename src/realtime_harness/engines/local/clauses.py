"""Splitting streamed text into clauses that can be spoken while the rest is still being written."""

from __future__ import annotations

import re
from typing import Final

# A comma ends a clause only after this many words, more for each later clause: the first must be heard soon, and
# while it sounds there is time for longer, better intoned ones.
COMMA_WORDS: Final = (3, 6, 10)
# With no punctuation at all, a clause ends after this many words.
MAX_WORDS: Final = (9, 16, 30)
MAX_CHARACTERS = 400  # even where there is no space

# Full-width forms (escaped: they look like the narrow ones) end a clause without a space after them.
_WIDE_SENTENCE_ENDS = "\u3002\uff01\uff1f"
_WIDE_CLAUSE_ENDS = "\uff0c\uff1b\uff1a\u3001"
_SENTENCE_ENDS = ".!?…" + _WIDE_SENTENCE_ENDS
_CLAUSE_ENDS = ",;:—\u2013" + _WIDE_CLAUSE_ENDS
_CLOSERS = "\"'\u201d\u2019)]}*_»`"
_OPENERS = "\"'\u201c\u2018([{*_«`"
_ABBREVIATIONS = frozenset(
    """
    mr mrs ms dr prof sr jr st vs etc approx dept est fig gen gov inc ltd co corp lt col sgt rev hon mt ave
    blvd e.g i.e a.m p.m cf al ca u.s u.k ph.d jan feb mar apr jun jul aug sep sept oct nov dec no nos vol pp ed
    """.split()  # noqa: SIM905 - a list would take a line a word
)
_BEFORE_NUMBER = frozenset({"no", "nos", "vol", "fig", "pp", "p", "ch", "sec", "eq"})
_AFTER_ANYTHING = frozenset({"no", "co", "ed", "mar", "jun", "al", "est", "ca", "etc", "inc", "ltd", "corp"})


class ClauseSplitter:
    """Text deltas in, clauses out, as early as they can be spoken well. Joined, the clauses are the text.

    The clauses do not depend on how the text was cut into deltas. A clause never ends inside a number, an
    abbreviation or a URL. White space goes with the clause that follows it.
    """

    def __init__(self) -> None:
        self._text = ""
        self._seen = 0  # characters of `_text` already judged
        self._count = 0

    def feed(self, delta: str) -> list[str]:
        """The clauses that `delta` completes; often none. The character after a clause has to be seen first."""
        self._text += delta
        clauses: list[str] = []
        while (cut := self._next_cut()) is not None:
            clauses.append(self._text[:cut])
            self._text = self._text[cut:]
            self._seen = 0
            self._count += 1
        return clauses

    def flush(self) -> list[str]:
        """What is left, as the last clause; the splitter is then as new."""
        rest = self._text
        self._text, self._seen, self._count = "", 0, 0
        return [rest] if rest else []

    def _next_cut(self) -> int | None:
        text = self._text
        for index in range(max(1, self._seen), len(text)):
            self._seen = index + 1
            if text[index].isspace():
                if text[index] == "\n" and text[:index].strip() and not text[index - 1].isspace():
                    return index
                continue
            cut = len(text[:index].rstrip())
            if cut == 0:
                continue
            if self._may_end(text[:cut], spaced=cut < index, following=text[index]):
                return cut
        return None

    def _may_end(self, clause: str, *, spaced: bool, following: str) -> bool:
        """Whether `clause` can be spoken now, `following` being the next visible character."""
        if len(clause) >= MAX_CHARACTERS:
            return True
        bare = clause.rstrip(_CLOSERS)
        if not bare or following in _CLOSERS + _SENTENCE_ENDS:
            return False
        last = bare[-1]
        wide = last in _WIDE_SENTENCE_ENDS + _WIDE_CLAUSE_ENDS
        if not spaced and not wide:
            return False
        if last in _SENTENCE_ENDS:
            return last != "." or not _is_abbreviated(bare, following)
        words = len(clause.split())
        step = min(self._count, len(COMMA_WORDS) - 1)
        if last in _CLAUSE_ENDS:
            return words >= COMMA_WORDS[step]
        return spaced and words >= MAX_WORDS[step] and not last.isdigit()


def _is_abbreviated(clause: str, following: str) -> bool:
    """Whether the period that ends `clause` belongs to its last word ("Dr.", "e.g.", "J.", "1." of a list)."""
    word = re.split(r"\s", clause)[-1].lstrip(_OPENERS)[:-1]
    if len(clause.split()) == 1 and word.isdigit():
        return True
    lower = word.lower()
    if lower in _BEFORE_NUMBER and following.isdigit():
        return True
    if lower in _AFTER_ANYTHING:
        return following.islower()
    return lower in _ABBREVIATIONS or (len(word) == 1 and word.isalpha() and word != "I")
