"""A WebSocket as a call's surface: JSON text in and out, within limits."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Callable
from types import TracebackType
from typing import Self

from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketDisconnected
from uvicorn.protocols.utils import ClientDisconnected

from realtime_harness.call import Emit, Malformed, close_reason
from realtime_harness.errors import InvalidEvent, Refused, TooSlow
from realtime_harness.realtime.codec import decode_client, encode_server
from realtime_harness.realtime.engine import Clock
from realtime_harness.realtime.events import ClientEvent, ErrorEvent
from realtime_harness.serve.limits import Bucket, ServeLimits
from realtime_harness.serve.refusals import error_object
from realtime_harness.serve.socket import HANG_UP

FLUSH_S = 2.0  # what a closing connection gets to take what is still to be sent
TRY_AGAIN_LATER = 1013
_GONE = (WebSocketDisconnect, WebSocketDisconnected, ClientDisconnected, OSError)


class HrpSurface:
    """One connected client. An async context, which owns the task that writes."""

    def __init__(self, socket: WebSocket, clock: Clock, limits: ServeLimits) -> None:
        self._socket = socket
        self._clock = clock
        self._limits = limits
        now = clock.now()
        self._events_in = Bucket(limits.events_in, now)
        self._bytes_in = Bucket(limits.bytes_in, now)
        self._out: deque[tuple[float, str]] = deque()
        self._behind_bytes = 0
        self._news = asyncio.Event()
        self._empty = asyncio.Event()
        self._empty.set()
        self._closed = False
        self._writer: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._writer = asyncio.create_task(self._write(), name="hrp writer")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._writer is not None:
            self._writer.cancel()
            await asyncio.gather(self._writer, return_exceptions=True)

    async def inputs(self) -> AsyncIterator[ClientEvent | Malformed]:
        """The client's events as they come; ends when it has gone."""
        while True:
            try:
                message = await self._socket.receive()
            except _GONE:
                return
            if message["type"] != "websocket.receive":
                return
            text: str | None = message.get("text")
            size = len(text) if text is not None else len(message.get("bytes") or b"")
            yield _read(text)
            now = self._clock.now()
            wait_s = max(self._events_in.take(1, now), self._bytes_in.take(size, now))
            if wait_s > 0:  # nothing more is read, so the client's own socket fills, and it waits
                await self._clock.sleep_until(now + wait_s)

    async def deliver(self, out: Emit) -> None:
        """Queues one event. Raises TooSlow past the bound in bytes or in seconds."""
        if self._closed:
            return
        now = self._clock.now()
        if self._out and now - self._out[0][0] > self._limits.max_behind_s:
            raise TooSlow(f"The client is more than {self._limits.max_behind_s:g} s behind.")
        text = encode_server(out.event)
        if self._behind_bytes + len(text) > self._limits.max_behind_bytes:
            raise TooSlow(f"The client is more than {self._limits.max_behind_bytes} bytes behind.")
        self._out.append((now, text))
        self._behind_bytes += len(text)
        self._empty.clear()
        self._news.set()

    async def close(self, code: int, reason: str) -> None:
        """Flushes for at most 2 s, then closes; a client that takes nothing is hung up on."""
        if self._closed:
            return
        self._closed = True
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._empty.wait(), FLUSH_S)
        hang_up: Callable[[int, str], None] | None = self._socket.scope.get("extensions", {}).get(HANG_UP)
        if not self._empty.is_set() and hang_up is not None:
            hang_up(code, reason)
            return
        with contextlib.suppress(*_GONE, RuntimeError):
            await asyncio.wait_for(self._socket.close(code, reason), FLUSH_S)

    async def _write(self) -> None:
        while True:
            while self._out:
                _, text = self._out[0]
                try:
                    await self._socket.send_text(text)
                except (*_GONE, RuntimeError):
                    self._closed = True
                    self._out.clear()
                    self._empty.set()
                    return
                self._out.popleft()
                self._behind_bytes -= len(text)
            self._empty.set()
            self._news.clear()
            await self._news.wait()


async def refuse_in_band(socket: WebSocket, refusal: Refused, event_id: str, subprotocol: str) -> None:
    """Accepts, says why in an `error` event and a close reason, and closes: for those who cannot read an HTTP status."""
    with contextlib.suppress(*_GONE, RuntimeError):
        await socket.accept(subprotocol=subprotocol)
        await socket.send_text(encode_server(ErrorEvent(event_id=event_id, error=dict(error_object(refusal)))))
        await socket.close(TRY_AGAIN_LATER, close_reason(str(refusal)))


def _read(text: str | None) -> ClientEvent | Malformed:
    if text is None:
        return Malformed(
            InvalidEvent("Expected a text frame with one JSON object; got a binary frame.", code="invalid_event")
        )
    if not text.strip():
        return Malformed(InvalidEvent("Expected one JSON object per message; got an empty one.", code="invalid_event"))
    try:
        return decode_client(text)
    except InvalidEvent as refusal:
        return Malformed(refusal)
