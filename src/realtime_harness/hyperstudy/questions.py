"""The questions of a study: any study's configuration of a component, read into one typed question.

Sources: agent-spec 0.2.0, `answers` (the kinds and their example configurations). Studies are written in several
vocabularies (the designer's, the SDK's, the sparse-rating document's); ALIASES says which spellings mean the same.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

from realtime_harness.errors import ConfigError
from realtime_harness.realtime.wire import kind_of

Component = Literal["multiplechoice", "likertscale", "vasrating", "ranking", "textinput", "rapidrate", "audiorecording"]
COMPONENTS: tuple[Component, ...] = get_args(Component)
DEFAULT_SCALE_POINTS = 5
MAX_SCALE_POINTS = 1_000
DEFAULT_RANGE = (0, 100)

_PROMPTS = {"question": ("prompt",)}
ALIASES: Mapping[Component, Mapping[str, tuple[str, ...]]] = {
    "multiplechoice": {**_PROMPTS, "choices": ("options",), "allowMultiple": ()},
    "likertscale": {**_PROMPTS, "scale": ("scalePoints",)},
    "vasrating": {**_PROMPTS, "minValue": ("min",), "maxValue": ("max",)},
    "ranking": {**_PROMPTS, "options": ()},
    "textinput": {**_PROMPTS, "minLength": (), "maxLength": ()},
    "rapidrate": {"prompt": ("question",), "dimensions": ()},
    "audiorecording": {"prompt": ("question",)},
}
"""Per component: the spelling of agent-spec, and the others that are read as it. The first that is there counts."""

_CHOICE_TEXT = ("text", "label", "value")  # of a choice written as an object: the words a participant reads come first
_DIMENSION_LABEL = ("label", "name")
_DIMENSION_MIN = ("min", "minValue")
_DIMENSION_MAX = ("max", "maxValue")

Number = int | float


@dataclass(frozen=True, slots=True)
class OneChoice:
    """multiplechoice: one of `choices`, by its exact text."""

    prompt: str
    choices: tuple[str, ...]
    component: Literal["multiplechoice"] = "multiplechoice"


@dataclass(frozen=True, slots=True)
class SomeChoices:
    """multiplechoice with `allowMultiple`: some of `choices`; none only where the study says `required: false`."""

    prompt: str
    choices: tuple[str, ...]
    may_be_empty: bool = False
    component: Literal["multiplechoice"] = "multiplechoice"


@dataclass(frozen=True, slots=True)
class ScalePoint:
    """likertscale: a whole number from 1 to `points`."""

    prompt: str
    points: int
    component: Literal["likertscale"] = "likertscale"


@dataclass(frozen=True, slots=True)
class Rating:
    """vasrating: a number from `minimum` to `maximum`, both included."""

    prompt: str
    minimum: Number
    maximum: Number
    component: Literal["vasrating"] = "vasrating"


@dataclass(frozen=True, slots=True)
class Ranking:
    """ranking: every one of `items` once, in the participant's order."""

    prompt: str
    items: tuple[str, ...]
    component: Literal["ranking"] = "ranking"


@dataclass(frozen=True, slots=True)
class Text:
    """textinput: words; lengths in characters, where the study sets them."""

    prompt: str
    min_chars: int | None = None
    max_chars: int | None = None
    component: Literal["textinput"] = "textinput"


@dataclass(frozen=True, slots=True)
class Dimension:
    """One row of a rapidrate: its label and its range, both ends included."""

    label: str
    minimum: Number
    maximum: Number


@dataclass(frozen=True, slots=True)
class Dimensions:
    """rapidrate: a number for each dimension, keyed by its label."""

    prompt: str
    dimensions: tuple[Dimension, ...]
    component: Literal["rapidrate"] = "rapidrate"


@dataclass(frozen=True, slots=True)
class Spoken:
    """audiorecording: the exact words that would be said aloud."""

    prompt: str
    component: Literal["audiorecording"] = "audiorecording"


Question = OneChoice | SomeChoices | ScalePoint | Rating | Ranking | Text | Dimensions | Spoken


def read_question(component: str, config: Mapping[str, Any]) -> Question:
    """The question that a study's configuration of `component` asks.

    Raises ConfigError that names the field, what was expected and what came.
    """
    if component not in COMPONENTS:
        raise ConfigError(
            f"Component {component[:60]!r} has no answer an agent can give; expected one of: {', '.join(COMPONENTS)}."
        )
    fields = _Fields(component, config)
    prompt = fields.text(next(iter(ALIASES[component])))
    match component:
        case "multiplechoice":
            choices = fields.texts("choices")
            if fields.flag("allowMultiple", default=False):
                return SomeChoices(prompt, choices, may_be_empty=not fields.flag("required", default=True))
            return OneChoice(prompt, choices)
        case "likertscale":
            return ScalePoint(prompt, fields.whole("scale", 2, MAX_SCALE_POINTS) or DEFAULT_SCALE_POINTS)
        case "vasrating":
            return Rating(prompt, *fields.bounds(fields.get("minValue"), fields.get("maxValue"), "minValue, maxValue"))
        case "ranking":
            return Ranking(prompt, fields.texts("options"))
        case "textinput":
            low, high = fields.whole("minLength", 0), fields.whole("maxLength", 0)
            if low is not None and high is not None and low > high:
                raise fields.wrong("minLength", f"at most maxLength, which is {high}", low)
            return Text(prompt, low, high)
        case "rapidrate":
            return Dimensions(prompt, fields.dimensions("dimensions"))
        case "audiorecording":
            return Spoken(prompt)


def alias_warnings(component: Component, config: Mapping[str, Any]) -> tuple[str, ...]:
    """A sentence for each field that is spelt otherwise than agent-spec 0.2.0 does, for whoever wrote the study."""
    warnings: list[str] = []
    for name, others in ALIASES[component].items():
        for other in others:
            if config.get(other) is None:
                continue
            if config.get(name) is None:
                warnings.append(f"{component}: {other!r} is read as {name!r}.")
            elif config[name] != config[other]:
                warnings.append(f"{component}: {name!r} and {other!r} differ; {name!r} counts.")
    return tuple(warnings)


class _Fields:
    """The fields of one configuration, found by any of their names; null is the same as absent."""

    def __init__(self, component: Component, config: Mapping[str, Any]) -> None:
        self._component: Component = component
        self._config = config

    def get(self, name: str) -> Any:
        return _first(self._config, (name, *ALIASES[self._component].get(name, ())))

    def wrong(self, name: str, expected: str, got: object) -> ConfigError:
        shown = repr(got)[:60] if isinstance(got, str | int | float) else kind_of(got)
        return ConfigError(f"{self._component}: expected {name!r} to be {expected}; got {shown}. Mend the study.")

    def text(self, name: str) -> str:
        value = self.get(name)
        if value is None:
            return ""  # a screen may ask by its picture alone
        if not isinstance(value, str):
            raise self.wrong(name, "a string", value)
        return value

    def flag(self, name: str, *, default: bool) -> bool:
        value = self.get(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise self.wrong(name, "true or false", value)
        return value

    def whole(self, name: str, least: int, most: int | None = None) -> int | None:
        value = self.get(name)
        if value is None:
            return None
        whole = _as_number(value)
        if not isinstance(whole, int) or whole < least or (most is not None and whole > most):
            upto = f"from {least} to {most}" if most is not None else f"of at least {least}"
            raise self.wrong(name, f"a whole number {upto}", value)
        return whole

    def bounds(self, low: object, high: object, name: str) -> tuple[Number, Number]:
        minimum = _as_number(DEFAULT_RANGE[0] if low is None else low)
        maximum = _as_number(DEFAULT_RANGE[1] if high is None else high)
        if minimum is None:
            raise self.wrong(name, "finite numbers", low)
        if maximum is None:
            raise self.wrong(name, "finite numbers", high)
        if minimum >= maximum:
            raise self.wrong(name, "a range whose lower end is below its upper end", f"{minimum} to {maximum}")
        return minimum, maximum

    def texts(self, name: str) -> tuple[str, ...]:
        texts = tuple(self._text_of(name, entry) for entry in self._list(name))
        self._check_distinct(name, texts)
        return texts

    def dimensions(self, name: str) -> tuple[Dimension, ...]:
        found: list[Dimension] = []
        for entry in self._list(name):
            given = cast("Mapping[str, Any]", entry if isinstance(entry, Mapping) else {"label": entry})
            label = _first(given, _DIMENSION_LABEL)
            if not isinstance(label, str) or not label:
                raise self.wrong(name, "labels, each a string that is not empty", label)
            bounds = self.bounds(_first(given, _DIMENSION_MIN), _first(given, _DIMENSION_MAX), f"{name}, {label[:40]}")
            found.append(Dimension(label, *bounds))
        self._check_distinct(name, [dimension.label for dimension in found])
        return tuple(found)

    def _list(self, name: str) -> Sequence[object]:
        value: object = self.get(name)
        if not isinstance(value, list | tuple) or not value:
            raise self.wrong(name, "a list with at least one entry", cast("object", value))
        return cast("Sequence[object]", value)

    def _text_of(self, name: str, entry: object) -> str:
        text = entry
        if isinstance(entry, Mapping):
            given = cast("Mapping[str, Any]", entry)
            text = next((given[key] for key in _CHOICE_TEXT if given.get(key) not in (None, "")), None)
        if not isinstance(text, str) or not text:
            raise self.wrong(name, "texts, each a string that is not empty", text)
        return text

    def _check_distinct(self, name: str, texts: Sequence[str]) -> None:
        seen: set[str] = set()
        for text in texts:
            if text in seen:
                raise self.wrong(name, "texts that differ, for an answer names them by their text", f"twice {text}")
            seen.add(text)


def _first(config: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((config[name] for name in names if config.get(name) is not None), None)


def _as_number(value: object) -> Number | None:
    """A finite JSON number, whole ones as int (7.0 is 7 in JSON); None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, int):
        return value
    if not math.isfinite(value):
        return None
    return int(value) if value.is_integer() else value
