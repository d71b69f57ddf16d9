"""The two ends of a connection, in memory."""

from __future__ import annotations

import asyncio

import orjson

from realtime_harness.errors import Disconnected
from realtime_harness.realtime.codec import encode_server
from realtime_harness.realtime.events import ServerEvent


class MemoryTransport:
    """What the client sends is in `sent`, as JSON objects; the test plays the server by `come` and `hang_up`."""

    def __init__(self) -> None:
        self.sent: list[dict] = []
        self.closed = False
        self._in: asyncio.Queue[str | Disconnected] = asyncio.Queue()

    def come(self, event: ServerEvent | str) -> None:
        self._in.put_nowait(event if isinstance(event, str) else encode_server(event))

    def hang_up(self, code: int, reason: str) -> None:
        self._in.put_nowait(Disconnected(code, reason))

    async def send(self, text: str) -> None:
        if self.closed:
            raise Disconnected(1000, "")
        self.sent.append(orjson.loads(text))

    async def receive(self) -> str:
        frame = await self._in.get()
        if isinstance(frame, Disconnected):
            self.closed = True
            raise frame
        return frame

    async def close(self) -> None:
        self.closed = True
