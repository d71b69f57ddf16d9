"""What changed between two agent-spec documents, and which changes break an adapter that was built to the first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from realtime_harness.hyperstudy.spec import strip_placeholders
from realtime_harness.hyperstudy.spec_leaves import EMPTY_LIST, EMPTY_OBJECT, Path, leaves_of
from realtime_harness.hyperstudy.spec_rules import Event, rule_for
from realtime_harness.realtime.wire import Json

Kind = Literal["added", "removed", "changed"]
_ABSENT = object()


@dataclass(frozen=True, slots=True)
class Change:
    """A value that was added, removed or changed, or a whole part that was added or removed.

    `path` joins its steps by slashes. `before` and `after` are None where there is no one value. `why` says what the
    change means for an adapter.
    """

    path: str
    kind: Kind
    before: Any
    after: Any
    breaks: bool
    why: str


def diff(before: Json, after: Json) -> tuple[Change, ...]:
    """Every change, in the order of `before`, then what is new.

    Placeholders do not count, nor does the order of fields and lists; client events of one type are paired by their order.
    """
    old, new = (leaves_of(strip_placeholders(spec)) for spec in (before, after))
    return tuple(_changes(old, new))


def _changes(old: Mapping[Path, Any], new: Mapping[Path, Any]) -> Iterator[Change]:
    stems_of_old, stems_of_new = _stems(old), _stems(new)
    told: set[Path] = set()
    for leaf in dict.fromkeys((*old, *new)):
        if leaf in old and leaf in new:
            path, kind = leaf, "changed"
        elif leaf in old:
            path, kind = _highest(leaf, stems_of_new), "removed"
        else:
            path, kind = _highest(leaf, stems_of_old), "added"
        before, after = old.get(path, _ABSENT), new.get(path, _ABSENT)
        if path in told or (_same(before, after) and kind == "changed"):
            continue
        if _is_hollow(before, path, stems_of_new, new) or _is_hollow(after, path, stems_of_old, old):
            continue
        told.add(path)
        yield _change(path, kind, before, after)


def _change(path: Path, kind: Kind, before: Any, after: Any) -> Change:
    steps = "/".join(step.replace("/", ":") for step in path)
    rule = rule_for(steps, _events(kind, before, after))
    shown = [None if value is _ABSENT else value for value in (before, after)]
    return Change("/".join(path), kind, *shown, breaks=rule.breaks, why=rule.why)


def _stems(leaves: Mapping[Path, Any]) -> frozenset[Path]:
    return frozenset(leaf[:length] for leaf in leaves for length in range(len(leaf) + 1))


def _highest(leaf: Path, stems: frozenset[Path]) -> Path:
    """The shortest beginning of `leaf` that the other document has nothing under: a new tool is one change, not ten."""
    return next(leaf[:length] for length in range(len(leaf) + 1) if leaf[:length] not in stems or length == len(leaf))


def _is_hollow(value: Any, path: Path, stems: frozenset[Path], leaves: Mapping[Path, Any]) -> bool:
    """An empty list or object that the other document fills: what fills it is told, not itself."""
    return value in (EMPTY_OBJECT, EMPTY_LIST) and path in stems and path not in leaves


def _same(before: Any, after: Any) -> bool:
    return before == after and isinstance(before, bool) == isinstance(after, bool)


def _events(kind: Kind, before: Any, after: Any) -> frozenset[Event]:
    if kind != "changed":
        return frozenset({kind})
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in (before, after)):
        return frozenset({kind, "raised" if cast("float", after) > cast("float", before) else "lowered"})
    if (before, after) == ("integer", "number"):
        return frozenset({kind, "widened"})
    return frozenset({kind, "off"}) if (before, after) == (True, False) else frozenset({kind})
