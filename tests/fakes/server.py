"""A real server on loopback over scripted engines, inside the test's own event loop."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass

from realtime_harness.call import CallLimits, Calls, CallsLimits
from realtime_harness.clock import SystemClock
from realtime_harness.serve import KeyRing, ServeLimits, Server, create_app, listen
from tests.fakes.engine import ScriptedEngine

KEY = "a-key-of-the-tests"


@dataclass
class Running:
    url: str
    calls: Calls
    engine: ScriptedEngine
    server: Server
    task: asyncio.Task[None]

    @property
    def ws_url(self) -> str:
        return self.url.replace("http", "ws", 1) + "/v1/realtime"


@contextlib.asynccontextmanager
async def running_server(
    engine: ScriptedEngine | None = None,
    *,
    limits: ServeLimits | None = None,
    call_limits: CallLimits | None = None,
    calls_limits: CallsLimits | None = None,
    drain_s: float = 0.0,
    ready: bool = True,
) -> AsyncIterator[Running]:
    engine = engine or ScriptedEngine()
    limits = limits or ServeLimits()
    listening = listen("127.0.0.1", 0, limits)
    async with Calls(SystemClock(), calls_limits) as calls:
        if ready:
            calls.ready({"scripted": engine}, "scripted")
        app = create_app(calls, KeyRing({KEY: "key"}), limits=limits, call_limits=call_limits)
        server = Server(app, calls, drain_s=drain_s, limits=limits)
        task = asyncio.create_task(server.serve([listening]), name="server")
        while not server.started:
            await asyncio.sleep(0.005)
        try:
            yield Running(f"http://127.0.0.1:{listening.getsockname()[1]}", calls, engine, server, task)
        finally:
            server.should_exit = True
            await task
