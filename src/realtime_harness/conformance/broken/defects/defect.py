"""What a defect is, and how a broken engine is listed as one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any, ClassVar, Literal

from realtime_harness.conformance.broken.engine import Event, ScriptedEngine

CheckId = Literal[
    "handshake",
    "engine_turn",
    "barge_in",
    "listening_pause",
    "listening_pause_silent",
    "cancel",
    "function_call",
    "silent_tool",
    "image_context",
    "turn_detection_fields",
]


@dataclass(frozen=True, slots=True)
class Defect:
    """A broken engine: the check that must find it, and the rule whose fault names the mistake.

    `strict`: found only where grades are strict.
    """

    name: str
    check: CheckId
    rule: str
    says: str
    engine: type[ScriptedEngine]
    strict: bool = False


def breaks(
    check: CheckId, rule: str, *, strict: bool = False
) -> Callable[[type[ScriptedEngine]], type[ScriptedEngine]]:
    """Marks the class as a defect that `check` must find by `rule`; its name and docstring say what it does."""

    def marked(engine: type[ScriptedEngine]) -> type[ScriptedEngine]:
        name = "".join("_" + letter.lower() if letter.isupper() else letter for letter in engine.__name__).strip("_")
        engine.DEFECT = Defect(name, check, rule, (engine.__doc__ or "").strip(), engine, strict)
        return engine

    return marked


def listed(module: ModuleType) -> tuple[Defect, ...]:
    """The defects of a module, in its order."""
    found = (value.__dict__.get("DEFECT") for value in vars(module).values() if isinstance(value, type))
    return tuple(defect for defect in found if isinstance(defect, Defect))


class Filtered(ScriptedEngine):
    """Changes what is sent: leaves events out, renames them, or gives fields other values (None leaves one out)."""

    DROPPED: ClassVar[tuple[str, ...]] = ()
    RENAMED: ClassVar[Mapping[str, str]] = {}
    CHANGED: ClassVar[Mapping[str, Event]] = {}

    async def emit(self, kind: str, **fields: Any) -> None:
        if kind in self.DROPPED:
            return
        fields |= self.CHANGED.get(kind, {})
        await super().emit(self.RENAMED.get(kind, kind), **{k: v for k, v in fields.items() if v is not None})
