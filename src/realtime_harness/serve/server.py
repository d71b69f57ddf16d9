"""The process that listens: uvicorn, with our sockets, our WebSocket connection and a drain before the end."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Generator

import uvicorn
from starlette.types import ASGIApp

from realtime_harness.call import Calls
from realtime_harness.errors import ConfigError
from realtime_harness.serve.limits import ServeLimits
from realtime_harness.serve.socket import LiveSocket

BACKLOG = 512


def listen(host: str, port: int, limits: ServeLimits | None = None) -> socket.socket:
    """A listening socket; `port` 0 takes a free one. Raises ConfigError that says what is in the way."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listening = socket.socket(family, socket.SOCK_STREAM)
    except OSError as problem:
        raise ConfigError(f"--host {host}: no such address here ({problem.strerror or problem}).") from None
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Small, so that a client that does not read is noticed after seconds of audio, not minutes.
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, (limits or ServeLimits()).send_buffer_bytes)
        listening.bind((host, port))
        listening.listen(BACKLOG)
    except (OSError, OverflowError) as problem:
        listening.close()
        raise ConfigError(f"Cannot listen on {host}:{port}: {problem}. Choose another with --port.") from None
    return listening


class Server(uvicorn.Server):
    """Serves until it is told to stop; then running calls get `drain_s` seconds, and a second signal ends them at once."""

    def __init__(self, app: ASGIApp, calls: Calls, *, drain_s: float, limits: ServeLimits | None = None) -> None:
        limits = limits or ServeLimits()
        super().__init__(
            uvicorn.Config(
                app,
                ws=LiveSocket,  # pyright: ignore[reportArgumentType] - an asyncio.Protocol, made by uvicorn itself
                ws_max_size=limits.max_frame_bytes,
                ws_ping_interval=limits.ping_interval_s,
                ws_ping_timeout=limits.ping_timeout_s,
                ws_per_message_deflate=False,  # audio does not shrink, and a bomb does not grow
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=5,
            )
        )
        self._calls = calls
        self._drain_s = drain_s

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Drains while still answering /readyz, then stops listening."""
        draining = asyncio.create_task(self._calls.drain(self._drain_s))
        while not draining.done() and not self.force_exit:
            await asyncio.wait([draining], timeout=0.1)
        draining.cancel()
        await asyncio.gather(draining, return_exceptions=True)
        await super().shutdown(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        """As uvicorn does, but a signal that was obeyed is not raised again: the process ends with its own exit code."""
        with super().capture_signals():
            yield
            self._captured_signals.clear()
