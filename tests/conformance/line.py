"""The suite against scripted engines: over memory in virtual time, or over loopback in real time."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable

from websockets.asyncio.server import ServerConnection, serve

from realtime_harness.client.memory import memory_pair
from realtime_harness.client.transport import Transport, WebSocketTransport
from realtime_harness.conformance.broken.engine import ScriptedEngine
from realtime_harness.conformance.report import Report
from realtime_harness.conformance.voice.suite import SuiteOptions, run_suite
from tests.fakes.loop import LoopClock, run_virtually

Served = type[ScriptedEngine]


def check_virtually(engine: Served, **options: object) -> Report:
    """Runs the suite in virtual time. Nothing may be left of the engine's sessions at its end."""

    async def run() -> Report:
        clock, sessions = LoopClock(), set[asyncio.Task[None]]()

        async def connect() -> Transport:
            ours, theirs = memory_pair()
            sessions.add(asyncio.create_task(engine(theirs, clock).run()))
            return ours

        report = await run_suite("memory://scripted", connect, clock, SuiteOptions(**options))  # type: ignore[arg-type]
        await asyncio.wait_for(asyncio.gather(*sessions), 5)
        left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        assert not left, left
        return report

    return run_virtually(run())


@contextlib.asynccontextmanager
async def listening(handle: Callable[[ServerConnection], Awaitable[None]]) -> AsyncIterator[str]:
    """A WebSocket server of the test's own on loopback; its URL."""
    async with serve(handle, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{next(iter(server.sockets)).getsockname()[1]}"


def scripted(engine: Served) -> Callable[[ServerConnection], Awaitable[None]]:
    """Serves such an engine on each connection."""

    async def handle(connection: ServerConnection) -> None:
        await engine(WebSocketTransport(connection), LoopClock()).run()

    return handle
