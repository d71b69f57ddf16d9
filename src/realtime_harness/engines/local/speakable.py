"""Written text as words to say: markdown, code, links, emoji and other scripts made plain.

Each word knows where it ends in the written text, so that what was heard can be told from how far the speech got.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

MAX_WORD_CHARACTERS = 40
MAX_DIGITS = 15  # more are read one by one, and only so many
MAX_PIECE_CHARACTERS = 180

_CONSTRUCT = re.compile(
    r"(?P<fence>```[^\n]*\n?.*?(?:```|\Z))"
    r"|(?P<link>!?\[(?P<label>[^\[\]\n]{0,300})\]\([^()\s]{0,2000}\))"
    r"|(?P<url>(?:https?://|ftp://|www\.)[^\s<>\"]+)"
    r"|(?P<word>\S+)",
    re.DOTALL | re.IGNORECASE,
)
_HOST = re.compile(r"(?:\w+://)?(?:www\.)?([\w.-]+)", re.IGNORECASE)
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_MARK_WITHIN = re.compile(r"(?<=\w)[_|~<>\\]+(?=\w)")
_MARKS = re.compile(r"[*_`~#|<>\\]+")
_LIST_MARK = re.compile(r"[-*•·]+|#{1,6}|>+|\|?[-:|]{3,}\|?|[*_]{3,}")
_REPEATED = re.compile(r"([^\w\s])\1+")
# Double and single curly quotes, en dash, ideographic full stop; NFKC does the full-width ones.
_PUNCTUATION = str.maketrans("\u201c\u201d\u2018\u2019\u2013\u3002", "\"\"''-.")
_PIECE_END = re.compile(r"[.!?…;:]['\")\]]*$")
_KEPT = frozenset("—£€¥°¢")
_TITLES = frozenset({"mr", "mrs", "ms", "dr", "prof", "st", "vs", "e.g", "i.e", "no"})
_SOFT_END = re.compile(r"[,—]['\")\]]*$")


@dataclass(frozen=True, slots=True)
class SpokenWord:
    """What is said for one stretch of the text, and where that stretch ends (an index into the text)."""

    text: str
    end: int


def spoken_words(text: str) -> list[SpokenWord]:
    """The words to say. Stretches with nothing to say count to the word before them; none at all gives none."""
    words: list[SpokenWord] = []
    for match in _CONSTRUCT.finditer(text):
        spoken = _construct(match)
        if spoken:
            words.append(SpokenWord(spoken, match.end()))
        elif words:
            words[-1] = SpokenWord(words[-1].text, match.end())
    return words


def pieces(words: list[SpokenWord]) -> list[list[SpokenWord]]:
    """The words in runs that are spoken in one breath: a sentence, or less where that would be long."""
    runs: list[list[SpokenWord]] = []
    run: list[SpokenWord] = []
    size = 0
    for word in words:
        if run and size + len(word.text) > MAX_PIECE_CHARACTERS:
            cut = _soft_cut(run)
            runs.append(run[:cut])
            run = run[cut:]
            size = sum(len(kept.text) + 1 for kept in run)
        run.append(word)
        size += len(word.text) + 1
        if _PIECE_END.search(word.text) and word.text.lower().rstrip(".") not in _TITLES:
            runs.append(run)
            run, size = [], 0
    if run:
        runs.append(run)
    return runs


def _soft_cut(run: list[SpokenWord]) -> int:
    """Where a long run is best cut: after its last comma in the second half, or at its end."""
    for index in range(len(run) - 1, len(run) // 2, -1):
        if _SOFT_END.search(run[index - 1].text):
            return index
    return len(run)


def _construct(match: re.Match[str]) -> str:
    if match["fence"] is not None:
        return "a piece of code."
    if match["link"] is not None:
        return " ".join(filter(None, (_word(word) for word in match["label"].split())))
    if match["url"] is not None:
        return _address(match["url"])
    return _word(match["word"])


def _address(url: str) -> str:
    """A link by its host alone: "example dot com"."""
    host = _HOST.match(url)
    tail = url[-1] if url[-1] in ".,;:!?" else ""
    name = host[1].strip(".")[:MAX_WORD_CHARACTERS] if host else "a link"
    return _ascii(name.replace(".", " dot ")) + tail


def _word(word: str) -> str:
    """One written word as said; empty if there is nothing to say."""
    word = unicodedata.normalize("NFKC", word.translate(_PUNCTUATION))
    if _LIST_MARK.fullmatch(word):
        return ""
    if _EMAIL.fullmatch(word.strip(".,;:!?()")):
        return _ascii(word.replace("@", " at ").replace(".", " dot ", word.count(".") - word.endswith(".")))
    word = _MARKS.sub("", _MARK_WITHIN.sub(" ", word)) if not re.fullmatch(r"[<>]=?", word) else word
    word = _REPEATED.sub(r"\1", _ascii(word)).strip()
    if not any(character.isalnum() for character in word):
        return word if word in {"+", "=", "&", "%", "<", ">", "/", "—"} else ""
    digits = sum(character.isdigit() for character in word)
    if digits > MAX_DIGITS:
        return " ".join(re.sub(r"\D", "", word)[:MAX_DIGITS])
    return " ".join(part[:MAX_WORD_CHARACTERS] for part in word.split())


def _ascii(text: str) -> str:
    """The text in the letters that the voice knows: accents are dropped, other scripts and pictures go."""
    kept = unicodedata.normalize("NFKD", text)
    return "".join(
        character for character in kept if (character.isascii() and character.isprintable()) or character in _KEPT
    )
