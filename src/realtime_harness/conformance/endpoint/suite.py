"""Runs the endpoint suite: each check once, one after the other."""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import httpx2

from realtime_harness.conformance.endpoint.checks import CHECKS, Found
from realtime_harness.conformance.endpoint.client import EndpointClient
from realtime_harness.conformance.faults import CheckFailed
from realtime_harness.conformance.report import Report, Result
from realtime_harness.conformance.targets import public_target
from realtime_harness.errors import ConfigError, ConnectFailed
from realtime_harness.hyperstudy.contract import SPEC_VERSION
from realtime_harness.hyperstudy.endpoint import CONNECTION_TESTS, REQUEST_TIMEOUT

SUITE_VERSION = 1
Progress = Callable[[str, Result | None], None]


@dataclass(frozen=True, slots=True)
class EndpointOptions:
    """How to run. `only`: ids of checks, empty for all; `at_once`: how many decide at the same time in that check."""

    only: Sequence[str] = ()
    at_once: int = 8
    model: str | None = None


def checks(options: EndpointOptions) -> list[str]:
    """The checks to run. Raises ConfigError for an id that there is none of."""
    unknown = [name for name in options.only if name not in CHECKS]
    if unknown:
        raise ConfigError(f"There is no check {unknown[0]!r}. The checks are: {', '.join(CHECKS)}.")
    return [name for name in CHECKS if not options.only or name in options.only]


async def run_suite(
    http: httpx2.AsyncClient, key: str, options: EndpointOptions, progress: Progress = lambda _name, _result: None
) -> Report:
    """Runs the suite against the API root that is `http.base_url`.

    Raises ConnectFailed where nobody answers there: then nothing can be said of the endpoint.
    """
    began = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    client = EndpointClient(http, key, options.model)
    await _reached(client)
    results: list[Result] = []
    for name in checks(options):
        progress(name, None)
        result = await _run(name, client, options)
        results.append(result)
        progress(name, result)
    return Report(
        suite="endpoint",
        suite_version=SUITE_VERSION,
        spec_version=SPEC_VERSION,
        target=public_target(str(http.base_url)),
        model=client.model,
        began=began,
        thresholds_ms={
            "models": CONNECTION_TESTS[0].timeout_ms,
            "oneToken": CONNECTION_TESTS[1].timeout_ms,
            "decision": REQUEST_TIMEOUT.default_ms,
        },
        strict=False,
        results=tuple(results),
    )


async def _reached(client: EndpointClient) -> None:
    """Somebody is there. Also learns the model's name, as a platform does."""
    try:
        answer = await client.models(CONNECTION_TESTS[0].timeout_ms)
    except CheckFailed as failed:
        if failed.fault.rule == "endpoint.connection":
            raise ConnectFailed(
                f"Nothing answers at {public_target(str(client.http.base_url))} ({failed.fault.seen})."
            ) from None
        return
    listed = (answer.value or {}).get("data")
    if client.model is None and isinstance(listed, list) and listed and isinstance(listed[0], dict):
        name = listed[0].get("id")  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType]
        client.model = name if isinstance(name, str) else None


async def _run(name: str, client: EndpointClient, options: EndpointOptions) -> Result:
    description, run = CHECKS[name]
    found = Found(client, options.at_once)
    client.log.clear()
    start = time.monotonic()
    try:
        await run(found)
    except CheckFailed as failed:
        found.faults.append(failed.fault)
    return Result(
        check=name,
        turn_detection=None,
        status="failed" if found.faults else "passed",
        description=description,
        faults=tuple(found.faults),
        notes=tuple(found.notes),
        grades=found.grades,
        timings_ms=found.timings_ms,
        took_ms=round((time.monotonic() - start) * 1000),
        evidence={"requests": list(client.log)},
    )
