"""The suite against every broken engine, in real time, over sockets on loopback.

python -m bench.defects [--at-once 12] [--report docs/reports/NAME.md]
"""

from __future__ import annotations

import argparse
import asyncio
import datetime
import time
from pathlib import Path

from websockets.asyncio.server import ServerConnection, serve

from bench.server import machine
from realtime_harness.client import connect_websocket, hrp_url
from realtime_harness.client.transport import Transport, WebSocketTransport
from realtime_harness.clock import SystemClock
from realtime_harness.conformance.broken.defects import DEFECTS
from realtime_harness.conformance.broken.engine import ScriptedEngine
from realtime_harness.conformance.report import Report
from realtime_harness.conformance.voice.suite import SuiteOptions, run_suite


async def check(engine: type[ScriptedEngine], options: SuiteOptions) -> Report:
    """One run of the suite against a server of its own."""

    async def handle(connection: ServerConnection) -> None:
        await engine(WebSocketTransport(connection), SystemClock()).run()

    async with serve(handle, "127.0.0.1", 0) as server:
        url = hrp_url(f"http://127.0.0.1:{next(iter(server.sockets)).getsockname()[1]}")

        async def connect() -> Transport:
            return await connect_websocket(url, None)

        return await run_suite(url, connect, SystemClock(), options)


async def run(at_once: int) -> list[str]:
    """Every defect, so many at once; a line for each."""
    turns = asyncio.Semaphore(at_once)

    async def one(number: int) -> str:
        defect = DEFECTS[number]
        async with turns:
            options = SuiteOptions((defect.check,), None, defect.strict, 1, extras=False)
            report = await check(defect.engine, options)
        faults = [fault for result in report.results for fault in result.faults if fault.rule == defect.rule]
        late = max(result.evidence.get("microphoneLateMs", 0) for result in report.results)
        row = f"| `{defect.name}` | `{defect.check}` | {faults[0] if faults else 'MISSED'} | {late} |"
        print(row, flush=True)
        return row

    return list(await asyncio.gather(*(one(number) for number in range(len(DEFECTS)))))


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m bench.defects")
    options.add_argument("--at-once", type=int, default=12)
    options.add_argument("--report", type=Path)
    chosen = options.parse_args()
    start = time.monotonic()
    sound = asyncio.run(check(ScriptedEngine, SuiteOptions(strict=True, at_once=chosen.at_once)))
    rows = asyncio.run(run(chosen.at_once))
    missed = [row for row in rows if "MISSED" in row]
    head = (
        f"# The broken engines in real time\n\n{datetime.datetime.now(datetime.UTC):%Y-%m-%d}, {machine()}, over loopback, "
        f"{chosen.at_once} at once, {time.monotonic() - start:.0f} s. The correct engine: {sound.count('passed')} of "
        f"{len(sound.results)} passed, strict. Of {len(rows)} broken engines {len(rows) - len(missed)} failed in the check "
        "that names their rule.\n\n| engine | check | fault | our microphone late, ms |\n|---|---|---|---|\n"
    )
    print(head)
    if chosen.report:
        chosen.report.write_text(head + "\n".join(rows) + "\n")
    if missed or not sound.passed():
        raise SystemExit(f"{len(missed)} were missed")


if __name__ == "__main__":
    main()
