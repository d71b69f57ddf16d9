"""A caller with a stopwatch: knows when each sample was sent and each event came. Raw JSON, no code of the server's."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import time
from bisect import bisect_left
from collections.abc import AsyncIterator, Callable
from typing import Any

import numpy as np
import orjson
from websockets.asyncio.client import ClientConnection, connect

CHUNK_MS = 20
CHUNK_BYTES = CHUNK_MS * 48
SAMPLES_PER_MS = 24
Event = dict[str, Any]


class Line:
    """An open call whose microphone never stops: speech while there is some, else silence."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self.events: list[tuple[float, Event]] = []
        self._speech = bytearray()
        self._sent_samples: list[int] = []  # samples sent by the end of each chunk …
        self._sent_at: list[float] = []  # … and when that chunk was sent
        self._news = asyncio.Event()
        self.quiet = asyncio.Event()

    async def send(self, **event: Any) -> None:
        await self._socket.send(orjson.dumps(event).decode())

    async def configure(self, **session: Any) -> None:
        start = len(self.events)
        await self.send(type="session.update", session={"type": "realtime", **session})
        await self.wait("session.updated", start)

    async def say(self, pcm: bytes) -> tuple[float, float]:
        """Speaks in real time. Returns when the first and the last loud sample were sent (monotonic seconds)."""
        loud = np.flatnonzero(np.abs(np.frombuffer(pcm, "<i2").astype(np.int32)) > 500)
        begin = self._sent_samples[-1] if self._sent_samples else 0
        self.quiet.clear()
        self._speech += pcm
        await self.quiet.wait()
        return self.sent_at(begin + int(loud[0])), self.sent_at(begin + int(loud[-1]))

    def sent_at(self, sample: int) -> float:
        """When the chunk that holds this sample of the stream was sent."""
        index = min(bisect_left(self._sent_samples, sample + 1), len(self._sent_at) - 1)
        return self._sent_at[index]

    async def wait(
        self, kind: str, start: int = 0, timeout_s: float = 60.0, where: Callable[[Event], bool] | None = None
    ) -> tuple[float, Event]:
        """The first event of that type at or after index `start`."""
        deadline = time.monotonic() + timeout_s
        while True:
            for at, event in self.events[start:]:
                if event["type"] == kind and (where is None or where(event)):
                    return at, event
            self._news.clear()
            try:
                await asyncio.wait_for(self._news.wait(), max(0.0, deadline - time.monotonic()))
            except TimeoutError:
                seen = [event["type"] for _, event in self.events[start:]]
                raise TimeoutError(f"no {kind} within {timeout_s:g} s after {seen[-12:]}") from None

    def of(self, kind: str, start: int = 0) -> list[tuple[float, Event]]:
        return [(at, event) for at, event in self.events[start:] if event["type"] == kind]

    def said(self, start: int = 0) -> str:
        return " ".join(event["transcript"] for _, event in self.of("response.output_audio_transcript.done", start))

    def forget(self) -> None:
        """Drops the events seen so far: for long runs."""
        self.events.clear()

    async def _listen(self) -> None:
        async for text in self._socket:
            event: Event = orjson.loads(text)
            if event["type"] == "response.output_audio.delta":
                event["ms"] = len(event.pop("delta")) * 3 // 4 // 48
            self.events.append((time.monotonic(), event))
            self._news.set()

    async def _microphone(self) -> None:
        due, silence = time.monotonic(), base64.b64encode(bytes(CHUNK_BYTES)).decode()
        sent = 0
        while True:
            chunk = bytes(self._speech[:CHUNK_BYTES])
            del self._speech[:CHUNK_BYTES]
            audio = base64.b64encode(chunk.ljust(CHUNK_BYTES, b"\0")).decode() if chunk else silence
            await self.send(type="input_audio_buffer.append", audio=audio)
            sent += CHUNK_BYTES // 2
            self._sent_samples.append(sent)
            self._sent_at.append(time.monotonic())
            if not self._speech:
                self.quiet.set()
            due += CHUNK_MS / 1000
            await asyncio.sleep(max(0.0, due - time.monotonic()))


@contextlib.asynccontextmanager
async def open_line(url: str, key: str) -> AsyncIterator[Line]:
    """A call, from connect to hang-up."""
    async with connect(
        f"{url}?model=local", additional_headers={"Authorization": f"Bearer {key}"}, max_size=None
    ) as socket:
        line = Line(socket)
        tasks = [asyncio.create_task(line._listen()), asyncio.create_task(line._microphone())]
        try:
            await line.wait("session.created")
            yield line
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
