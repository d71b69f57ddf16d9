"""What all sessions of a local engine share: the loaded models, and the few threads they work in.

Jobs are short and first come, first served, so that N calls share fairly.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol, TypeVar

from realtime_harness.audio.resample import Float32
from realtime_harness.minds.mind import Mind

_T = TypeVar("_T")


class HeardText(Protocol):
    """What recognition gives."""

    @property
    def text(self) -> str: ...
    @property
    def audio_s(self) -> float: ...


class Listener(Protocol):
    """Speech to text. Blocks."""

    def transcribe(self, samples_16k: Float32, hint: str | None = None) -> HeardText: ...


class Judge(Protocol):
    """End of turn: probability that the speaker has finished. Blocks."""

    def probability(self, samples_16k: Float32) -> float: ...


class Chunk(Protocol):
    """A piece of speech: PCM16 mono 24 kHz, and how much of the text it completes."""

    @property
    def pcm(self) -> bytes: ...
    @property
    def text_end(self) -> int: ...


class Speaker(Protocol):
    """Text to speech. Blocks."""

    def speak(self, text: str, speed: float = 1.0) -> Iterator[Chunk]: ...


class Workshop:
    """Models and threads. `see` turns an image into words, and may raise HarnessError."""

    def __init__(
        self, listener: Listener, judge: Judge, speaker: Speaker, see: Callable[[bytes], str], mind: Mind
    ) -> None:
        self.mind = mind
        self._listener = listener
        self._judge = judge
        self._speaker = speaker
        self._see = see
        self._hearing = ThreadPoolExecutor(1, thread_name_prefix="hearing")
        self._speaking = ThreadPoolExecutor(1, thread_name_prefix="voice")
        self._seeing = ThreadPoolExecutor(1, thread_name_prefix="sight")

    async def transcribe(self, samples_16k: Float32, hint: str | None) -> HeardText:
        """The words of a recording."""
        return await self._run(self._hearing, self._listener.transcribe, samples_16k, hint)

    async def has_finished(self, samples_16k: Float32) -> float:
        """Probability that the speaker has finished."""
        return await self._run(self._speaking, self._judge.probability, samples_16k)

    async def describe(self, image: bytes) -> str:
        """What can be seen in an image."""
        return await self._run(self._seeing, self._see, image)

    async def speak(self, text: str, speed: float) -> AsyncGenerator[Chunk]:
        """Speech, piece by piece; between pieces the voice is free for other calls."""
        pieces = await self._run(self._speaking, lambda: iter(self._speaker.speak(text, speed)))
        while (piece := await self._run(self._speaking, lambda: next(pieces, None))) is not None:
            yield piece

    async def close(self) -> None:
        """Ends the mind and the threads."""
        await self.mind.close()
        for pool in (self._hearing, self._speaking, self._seeing):
            pool.shutdown(wait=False, cancel_futures=True)
        await asyncio.to_thread(
            lambda: [pool.shutdown(wait=True) for pool in (self._hearing, self._speaking, self._seeing)]
        )

    async def _run(self, pool: ThreadPoolExecutor, function: Callable[..., _T], *arguments: Any) -> _T:
        return await asyncio.get_running_loop().run_in_executor(pool, function, *arguments)
