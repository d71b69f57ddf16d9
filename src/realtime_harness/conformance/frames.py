"""Frames as they came: their time, their text, and the JSON object in them if there is one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from realtime_harness.errors import InvalidEvent
from realtime_harness.realtime.wire import load_object

Event = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame. `at` is in monotonic seconds; `event` is None where the text is no JSON object, and `fault` says why."""

    at: float
    text: str
    event: Event | None
    fault: str | None = None

    @property
    def type(self) -> str:
        """The event's type, or "" for none."""
        kind = (self.event or {}).get("type")
        return kind if isinstance(kind, str) else ""

    def get(self, *path: str) -> Any:
        """The value at that path of keys; None where there is none."""
        value: Any = self.event
        for key in path:
            if not isinstance(value, dict):
                return None
            value = value.get(key)  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType]
        return value  # pyright: ignore[reportUnknownVariableType]


def read_frame(at: float, text: str) -> Frame:
    """The frame of that text. Never raises: an engine under test may send anything."""
    try:
        return Frame(at, text, load_object(text))
    except InvalidEvent as fault:
        return Frame(at, text, None, fault.message)
