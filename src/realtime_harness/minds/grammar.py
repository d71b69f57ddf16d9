"""Grammars that hold the model to what may be answered."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

import orjson

from realtime_harness.minds.schema import for_grammar

# A ranking's grammar has a rule for each set of items still to come: 2^7 are read in milliseconds, 2^12 are not.
MOST_RANKED = 7

# A model's tokens expect JSON as it is mostly written; without these spaces it goes astray at the first value.
_COMMA = ", "
_COLON = ": "
_SPACING = {"whitespace_flexible": False, "item_separator": _COMMA, "key_separator": _COLON}


def one_of(words: Sequence[str]) -> str:
    """Exactly one of `words`."""
    return "root ::= " + " | ".join(_literal(word) for word in words)


def arguments(schema: Mapping[str, Any]) -> str:
    """A JSON object of this schema. Lists of distinct options are held to be distinct."""
    single = _distinct_list(schema)
    if single is not None:
        return single
    reduced = {**for_grammar(schema), "x-guidance": _SPACING}
    return f"%llguidance {{}}\nstart: %json {json.dumps(reduced, ensure_ascii=False)}"


def _distinct_list(schema: Mapping[str, Any]) -> str | None:
    """The grammar of an object whose one member is a list of distinct options, or None if it is something else."""
    properties = cast("Mapping[str, Any]", schema.get("properties") or {})
    if len(properties) != 1:
        return None
    name, rules = next(iter(properties.items()))
    items: Any = cast("Mapping[str, Any]", rules).get("items") if isinstance(rules, Mapping) else None
    if not isinstance(items, Mapping) or not cast("Mapping[str, Any]", rules).get("uniqueItems"):
        return None
    texts = cast("Sequence[Any]", cast("Mapping[str, Any]", items).get("enum") or ())
    least = int(cast("Mapping[str, Any]", rules).get("minItems", 0))
    opening = _literal(f"{{{_json(name)}{_COLON}[")
    if texts and least == len(texts) and len(texts) <= MOST_RANKED:
        return f"root ::= {opening} {_rank(len(texts))} {_literal(']}')}\n" + _rankings([_json(text) for text in texts])
    if texts and least <= 1:
        return f"root ::= {opening} first0 {_literal(']}')}\n" + _subsets([_json(text) for text in texts], least == 0)
    return None


def _rankings(texts: Sequence[str]) -> str:
    """Every text once, in any order: a rule for each set (a bit mask) of texts that are still to come."""
    rules: list[str] = []
    for mask in range(1, 1 << len(texts)):
        ways = [
            f"{_literal(text)} {_literal(_COMMA)} rank{mask ^ (1 << index)}" if mask ^ (1 << index) else _literal(text)
            for index, text in enumerate(texts)
            if mask & (1 << index)
        ]
        rules.append(f"rank{mask} ::= {' | '.join(ways)}")
    return "\n".join(rules)


def _rank(count: int) -> str:
    return f"rank{(1 << count) - 1}"


def _subsets(texts: Sequence[str], may_be_empty: bool) -> str:
    """Some of the texts, each at most once, in the order they are listed."""
    rules: list[str] = []
    last = len(texts) - 1
    for index, text in enumerate(texts):
        more = f" more{index + 1}" if index < last else ""
        skip = f" | first{index + 1}" if index < last else (' | ""' if may_be_empty else "")
        rules.append(f"first{index} ::= {_literal(text)}{more}{skip}")
        if index:
            pass_by = f"more{index + 1}" if index < last else '""'
            rules.append(f"more{index} ::= {_literal(_COMMA + text)}{more} | {pass_by}")
    return "\n".join(rules)


def _json(value: Any) -> str:
    return orjson.dumps(value).decode()


def _literal(text: str) -> str:
    """`text` as a literal of the grammar's own notation."""
    escaped = (
        text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    )
    return f'"{escaped}"'
