"""Which answers are taken, and the reason for which every other is refused."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime_harness.hyperstudy.answers import EXAMPLES, value_schema, voice_tool
from realtime_harness.hyperstudy.questions import Question, read_question
from realtime_harness.hyperstudy.validate import Accepted, Refusal, check_answer, check_submission, check_voice_call
from tests.hyperstudy.strategies import STUDIES, Study, answers, wrong_answers

LIKERT = read_question("likertscale", {"question": "?", "scale": 7})
VAS = read_question("vasrating", {"question": "?", "minValue": -1, "maxValue": 1.5})
DRINKS = read_question("multiplechoice", {"question": "?", "choices": ["Coffee", "Tea"]})
each_kind = pytest.mark.parametrize("kind", STUDIES)
JSON_VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=6,
)


def question_of(study: Study) -> Question:
    return read_question(study.component, study.config)


def fits(schema: dict[str, Any], value: Any) -> bool:
    """JSON Schema, as far as answer schemas use it."""
    match schema["type"]:
        case "string":
            return isinstance(value, str) and schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", 10**9)
        case "array":
            return isinstance(value, list) and all(fits(schema["items"], entry) for entry in value)
        case "object":
            properties = schema["properties"]
            return (
                isinstance(value, dict)
                and set(schema["required"]) <= set(value) <= set(properties)
                and all(fits(properties[key], entry) for key, entry in value.items())
            )
        case kind:
            number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(float(value))
            whole = kind == "number" or float(value).is_integer() if number else False
            return number and whole and schema["minimum"] <= value <= schema["maximum"]


@each_kind
@given(st.data())
def test_every_answer_that_the_schema_and_the_question_allow_is_accepted(kind: str, data: st.DataObject) -> None:
    study = data.draw(STUDIES[kind])
    answer = data.draw(answers(study))
    question = question_of(study)
    assert fits(value_schema(question), answer)
    assert check_answer(question, answer) == Accepted(answer)


@each_kind
@given(st.data())
def test_every_answer_with_one_thing_wrong_is_refused_for_that_reason(kind: str, data: st.DataObject) -> None:
    study = data.draw(STUDIES[kind])
    answer, code = data.draw(wrong_answers(study))
    verdict = check_answer(question_of(study), answer)
    assert isinstance(verdict, Refusal), f"{answer!r} was taken"
    assert verdict.code == code
    assert verdict.reason.startswith("Expected ") and ("got " in verdict.reason or "missing: " in verdict.reason)


@each_kind
@given(st.data(), JSON_VALUES)
def test_whatever_is_accepted_fits_the_schema_and_nothing_makes_the_check_fail(
    kind: str, data: st.DataObject, value: Any
) -> None:
    question = question_of(data.draw(STUDIES[kind]))
    verdict = check_answer(question, value)
    if isinstance(verdict, Accepted):
        assert fits(value_schema(question), value)


@each_kind
@given(st.data())
def test_an_accepted_answer_is_accepted_through_its_voice_tool_and_through_submit_response(
    kind: str, data: st.DataObject
) -> None:
    study = data.draw(STUDIES[kind])
    answer = data.draw(answers(study))
    question = question_of(study)
    tool = voice_tool(question)
    assert isinstance(check_voice_call(question, tool.name, json.dumps({tool.argument: answer})), Accepted)
    assert isinstance(check_submission(question, "submit_response", json.dumps({"value": answer})), Accepted)


def test_a_whole_scale_point_is_recorded_as_an_integer() -> None:
    verdict = check_answer(LIKERT, 3.0)
    assert isinstance(verdict, Accepted)
    assert repr(verdict.value) == "3"


@pytest.mark.parametrize("edge", [-1, -1.0, 1.5, 0, -0.0])
def test_bounds_are_inclusive(edge: float) -> None:
    assert check_answer(VAS, edge) == Accepted(edge)


@pytest.mark.parametrize(
    ("question", "value", "reason"),
    [
        (DRINKS, "coffee", 'Expected the exact text of a choice: "Coffee", "Tea"; got "coffee".'),
        (DRINKS, 1, "Expected the exact text of one choice, a string; got the number 1."),
        (LIKERT, True, "Expected a whole number from 1 to 7, as a number; got the boolean true."),
        (LIKERT, 8, "Expected a whole number from 1 to 7, at most 7; got 8."),
        (VAS, "1", 'Expected a rating, as a number; got the string "1".'),
        (VAS, math.nan, "Expected a rating; got nan, which is no finite number."),
    ],
)
def test_a_reason_says_what_was_expected_and_what_came(question: Question, value: object, reason: str) -> None:
    verdict = check_answer(question, value)
    assert isinstance(verdict, Refusal)
    assert verdict.reason == reason
    assert verdict.as_output() == {"error": reason}


def test_a_reason_shows_only_the_beginning_of_what_came() -> None:
    verdict = check_answer(DRINKS, "x" * 10_000)
    assert isinstance(verdict, Refusal)
    assert len(verdict.reason) < 300


@pytest.mark.parametrize(
    ("name", "arguments", "code"),
    [
        ("answer_text", '{"value": 3}', "wrong_tool"),
        ("submit_response", '{"value": 3}', "wrong_tool"),
        ("answer_scale", "", "bad_arguments"),
        ("answer_scale", "3", "bad_arguments"),
        ("answer_scale", "{}", "bad_arguments"),
        ("answer_scale", '{"value": NaN}', "bad_arguments"),
        ("answer_scale", '{"value": 1e999}', "bad_arguments"),
        ("answer_scale", '{"value": 3} {"value": 4}', "bad_arguments"),
        ("answer_scale", '{"value": 3, "because": "warm"}', "bad_arguments"),
        ("answer_scale", '{"scores": 3}', "bad_arguments"),
        ("answer_scale", '{"value": 0}', "below_minimum"),
        ("answer_scale", '{"value": "3"}', "wrong_type"),
    ],
)
def test_a_call_is_refused_for_its_name_its_arguments_or_its_answer(name: str, arguments: str, code: str) -> None:
    verdict = check_voice_call(LIKERT, name, arguments)
    assert isinstance(verdict, Refusal) and verdict.code == code


def test_each_example_configuration_has_an_answer_that_is_taken() -> None:
    given_answers: list[Any] = ["Tea", ["Red", "Blue"], 7, 50.5, ["Hiking", "Cooking", "Reading"], "Kind.", {}, "Oh!"]
    given_answers[6] = {"Calm": 0, "Happy": 100}
    for example, answer in zip(EXAMPLES, given_answers, strict=True):
        assert check_answer(read_question(example.component, example.config), answer) == Accepted(answer)
