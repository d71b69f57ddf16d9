"""What a check finds: a rule that was broken, what was expected and what came."""

from __future__ import annotations

from dataclasses import dataclass

from realtime_harness.errors import HarnessError


@dataclass(frozen=True, slots=True)
class Fault:
    """A rule that an engine broke.

    `rule` is a stable id (`barge_in.order`); `at_ms` is when it was seen, from the session's start. The rest is prose.
    """

    rule: str
    expected: str
    seen: str
    at_ms: int | None = None

    def __str__(self) -> str:
        return f"{self.rule}: expected {self.expected}; {self.seen}"


class CheckFailed(HarnessError):
    """A fault after which a check cannot go on."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(str(fault))
        self.fault = fault


class Unsupported(HarnessError):
    """The engine declares that it lacks what the check is about."""
