"""What a suite found, as one report: the same for every suite, stable, and free of secrets and audio."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import orjson

from realtime_harness.conformance.faults import Fault

REPORT_VERSION = 1
Status = Literal["passed", "failed", "unsupported"]


@dataclass(frozen=True, slots=True)
class Result:
    """One check, done once.

    `turn_detection` is the type it ran with, None where the check is not repeated. `faults` come first to last; the
    first is the one to mend. `spoilt` says why the result is not to be trusted, if something of ours went wrong.
    `evidence` is the suite's own: the trimmed log, and what was heard when.
    """

    check: str
    turn_detection: str | None
    status: Status
    description: str
    faults: tuple[Fault, ...] = ()
    notes: tuple[str, ...] = ()
    grades: Mapping[str, str] = field(default_factory=dict[str, str])
    timings_ms: Mapping[str, int] = field(default_factory=dict[str, int])
    took_ms: int = 0
    spoilt: str | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def name(self) -> str:
        """The check's id, with its turn detection if it has one."""
        return self.check if self.turn_detection is None else f"{self.check} ({self.turn_detection})"


@dataclass(frozen=True, slots=True)
class Report:
    """A run of a suite against one target. `extras` are measured beside the results, and never among them."""

    suite: str
    suite_version: int
    spec_version: str
    target: str
    model: str | None
    began: str
    thresholds_ms: Mapping[str, int]
    strict: bool
    results: tuple[Result, ...]
    extras: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def count(self, status: Status) -> int:
        """How many results are so."""
        return sum(result.status == status for result in self.results)

    def passed(self, *, allow_unsupported: bool = False) -> bool:
        """Whether nothing stands in the way: all passed, or are unsupported where that is allowed."""
        good: Sequence[Status] = ("passed", "unsupported") if allow_unsupported else ("passed",)
        return bool(self.results) and all(result.status in good for result in self.results)


def to_json(report: Report) -> bytes:
    """The report's own JSON, indented. Its shape is in docs/conformance.md; `reportVersion` changes when that does."""
    value: dict[str, Any] = {
        "reportVersion": REPORT_VERSION,
        "suite": report.suite,
        "suiteVersion": report.suite_version,
        "specVersion": report.spec_version,
        "target": report.target,
        "engineModel": report.model,
        "began": report.began,
        "thresholds": dict(report.thresholds_ms),
        "strict": report.strict,
        "counts": {status: report.count(status) for status in ("passed", "failed", "unsupported")},
        "results": [_result(result) for result in report.results],
        "extras": dict(report.extras),
    }
    return orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _result(result: Result) -> dict[str, Any]:
    return {
        "check": result.check,
        "turnDetection": result.turn_detection,
        "status": result.status,
        "description": result.description,
        "faults": [asdict(fault) for fault in result.faults],
        "notes": list(result.notes),
        "grades": dict(result.grades),
        "timingsMs": dict(result.timings_ms),
        "tookMs": result.took_ms,
        "spoilt": result.spoilt,
        "evidence": dict(result.evidence),
    }
