"""The wiring: the only file that knows every room."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable, Mapping
from functools import partial

from realtime_harness.call import CallLimits, Calls, CallsLimits
from realtime_harness.clock import SystemClock
from realtime_harness.config import Settings
from realtime_harness.errors import ConfigError
from realtime_harness.realtime.engine import Engine
from realtime_harness.serve import KeyRing, Server, create_app

DEFAULT_ENGINE = "local"
OWNER = "key"  # what the one key goes by inside
LoadEngines = Callable[[], Awaitable[Mapping[str, Engine]]]


async def load_engines(settings: Settings) -> Mapping[str, Engine]:
    """The engines that are configured, ready to be used.

    Raises ModelFileError, which names the command that mends it, and ConfigError.
    """
    from realtime_harness.engines import local
    from realtime_harness.minds.factory import make_mind

    return {DEFAULT_ENGINE: await local.load(await make_mind(settings.mind, os.environ))}


async def serve(
    settings: Settings,
    key: str,
    listening: socket.socket,
    *,
    load: LoadEngines | None = None,
    on_ready: Callable[[], None] = lambda: None,
) -> None:
    """Serves on `listening` until told to stop. It answers at once, and takes calls when the engines are loaded.

    Raises what loading raised: then nothing was served.
    """
    clock = SystemClock()
    limits = CallsLimits(max_calls=settings.max_calls, max_calls_per_owner=settings.max_calls_per_key)
    call_limits = CallLimits(max_duration_s=settings.max_duration_s, idle_s=settings.idle_s)
    async with Calls(clock, limits) as calls:
        app = create_app(calls, KeyRing({key: OWNER}), clock=clock, call_limits=call_limits)
        server = Server(app, calls, drain_s=settings.drain_s)
        loading = asyncio.create_task(
            _load(calls, load or partial(load_engines, settings), on_ready), name="load engines"
        )
        loading.add_done_callback(lambda task: _stop_where_failed(task, server))
        try:
            await server.serve([listening])
        finally:
            loading.cancel()
            await asyncio.gather(loading, return_exceptions=True)
    if loading.cancelled():
        return
    if (problem := loading.exception()) is not None:
        raise problem
    for engine in loading.result().values():
        await engine.close()


async def _load(calls: Calls, load: LoadEngines, on_ready: Callable[[], None]) -> Mapping[str, Engine]:
    engines = await load()
    calls.ready(engines, DEFAULT_ENGINE if DEFAULT_ENGINE in engines else next(iter(engines)))
    on_ready()
    return engines


def _stop_where_failed(loading: asyncio.Task[Mapping[str, Engine]], server: Server) -> None:
    if not loading.cancelled() and loading.exception() is not None:
        server.should_exit = True


def local_speech() -> Callable[[str], bytes]:
    """Text to PCM16 24 kHz by the local voice. Raises ConfigError where it is not installed."""
    try:
        from realtime_harness.engines.local.voice import Voice

        voice = Voice()
    except ImportError as missing:
        raise ConfigError(
            f"--say needs the local voice, which is not installed ({missing}). Install it with: "
            "pip install 'realtime-harness[local]', or give speech with --wav."
        ) from None

    def speak(text: str) -> bytes:
        return b"".join(chunk.pcm for chunk in voice.speak(text))

    return speak
