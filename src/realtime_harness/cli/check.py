"""`rth check`: whether an engine can be used, told by what it does on the wire."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from realtime_harness.cli.people import FAILED, key_for

if TYPE_CHECKING:
    from realtime_harness.conformance.endpoint.suite import EndpointOptions
    from realtime_harness.conformance.report import Report
    from realtime_harness.conformance.voice.suite import SuiteOptions

app = typer.Typer(
    no_args_is_help=True, help="Conformance suites: exit 0 all passed, 1 something failed, 2 could not run."
)


@app.callback()
def _group() -> None:
    """Conformance suites: exit 0 all passed, 1 something failed, 2 could not run."""


@app.command()
def voice(
    url: Annotated[str, typer.Argument(help="The engine's root, or its WebSocket's own URL.")],
    api_key: Annotated[
        str | None, typer.Option(help="The engine's key. Without it: RTH_API_KEY, or this user's key file.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="Which model to ask for (?model=).")] = None,
    only: Annotated[list[str] | None, typer.Option(help="Only this check; may be given again.")] = None,
    turn_detection: Annotated[str | None, typer.Option(help="Only server_vad or semantic_vad.")] = None,
    strict: Annotated[bool, typer.Option("--strict", help="A badly graded truncate is a failure.")] = False,
    allow_unsupported: Annotated[
        bool, typer.Option("--allow-unsupported", help="What the engine declares that it lacks is no failure.")
    ] = False,
    at_once: Annotated[int, typer.Option(min=1, max=15, help="How many sessions side by side.")] = 1,
    timeout: Annotated[
        float | None, typer.Option(min=0.5, max=120, help="Seconds to wait for an event, in place of 15.")
    ] = None,
    json: Annotated[Path | None, typer.Option(help="Where the report goes, as JSON.")] = None,
    html: Annotated[Path | None, typer.Option(help="Where the report goes, as one page.")] = None,
) -> None:
    """Whether a study can use this voice engine: ten checks, five of them for each turn detection. Takes a few minutes."""
    from realtime_harness.client import hrp_url
    from realtime_harness.conformance.voice.suite import SuiteOptions
    from realtime_harness.hyperstudy.contract import THRESHOLDS

    where = hrp_url(url, model)
    limits = THRESHOLDS if timeout is None else replace(THRESHOLDS, event_timeout_ms=round(timeout * 1000))
    options = SuiteOptions(tuple(only or ()), turn_detection, strict, at_once, not only, limits)
    report = asyncio.run(_run(where, api_key or key_for(where), options))
    _write(report, json, html)
    if not report.passed(allow_unsupported=allow_unsupported):
        raise typer.Exit(FAILED)


@app.command()
def endpoint(
    url: Annotated[str, typer.Argument(help="The API's root, such as http://127.0.0.1:8080/v1.")],
    api_key: Annotated[
        str | None, typer.Option(help="The endpoint's key. Without it: RTH_API_KEY, or this user's key file.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="Which model to ask for, in place of the first listed.")] = None,
    only: Annotated[list[str] | None, typer.Option(help="Only this check; may be given again.")] = None,
    at_once: Annotated[int, typer.Option(min=1, max=64, help="How many decide at the same time.")] = 8,
    json: Annotated[Path | None, typer.Option(help="Where the report goes, as JSON.")] = None,
    html: Annotated[Path | None, typer.Option(help="Where the report goes, as one page.")] = None,
) -> None:
    """Whether a study's text agent can use this model endpoint: its connection test, and a decision of every kind."""
    from realtime_harness.client import api_root
    from realtime_harness.conformance.endpoint.suite import EndpointOptions

    root = api_root(url)
    options = EndpointOptions(tuple(only or ()), at_once, model)
    report = asyncio.run(_run_endpoint(root, api_key or key_for(root) or "", options))
    _write(report, json, html)
    if not report.passed():
        raise typer.Exit(FAILED)


async def _run_endpoint(root: str, key: str, options: EndpointOptions) -> Report:
    import httpx2
    from rich.console import Console

    from realtime_harness.cli.check_table import CheckTable
    from realtime_harness.conformance.endpoint.suite import checks, run_suite

    async with httpx2.AsyncClient(base_url=root, follow_redirects=False) as http:
        with CheckTable(Console(highlight=False), checks(options)) as table:
            report = await run_suite(http, key, options, table.show)
    table.conclude(report)
    return report


async def _run(url: str, key: str | None, options: SuiteOptions) -> Report:
    import secrets

    from rich.console import Console

    from realtime_harness.cli.check_table import CheckTable
    from realtime_harness.client import connect_websocket
    from realtime_harness.client.transport import Transport
    from realtime_harness.clock import SystemClock
    from realtime_harness.conformance.voice.suite import jobs, run_suite

    headers = {"OpenAI-Safety-Identifier": f"hs-{secrets.token_hex(8)}"}

    async def connect() -> Transport:
        return await connect_websocket(url, key, headers=headers)

    with CheckTable(Console(highlight=False), [job.name for job in jobs(options)]) as table:
        report = await run_suite(url, connect, SystemClock(), options, lambda job, result: table.show(job.name, result))
    table.conclude(report)
    return report


def _write(report: Report, json: Path | None, html: Path | None) -> None:
    from realtime_harness.conformance.html import to_html
    from realtime_harness.conformance.report import to_json
    from realtime_harness.errors import ConfigError

    try:
        if json is not None:
            json.write_bytes(to_json(report))
        if html is not None:
            html.write_text(to_html(report), encoding="utf-8")
    except OSError as problem:
        raise ConfigError(f"The report cannot be written: {problem}.") from None
