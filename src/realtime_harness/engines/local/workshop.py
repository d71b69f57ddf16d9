"""What all sessions of a local engine share: the loaded models, and the few threads they work in.

Jobs are short and first come, first served, so that N calls share fairly: a long recording is heard window by window,
and speech is made piece by piece.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol, TypeVar

from realtime_harness.audio.resample import Float32, resample, to_float
from realtime_harness.audio.vad import INPUT_HZ, MODEL_HZ
from realtime_harness.engines.local.hearing import cut_at_quiet
from realtime_harness.engines.local.words_heard import joined
from realtime_harness.minds.mind import Mind

JUDGED_BYTES = INPUT_HZ * 2 * 9  # a little more than the end-of-turn model takes in

_T = TypeVar("_T")


class Listener(Protocol):
    """Speech to text, of one window. Blocks."""

    def transcribe(self, samples_16k: Float32, hint: str | None = None) -> str: ...


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
    """Text to speech. A voice that it does not know is its own. Blocks."""

    def speak(self, text: str, speed: float, voice: str) -> Iterator[Chunk]: ...


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

    async def transcribe(self, pcm24k: bytes, hint: str | None) -> str:
        """The words of a recording; empty where there are none."""
        texts: list[str] = []
        for window in await self._run(self._hearing, _windows, pcm24k):
            texts.append(await self._run(self._hearing, self._listener.transcribe, window, hint))
        return joined(texts)

    async def has_finished(self, pcm24k: bytes) -> float:
        """Probability that the speaker has finished."""
        return await self._run(self._speaking, lambda: self._judge.probability(_at_16k(pcm24k[-JUDGED_BYTES:])))

    async def describe(self, image: bytes) -> str:
        """What can be seen in an image."""
        return await self._run(self._seeing, self._see, image)

    async def speak(self, text: str, speed: float, voice: str) -> AsyncGenerator[Chunk]:
        """Speech, piece by piece; between pieces the voice is free for other calls."""
        pieces = await self._run(self._speaking, lambda: iter(self._speaker.speak(text, speed, voice)))
        while (piece := await self._run(self._speaking, lambda: next(pieces, None))) is not None:
            yield piece

    async def close(self) -> None:
        """Ends the mind and the threads."""
        await self.mind.close()
        pools = (self._hearing, self._speaking, self._seeing)
        for pool in pools:
            pool.shutdown(wait=False, cancel_futures=True)
        await asyncio.to_thread(lambda: [pool.shutdown(wait=True) for pool in pools])

    async def _run(self, pool: ThreadPoolExecutor, function: Callable[..., _T], *arguments: Any) -> _T:
        return await asyncio.get_running_loop().run_in_executor(pool, function, *arguments)


def _windows(pcm24k: bytes) -> list[Float32]:
    return cut_at_quiet(_at_16k(pcm24k))


def _at_16k(pcm24k: bytes) -> Float32:
    return resample(to_float(pcm24k), INPUT_HZ, MODEL_HZ)
