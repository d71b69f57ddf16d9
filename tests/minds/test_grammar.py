"""Grammars: checked here by their text and by walking them; with the model, in test_embedded_real."""

from __future__ import annotations

import itertools
import json
import re

import orjson
from hypothesis import given
from hypothesis import strategies as st
from tests.minds.study import TOOLS

from realtime_harness.minds.grammar import MOST_RANKED, arguments, one_of
from realtime_harness.minds.narrowing import narrow

_PIECE = re.compile(r'"((?:[^"\\]|\\.)*)"|(\w+)')
ITEMS = st.lists(st.text(min_size=1, max_size=6), min_size=2, max_size=4, unique=True)


def language(grammar: str, rule: str = "root") -> set[str]:
    """Every text of a grammar that has no loops."""
    rules = dict(line.split(" ::= ", 1) for line in grammar.split("\n"))
    texts: set[str] = set()
    for way in _ways(rules[rule]):
        pieces = [{_plain(text)} if quoted else language(grammar, name) for text, name, quoted in way]
        texts |= {"".join(each) for each in itertools.product(*pieces)}
    return texts


def _ways(body: str) -> list[list[tuple[str, str, bool]]]:
    ways: list[list[tuple[str, str, bool]]] = [[]]
    position = 0
    for match in _PIECE.finditer(body):
        ways += [[]] * ("|" in body[position : match.start()])
        ways[-1] = [*ways[-1], (match[1] or "", match[2] or "", match[2] is None)]
        position = match.end()
    return ways


def _plain(literal: str) -> str:
    return json.loads(f'"{literal}"')


def test_one_of_some_words() -> None:
    assert language(one_of(["reply", "send_chat"])) == {"reply", "send_chat"}


@given(ITEMS)
def test_a_ranking_is_every_order_and_nothing_else(items: list[str]) -> None:
    schema = narrow(TOOLS["answer_ranking"], None)
    schema["properties"] = {
        "order": {
            "type": "array",
            "items": {"enum": items},
            "uniqueItems": True,
            "minItems": len(items),
            "maxItems": len(items),
        }
    }
    orders = [orjson.loads(text)["order"] for text in language(arguments(schema))]
    assert sorted(orders) == sorted(list(order) for order in itertools.permutations(items))


@given(ITEMS, st.sampled_from([0, 1]))
def test_choices_are_every_subset_in_the_listed_order(items: list[str], least: int) -> None:
    rules = {"type": "array", "items": {"enum": items}, "uniqueItems": True, "minItems": least}
    chosen = [orjson.loads(text)["c"] for text in language(arguments({"type": "object", "properties": {"c": rules}}))]
    subsets = [list(s) for size in range(least, len(items) + 1) for s in itertools.combinations(items, size)]
    assert sorted(chosen) == sorted(subsets)


def test_long_rankings_are_left_to_repair() -> None:
    items = [f"item {n}" for n in range(MOST_RANKED + 1)]
    rules = {"type": "array", "items": {"type": "string", "enum": items}, "uniqueItems": True, "minItems": len(items)}
    grammar = arguments({"type": "object", "properties": {"order": rules}})
    assert grammar.startswith("%llguidance")


def test_other_schemas_go_to_the_schema_engine_in_the_usual_spacing() -> None:
    grammar = arguments(TOOLS["answer_text"].parameters)
    head, _, schema = grammar.partition("%json ")
    assert head == "%llguidance {}\nstart: "
    assert json.loads(schema)["x-guidance"]["key_separator"] == ": "
