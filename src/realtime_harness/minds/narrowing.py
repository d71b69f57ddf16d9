"""Narrows a tool's schema by what the open question says: its options, its range, its labels.

A study's `answer_choice` takes any string, but only the exact text of an option is accepted (HRP 0.2.0, "Tools"; the
options stand in the question's text only). A small model keeps to a list it is held to, and drifts from one it is told.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from realtime_harness.minds.mind import ChatTool

_CHOOSES = re.compile(r"choice|choose|option|select|pick|exact text|rank|order|item text|label|which of", re.IGNORECASE)
_RANKS = re.compile(r"rank|every item|in (?:your |the )?order", re.IGNORECASE)

_SUBMITS = re.compile(r"\W*(?:submit|answer)", re.IGNORECASE)
_ASKS = re.compile(r"\b(?:respond|answer|rate|rank|choose|select|question)\b", re.IGNORECASE)

# "Options: a, b" and its kin; what follows is on the same line, or on the lines below.
_HEADING = re.compile(
    r"^[^\n:]*\b(?:options?|choices?|items?|answers?|dimensions?|labels?|alternatives?|one of|any of|following)"
    r"[^\n:]*:[ \t]*(.*)$",
    re.IGNORECASE,
)
_BULLET = re.compile(r"^\s*(?:[-*\u2022\u2013]|\(?\d{1,2}[.):]|\(?[A-Za-z][.)])\s+(.+?)\s*$")
_QUOTED = re.compile(r"\"([^\"\n]{1,200})\"|\u201c([^\u201d\n]{1,200})\u201d|(?<!\w)'([^'\n]{1,200})'(?!\w)")
_NUMBER = r"(-?\d+(?:\.\d+)?)"
_RANGE = re.compile(
    rf"(?:from|between)\s+{_NUMBER}\s*(?:\([^)]*\)\s*)?(?:to|and|-|\u2013|through)\s*{_NUMBER}"
    rf"|{_NUMBER}\s*(?:\([^)]*\)\s*)?(?:to|-|\u2013|through)\s*{_NUMBER}",
    re.IGNORECASE,
)


def options(question: str) -> tuple[str, ...]:
    """The texts that the question lists, in order: bulleted or numbered lines, an "Options:" list, or quoted labels."""
    lines = question.splitlines()
    headed = _headed(lines)
    if headed:
        return _distinct(headed)
    bulleted = [match[1] for line in lines if (match := _BULLET.match(line))]
    if len(bulleted) >= 2:
        return _distinct(bulleted)
    quoted = [next(group for group in match.groups() if group) for match in _QUOTED.finditer(question)]
    return _distinct(quoted) if len(quoted) >= 2 else ()


def answering(tools: Sequence[ChatTool], question: str | None) -> ChatTool | None:
    """The one tool that answers, where something is asked: "Submit your response ...", and a text that wants one.

    A platform offers such a tool only while its question is up (agent-spec 0.2.0, `modelEndpoint`, `toolsNote`).
    """
    if question is None or not _ASKS.search(question):
        return None
    found = [tool for tool in tools if _SUBMITS.match(tool.description) or _SUBMITS.match(tool.name)]
    return found[0] if len(found) == 1 else None


def listed_plainly(question: str) -> bool:
    """Whether the question says itself that it lists options, one a line: then what it lists is all there is. A list
    on one line may have commas inside its members."""
    lines = question.splitlines()
    return any(
        (heading := _HEADING.match(line)) is not None
        and not heading[1].strip()
        and len(_block(lines[place + 1 :])) >= 2
        for place, line in enumerate(lines)
    )


def value_range(question: str) -> tuple[float, float] | None:
    """The range that the question states ("from 0 to 100", "1-7"), or None."""
    for match in _RANGE.finditer(question):
        low, high = (float(group) for group in match.groups() if group is not None)
        if low < high:
            return low, high
    return None


def narrow(tool: ChatTool, question: str | None, *, guess: bool = True) -> dict[str, Any]:
    """The schema of `tool`'s arguments, as narrow as `question` allows. Never wider than the tool's own.

    With `guess`, also by what may be meant (a range somewhere in the text, at least one option): good for holding a
    model to it, and no reason to refuse an answer.
    """
    schema: dict[str, Any] = {"type": "object", **tool.parameters}
    properties = cast("dict[str, Any]", schema.get("properties") or {})
    if not question or not properties:
        return schema
    listed, bounds = options(question), value_range(question) if guess else None
    narrowed = {
        name: _narrow(
            dict(cast("Mapping[str, Any]", each)), f"{tool.name} {tool.description} {name}", listed, bounds, guess=guess
        )
        if isinstance(each, Mapping)
        else each
        for name, each in properties.items()
    }
    return {**schema, "properties": narrowed}


def _narrow(
    rules: dict[str, Any], purpose: str, listed: Sequence[str], bounds: tuple[float, float] | None, *, guess: bool
) -> dict[str, Any]:
    if "enum" in rules or "const" in rules:
        return rules
    chooses = len(listed) >= 2 and _CHOOSES.search(purpose.replace("_", " ")) is not None
    match rules.get("type"):
        case "string" if chooses:
            return {**rules, "enum": list(listed)}
        case "array" if chooses and _item_type(rules) == "string":
            ranks = _RANKS.search(purpose.replace("_", " ")) is not None
            least = len(listed) if ranks else max(1 if guess else 0, rules.get("minItems", 0))
            counts = {"minItems": least, "maxItems": len(listed)}
            items = {**cast("dict[str, Any]", rules.get("items", {})), "enum": list(listed)}
            return {**rules, "items": items, "uniqueItems": True, **counts}
        case "number" | "integer" if bounds and not ("minimum" in rules and "maximum" in rules):
            return _bounded(rules, bounds)
        case "object" if (
            listed and not rules.get("properties") and isinstance(rules.get("additionalProperties"), Mapping)
        ):
            each = dict(cast("Mapping[str, Any]", rules["additionalProperties"]))
            if bounds and each.get("type") in ("number", "integer"):
                each = _bounded(each, bounds)
            return {
                **rules,
                "properties": dict.fromkeys(listed, each),
                "required": list(listed),
                "additionalProperties": False,
            }
        case _:
            return rules


def _bounded(rules: dict[str, Any], bounds: tuple[float, float]) -> dict[str, Any]:
    """Within the stated range; whole numbers if its ends are whole and far enough apart to say so."""
    low = max(bounds[0], rules.get("minimum", bounds[0]))
    high = min(bounds[1], rules.get("maximum", bounds[1]))
    if low > high:
        return rules
    whole = all(float(end).is_integer() for end in (low, high)) and high - low >= 2
    ends: dict[str, Any] = {"minimum": int(low), "maximum": int(high)} if whole else {"minimum": low, "maximum": high}
    return {**rules, **ends, "type": "integer" if whole else rules["type"]}


def _headed(lines: Sequence[str]) -> list[str]:
    """What the last heading lists: on its line, or on the lines below it."""
    for place in range(len(lines) - 1, -1, -1):
        heading = _HEADING.match(lines[place])
        if heading is None:
            continue
        listed = _split(heading[1]) if heading[1].strip() else _block(lines[place + 1 :])
        if len(listed) >= 2:
            return listed
    return []


def _item_type(rules: Mapping[str, Any]) -> Any:
    items = rules.get("items")
    return cast("Mapping[str, Any]", items).get("type", "string") if isinstance(items, Mapping) else "string"


def _split(text: str) -> list[str]:
    """The members of a list on one line: quoted, or apart by semicolons, slashes, bars or commas."""
    quoted = [next(group for group in match.groups() if group) for match in _QUOTED.finditer(text)]
    if len(quoted) >= 2:
        return quoted
    for separator in (r"\s*;\s*", r"\s*\|\s*", r"\s+/\s+", r"\s*,\s*(?:(?:and|or)\s+)?"):
        parts = [part.strip() for part in re.split(separator, text.strip().rstrip(".")) if part.strip()]
        if len(parts) >= 2:
            return parts
    return []


def _block(lines: Sequence[str]) -> list[str]:
    """The lines below a heading, up to an empty one or a sentence of instruction."""
    taken: list[str] = []
    for line in lines:
        text = line.strip()
        if not text or re.match(
            r"(?:respond|answer|reply|please|use|choose|select|give)\b.*[.:]$", text, re.IGNORECASE
        ):
            break
        bullet = _BULLET.match(line)
        taken.append(bullet[1] if bullet else text)
    return taken


def _distinct(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text.strip().strip('"\u201c\u201d').strip() for text in texts if text.strip()))
