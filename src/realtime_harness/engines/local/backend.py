"""The local pipeline as a Backend: orders in, facts out; ears, mind and mouth in between.

Work overlaps: recognition starts before the silence is certain, the mind reads what arrives when it arrives, and the
first clause is spoken while the rest is still being thought.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from typing import Any, assert_never

import structlog

from realtime_harness.engines.local import history, prompt, questions
from realtime_harness.engines.local.ears import Ears
from realtime_harness.engines.local.history import Entry, GivenItem, History, SpokenTurn
from realtime_harness.engines.local.reply import ReplyWork
from realtime_harness.engines.local.turns import Turns
from realtime_harness.engines.local.workshop import Workshop
from realtime_harness.errors import HarnessError
from realtime_harness.minds.mind import ChatRequest
from realtime_harness.realtime import facts as f
from realtime_harness.realtime import orders as o
from realtime_harness.realtime.images import ImageData
from realtime_harness.realtime.items import Item, images_of
from realtime_harness.realtime.pcm import RATE_HZ
from realtime_harness.realtime.responses import ResponseParams, ResponsePlan
from realtime_harness.realtime.session import Session

WORDS_S = 5.0  # how long a reply waits for the words and images it answers
PREPARE_AFTER_S = 0.03  # several things that arrive together are read together
CLOSE_S = 3.0
_log = structlog.get_logger(__name__)


class LocalBackend:
    """One session's pipeline. `name` tells it apart in the mind; `model` is what the session goes by."""

    def __init__(self, workshop: Workshop, ears: Ears, name: str, model: str) -> None:
        self._workshop = workshop
        self._ears = ears
        self._name = name
        self._model = model
        # It cannot grow for long: the session takes a fact as soon as there is one, unless its own reader is behind.
        # Then it also takes no more input from its client, and a reply is at most AHEAD_S (reply.py) before its time.
        self._facts: asyncio.Queue[f.Fact | None] = asyncio.Queue()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._session = Session()
        self._history = History()
        self._turns = Turns(workshop, ears, self._start, lambda: self._read_soon(0.0))
        self._replies: dict[int, asyncio.Task[None]] = {}
        self._reading: asyncio.Task[None] | None = None
        self._unread = False  # something arrived while a reply was at work
        self._tight = False  # the window was once too small for all that should stay
        self._closed = False

    def send(self, order: o.Order) -> None:
        """Takes an order. Never blocks: what takes time goes on in a task of this session."""
        if self._closed:
            return
        match order:
            case o.Audio():
                for probability in self._ears.hear(order.epoch, order.pcm, detect=order.detect):
                    self._tell(probability)
            case o.TurnStarted():
                self._ears.turn_open(order.from_sample)
            case o.TurnMaybeEnding():
                recording = self._turns.maybe_ending(order.item_id, order.from_sample, order.to_sample, self._hint())
                if order.judge:
                    self._start(self._judge(order.ref, recording))
            case o.TurnResumed():
                self._turns.went_on()
            case o.EndTurn():
                self._end_turn(order)
            case o.DropAudio():
                self._turns.went_on()
                self._ears.drop(order.epoch)
            case o.Open() | o.Configure():
                self._configure(order)
            case o.AddItem():
                entry = GivenItem(order.item, len(order.images))
                self._history.place(entry, order.after_id)
                self._see(entry, order.images)
            case o.DropItem():
                self._history.drop(order.item_id)
                self._read_soon()
            case o.Truncate():
                self._history.truncate(order.item_id, order.text)
                self._read_soon()
            case o.Reply():
                self._begin_reply(order)
            case o.CancelReply():
                task = self._replies.get(order.reply_ref)
                if task is not None:
                    task.cancel()
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
        self._ears.close()
        await self._workshop.mind.release(self._name)

    def _tell(self, fact: f.Fact) -> None:
        self._facts.put_nowait(fact)

    def _start(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task: asyncio.Task[Any] = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._finished)
        return task

    def _finished(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            _log.error("local work failed", session=self._name, exc_info=task.exception())

    def _configure(self, order: o.Open | o.Configure) -> None:
        self._session = order.session
        if isinstance(order, o.Open):
            self._history = History(order.session.instructions)
            self._tell(f.Opened(order.ref, self._model))
        else:
            self._history.instruct(order.session.instructions)
        self._read_soon()

    # --- what is heard and seen -----------------------------------------------------------------------------------

    async def _judge(self, ref: int, recording: bytes) -> None:
        self._tell(f.TurnComplete(ref, await self._workshop.has_finished(recording)))

    def _end_turn(self, order: o.EndTurn) -> None:
        turn = SpokenTurn(order.item_id)
        self._history.place(turn, order.after_id)
        words = self._turns.ended(order.item_id, order.from_sample, order.to_sample, self._hint())
        self._ears.turn_open(None)
        self._start(self._learn(order, turn, words))

    async def _learn(self, order: o.EndTurn, turn: SpokenTurn, words: Callable[[], Awaitable[str]]) -> None:
        try:
            text = await words()
        except Exception as problem:  # noqa: BLE001 - a turn whose words are lost is a fact, not the session's end
            _log.exception("recognition failed", session=self._name)
            turn.resolve("")
            message = f"Speech recognition failed: {type(problem).__name__}."
            self._tell(f.UserTextFailed(order.ref, order.item_id, "recognition_failed", message))
        else:
            turn.resolve(text)
            seconds = (order.to_sample - order.from_sample) / RATE_HZ
            self._tell(f.UserText(order.ref, order.item_id, text, seconds))
        self._read_soon()

    def _hint(self) -> str | None:
        """What the recogniser may expect: what the client says, or the answers to the open question."""
        asked = self._session.audio.input.transcription
        return (asked.prompt if asked is not None else None) or questions.hint(self._history.entries)

    def _see(self, entry: GivenItem, images: Sequence[ImageData]) -> None:
        if images:
            self._start(self._look(entry, images))
        else:
            entry.known.set()
            self._read_soon()

    async def _look(self, entry: GivenItem, images: Sequence[ImageData]) -> None:
        for image in images:
            try:
                entry.seen.append(await self._workshop.describe(image.data))
            except HarnessError as problem:
                entry.seen.append(f"It could not be looked at: {problem}")
            except Exception:  # noqa: BLE001 - an image that nobody can look at is no reason to be blind to the rest
                _log.exception("an image could not be looked at", session=self._name)
                entry.seen.append("It could not be looked at.")
        entry.known.set()
        self._read_soon()

    # --- the mind -------------------------------------------------------------------------------------------------

    def _read_soon(self, after_s: float = PREPARE_AFTER_S) -> None:
        """The mind reads what has arrived, in a moment. While a reply is at work it has no time for it."""
        if self._closed:
            return
        self._unread = True
        if self._replies:
            return
        if self._reading is not None:
            self._reading.cancel()
        self._reading = self._start(self._read(after_s))

    async def _read(self, after_s: float) -> None:
        await asyncio.sleep(after_s)
        if self._replies:
            return
        self._unread = False
        guessed = self._turns.guessed()
        entries = [*self._history.entries, *([guessed] if guessed is not None else [])]
        plan = ResponsePlan.of(self._session, ResponseParams())
        asked = prompt.Asked(plan, self._name, tight=self._tight)
        await self._workshop.mind.prepare(prompt.build(self._history.instructions, entries, asked))

    def _begin_reply(self, order: o.Reply) -> None:
        work = ReplyWork(order, self._workshop, self._tell)
        own = order.plan.instructions if order.plan.instructions != self._session.instructions else None

        async def ask(tight: bool) -> ChatRequest:
            self._tight = self._tight or tight
            return await self._request(order, own)

        def ended(_: asyncio.Task[None]) -> None:
            work.end_if_cut()
            del self._replies[order.ref]
            if self._unread:
                self._read_soon()

        task = self._replies[order.ref] = self._start(work.run(ask))
        task.add_done_callback(ended)

    async def _request(self, order: o.Reply, own: str | None) -> ChatRequest:
        if order.context is None:
            await self._history.known(WORDS_S)
            entries = self._history.entries
        else:
            entries = [self._as_entry(item) for item in order.context]
            await history.known(entries, WORDS_S)
        # A reply whose context is not the conversation reads elsewhere, and leaves what was read alone.
        affinity = self._name if order.context is None else ""
        asked = prompt.Asked(order.plan, affinity, own, self._tight)
        return prompt.build(self._history.instructions, self._settled(entries), asked)

    def _as_entry(self, item: Item) -> Entry:
        """An item that a client gave as context: as it stands in the conversation, where it does."""
        entry = self._history.find(item.id)
        if entry is not None:
            return entry
        images: Sequence[ImageData] = ()
        try:
            images = images_of(item, "input")
        except HarnessError:
            _log.info("context without its images", session=self._name)
        given = GivenItem(item, len(images))
        self._see(given, images)
        return given

    @staticmethod
    def _settled(entries: Sequence[Entry]) -> list[Entry]:
        """A turn whose words are still not known is answered as one that was not understood."""
        return [
            SpokenTurn(entry.id, "") if isinstance(entry, SpokenTurn) and entry.text is None else entry
            for entry in entries
        ]
