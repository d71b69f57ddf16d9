"""The wiring: the only file that knows every room."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

import structlog

from realtime_harness.call import CallLimits, Calls, CallsLimits
from realtime_harness.clock import SystemClock
from realtime_harness.config import Settings, database_url, journal_path
from realtime_harness.errors import ConfigError, HarnessError
from realtime_harness.realtime.engine import Engine
from realtime_harness.realtime.images import read_data_url
from realtime_harness.record import Record
from realtime_harness.record.database import open_database
from realtime_harness.serve import ChatEndpoint, Journal, KeyRing, ServedMind, Server, create_app
from realtime_harness.tasks import Harness, Tasks

DEFAULT_ENGINE = "local"
OWNER = "key"  # what the one key goes by inside
_log = structlog.get_logger(__name__)
EMBEDDED_AT_ONCE = 2  # decisions of an embedded mind side by side: more would only make each slower
REMOTE_AT_ONCE = 32


@dataclass(frozen=True, slots=True)
class Loaded:
    """What is served: engines for calls, and minds for the model endpoint, each by its name; the default first."""

    engines: Mapping[str, Engine]
    minds: Mapping[str, ServedMind] = field(default_factory=dict[str, ServedMind])


Load = Callable[[], Awaitable[Loaded]]


async def load_engines(settings: Settings) -> Loaded:
    """The engines that are configured, ready to be used.

    Raises ModelFileError, which names the command that mends it, and ConfigError.
    """
    from realtime_harness.engines import local
    from realtime_harness.minds.factory import make_mind

    key = settings.mind_api_key
    mind = await make_mind(settings.mind, key.get_secret_value() if key is not None else None)
    try:
        engine = await local.load(mind, settings.local_capacity)
    except BaseException:
        await mind.close()
        raise

    async def look(url: str) -> str:
        try:
            return await engine.workshop.describe(read_data_url(url, "image_url").data)
        except HarnessError as problem:
            return str(problem)

    embedded = settings.mind.startswith("embedded")
    served = ServedMind(mind, EMBEDDED_AT_ONCE, look) if embedded else ServedMind(mind, REMOTE_AT_ONCE)
    return Loaded({DEFAULT_ENGINE: engine}, {DEFAULT_ENGINE: served})


async def serve(
    settings: Settings,
    key: str,
    listening: socket.socket,
    *,
    load: Load | None = None,
    on_ready: Callable[[], None] = lambda: None,
) -> None:
    """Serves on `listening` until told to stop. It answers at once, and takes calls when the engines are loaded.

    Raises what loading raised: then nothing was served.
    """
    clock = SystemClock()
    limits = CallsLimits(max_calls=settings.max_calls, max_calls_per_owner=settings.max_calls_per_key)
    call_limits = CallLimits(max_duration_s=settings.max_duration_s, idle_s=settings.idle_s)
    engines: dict[str, Engine] = {}
    keys = KeyRing({key: OWNER})
    path = journal_path(settings)
    journal = Journal(path) if path is not None else None
    chat = ChatEndpoint(keys, journal, settings.decision_timeout_s)
    record = Record(await asyncio.to_thread(open_database, database_url(settings)))
    try:
        async with Calls(clock, limits) as calls, Tasks(calls, record) as tasks:
            app = create_app(calls, keys, clock=clock, call_limits=call_limits, chat=chat, tasks=tasks)
            server = Server(app, calls, drain_s=settings.drain_s)
            loading = asyncio.create_task(
                _load(calls, chat, tasks, engines, load or partial(load_engines, settings), on_ready),
                name="load engines",
            )
            loading.add_done_callback(lambda task: _stop_where_failed(task, server))
            try:
                await server.serve([listening])
            finally:
                loading.cancel()
                await asyncio.gather(loading, return_exceptions=True)
    finally:
        for name, engine in engines.items():
            await _close(name, engine)
        await record.close()
        if journal is not None:
            journal.close()
    if not loading.cancelled() and (problem := loading.exception()) is not None:
        raise problem


async def _load(
    calls: Calls,
    chat: ChatEndpoint,
    tasks: Tasks,
    engines: dict[str, Engine],
    load: Load,
    on_ready: Callable[[], None],
) -> None:
    """Fills `engines`, whose owner closes them, and lets calls and requests in."""
    loaded = await load()
    engines.update(loaded.engines)
    chat.serve(loaded.minds)
    tasks.ready(_harnesses(loaded.engines))
    calls.ready(engines, DEFAULT_ENGINE if DEFAULT_ENGINE in engines else next(iter(engines)))
    on_ready()


def _harnesses(engines: Mapping[str, Engine]) -> Mapping[str, Harness]:
    """With nothing configured, one harness for each engine."""
    now_ms = int(time.time() * 1000)
    found = (
        Harness(f"chrn_{name}", name, name, engine.profile.model, created_at_ms=now_ms)
        for name, engine in engines.items()
    )
    return {harness.id: harness for harness in found}


async def _close(name: str, engine: Engine) -> None:
    try:
        await engine.close()
    except Exception:  # noqa: BLE001 - at the end of all: the other engines are still to be closed
        _log.exception("engine did not close", engine=name)


def _stop_where_failed(loading: asyncio.Task[None], server: Server) -> None:
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
