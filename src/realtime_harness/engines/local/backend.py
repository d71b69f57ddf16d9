"""The local pipeline as a Backend: orders in, facts out; ears, mind and mouth in between.

Work overlaps: recognition starts before the silence is certain, the mind reads what arrives when it arrives, and the
first clause is spoken while the rest is still being thought.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from dataclasses import dataclass
from typing import Any, assert_never

import structlog

from realtime_harness.engines.local import prompt
from realtime_harness.engines.local.ears import Ears
from realtime_harness.engines.local.history import Entry, GivenItem, History, SpokenTurn
from realtime_harness.engines.local.reply import ReplyWork
from realtime_harness.engines.local.words_heard import number_hint
from realtime_harness.engines.local.workshop import HeardText, Workshop
from realtime_harness.errors import HarnessError
from realtime_harness.minds.mind import ChatRequest
from realtime_harness.realtime import facts as f
from realtime_harness.realtime import orders as o
from realtime_harness.realtime.images import ImageData
from realtime_harness.realtime.responses import ResponseParams, ResponsePlan
from realtime_harness.realtime.session import Session

WORDS_S = 5.0  # how long a reply waits for the words it answers
PREPARE_AFTER_S = 0.03  # several things that arrive together are read together
CLOSE_S = 3.0
FOLD_INSTRUCTIONS_CHARS = 6_000
_log = structlog.get_logger(__name__)


@dataclass(slots=True)
class _Guess:
    """Recognition that began before the turn was certain to be over."""

    item_id: str
    task: asyncio.Task[HeardText]


class LocalBackend:
    """One session's pipeline. `name` tells it apart in the mind; `model` is what the session goes by."""

    def __init__(self, workshop: Workshop, ears: Ears, name: str, model: str) -> None:
        self._workshop = workshop
        self._name = name
        self._model = model
        self._facts: asyncio.Queue[f.Fact | None] = asyncio.Queue()
        self._ears = ears
        self._session = Session()
        self._history = History()
        self._guess: _Guess | None = None
        self._replies: dict[int, asyncio.Task[None]] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._preparing: asyncio.Task[None] | None = None
        self._closed = False

    def send(self, order: o.Order) -> None:
        """Takes an order. Never blocks: what takes time goes on in a task of this session."""
        if self._closed:
            return
        match order:
            case o.Audio():
                for probability in self._ears.hear(order.epoch, order.pcm, detect=order.detect):
                    self._tell(probability)
            case o.TurnMaybeEnding():
                self._maybe_ending(order)
            case o.TurnStarted():
                self._ears.turn_open(order.from_sample)
            case o.TurnResumed():
                self._drop_guess()
            case o.EndTurn():
                self._end_turn(order)
            case o.Reply():
                self._replies[order.ref] = self._start(self._reply(order))
            case o.CancelReply():
                task = self._replies.get(order.reply_ref)
                if task is not None:
                    task.cancel()
            case o.DropAudio():
                self._drop_guess()
                self._ears.drop(order.epoch)
            case o.Open() | o.Configure():
                self._configure(order)
            case o.AddItem():
                self._add(order)
            case o.DropItem():
                self._history.drop(order.item_id)
                self._prepare_soon()
            case o.Truncate():
                self._history.truncate(order.item_id, order.text)
            case o.Stop():
                self._facts.put_nowait(None)
            case _:
                assert_never(order)

    async def facts(self) -> AsyncIterator[f.Fact]:
        """Everything that happens, until closed."""
        while (fact := await self._facts.get()) is not None:
            yield fact

    async def close(self) -> None:
        """Stops all work of this session and gives its place in the mind back."""
        if self._closed:
            return
        self._closed = True
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=CLOSE_S)
        self._facts.put_nowait(None)
        await self._workshop.mind.release(self._name)

    def _tell(self, fact: f.Fact) -> None:
        self._facts.put_nowait(fact)

    def _start(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task: asyncio.Task[Any] = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            _log.error("local work failed", session=self._name, exc_info=task.exception())

    # --- settings -------------------------------------------------------------------------------------------------

    def _configure(self, order: o.Open | o.Configure) -> None:
        self._session = order.session
        if isinstance(order, o.Open):
            self._history = History(order.session.instructions)
            self._tell(f.Opened(order.ref, self._model))
        else:
            self._history.instruct(order.session.instructions, FOLD_INSTRUCTIONS_CHARS)
        self._prepare_soon()

    # --- turns ----------------------------------------------------------------------------------------------------

    def _maybe_ending(self, order: o.TurnMaybeEnding) -> None:
        self._drop_guess()
        recording = self._ears.recording(order.from_sample, order.to_sample)
        task: asyncio.Task[HeardText] = self._start(self._workshop.transcribe(recording, self._hint()))
        self._guess = _Guess(order.item_id, task)
        if order.judge:
            self._start(self._judge(order.ref, recording))
        self._start(self._read_guess(self._guess))

    async def _judge(self, ref: int, recording: Any) -> None:
        self._tell(f.TurnComplete(ref, await self._workshop.has_finished(recording)))

    async def _read_guess(self, guess: _Guess) -> None:
        """The mind reads what was probably said, so that its first word comes soon after the turn is certain."""
        try:
            heard = await asyncio.shield(guess.task)
        except (asyncio.CancelledError, HarnessError, RuntimeError):
            return
        if self._guess is guess and heard.text:
            turn = SpokenTurn(guess.item_id, heard.text)
            await self._prepare([*self._history.entries, turn])

    def _drop_guess(self) -> None:
        guess, self._guess = self._guess, None
        if guess is not None:
            guess.task.cancel()

    def _end_turn(self, order: o.EndTurn) -> None:
        guess, self._guess = self._guess, None
        if guess is not None and guess.item_id != order.item_id:
            guess.task.cancel()
            guess = None
        recording = None if guess else self._ears.recording(order.from_sample, order.to_sample)
        self._ears.turn_open(None)
        turn = SpokenTurn(order.item_id)
        self._history.place(turn, order.after_id)
        seconds = (order.to_sample - order.from_sample) / 24_000
        self._start(self._recognise(order, turn, guess, recording, seconds))

    async def _recognise(
        self, order: o.EndTurn, turn: SpokenTurn, guess: _Guess | None, recording: Any, seconds: float
    ) -> None:
        try:
            heard = await (guess.task if guess else self._workshop.transcribe(recording, self._hint()))
            turn.resolve(heard.text)
            self._tell(f.UserText(order.ref, order.item_id, heard.text, seconds))
        except asyncio.CancelledError:
            self._tell(f.UserTextFailed(order.ref, order.item_id, "stopped", "The session ended first."))
            raise
        except Exception as problem:  # noqa: BLE001 - a turn whose words are lost is a fact, not the end
            _log.exception("recognition failed", session=self._name)
            self._tell(f.UserTextFailed(order.ref, order.item_id, "recognition_failed", f"{type(problem).__name__}"))
        finally:
            turn.known.set()
        if not self._replies:
            self._prepare_soon()

    def _hint(self) -> str | None:
        """What the recogniser may expect: numbers, where a scale is being asked about."""
        question = prompt.last_question(self._history.entries)
        if question is None or question[0] != "answer_scale":
            return None
        return number_hint(question[1])

    # --- items ----------------------------------------------------------------------------------------------------

    def _add(self, order: o.AddItem) -> None:
        entry = GivenItem(order.item, len(order.images))
        self._history.place(entry, order.after_id)
        if order.images:
            self._start(self._look(entry, order.images))
        else:
            entry.known.set()
            self._prepare_soon()

    async def _look(self, entry: GivenItem, images: tuple[ImageData, ...]) -> None:
        try:
            for image in images:
                try:
                    entry.seen.append(await self._workshop.describe(image.data))
                except HarnessError as problem:
                    entry.seen.append(f"It could not be read: {problem}")
        finally:
            entry.known.set()
        self._prepare_soon()

    # --- the mind -------------------------------------------------------------------------------------------------

    def _request(self, plan: ResponsePlan, entries: list[Entry]) -> ChatRequest:
        return prompt.build(self._history.instructions, entries, plan, self._name, self._history.in_force)

    def _prepare_soon(self) -> None:
        if self._preparing is not None:
            self._preparing.cancel()
        self._preparing = self._start(self._prepare_after_a_moment())

    async def _prepare_after_a_moment(self) -> None:
        await asyncio.sleep(PREPARE_AFTER_S)
        if not self._replies:
            await self._prepare([*self._history.entries])

    async def _prepare(self, entries: list[Entry]) -> None:
        plan = ResponsePlan.of(self._session, ResponseParams())
        await self._workshop.mind.prepare(self._request(plan, entries))

    async def _reply(self, order: o.Reply) -> None:
        self._tell(f.ReplyStarted(order.ref))
        work = ReplyWork(order, self._workshop, self._tell)
        try:
            if order.context is None:
                await self._history.known(WORDS_S)
                await work.run(lambda: self._request(order.plan, [*self._history.entries]))
            else:
                await work.run(lambda: self._request(order.plan, prompt.given(order.context or ())))
        finally:
            work.end_if_not_run()
            self._replies.pop(order.ref, None)
            if not self._closed:
                self._prepare_soon()
