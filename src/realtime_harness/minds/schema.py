"""JSON schema, as far as function arguments need it: checking a value, and the part of a schema a grammar can hold.

The grammar engine ignores a schema it cannot compile, without an error. So a schema is first reduced to keywords it is
known to hold, and every value is checked against the whole schema afterwards.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias, cast

import orjson

Schema: TypeAlias = Mapping[str, Any]

MAX_TEXT_CHARS = 400
MAX_ITEMS = 24
MAX_DEPTH = 12

_NUMBER_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_LENGTHS = ("minLength", "maxLength", "minItems", "maxItems")


def nonsense(schema: Any, where: str = "parameters", depth: int = 0) -> str | None:
    """What is wrong with a schema that a client sent, as a sentence; None where every keyword has a value of its kind."""
    if isinstance(schema, bool):
        return None
    if not isinstance(schema, Mapping) or depth > MAX_DEPTH:
        return f"{where} must be an object" + (f", nested at most {MAX_DEPTH} deep" if depth > MAX_DEPTH else "")
    rules = cast(Schema, schema)
    for name in (*_NUMBER_BOUNDS, *_LENGTHS, "multipleOf", "minProperties", "maxProperties"):
        if name in rules and not _is(rules[name], "number"):
            return f"{where}.{name} must be a number"
    for name in ("required", "enum", "anyOf", "oneOf", "allOf"):
        if name in rules and not isinstance(rules[name], list):
            return f"{where}.{name} must be a list"
    if any(not isinstance(name, str) for name in rules.get("required", ())):
        return f"{where}.required must be a list of names"
    if not isinstance(rules.get("pattern", ""), str):
        return f"{where}.pattern must be text"
    properties: Any = rules.get("properties", {})
    if not isinstance(properties, Mapping):
        return f"{where}.properties must be an object"
    below = [(f"{where}.properties.{name}", each) for name, each in cast(Schema, properties).items()]
    below += [
        (f"{where}.{name}", rules[name])
        for name in ("items", "additionalProperties", "not")
        if name in rules and not isinstance(rules[name], list)
    ]
    below += [(f"{where}.{name}", each) for name in ("anyOf", "oneOf", "allOf") for each in rules.get(name, ())]
    return next((found for place, each in below if (found := nonsense(each, place, depth + 1))), None)


def faults(value: Any, schema: Any, root: Schema | None = None, where: str = "arguments", depth: int = 0) -> list[str]:
    """What is wrong with `value`, as sentences; empty if it is valid. Unknown keywords allow everything."""
    if schema is True or depth > MAX_DEPTH * 2:
        return []
    if schema is False:
        return [f"{where} is not allowed"]
    if not isinstance(schema, Mapping):
        return []
    rules = cast(Schema, schema)
    return list(_faults(value, rules, rules if root is None else root, where, depth + 1))


def _faults(value: Any, rules: Schema, root: Schema, where: str, depth: int) -> Iterator[str]:
    if "$ref" in rules:
        target = _resolve(rules["$ref"], root)
        if target is not None:
            yield from faults(value, target, root, where, depth)
    kinds = rules.get("type")
    if kinds is not None:
        wanted: list[str] = [kinds] if isinstance(kinds, str) else list(kinds)
        if not any(_is(value, kind) for kind in wanted):
            yield f"{where} must be {' or '.join(wanted)}"
            return
    if "enum" in rules and not any(_same(value, option) for option in rules["enum"]):
        yield f"{where} must be one of {orjson.dumps(rules['enum']).decode()}"
    if "const" in rules and not _same(value, rules["const"]):
        yield f"{where} must be {orjson.dumps(rules['const']).decode()}"
    for key, enough in (("anyOf", 1), ("oneOf", 1)):
        if key in rules and sum(not faults(value, each, root, where, depth) for each in rules[key]) < enough:
            yield f"{where} fits no branch of {key}"
    for each in rules.get("allOf", ()):
        yield from faults(value, each, root, where, depth)
    if "not" in rules and not faults(value, rules["not"], root, where, depth):
        yield f"{where} is what must not be"
    if isinstance(value, str):
        yield from _text_faults(value, rules, where)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield from _number_faults(value, rules, where)
    elif isinstance(value, list):
        yield from _list_faults(cast("list[Any]", value), rules, root, where, depth)
    elif isinstance(value, dict):
        yield from _object_faults(cast("dict[str, Any]", value), rules, root, where, depth)


def _text_faults(value: str, rules: Schema, where: str) -> Iterator[str]:
    if len(value) < rules.get("minLength", 0) or len(value) > rules.get("maxLength", len(value)):
        yield f"{where} has {len(value)} characters"
    if "pattern" in rules:
        try:
            if re.search(rules["pattern"], value) is None:
                yield f"{where} does not match {rules['pattern']}"
        except re.error:
            return


def _number_faults(value: float, rules: Schema, where: str) -> Iterator[str]:
    if value < rules.get("minimum", value) or value > rules.get("maximum", value):
        yield f"{where} is out of range"
    if value <= rules.get("exclusiveMinimum", -math.inf) or value >= rules.get("exclusiveMaximum", math.inf):
        yield f"{where} is out of range"
    step = rules.get("multipleOf")
    if step and abs(value / step - round(value / step)) > 1e-9:
        yield f"{where} is not a multiple of {step}"


def _list_faults(value: list[Any], rules: Schema, root: Schema, where: str, depth: int) -> Iterator[str]:
    if len(value) < rules.get("minItems", 0) or len(value) > rules.get("maxItems", len(value)):
        yield f"{where} has {len(value)} items"
    if rules.get("uniqueItems") and len({orjson.dumps(item) for item in value}) < len(value):
        yield f"{where} repeats an item"
    if "items" in rules:
        for index, item in enumerate(value):
            yield from faults(item, rules["items"], root, f"{where}[{index}]", depth)


def _object_faults(value: dict[str, Any], rules: Schema, root: Schema, where: str, depth: int) -> Iterator[str]:
    properties: Schema = rules.get("properties", {})
    for name in rules.get("required", ()):
        if name not in value:
            yield f"{where}.{name} is missing"
    if len(value) < rules.get("minProperties", 0) or len(value) > rules.get("maxProperties", len(value)):
        yield f"{where} has {len(value)} members"
    others = rules.get("additionalProperties", True)
    for name, item in value.items():
        yield from faults(item, properties.get(name, others), root, f"{where}.{name}", depth)


def _is(value: Any, kind: str) -> bool:
    match kind:
        case "object":
            return isinstance(value, dict)
        case "array":
            return isinstance(value, list)
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "null":
            return value is None
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "integer":
            return _is(value, "number") and float(value).is_integer()
        case _:
            return True


def _same(left: Any, right: Any) -> bool:
    return left == right and isinstance(left, bool) == isinstance(right, bool)


def _resolve(ref: Any, root: Schema) -> Any | None:
    """The schema a local `$ref` points to, or None."""
    if not isinstance(ref, str) or not ref.startswith("#"):
        return None
    target: Any = root
    for step in ref[1:].strip("/").split("/") if ref != "#" else ():
        if not isinstance(target, Mapping):
            return None
        target = cast(Schema, target).get(step.replace("~1", "/").replace("~0", "~"))
    return target


def for_grammar(schema: Any, root: Schema | None = None, depth: int = 0) -> dict[str, Any]:
    """The part of `schema` that the grammar holds: never more permissive in shape, and always of bounded length."""
    if not isinstance(schema, Mapping) or depth > MAX_DEPTH:
        return {"type": ["string", "number", "boolean", "null"], "maxLength": MAX_TEXT_CHARS} if depth else {}
    rules = dict(cast(Schema, schema))
    root = rules if root is None else root
    if "$ref" in rules:
        target = _resolve(rules.pop("$ref"), root)
        if isinstance(target, Mapping):
            rules = {**cast(Schema, target), **rules}
    for each in rules.pop("allOf", ()):
        if isinstance(each, Mapping):
            rules = _merged(rules, cast(Schema, each))
    if "const" in rules:
        return {"enum": [rules["const"]]}
    if "enum" in rules:
        return {"enum": list(rules["enum"])}
    branches = rules.get("anyOf") or rules.get("oneOf")
    if isinstance(branches, Sequence) and branches:
        shared = {key: value for key, value in rules.items() if key not in ("anyOf", "oneOf")}
        kinds = [_merged(shared, cast(Schema, each)) for each in cast("Sequence[Any]", branches)]
        return {"anyOf": [for_grammar(each, root, depth + 1) for each in kinds]}
    kind = rules.get("type")
    if isinstance(kind, list):
        return {"anyOf": [for_grammar({**rules, "type": each}, root, depth + 1) for each in cast("list[str]", kind)]}
    return _typed(kind or ("object" if "properties" in rules else None), rules, root, depth)


def _typed(kind: str | None, rules: dict[str, Any], root: Schema, depth: int) -> dict[str, Any]:
    kept = {key: rules[key] for key in (*_NUMBER_BOUNDS, *_LENGTHS) if _is(rules.get(key), "number")}
    match kind:
        case "object":
            properties = cast("dict[str, Any]", rules.get("properties") or {})
            others = rules.get("additionalProperties", False)
            required = [name for name in rules.get("required", ()) if name in properties]
            return {
                "type": "object",
                "properties": {name: for_grammar(each, root, depth + 1) for name, each in properties.items()},
                "required": required,
                "additionalProperties": for_grammar(others, root, depth + 1) if isinstance(others, Mapping) else False,
            }
        case "array":
            most = min(kept.get("maxItems", MAX_ITEMS), max(MAX_ITEMS, kept.get("minItems", 0)))
            items = for_grammar(rules.get("items", {"type": "string"}), root, depth + 1)
            return {"type": "array", "items": items, "minItems": kept.get("minItems", 0), "maxItems": most}
        case "string":
            most = min(kept.get("maxLength", MAX_TEXT_CHARS), max(MAX_TEXT_CHARS, kept.get("minLength", 0)))
            return {"type": "string", "minLength": kept.get("minLength", 0), "maxLength": most}
        case "number" | "integer":
            return {"type": kind, **{key: kept[key] for key in _NUMBER_BOUNDS if key in kept}}
        case "boolean" | "null":
            return {"type": kind}
        case _:
            return {"anyOf": [{"type": "string", "maxLength": MAX_TEXT_CHARS}, {"type": "number"}, {"type": "boolean"}]}


def _merged(left: Schema, right: Schema) -> dict[str, Any]:
    both = {**left, **right}
    if "properties" in left and "properties" in right:
        both["properties"] = {**left["properties"], **right["properties"]}
    if "required" in left and "required" in right:
        both["required"] = [*left["required"], *right["required"]]
    return both


def closed(text: str) -> str | None:
    """`text`, JSON that was cut off, up to its last whole member and closed; None if nothing of it can be kept."""
    for end in range(len(text), 0, -1):
        if text[end - 1] not in '}]"0123456789el':
            continue
        head = text[:end]
        brackets = _open_brackets(head)
        if brackets is None:
            continue
        whole = head + "".join("}" if bracket == "{" else "]" for bracket in reversed(brackets))
        try:
            orjson.loads(whole)
        except orjson.JSONDecodeError:
            continue
        return whole
    return None


def _open_brackets(text: str) -> list[str] | None:
    """The brackets still open at the end of `text`, or None if it ends inside a string."""
    brackets: list[str] = []
    quoted = escaped = False
    for character in text:
        if quoted:
            if escaped:
                escaped = False
            elif character == "\\":
                escaped = True
            elif character == '"':
                quoted = False
        elif character == '"':
            quoted = True
        elif character in "{[":
            brackets.append(character)
        elif character in "}]" and brackets:
            brackets.pop()
    return None if quoted else brackets
