"""A microphone that streams in real time: speech when there is some, silence between, nothing while muted."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Self

from realtime_harness.errors import Disconnected
from realtime_harness.realtime.engine import Clock
from realtime_harness.realtime.pcm import bytes_of_ms, ms_of_samples, samples_of_bytes, silence

CHUNK_MS = 40


class Microphone:
    """Streams into a connection. An async context. Audio is PCM16 mono 24 kHz.

    Knows when each of its milliseconds was sent, so that what the server says of them can be timed; and how far it
    fell behind real time at worst (`late_ms`), which says how far those times are to be trusted.
    """

    def __init__(self, append: Callable[[bytes], Awaitable[None]], clock: Clock, chunk_ms: int = CHUNK_MS) -> None:
        """`append` sends so much audio, and raises Disconnected. `chunk_ms`: 20 to 100, as HRP asks."""
        self.muted = False
        self.late_ms = 0
        self._append = append
        self._clock = clock
        self._chunk_ms = chunk_ms
        self._speech: deque[bytes] = deque()
        self._spoken = asyncio.Event()
        self._spoken.set()
        self._sent_ms = 0
        self._times: list[tuple[int, float]] = []  # (milliseconds sent by then, when)
        self._over = False
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._stream(), name="microphone")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    @property
    def sent_ms(self) -> int:
        """Milliseconds of audio sent so far: the clock that the server's offsets count on."""
        return self._sent_ms

    async def say(self, pcm: bytes) -> tuple[int, int]:
        """Speaks; returns when the last of it is sent (at once where the connection is over), with the milliseconds at which it began and ended in the stream."""
        size = bytes_of_ms(self._chunk_ms)
        start = self._sent_ms
        if self._over:
            return start, start
        self._spoken.clear()
        self._speech.extend(pcm[at : at + size].ljust(size, b"\x00") for at in range(0, len(pcm), size))
        if not self._speech:
            self._spoken.set()
        await self._spoken.wait()
        return start, start + ms_of_samples(samples_of_bytes(len(pcm)))

    def sent_at(self, ms: int) -> float | None:
        """When the sample at `ms` of the stream was sent; None where it was not yet."""
        low, high = 0, len(self._times)
        while low < high:
            middle = (low + high) // 2
            if self._times[middle][0] < ms:
                low = middle + 1
            else:
                high = middle
        return self._times[low][1] if low < len(self._times) else None

    async def _stream(self) -> None:
        quiet = silence(self._chunk_ms)
        due = self._clock.now()
        try:
            while True:
                if not self.muted:
                    chunk = self._speech.popleft() if self._speech else quiet
                    self.late_ms = max(self.late_ms, round((self._clock.now() - due) * 1000))
                    await self._append(chunk)
                    self._sent_ms += self._chunk_ms
                    self._times.append((self._sent_ms, self._clock.now()))
                    if not self._speech:
                        self._spoken.set()
                due += self._chunk_ms / 1000
                await self._clock.sleep_until(due)
        except Disconnected:
            pass
        finally:  # whatever ended it, nobody waits for speech that will not be sent
            self._over = True
            self._speech.clear()
            self._spoken.set()
