"""Clauses out of streamed text, and text made speakable."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime_harness.engines.local.clauses import MAX_CHARACTERS, ClauseSplitter
from realtime_harness.engines.local.speakable import MAX_PIECE_CHARACTERS, pieces, spoken_words

BITS = """Well the answer is 3.5, 1,000 Dr. Smith. e.g. https://a.b/c.d,e Yes! no, — "Oh" world? J. p.m. 🙂 **bold**,"""
PROSE = st.lists(st.sampled_from([*BITS.split(), "\n", "\n\n", "\u597d\u3002"]), max_size=60).map(" ".join)


def clauses(text: str, size: int = 1) -> list[str]:
    splitter = ClauseSplitter()
    found = [clause for start in range(0, len(text), size) for clause in splitter.feed(text[start : start + size])]
    return found + splitter.flush()


@given(st.one_of(st.text(max_size=300), PROSE), st.integers(1, 50))
def test_the_clauses_are_the_text(text: str, size: int) -> None:
    assert "".join(clauses(text, size)) == text


@given(PROSE, st.integers(2, 50))
def test_the_clauses_do_not_depend_on_the_deltas(text: str, size: int) -> None:
    assert clauses(text, size) == clauses(text, 1)


@given(st.one_of(st.text(max_size=300), PROSE))
def test_no_clause_but_the_last_is_empty_or_blank(text: str) -> None:
    assert all(clause.strip() for clause in clauses(text)[:-1])


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("Yes. That is right.", "Yes."),
        ("Well, I think so, yes.", "Well, I think so,"),
        ("The capital of France, as you know, is Paris.", "The capital of France,"),
        ("It costs 3.5 dollars. Is that fine?", "It costs 3.5 dollars."),
        ("There are 1,000 of them. Really.", "There are 1,000 of them."),
        ("Ask Dr. Smith. He knows.", "Ask Dr. Smith."),
        ("Use it, e.g. here. Then go.", "Use it, e.g. here."),
        ("See https://example.com/a,b.c?d. Then go on.", "See https://example.com/a,b.c?d."),
        ("J. K. Rowling wrote it. Yes.", "J. K. Rowling wrote it."),
        ('He said "Stop!" and left.', 'He said "Stop!"'),
        ("Wait... what is it?", "Wait..."),
        ("Really?! I did not know.", "Really?!"),
        ("1. First of all, sit down.", "1. First of all,"),
        ("See No. 5 there. Good.", "See No. 5 there."),
        ("No. 5 is alive.", "No. 5 is alive."),
        ("No. That is wrong.", "No."),
        ("one two three four five six seven eight nine ten", "one two three four five six seven eight nine"),
        ("Title\nThen text", "Title"),
        ("a dash of it — and more", "a dash of it —"),
        ("I came. I saw.", "I came."),
    ],
)
def test_the_first_clause(text: str, first: str) -> None:
    assert clauses(text)[0] == first


def test_a_clause_comes_as_soon_as_the_next_word_begins() -> None:
    splitter = ClauseSplitter()
    assert splitter.feed("Of course, my friend,") == []
    assert splitter.feed(" that") == ["Of course, my friend,"]


def test_later_clauses_are_longer() -> None:
    text = "First of all, sit down, take a pen, and write, as neatly as you can, your name, your age, and your town."
    found = clauses(text)
    assert len(found[0].split()) < len(found[1].split()) < len(found[2].split())


def test_text_without_spaces_still_comes_out() -> None:
    found = clauses("x" * (3 * MAX_CHARACTERS))
    assert max(len(clause) for clause in found) <= MAX_CHARACTERS


def test_flush_leaves_the_splitter_as_new() -> None:
    splitter = ClauseSplitter()
    splitter.feed("Half a")
    assert splitter.flush() == ["Half a"]
    assert splitter.flush() == []
    assert splitter.feed("Whole. And") == ["Whole."]


def said(text: str) -> str:
    return " ".join(word.text for word in spoken_words(text))


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("**Hello** _there_, `friend`.", "Hello there, friend."),
        ("# Title\n\n- one\n- two", "Title one two"),
        ("See [the page](https://x.y/z) now.", "See the page now."),
        ("![a cat](cat.png)", "a cat"),
        ("Go to https://www.example.com/a?b=c.", "Go to example dot com."),
        ("Write to ann.lee@example.org.", "Write to ann dot lee at example dot org."),
        ("Done 🎉🎉!", "Done"),
        ("\u201cQuoted\u201d \u2013 it\u2019s fine…", '"Quoted" it\'s fine.'),
        ("Stop!!!!", "Stop!"),
        ("Café naïve", "Cafe naive"),
        ("你好 Hello Привет", "Hello"),
        ("```python\nprint(1)\n```\nThat is it.", "a piece of code. That is it."),
        ("| a | b |\n|---|---|", "a b"),
        ("2 + 2 = 4", "2 + 2 = 4"),
        ("", ""),
        ("🙂 ... 你好", ""),
    ],
)
def test_written_marks_are_not_spoken(text: str, spoken: str) -> None:
    assert said(text) == spoken


@given(st.one_of(st.text(max_size=300), PROSE))
def test_spoken_words_end_in_order_and_within_the_text(text: str) -> None:
    words = spoken_words(text)
    ends = [word.end for word in words]
    assert ends == sorted(set(ends))
    assert all(0 < end <= len(text) for end in ends)
    assert all(word.text.strip() and word.text.translate(dict.fromkeys(map(ord, "—£€¥°¢"))).isascii() for word in words)


@given(st.one_of(st.text(max_size=800), PROSE))
def test_pieces_are_the_words_in_breaths(text: str) -> None:
    words = spoken_words(text)
    runs = pieces(words)
    assert [word for run in runs for word in run] == words
    assert all(run for run in runs)
    assert all(len(run) == 1 or sum(len(word.text) for word in run) <= MAX_PIECE_CHARACTERS for run in runs)


@pytest.mark.parametrize(
    "text", ["a" * 100_000, "9" * 100_000, "[" * 50_000, "```" * 20_000, "*" * 50_000, "http://" * 9_000]
)
def test_hostile_text_does_not_take_long(text: str) -> None:
    assert sum(len(word.text) for word in spoken_words(text)) < 200_000
    assert "".join(clauses(text, 1_000)) == text
