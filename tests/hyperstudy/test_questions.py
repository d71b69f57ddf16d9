"""Studies as they are written: aliases, defaults, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from realtime_harness.errors import ConfigError
from realtime_harness.hyperstudy.answers import ON_RATING_PAUSE, ON_SCREEN, value_schema
from realtime_harness.hyperstudy.questions import (
    Dimension,
    Dimensions,
    OneChoice,
    Question,
    Ranking,
    Rating,
    ScalePoint,
    SomeChoices,
    Spoken,
    Text,
    alias_warnings,
    read_question,
)


@pytest.mark.parametrize(
    ("component", "config", "question"),
    [
        ("multiplechoice", {"prompt": "Q", "options": ["a", "b"]}, OneChoice("Q", ("a", "b"))),
        ("multiplechoice", {"question": "Q", "choices": [{"value": 1, "label": "a"}]}, OneChoice("Q", ("a",))),
        ("multiplechoice", {"choices": ["a"], "allowMultiple": True}, SomeChoices("", ("a",))),
        (
            "multiplechoice",
            {"choices": ["a"], "allowMultiple": True, "required": False},
            SomeChoices("", ("a",), may_be_empty=True),
        ),
        ("likertscale", {"question": "Q"}, ScalePoint("Q", 5)),
        ("likertscale", {"prompt": "Q", "scalePoints": 7}, ScalePoint("Q", 7)),
        ("likertscale", {"question": "Q", "scale": 9.0, "scalePoints": 7}, ScalePoint("Q", 9)),
        ("vasrating", {"question": "Q"}, Rating("Q", 0, 100)),
        ("vasrating", {"prompt": "Q", "min": -5, "max": 0.5}, Rating("Q", -5, 0.5)),
        ("vasrating", {"prompt": "Q", "minValue": None, "max": 10.0}, Rating("Q", 0, 10)),
        (
            "ranking",
            {"prompt": "Q", "options": ["a", {"text": "b", "imageUrl": "u", "value": "2"}, {"text": "", "value": "c"}]},
            Ranking("Q", ("a", "b", "c")),
        ),
        ("textinput", {"prompt": "Q", "maxLength": 500}, Text("Q", None, 500)),
        (
            "rapidrate",
            {"prompt": "Q", "dimensions": [{"label": "Calm"}, {"name": "Happy", "min": 1, "max": 7}, "Tense"]},
            Dimensions("Q", (Dimension("Calm", 0, 100), Dimension("Happy", 1, 7), Dimension("Tense", 0, 100))),
        ),
        ("audiorecording", {"question": "Q", "maxRecordingTime": 30}, Spoken("Q")),
    ],
)
def test_every_spelling_is_read_as_the_same_question(
    component: str, config: dict[str, Any], question: Question
) -> None:
    assert read_question(component, config) == question


@pytest.mark.parametrize(
    ("component", "config", "named"),
    [
        ("showtext", {"text": "Hello"}, "'showtext'"),
        ("multiplechoice", {"question": "Q"}, "'choices'"),
        ("multiplechoice", {"choices": []}, "'choices'"),
        ("multiplechoice", {"choices": "a, b"}, "'choices'"),
        ("multiplechoice", {"choices": ["a", ""]}, "'choices'"),
        ("multiplechoice", {"choices": ["a", 2]}, "'choices'"),
        ("multiplechoice", {"choices": ["a", {"label": "a"}]}, "twice a"),
        ("multiplechoice", {"choices": ["a"], "allowMultiple": "yes"}, "'allowMultiple'"),
        ("likertscale", {"scale": 1}, "'scale'"),
        ("likertscale", {"scale": 5.5}, "'scale'"),
        ("likertscale", {"scale": True}, "'scale'"),
        ("likertscale", {"question": 3}, "'question'"),
        ("vasrating", {"minValue": 5, "maxValue": 5}, "5 to 5"),
        ("vasrating", {"minValue": float("nan")}, "nan"),
        ("vasrating", {"maxValue": "100"}, "'100'"),
        ("ranking", {"options": None}, "'options'"),
        ("textinput", {"minLength": 9, "maxLength": 3}, "'minLength'"),
        ("rapidrate", {"dimensions": [{}]}, "'dimensions'"),
        ("rapidrate", {"dimensions": [{"label": "a"}, {"name": "a"}]}, "twice a"),
        ("rapidrate", {"dimensions": [{"label": "a", "min": 200}]}, "200 to 100"),
    ],
)
def test_a_study_that_cannot_be_answered_is_refused_by_name(component: str, config: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigError) as refused:
        read_question(component, config)
    assert named in str(refused.value) and "expected" in str(refused.value)


def test_other_spellings_are_pointed_out_to_the_studys_writer() -> None:
    assert alias_warnings("vasrating", {"question": "Q", "min": 0, "maxValue": 9, "max": 10}) == (
        "vasrating: 'min' is read as 'minValue'.",
        "vasrating: 'maxValue' and 'max' differ; 'maxValue' counts.",
    )


def test_bounds_of_the_study_are_in_its_schema() -> None:
    assert value_schema(read_question("likertscale", {"scale": 9}))["maximum"] == 9
    rating = value_schema(read_question("vasrating", {"minValue": -2.5, "maxValue": 10.0}))
    assert rating == {"type": "number", "minimum": -2.5, "maximum": 10, "description": "Rating between -2.5 and 10."}
    limited = value_schema(read_question("textinput", {"minLength": 1, "maxLength": 500}))
    assert limited == {"type": "string", "minLength": 1, "maxLength": 500, "description": "Free-text answer."}


def test_dimensions_with_ranges_of_their_own_say_so() -> None:
    same = read_question("rapidrate", {"dimensions": [{"label": "a", "min": 1, "max": 7}]})
    mixed = read_question("rapidrate", {"dimensions": ["b", {"label": "a", "min": 1, "max": 7}]})
    assert value_schema(same)["description"] == "A 1-7 score for every dimension, keyed by its label."
    assert value_schema(mixed)["description"] == "A score in its own range for every dimension, keyed by its label."
    assert value_schema(mixed)["properties"]["a"] == {"type": "number", "minimum": 1, "maximum": 7}


def test_two_components_are_shown_only_where_a_video_pauses() -> None:
    assert set(ON_RATING_PAUSE) - set(ON_SCREEN) == {"rapidrate", "audiorecording"}
