"""agent-spec.json as a flat map of paths to values, in which an entry of a list goes by its name and not by its place.

So `spec_diff` compares a tool with the tool of that name, and a context item with the item of that form.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, cast

from realtime_harness.hyperstudy.context import PREFIX
from realtime_harness.realtime.wire import Json, kind_of

Path = tuple[str, ...]
EMPTY_OBJECT = "{}"
EMPTY_LIST = "[]"


def leaves_of(spec: Json) -> Mapping[Path, Any]:
    """Every leaf of the document by its path. An entry of a plain list is a leaf whose value is its own name."""
    found: dict[Path, Any] = {}
    _collect(spec, (), found)
    return found


def _collect(value: Any, path: Path, found: dict[Path, Any]) -> None:
    if isinstance(value, str) and path[:2] == ("voiceEngine", "contextItems"):
        value = _shape(_context(value))
    if isinstance(value, dict) and value:
        for key, entry in cast("Json", value).items():
            _collect(entry, (*path, key), found)
    elif isinstance(value, list) and value:
        taken: dict[str, int] = {}
        for entry in cast("list[Any]", value):
            name = _name_of(path, entry)
            taken[name] = taken.get(name, 0) + 1
            unique = name if taken[name] == 1 else f"{name} #{taken[name]}"
            _collect(entry, (*path, unique), found)
    elif isinstance(value, dict | list):
        found[path] = EMPTY_OBJECT if isinstance(value, dict) else EMPTY_LIST
    else:
        found[path] = value


def _name_of(path: Path, entry: Any) -> str:
    """What an entry of the list at `path` goes by."""
    if path[:2] == ("voiceEngine", "contextItems"):
        return _form(entry) if len(path) == 2 else "entry"
    if not isinstance(entry, dict):
        return str(entry)
    given = cast("Json", entry)
    return _NAMES.get(path, _by_name)(given)


def _by_name(entry: Json) -> str:
    function = cast("Json", entry.get("function") if isinstance(entry.get("function"), dict) else entry)
    return str(function.get("name") or function.get("type") or "entry")


def _by(*keys: str) -> Callable[[Json], str]:
    return lambda entry: " ".join(str(entry.get(key)) for key in keys)


_NAMES: Mapping[Path, Callable[[Json], str]] = {
    ("answers",): _by("componentType", "voiceTool"),
    ("modelEndpoint", "connectionTest"): _by("request"),
    ("voiceEngine", "clientEvents"): _by("type"),
    ("conformance", "turnDetections"): _by("type"),
    ("conformance", "checks"): _by("id"),
}


def _context(text: Any) -> Json:
    try:
        value: object = json.loads(str(text).removeprefix(PREFIX))
    except ValueError:
        return {}
    return cast("Json", value) if isinstance(value, dict) else {}


def _form(text: Any) -> str:
    value = _context(text)
    return f"{value.get('event')} with images" if "images" in value else str(value.get("event"))


def _shape(value: Any) -> Any:
    """Its fields with the kinds of their values: the values of an example are nobody's contract."""
    if isinstance(value, dict):
        return {key: entry if key == "event" else _shape(entry) for key, entry in cast("Json", value).items()}
    if isinstance(value, list):
        return [_shape(entry) for entry in cast("list[Any]", value)[:1]]
    return kind_of(value)
