"""Questions as studies configure them, the answers that their schemas allow, and answers that are wrong in one way.

The answers are made from the JSON schema and the configuration alone, never by the code that is tested.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

WORDS = st.text(min_size=1, max_size=12)
NUMBERS = st.one_of(st.integers(-1_000, 1_000), st.floats(-1e6, 1e6).filter(lambda x: not x.is_integer()))
NO_NUMBERS = st.sampled_from(["3", "", None, [3], {"value": 3}, True, False])
NO_STRINGS = st.sampled_from([3, 0.5, None, ["a"], {"a": "b"}, True])
NOT_FINITE = st.sampled_from([math.nan, math.inf, -math.inf])


@dataclass(frozen=True)
class Study:
    """A component, its configuration, and what that configuration says, spelt out for the generators."""

    component: str
    config: Mapping[str, Any]
    facts: Mapping[str, Any]


def _either(draw: st.DrawFn, *names: str) -> str:
    return draw(st.sampled_from(names))


@st.composite
def _written_choices(draw: st.DrawFn, texts: list[str]) -> list[Any]:
    key = _either(draw, "text", "label", "value")
    return [text if draw(st.booleans()) else {key: text, "imageUrl": "https://example.org/a.png"} for text in texts]


@st.composite
def _bounds(draw: st.DrawFn) -> tuple[float, float]:
    low, high = sorted(draw(st.lists(NUMBERS, min_size=2, max_size=2, unique=True)))
    return low, high


@st.composite
def choices(draw: st.DrawFn, several: bool) -> Study:
    texts = draw(st.lists(WORDS, min_size=1, max_size=6, unique=True))
    config: dict[str, Any] = {_either(draw, "question", "prompt"): "Which?"}
    config[_either(draw, "choices", "options")] = draw(_written_choices(texts))
    empty = several and draw(st.booleans())
    if several:
        config["allowMultiple"] = True
    if empty:
        config["required"] = False
    return Study("multiplechoice", config, {"texts": texts, "several": several, "empty": empty})


@st.composite
def scales(draw: st.DrawFn) -> Study:
    points = draw(st.integers(2, 11))
    return Study("likertscale", {"question": "?", _either(draw, "scale", "scalePoints"): points}, {"points": points})


@st.composite
def ratings(draw: st.DrawFn) -> Study:
    low, high = draw(_bounds())
    names = draw(st.sampled_from([("minValue", "maxValue"), ("min", "max")]))
    config = {"question": "?", names[0]: low, names[1]: high}
    return Study("vasrating", config, {"low": low, "high": high})


@st.composite
def rankings(draw: st.DrawFn) -> Study:
    texts = draw(st.lists(WORDS, min_size=1, max_size=6, unique=True))
    return Study("ranking", {"question": "?", "options": draw(_written_choices(texts))}, {"texts": texts})


@st.composite
def texts(draw: st.DrawFn) -> Study:
    least, most = draw(st.one_of(st.none(), st.integers(0, 5))), draw(st.one_of(st.none(), st.integers(5, 20)))
    config = {"prompt": "?", "minLength": least, "maxLength": most}
    return Study("textinput", config, {"least": least or 0, "most": most})


@st.composite
def dimensions(draw: st.DrawFn) -> Study:
    labels = draw(st.lists(WORDS, min_size=1, max_size=5, unique=True))
    ranges: dict[str, tuple[float, float]] = {}
    rows: list[dict[str, Any]] = []
    for label in labels:
        row: dict[str, Any] = {_either(draw, "label", "name"): label}
        ranges[label] = (0, 100)
        if draw(st.booleans()):
            row["min"], row["max"] = ranges[label] = draw(_bounds())
        rows.append(row)
    return Study("rapidrate", {"prompt": "?", "dimensions": rows}, {"ranges": ranges})


def recordings() -> st.SearchStrategy[Study]:
    return st.just(Study("audiorecording", {"prompt": "Say it."}, {"least": 0, "most": None}))


STUDIES: Mapping[str, st.SearchStrategy[Study]] = {
    "multiplechoice": choices(several=False),
    "multiplechoice, several": choices(several=True),
    "likertscale": scales(),
    "vasrating": ratings(),
    "ranking": rankings(),
    "textinput": texts(),
    "rapidrate": dimensions(),
    "audiorecording": recordings(),
}


def _within(low: float, high: float) -> st.SearchStrategy[float]:
    inside = st.floats(low, high)
    if math.ceil(low) > math.floor(high):
        return st.one_of(st.just(low), st.just(high), inside)
    return st.one_of(st.just(low), st.just(high), inside, st.integers(math.ceil(low), math.floor(high)))


def answers(study: Study) -> st.SearchStrategy[Any]:
    """Every answer that the schema and the question allow."""
    facts = study.facts
    match study.component:
        case "multiplechoice" if facts["several"]:
            return st.lists(st.sampled_from(facts["texts"]), min_size=0 if facts["empty"] else 1, unique=True)
        case "multiplechoice":
            return st.sampled_from(facts["texts"])
        case "likertscale":
            return st.integers(1, facts["points"]).flatmap(lambda n: st.sampled_from([n, float(n)]))
        case "vasrating":
            return _within(facts["low"], facts["high"])
        case "ranking":
            return st.permutations(facts["texts"])
        case "rapidrate":
            return st.fixed_dictionaries({label: _within(*ends) for label, ends in facts["ranges"].items()})
        case _:
            return st.text(min_size=facts["least"], max_size=facts["most"])


@st.composite
def wrong_answers(draw: st.DrawFn, study: Study) -> tuple[Any, str]:
    """A right answer with one thing made wrong, and the code of the reason."""
    facts, right = study.facts, draw(answers(study))
    match study.component:
        case "multiplechoice" if facts["several"]:
            return draw(_wrong_choices(facts, right))
        case "multiplechoice":
            return draw(st.one_of(_other_text(facts["texts"]).map(_because("not_a_choice")), _no_strings()))
        case "likertscale":
            between = st.integers(1, facts["points"] - 1).map(lambda n: (n + 0.5, "not_whole"))
            return draw(st.one_of(between, _out_of(1, facts["points"]), _no_number()))
        case "vasrating":
            return draw(st.one_of(_out_of(facts["low"], facts["high"]), _no_number()))
        case "ranking":
            return draw(_wrong_order(right))
        case "rapidrate":
            return draw(_wrong_scores(facts["ranges"], right))
        case _:
            return draw(_wrong_text(facts["least"], facts["most"]))


def _because(code: str) -> Any:
    return lambda value: (value, code)


def _no_strings() -> st.SearchStrategy[tuple[Any, str]]:
    return NO_STRINGS.map(_because("wrong_type"))


def _no_number() -> st.SearchStrategy[tuple[Any, str]]:
    return st.one_of(NO_NUMBERS.map(_because("wrong_type")), NOT_FINITE.map(_because("not_finite")))


def _out_of(low: float, high: float) -> st.SearchStrategy[tuple[Any, str]]:
    """Just outside, and far outside: whole numbers, so that a scale has no second reason to refuse them."""
    below = st.sampled_from([math.ceil(low) - 1, math.ceil(low) - 10**30, -(10**400)])
    above = st.sampled_from([math.floor(high) + 1, math.floor(high) + 10**30, 10**400])
    return st.one_of(below.map(_because("below_minimum")), above.map(_because("above_maximum")))


def _other_text(known: list[str]) -> st.SearchStrategy[str]:
    """Another text, and near misses: spaces around it, the other case, a piece of it, the list's index."""
    near = [text for known_text in known for text in (f" {known_text}", f"{known_text}\n", known_text.swapcase())]
    return st.one_of(st.sampled_from([*near, "", "1"]), st.text(max_size=12)).filter(lambda text: text not in known)


@st.composite
def _wrong_choices(draw: st.DrawFn, facts: Mapping[str, Any], right: list[str]) -> tuple[Any, str]:
    kinds = ["not_a_choice", "wrong_type", "not_a_list"] + ["repeated"] * bool(right) + ["empty"] * (not facts["empty"])
    match draw(st.sampled_from(kinds)):
        case "not_a_choice":
            return [*right, draw(_other_text(facts["texts"]))], "not_a_choice"
        case "repeated":
            return [*right, right[0]], "repeated"
        case "empty":
            return [], "empty"
        case "not_a_list":
            return draw(st.sampled_from(["a", 1, None, True, {"a": 1}])), "wrong_type"
        case _:
            return [*right, draw(NO_STRINGS)], "wrong_type"


@st.composite
def _wrong_order(draw: st.DrawFn, right: list[str]) -> tuple[Any, str]:
    at = draw(st.integers(0, len(right) - 1))
    match draw(st.sampled_from(["unknown", "repeated", "missing", "wrong_type", "not_a_list"])):
        case "unknown":
            return [*right[:at], draw(_other_text(right)), *right[at + 1 :]], "unknown"
        case "repeated":
            return [*right, right[at]], "repeated"
        case "missing":
            return [*right[:at], *right[at + 1 :]], "missing"
        case "not_a_list":
            return draw(st.sampled_from([", ".join(right), 1, None, True, dict.fromkeys(right, 1)])), "wrong_type"
        case _:
            return [*right[:at], draw(NO_STRINGS), *right[at + 1 :]], "wrong_type"


@st.composite
def _wrong_scores(draw: st.DrawFn, ranges: Mapping[str, tuple[float, float]], right: dict[str, Any]) -> tuple[Any, str]:
    label = draw(st.sampled_from(sorted(ranges)))
    match draw(st.sampled_from(["score", "missing", "unknown", "wrong_type"])):
        case "score":
            score, code = draw(st.one_of(_out_of(*ranges[label]), _no_number()))
            return {**right, label: score}, code
        case "missing":
            return {name: score for name, score in right.items() if name != label}, "missing"
        case "unknown":
            return {**right, draw(_other_text(list(ranges))): 50}, "unknown"
        case _:
            return draw(st.sampled_from([list(right.values()), "50", 50, None, True])), "wrong_type"


@st.composite
def _wrong_text(draw: st.DrawFn, least: int, most: int | None) -> tuple[Any, str]:
    kinds = ["wrong_type", "half"] + ["short"] * bool(least) + ["long"] * (most is not None)
    match draw(st.sampled_from(kinds)):
        case "short":
            return draw(st.text(max_size=least - 1)), "too_short"
        case "long":
            assert most is not None
            return draw(st.text(min_size=most + 1, max_size=most + 30)), "too_long"
        case "half":
            return "\ud800" * max(least, 1), "not_text"
        case _:
            return draw(NO_STRINGS), "wrong_type"
