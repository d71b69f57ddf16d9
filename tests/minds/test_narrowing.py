"""Narrowing: the question's own options, range and labels hold the answer."""

from __future__ import annotations

import pytest
from tests.minds.study import TOOLS

from realtime_harness.minds.narrowing import narrow, options, value_range

DRINKS = ("Coffee", "Green tea", "Water, still")


@pytest.mark.parametrize(
    "question",
    [
        "Question: Which drink?\n- Coffee\n- Green tea\n- Water, still",
        "Question: Which drink?\nOptions:\n1. Coffee\n2. Green tea\n3. Water, still\nRespond with one option.",
        "Question: Which drink?\nOptions:\nCoffee\nGreen tea\nWater, still\n\nRespond with its exact text.",
        'Question: Which drink? Choose one of: "Coffee", "Green tea", "Water, still".',
        "Question: Which drink?\nOptions: Coffee; Green tea; Water, still",
        "Question: Which drink?\na) Coffee\nb) Green tea\nc) Water, still",
        "Which drink? \u201cCoffee\u201d, \u201cGreen tea\u201d or \u201cWater, still\u201d?",
    ],
)
def test_the_options_of_a_question(question: str) -> None:
    assert options(question) == DRINKS


@pytest.mark.parametrize(
    "question",
    ["How warm was your partner?", "Describe your partner in one sentence.", "Options:", 'What does "warm" mean?', ""],
)
def test_a_question_without_options(question: str) -> None:
    assert options(question) == ()


def test_options_on_one_line_with_commas() -> None:
    assert options("Which colours?\nOptions: Red, Green, and Blue.") == ("Red", "Green", "Blue")


@pytest.mark.parametrize(
    ("question", "bounds"),
    [
        ("This is a visual analog rating scale from 0 to 100.\nRespond with a number between 0 and 100.", (0, 100)),
        ("Rate from 1 (not at all) to 7 (very much).", (1, 7)),
        ("On a scale of 1-5, how calm?", (1, 5)),
        ("between -3 and 3", (-3, 3)),
        ("from 0.5 to 2.5", (0.5, 2.5)),
        ("How many people were there?", None),
        ("It lasted 100 to 0 seconds", None),
    ],
)
def test_the_range_of_a_question(question: str, bounds: tuple[float, float] | None) -> None:
    assert value_range(question) == bounds


def test_a_choice_takes_only_listed_texts() -> None:
    schema = narrow(TOOLS["answer_choice"], "Which drink?\n- Coffee\n- Tea")
    assert schema["properties"]["choice"]["enum"] == ["Coffee", "Tea"]


def test_several_choices_are_distinct_and_at_least_one() -> None:
    rules = narrow(TOOLS["answer_choices"], "Which colours?\nOptions: Red, Green, Blue")["properties"]["choices"]
    assert rules["items"]["enum"] == ["Red", "Green", "Blue"]
    assert (rules["minItems"], rules["maxItems"], rules["uniqueItems"]) == (1, 3, True)


def test_a_ranking_takes_every_item() -> None:
    rules = narrow(TOOLS["answer_ranking"], "Rank these.\n1. Reading\n2. Hiking\n3. Cooking")["properties"]["order"]
    assert (rules["minItems"], rules["maxItems"]) == (3, 3)


def test_a_scale_keeps_to_its_range_in_whole_numbers() -> None:
    rules = narrow(TOOLS["answer_scale"], "from 0 to 100")["properties"]["value"]
    assert rules == {"type": "integer", "minimum": 0, "maximum": 100}


def test_dimensions_are_keyed_by_their_labels() -> None:
    rules = narrow(TOOLS["answer_dimensions"], 'Rate from 0 to 100: "Calm", "Happy".')["properties"]["scores"]
    assert rules["required"] == ["Calm", "Happy"]
    assert rules["properties"]["Calm"] == {"type": "integer", "minimum": 0, "maximum": 100}
    assert rules["additionalProperties"] is False


def test_free_text_stays_free_whatever_the_question_lists() -> None:
    question = "Describe in one sentence:\n- how you felt\n- what you saw"
    assert narrow(TOOLS["answer_text"], question)["properties"]["text"] == {"type": "string"}
    assert narrow(TOOLS["send_chat"], question)["properties"]["message"]["type"] == "string"


def test_without_a_question_the_schema_is_the_tools_own() -> None:
    assert narrow(TOOLS["answer_choice"], None) == dict(TOOLS["answer_choice"].parameters)
