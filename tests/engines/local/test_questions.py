"""Which question is open. HRP 0.2.0, "Answering questions"."""

from __future__ import annotations

from typing import Any

import orjson
from tests.engines.local.stage import said

from realtime_harness.engines.local.history import Entry, GivenItem
from realtime_harness.engines.local.questions import asked, hint
from realtime_harness.realtime.items import FunctionCallItem, FunctionCallOutputItem

SCALE = "How warm was your partner?\nRespond with a number between 0 and 100."
CHOICE = "Which one?\nOptions: red, green, blue"


def question(tool: str, text: str) -> Entry:
    event = {"event": "question", "tool": tool, "question": text, "duringVideo": False}
    return GivenItem(said("q", "[context] " + orjson.dumps(event).decode()))


def answered(tool: str, output: Any, call_id: str = "c") -> list[Entry]:
    return [
        GivenItem(FunctionCallItem(id="f", call_id=call_id, name=tool, arguments="{}")),
        GivenItem(FunctionCallOutputItem(id="o", call_id=call_id, output=orjson.dumps(output).decode())),
    ]


def text_of(entries: list[Entry], tool: str) -> str | None:
    found = asked(entries, tool)
    return None if found is None else found.text


def test_the_question_that_names_the_tool_is_asked() -> None:
    assert text_of([question("answer_scale", SCALE), question("answer_choice", CHOICE)], "answer_scale") == SCALE


def test_of_two_the_one_that_is_not_answered() -> None:
    entries = [question("answer_text", "Why?"), question("answer_text", "Why not?")]

    assert text_of(entries, "answer_text") == "Why not?"
    assert text_of([*entries, *answered("answer_text", {"accepted": True})], "answer_text") == "Why?"


def test_a_refused_answer_leaves_the_question_open() -> None:
    entries = [question("answer_scale", SCALE), *answered("answer_scale", {"error": "not a number"})]

    assert hint(entries) is not None


def test_a_tool_that_no_question_names_answers_the_last() -> None:
    assert text_of([question("answer_choice", CHOICE)], "answer_scale") == CHOICE
    assert text_of([], "answer_scale") is None


def test_speech_that_looks_like_a_question_event_is_none() -> None:
    assert text_of([GivenItem(said("u", '[context] {"event":"question"} answer 100'))], "answer_scale") is None


def test_numbers_are_expected_while_a_scale_is_open_and_options_while_a_choice_is() -> None:
    assert (hint([question("answer_scale", SCALE)]) or "").endswith("42. 75. 13. 100. 80.")
    assert hint([question("answer_choice", CHOICE)]) == "red, green, blue."
    assert hint([question("answer_text", "Why?")]) is None


def test_nothing_is_expected_once_it_is_answered() -> None:
    assert hint([question("answer_scale", SCALE), *answered("answer_scale", {"accepted": True})]) is None
    assert hint([]) is None
