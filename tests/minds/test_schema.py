"""JSON schema: what is wrong with a value, and the part of a schema that a grammar holds."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime_harness.minds.schema import MAX_TEXT_CHARS, closed, faults, for_grammar

PERSON: dict[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": "string", "minLength": 1}, "age": {"type": "integer", "minimum": 0}},
    "required": ["name"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("value", "schema"),
    [
        ({"name": "Ann", "age": 3}, PERSON),
        ({"name": "Ann", "age": 3.0}, PERSON),
        ([1, 2], {"type": "array", "items": {"type": "number"}, "minItems": 2, "uniqueItems": True}),
        ("a", {"enum": ["a", "b"]}),
        (None, {"type": ["string", "null"]}),
        (3, {"anyOf": [{"type": "string"}, {"type": "number", "maximum": 3}]}),
        ({"p": {"name": "B"}}, {"properties": {"p": {"$ref": "#/$defs/P"}}, "$defs": {"P": PERSON}}),
        (0.5, {"multipleOf": 0.25}),
        ({"anything": 1}, {}),
    ],
)
def test_valid(value: Any, schema: dict[str, Any]) -> None:
    assert faults(value, schema) == []


@pytest.mark.parametrize(
    ("value", "schema", "fault"),
    [
        ({}, PERSON, "arguments.name is missing"),
        ({"name": "Ann", "age": -1}, PERSON, "arguments.age is out of range"),
        ({"name": "Ann", "age": True}, PERSON, "arguments.age must be integer"),
        ({"name": "Ann", "hat": 1}, PERSON, "arguments.hat is not allowed"),
        ({"name": ""}, PERSON, "arguments.name has 0 characters"),
        ([1, 1], {"uniqueItems": True}, "arguments repeats an item"),
        ([1, "x"], {"items": {"type": "number"}}, "arguments[1] must be number"),
        ("c", {"enum": ["a", "b"]}, 'arguments must be one of ["a","b"]'),
        (1, {"enum": [True]}, "arguments must be one of [true]"),
        (5, {"exclusiveMaximum": 5}, "arguments is out of range"),
        ("x", {"pattern": "^y"}, "arguments does not match ^y"),
        (
            {"p": {}},
            {"properties": {"p": {"$ref": "#/$defs/P"}}, "$defs": {"P": PERSON}},
            "arguments.p.name is missing",
        ),
        (1, {"anyOf": [{"type": "string"}]}, "arguments fits no branch of anyOf"),
        (1, {"not": {"type": "integer"}}, "arguments is what must not be"),
    ],
)
def test_faults_are_named(value: Any, schema: dict[str, Any], fault: str) -> None:
    assert faults(value, schema) == [fault]


def test_a_schema_that_refers_to_itself_ends() -> None:
    tree: dict[str, Any] = {
        "type": "object",
        "properties": {"child": {"$ref": "#"}, "name": {"type": "string"}},
        "required": ["name"],
    }
    assert faults({"name": "a", "child": {"name": "b"}}, tree) == []
    assert faults({"name": "a", "child": {}}, tree) == ["arguments.child.name is missing"]
    assert orjson.dumps(for_grammar(tree))
    assert faults(1, {"$ref": "#"}) == []


def test_what_a_grammar_cannot_hold_is_left_to_the_check() -> None:
    held = for_grammar({"type": "object", "properties": {"a": {"type": "string", "pattern": "(?=x)y"}}, "not": {}})
    assert held["properties"]["a"] == {"type": "string", "minLength": 0, "maxLength": MAX_TEXT_CHARS}
    assert "not" not in held


def test_references_and_constants_are_written_out() -> None:
    held = for_grammar(
        {"type": "object", "properties": {"p": {"$ref": "#/$defs/P"}, "k": {"const": "v"}}, "$defs": {"P": PERSON}}
    )
    assert held["properties"]["p"]["properties"]["age"] == {"type": "integer", "minimum": 0}
    assert held["properties"]["k"] == {"enum": ["v"]}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)
KEYWORDS = st.sampled_from(
    [
        "type",
        "enum",
        "const",
        "items",
        "properties",
        "required",
        "anyOf",
        "allOf",
        "minimum",
        "maxLength",
        "$ref",
        "not",
    ]
)


@given(JSON, st.fixed_dictionaries({"type": st.sampled_from(["object", "array", "string", "number", "weird"])}))
def test_any_value_can_be_checked(value: Any, schema: dict[str, Any]) -> None:
    assert isinstance(faults(value, schema), list)


@given(st.dictionaries(st.text(max_size=6), JSON, min_size=1, max_size=4), st.data())
def test_json_that_was_cut_off_is_closed(value: dict[str, Any], data: st.DataObject) -> None:
    text = orjson.dumps(value).decode()
    cut = text[: data.draw(st.integers(1, len(text)))]
    whole = closed(cut)
    assert whole is None or isinstance(orjson.loads(whole), dict)
    assert closed(text) == text


def test_a_cut_keeps_whole_members() -> None:
    assert closed('{"scores": {"Calm": 50, "Hap') == '{"scores": {"Calm": 50}}'
    assert closed('{"text": "I lo') is None
