"""The words of spoken turns. Recognition begins when a turn may be ending, and is kept if it did end there."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from typing import Any

import structlog

from realtime_harness.engines.local.ears import Ears
from realtime_harness.engines.local.history import SpokenTurn
from realtime_harness.engines.local.workshop import Workshop

_log = structlog.get_logger(__name__)

Start = Callable[[Coroutine[Any, Any, Any]], "asyncio.Task[Any]"]


@dataclass(slots=True)
class _Guess:
    """Recognition that began before the turn was certain to be over."""

    item_id: str
    from_sample: int
    to_sample: int
    task: asyncio.Task[str | None]


class Turns:
    """Recognition for one session. `start` makes its tasks; `on_guess` is called when a guess has its words."""

    def __init__(self, workshop: Workshop, ears: Ears, start: Start, on_guess: Callable[[], None]) -> None:
        self._workshop = workshop
        self._ears = ears
        self._start = start
        self._on_guess = on_guess
        self._guess: _Guess | None = None

    def maybe_ending(self, item_id: str, from_sample: int, to_sample: int, hint: str | None) -> bytes:
        """Starts to recognise what was said so far, and returns its audio."""
        self.went_on()
        recording = self._ears.recording(from_sample, to_sample)
        task: asyncio.Task[str | None] = self._start(self._try(recording, hint))
        self._guess = _Guess(item_id, from_sample, to_sample, task)
        task.add_done_callback(self._guessed)
        return recording

    def went_on(self) -> None:
        """The guess was wrong, or is of no use any more."""
        guess, self._guess = self._guess, None
        if guess is not None:
            guess.task.cancel()

    def ended(self, item_id: str, from_sample: int, to_sample: int, hint: str | None) -> Callable[[], Awaitable[str]]:
        """What gives the words of the turn, if it is called. The audio is taken now; it may be gone later."""
        guess = self._guess
        if guess is not None and self._holds(guess, item_id, from_sample):
            self._guess = None
        else:
            self.went_on()
            guess = None
        return partial(self._words, guess, self._ears.recording(from_sample, to_sample), hint)

    def guessed(self) -> SpokenTurn | None:
        """The open turn as far as it has been recognised, if it seems to have ended there."""
        guess = self._guess
        if guess is None or not guess.task.done() or guess.task.cancelled() or not guess.task.result():
            return None
        return SpokenTurn(guess.item_id, guess.task.result())

    def _holds(self, guess: _Guess, item_id: str, from_sample: int) -> bool:
        """Nothing was said after it, neither heard as speech nor while nobody listened for any."""
        same = guess.item_id == item_id and guess.from_sample == from_sample
        return same and self._ears.quiet_since(guess.to_sample)

    async def _words(self, guess: _Guess | None, recording: bytes, hint: str | None) -> str:
        words = await guess.task if guess is not None else None
        return words if words is not None else await self._workshop.transcribe(recording, hint)

    async def _try(self, recording: bytes, hint: str | None) -> str | None:
        try:
            return await self._workshop.transcribe(recording, hint)
        except Exception:  # noqa: BLE001 - a guess may fail: the turn's end tries again, and tells
            _log.exception("early recognition failed")
            return None

    def _guessed(self, task: asyncio.Task[str | None]) -> None:
        if self._guess is not None and self._guess.task is task and self.guessed() is not None:
            self._on_guess()
