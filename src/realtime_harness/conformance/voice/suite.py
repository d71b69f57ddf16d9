"""Runs the voice suite: every check on a session of its own, one after the other or several at once."""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from realtime_harness.client.transport import Transport
from realtime_harness.conformance.faults import CheckFailed, Fault, Unsupported
from realtime_harness.conformance.frames import Event
from realtime_harness.conformance.report import Report, Result, Status
from realtime_harness.conformance.targets import public_target
from realtime_harness.conformance.voice.checks import RUNS
from realtime_harness.conformance.voice.extras import backchannel, summary
from realtime_harness.conformance.voice.probe import Findings, Probe
from realtime_harness.errors import ConfigError, ConnectFailed, Disconnected
from realtime_harness.hyperstudy.contract import (
    CHECKS,
    SPEC_VERSION,
    SUITE_VERSION,
    THRESHOLDS,
    TURN_DETECTIONS,
    Check,
    Thresholds,
)
from realtime_harness.realtime.engine import Clock

LATE_MS = 250  # our own microphone so far behind real time: a failure may be this machine's
MAX_CHECK_S = 240.0  # whatever happens, a check ends
ROOM_S = 10.0  # how long an engine without room is asked again
ROOM_EVERY_S = 0.5
BAD_TRUNCATES = ("differs", "error", "none")
NO_ROOM = (429, 503)

Connect = Callable[[], Awaitable[Transport]]
Progress = Callable[["Job", Result | None], None]


@dataclass(frozen=True, slots=True)
class Job:
    """One check to be done, with one turn detection."""

    check: Check
    turn_detection: Event

    @property
    def name(self) -> str:
        """As a result of it is named."""
        kind = f" ({self.turn_detection['type']})" if self.check.per_turn_detection else ""
        return self.check.id + kind


@dataclass(frozen=True, slots=True)
class SuiteOptions:
    """How to run. `only`: ids of checks; `turn_detection`: a type; empty means all. `at_once`: sessions side by side."""

    only: Sequence[str] = ()
    turn_detection: str | None = None
    strict: bool = False
    at_once: int = 1
    extras: bool = True
    limits: Thresholds = field(default=THRESHOLDS)


def jobs(options: SuiteOptions) -> list[Job]:
    """The checks to run, in the suite's order. Raises ConfigError for an id or a type that there is none of."""
    known = [check.id for check in CHECKS]
    unknown = [name for name in options.only if name not in known]
    if unknown:
        raise ConfigError(f"There is no check {unknown[0]!r}. The checks are: {', '.join(known)}.")
    kinds = [str(each["type"]) for each in TURN_DETECTIONS]
    if options.turn_detection is not None and options.turn_detection not in kinds:
        raise ConfigError(
            f"There is no turn detection {options.turn_detection!r}. Expected one of: {', '.join(kinds)}."
        )
    chosen: list[Job] = []
    for check in CHECKS:
        if options.only and check.id not in options.only:
            continue
        for each in TURN_DETECTIONS if check.per_turn_detection else TURN_DETECTIONS[:1]:
            if check.per_turn_detection and options.turn_detection not in (None, each["type"]):
                continue
            chosen.append(Job(check, dict(each)))
    return chosen


async def run_suite(
    target: str, connect: Connect, clock: Clock, options: SuiteOptions, progress: Progress = lambda _job, _result: None
) -> Report:
    """Runs the suite; `progress` is told of each check as it begins (without a result) and as it ends.

    Raises ConnectFailed where the very first connection cannot be made: then nothing can be said of the engine.
    """
    began = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    todo = jobs(options)
    results: dict[str, Result] = {}
    models: list[str] = []
    first, *rest = todo

    async def one(job: Job, *, may_fail_to_connect: bool) -> None:
        progress(job, None)
        found, result = await _run(job, connect, clock, options, may_fail_to_connect=may_fail_to_connect)
        if found.model is not None:
            models.append(found.model)
        results[job.name] = result
        progress(job, result)

    await one(first, may_fail_to_connect=False)
    silent = next((fault for fault in results[first.name].faults if fault.rule == "session.created"), None)
    if silent is not None:
        for job in rest:
            results[job.name] = _not_run(job, silent)
            progress(job, results[job.name])
    else:
        turns = asyncio.Semaphore(options.at_once)

        async def in_turn(job: Job) -> None:
            async with turns:
                await one(job, may_fail_to_connect=True)

        async with asyncio.TaskGroup() as group:
            for job in rest:
                group.create_task(in_turn(job), name=f"check {job.name}")
    done = tuple(results[job.name] for job in todo)
    extras: dict[str, Any] = summary(done)
    if options.extras and silent is None:
        extras["backchannel"] = await _extra(connect, clock, options.limits)
    return Report(
        suite="voice",
        suite_version=SUITE_VERSION,
        spec_version=SPEC_VERSION,
        target=public_target(target),
        model=models[0] if models else None,
        began=began,
        thresholds_ms=asdict(options.limits),
        strict=options.strict,
        results=done,
        extras=extras,
    )


async def _run(
    job: Job, connect: Connect, clock: Clock, options: SuiteOptions, *, may_fail_to_connect: bool
) -> tuple[Findings, Result]:
    start = clock.now()
    while True:
        try:
            found, status = await _attempt(job, await _connect(connect, clock), clock, options)
        except ConnectFailed as refused:
            if not may_fail_to_connect:
                raise
            found, status = Findings(), None
            found.faults.append(Fault("session.connect", "a connection for each check", str(refused)))
            break
        if not _no_room(found) or clock.now() - start >= ROOM_S:
            break
        await clock.sleep_until(clock.now() + ROOM_EVERY_S)
    grade = found.grades.get("truncate")
    if options.strict and grade in BAD_TRUNCATES:
        expected = "the truncate to be acknowledged where it was asked for, or at the end of the audio"
        found.faults.append(Fault(f"{job.check.id}.truncate", expected, f"graded {grade!r}"))
    if status is None:
        status = "failed" if found.faults else "passed"
    spoilt = None
    if status == "failed" and found.late_ms > LATE_MS:
        spoilt = f"This machine was busy: our own microphone fell {found.late_ms} ms behind real time."
    return found, Result(
        check=job.check.id,
        turn_detection=str(job.turn_detection["type"]) if job.check.per_turn_detection else None,
        status=status,
        description=job.check.description,
        faults=tuple(found.faults),
        notes=tuple(found.notes),
        grades=found.grades,
        timings_ms=found.timings_ms,
        took_ms=round((clock.now() - start) * 1000),
        spoilt=spoilt,
        evidence={
            "events": [{"atMs": line.at_ms, "way": line.way, "event": line.event} for line in found.log],
            "spoken": [asdict(span) for span in found.spoken],
            "heard": [asdict(span) for span in found.heard],
            "microphoneLateMs": found.late_ms,
        },
    )


async def _attempt(
    job: Job, transport: Transport, clock: Clock, options: SuiteOptions
) -> tuple[Findings, Status | None]:
    """One session of a check: what it found, and its status if that is more than whether there were faults."""
    probe = Probe(transport, clock, options.limits)
    found = probe.found
    try:
        async with asyncio.timeout(MAX_CHECK_S), probe:
            await RUNS[job.check.id](probe, job.turn_detection)
    except CheckFailed as failed:
        found.faults.append(failed.fault)
    except Unsupported as declared:
        found.notes.append(str(declared))
        return found, "unsupported"
    except Disconnected as ended:
        found.faults.append(Fault("platform.closed", "a session that stays open", str(ended)))
    except TimeoutError:
        found.faults.append(Fault("suite.timeout", f"a check to end within {MAX_CHECK_S:g} s", "it did not"))
    return found, None


def _no_room(found: Findings) -> bool:
    """Whether the engine turned the session away in the WebSocket: an `error` in place of a session, and a close."""
    came = [line.event.get("type") for line in found.log if line.way == "came"]
    return came == ["error"] and any(fault.rule == "platform.closed" for fault in found.faults)


async def _connect(connect: Connect, clock: Clock) -> Transport:
    """A connection; an engine that has no room for it is asked again for a while."""
    give_up = clock.now() + ROOM_S
    while True:
        try:
            return await connect()
        except ConnectFailed as refused:
            if refused.status not in NO_ROOM or clock.now() >= give_up:
                raise
        await clock.sleep_until(clock.now() + ROOM_EVERY_S)


def _not_run(job: Job, why: Fault) -> Result:
    fault = replace(why, seen=f"not run, for the engine never opened a session ({why.seen})")
    kind = str(job.turn_detection["type"]) if job.check.per_turn_detection else None
    return Result(job.check.id, kind, "failed", job.check.description, (fault,))


async def _extra(connect: Connect, clock: Clock, limits: Thresholds) -> dict[str, Any]:
    try:
        probe = Probe(await _connect(connect, clock), clock, limits)
        async with asyncio.timeout(MAX_CHECK_S), probe:
            return await backchannel(probe)
    except (CheckFailed, ConnectFailed, Disconnected, TimeoutError) as failed:
        return {"outcome": "not measured", "why": str(failed) or "it took too long"}
