"""Arguments that were nearly right, put right by rule: nothing is invented, only what was said is written as it must be. Pure.

A study takes an option only by its exact text and a number only as a number (agent-spec 0.2.0, "Answer schemas"), and a
failed request is a failed decision. What cannot be put right stays wrong, and is asked for again.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any, cast

import orjson

Schema = Mapping[str, Any]

_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")
MAX_DIGITS = 15  # more than a number of ours holds exactly
_NUMBERED = re.compile(r"^\s*(?:option\s+)?(?:\(?\d{1,2}[.):]|\(?[a-z][.):]|[-*\u2022])\s+", re.IGNORECASE)


def mended(value: Any, schema: Schema) -> tuple[Any, tuple[str, ...]]:
    """The value as the schema wants it, as far as it says so, and what was done, in short words."""
    done: list[str] = []
    return _mended(value, schema, done), tuple(dict.fromkeys(done))


def _mended(value: Any, rules: Any, done: list[str]) -> Any:
    if not isinstance(rules, Mapping):
        return value
    schema = cast("Schema", rules)
    kind = schema.get("type")
    if isinstance(value, str) and kind in ("object", "array"):
        value = _parsed(value, kind, done)
    match kind:
        case "object" if isinstance(value, dict):
            return _object(cast("dict[str, Any]", value), schema, done)
        case "array" if isinstance(value, list):
            return [_mended(item, schema.get("items"), done) for item in cast("list[Any]", value)]
        case "array" if isinstance(value, str) and "enum" in cast("Schema", schema.get("items") or {}):
            done.append("a list made of one option")
            return [_mended(value, schema.get("items"), done)]
        case "integer" | "number":
            return _number(value, whole=kind == "integer", done=done)
        case "string" if isinstance(value, list) and len(cast("list[Any]", value)) == 1:
            done.append("one option taken out of its list")
            return _mended(cast("list[Any]", value)[0], schema, done)
        case "string" if isinstance(value, str):
            return _option(value, schema.get("enum"), done)
        case "string" if isinstance(value, int | float) and not isinstance(value, bool):
            done.append("a number written as text")
            return _option(orjson.dumps(value).decode(), schema.get("enum"), done)
        case _:
            return cast(Any, value)


def _parsed(text: str, kind: str, done: list[str]) -> Any:
    """JSON that came as its text."""
    try:
        value: Any = orjson.loads(text)
    except orjson.JSONDecodeError:
        return text
    if not isinstance(value, dict if kind == "object" else list):
        return text
    done.append("JSON that came as text")
    return cast(Any, value)


def _object(value: dict[str, Any], schema: Schema, done: list[str]) -> dict[str, Any]:
    properties = cast("Schema", schema.get("properties") or {})
    others: Any = schema.get("additionalProperties", True)
    by_plain: dict[str, str | None] = {}
    for name in properties:
        by_plain[plain(name)] = None if plain(name) in by_plain or not plain(name) else name
    out: dict[str, Any] = {}
    for name, item in value.items():
        known = name if name in properties else by_plain.get(plain(name)) or name
        if known != name and known in value:
            known = name  # it is there by its own name too: which is meant is not ours to say
        if known != name:
            done.append("a name written exactly")
        if known in properties:
            out[known] = _mended(item, properties[known], done)
        elif others is False:
            done.append("an extra member left out")
        else:
            out[name] = _mended(item, others, done)
    return out


def _number(value: Any, *, whole: bool, done: list[str]) -> Any:
    if isinstance(value, str) and len(value) <= MAX_DIGITS and _NUMBER.fullmatch(value.strip()):
        done.append("a number that came as text")
        value = float(value)
    if isinstance(value, float) and math.isfinite(value) and value.is_integer():
        if whole:
            done.append("a whole number written as one")
        return int(value)
    return value


def _option(text: str, allowed: Any, done: list[str]) -> str:
    """The one option that this text is, whatever its case, marks and numbering."""
    if not isinstance(allowed, Sequence) or text in allowed:
        return text
    options = [option for option in cast("Sequence[Any]", allowed) if isinstance(option, str)]
    for said in filter(None, (plain(text), plain(_NUMBERED.sub("", text)))):
        same = [option for option in options if said in (plain(option), plain(_NUMBERED.sub("", option)))]
        if len(same) == 1:
            done.append("an option written exactly")
            return same[0]
    return text


def plain(text: str) -> str:
    """Letters and digits only, in one case; and what makes another number of digits: a sign, a decimal point."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return re.sub(r"(?!(?<!\w)[-+](?=\d))(?!(?<=\d)[.,](?=\d))[\W_]+?", "", folded)
