"""`Conversation`: client events and backend facts in, server events and orders out. Pure and sans-I/O.

The sole source of ids and server events on every engine. Sources: docs/design.md 4 and 5; HRP 0.2.0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

from realtime_harness.conversation.buffer import MIN_COMMIT_MS, InputBuffer
from realtime_harness.conversation.ledger import Entry, Ledger
from realtime_harness.conversation.outbox import Outbox, Output
from realtime_harness.conversation.replies import Replies
from realtime_harness.conversation.turns import Edge, TurnDetector
from realtime_harness.errors import InvalidEvent
from realtime_harness.realtime import events as e
from realtime_harness.realtime import facts as f
from realtime_harness.realtime import orders as o
from realtime_harness.realtime.ids import IdMint
from realtime_harness.realtime.images import ImageData
from realtime_harness.realtime.items import ContentPart, Item, MessageItem, images_of, read_item
from realtime_harness.realtime.pcm import ms_of_samples, samples_of_ms
from realtime_harness.realtime.responses import ResponseParams, ResponsePlan
from realtime_harness.realtime.session import SemanticVad, ServerVad, Session
from realtime_harness.realtime.wire import Json

TRANSCRIPT_S = 30.0  # a transcript that the backend has not given by then has failed


@dataclass(slots=True)
class _Turn:
    """The open user turn: announced, not committed."""

    item_id: str
    from_sample: int
    judge_ref: int | None = None


@dataclass(slots=True)
class _Transcript:
    """A committed turn whose words are still to come."""

    item_id: str
    asked: bool  # the client wants the words
    deadline: float


class Conversation:
    """One conversation. Give every input with the monotonic time `now`, and call `wake` when `wake_at` says."""

    def __init__(self, session: Session, seed: Sequence[Item] = (), ids: IdMint | None = None) -> None:
        self._out = Outbox(ids or IdMint())
        self._session = session.model_copy(update={"id": session.id or self._out.mint("sess")})
        self._defaults = self._session
        self._seed = tuple(seed)
        self._ledger = Ledger()
        self._buffer = InputBuffer()
        self._detector = TurnDetector()
        self._replies = Replies(self._out, self._ledger, self._out.mint("conv"))
        self._turn: _Turn | None = None
        self._transcripts: dict[int, _Transcript] = {}
        self.opened = False
        self.ended = False

    # --- the three entries ----------------------------------------------------------------------------------------

    def begin(self) -> list[Output]:
        """The first orders. `session.created` follows when the backend is open."""
        self._out.order(o.Open, session=self._session)
        for item in self._seed:
            bare, images = self._prepared(item, "seed")
            self._place(bare, images, None)
        return self._out.take()

    def handle(self, x: e.ClientEvent | f.Fact, now: float) -> list[Output]:
        """One input. A client event that cannot be carried out changes nothing and becomes an `error` event."""
        if self.ended:
            return []
        if isinstance(x, e.ClientEventBase):
            try:
                self._client(x, now)
            except InvalidEvent as refusal:
                refusal.event_id = x.event_id
                self._out.refuse(refusal)
        else:
            self._fact(x, now)
        self._release(now)
        return self._out.take()

    def wake_at(self) -> float | None:
        """When `wake` is next due."""
        if self.ended:
            return None
        due = [transcript.deadline for transcript in self._transcripts.values()]
        due += [time for time in (self._replies.wake_at(), self._idle_at()) if time is not None]
        return min(due, default=None)

    def wake(self, now: float) -> list[Output]:
        """Does what is due."""
        if self.ended:
            return []
        for ref, transcript in [*self._transcripts.items()]:
            if transcript.deadline <= now:
                self._words_failed(ref, "transcription_timeout", f"No transcript came within {TRANSCRIPT_S:g} s.")
        self._release(now)
        self._replies.wake(now)
        if (idle := self._idle_at()) is not None and idle <= now:
            self._take_idle_turn(now)
        self._release(now)
        return self._out.take()

    # --- client events --------------------------------------------------------------------------------------------

    def _client(self, event: e.ClientEvent, now: float) -> None:
        match event:
            case e.AudioAppend():
                pcm = self._buffer.append(event.audio)
                if pcm:
                    detect = self._session.turn_detection is not None
                    self._out.order(o.Audio, epoch=self._buffer.epoch, pcm=pcm, detect=detect)
            case e.SessionUpdate():
                self._update(event.session, now)
            case e.AudioCommit():
                self._commit(now)
            case e.AudioClear():
                self._detector.reset()
                self._turn = None
                self._buffer.committed(self._buffer.appended)
                self._out.order(o.DropAudio, epoch=self._buffer.epoch)
                self._out.event(e.AudioCleared)
            case e.ItemCreate():
                self._create_item(event)
            case e.ItemRetrieve():
                entry = self._ledger.known(event.item_id, "item_retrieve_invalid_item_id")
                self._out.event(e.ItemRetrieved, item=entry.item.to_wire())
            case e.ItemDelete():
                if self._ledger.remove(event.item_id, "item_delete_invalid_item_id").mirrored:
                    self._out.order(o.DropItem, item_id=event.item_id)
                self._out.event(e.ItemDeleted, item_id=event.item_id)
            case e.ItemTruncate():
                self._truncate(event)
            case e.ResponseCreate():
                self._create_response(event, now)
            case e.ResponseCancel():
                self._replies.cancel(event.response_id, now)
            case _:
                assert_never(event)

    def _update(self, patch: Json, now: float) -> None:
        before = self._session
        self._session = before.updated(patch, self._defaults)
        was_on, is_on = before.turn_detection is not None, self._session.turn_detection is not None
        if was_on and not is_on:
            # HRP: an open turn stays open for the commit that follows; silence that belongs to no turn is nobody's.
            self._detector.reset()
            if self._turn is None:
                self._buffer.committed(self._buffer.appended)
            else:
                self._replies.lapse()  # what was to be answered ends in a turn that has no reply
        elif is_on and not was_on:
            self._turn = None
            self._detector = TurnDetector()
            self._buffer.restart()
            self._out.order(o.DropAudio, epoch=self._buffer.epoch)
        self._replies.idle(now)
        self._out.order(o.Configure, session=self._session)
        self._out.event(e.SessionUpdated, session=self._session.to_wire())

    def _commit(self, now: float) -> None:
        waiting_ms = 0 if self._session.turn_detection is not None else self._buffer.uncommitted_ms
        if self._turn is None and waiting_ms < MIN_COMMIT_MS:  # an announced turn has speech in it, however short
            raise InvalidEvent(
                "Error committing input audio buffer: buffer too small. "
                f"Expected at least {MIN_COMMIT_MS}ms of audio, but buffer only has {waiting_ms:.2f}ms of audio.",
                code="input_audio_buffer_commit_empty",
            )
        self._detector.reset()
        self._end_turn(self._buffer.appended, now)

    def _create_item(self, event: e.ItemCreate) -> None:
        item = read_item(event.item)
        self._ledger.check_new(item, event.previous_item_id)
        item, images = self._prepared(item, "item")
        previous = self._place(item, images, event.previous_item_id)
        wire = item.to_wire()
        self._out.event(e.ItemAdded, item=wire, previous_item_id=previous)
        self._out.event(e.ItemDone, item=wire, previous_item_id=previous)

    def _prepared(self, item: Item, param: str) -> tuple[Item, tuple[ImageData, ...]]:
        """The item with an id, and its images apart: their bytes go to the backend, once; an item has none."""
        images = images_of(item, param)
        if isinstance(item, MessageItem) and images:
            bare = tuple(part.model_copy(update={"image_url": None}) for part in item.content)
            item = item.model_copy(update={"content": bare})
        if not item.id:
            item = item.model_copy(update={"id": self._out.mint("item")})
        return item, images

    def _place(self, item: Item, images: tuple[ImageData, ...], previous_item_id: str | None) -> str | None:
        after = None if previous_item_id == "root" else previous_item_id
        previous = self._ledger.add(Entry(item, mirrored=True), after, first=previous_item_id == "root")
        self._out.order(o.AddItem, item=item, after_id=self._ledger.mirrored_before(item.id), images=images)
        return previous

    def _truncate(self, event: e.ItemTruncate) -> None:
        cut_ms, text = self._ledger.cut(event.item_id, event.content_index, event.audio_end_ms)
        entry = self._ledger.find(event.item_id)
        if entry is not None and entry.mirrored:
            self._out.order(o.Truncate, item_id=event.item_id, audio_end_ms=cut_ms, text=text)
        self._out.event(e.ItemTruncated, item_id=event.item_id, content_index=event.content_index, audio_end_ms=cut_ms)
        self._out.engine_event(e.AssistantHeard(event.item_id, cut_ms, text))

    def _create_response(self, event: e.ResponseCreate, now: float) -> None:
        params = ResponseParams.read(event.response)
        plan = ResponsePlan.of(self._session, params)
        context = None if params.input is None else self._context(params.input)
        self._replies.check_room(plan.out_of_band, now)
        self._replies.start(plan, context, now)

    def _context(self, given: Sequence[Json]) -> tuple[Item, ...]:
        items: list[Item] = []
        for index, value in enumerate(given):
            param = f"response.input[{index}]"
            if value.get("type") == "item_reference":
                entry = self._ledger.find(str(value.get("id")))
                if entry is None:
                    raise InvalidEvent(
                        f"Item with item_id not found: {str(value.get('id'))[:64]}",
                        code="invalid_value",
                        param=f"{param}.id",
                    )
                items.append(entry.item)
            else:
                item = read_item(value, param)
                images_of(item, param)
                items.append(item)
        return tuple(items)

    # --- facts ----------------------------------------------------------------------------------------------------

    def _fact(self, fact: f.Fact, now: float) -> None:
        match fact:
            case f.SpeechProbability():
                self._speech(fact, now)
            case f.ReplyStarted() | f.PartStarted() | f.TextOut() | f.AudioOut() | f.CallOut() | f.ReplyEnded():
                self._replies.fact(fact, now)
            case f.TurnComplete():
                if self._turn is not None and self._turn.judge_ref == fact.ref:
                    self._detector.judged(fact.p)
            case f.UserText():
                self._words(fact)
            case f.UserTextFailed():
                self._words_failed(fact.ref, fact.code, fact.message)
            case f.Opened():
                if self.opened:
                    return
                self.opened = True
                if fact.model and not self._session.model:
                    self._session = self._session.model_copy(update={"model": fact.model})
                    self._defaults = self._session
                self._out.event(e.SessionCreated, session=self._session.to_wire())
            case f.Lost():
                self._lost(fact, now)
            case f.OrderRefused():
                self._out.refuse(InvalidEvent(fact.message, code=fact.code, type="server_error"))
            case f.CallsCancelled() | f.Expiring() | f.Foreign():
                pass  # of provider engines: theirs to act on when there is one
            case _:
                assert_never(fact)

    def _speech(self, fact: f.SpeechProbability, now: float) -> None:
        settings = self._session.turn_detection
        if settings is None or fact.epoch != self._buffer.epoch or not self._buffer.judges(fact.end_sample):
            return
        edge = self._detector.frame(settings, fact.end_sample, fact.p)
        if edge is None:
            return
        if edge is Edge.STARTED:
            self._speech_started(settings.interrupt_response, now)
            return
        turn = self._turn
        if turn is None:
            return
        match edge:
            case Edge.MAYBE_ENDING:
                turn.judge_ref = self._out.order(
                    o.TurnMaybeEnding,
                    item_id=turn.item_id,
                    from_sample=turn.from_sample,
                    to_sample=fact.end_sample,
                    judge=isinstance(settings, SemanticVad),
                )
            case Edge.RESUMED:
                turn.judge_ref = None
                self._out.order(o.TurnResumed, item_id=turn.item_id)
            case Edge.ENDED:
                self._out.event(e.SpeechStopped, audio_end_ms=ms_of_samples(fact.end_sample), item_id=turn.item_id)
                self._end_turn(fact.end_sample, now)
                if settings.create_response:
                    self._owe_reply(now)
            case _:
                assert_never(edge)

    def _speech_started(self, interrupt: bool, now: float) -> None:
        # The padding never reaches into audio that an earlier turn has, so that no two turns overlap.
        start = max(self._detector.start_sample, self._buffer.uncommitted_from)
        turn = _Turn(self._out.mint("item"), start)
        self._turn = turn
        self._ledger.reserve(turn.item_id)
        self._replies.idle(None)
        self._out.event(e.SpeechStarted, audio_start_ms=ms_of_samples(start), item_id=turn.item_id)
        self._out.order(o.TurnStarted, item_id=turn.item_id, from_sample=turn.from_sample)
        if interrupt:
            self._replies.interrupt(now)

    def _end_turn(self, to_sample: int, now: float) -> None:
        """Commits the open turn, or what is in the buffer, as a user item. Never a reply."""
        turn = self._turn or _Turn(self._out.mint("item"), self._buffer.uncommitted_from)
        self._turn = None
        self._buffer.committed(to_sample)
        item = MessageItem(id=turn.item_id, role="user", content=(ContentPart(type="input_audio", transcript=None),))
        previous = self._ledger.add(Entry(item, mirrored=True))
        after_id = self._ledger.mirrored_before(item.id)
        ref = self._out.order(
            o.EndTurn, item_id=turn.item_id, from_sample=turn.from_sample, to_sample=to_sample, after_id=after_id
        )
        asked = self._session.audio.input.transcription is not None
        self._transcripts[ref] = _Transcript(turn.item_id, asked, now + TRANSCRIPT_S)
        self._out.event(e.AudioCommitted, item_id=turn.item_id, previous_item_id=previous)
        self._out.event(e.ItemAdded, item=item.to_wire(), previous_item_id=previous)
        self._out.event(e.ItemDone, item=item.to_wire(), previous_item_id=previous)

    def _words(self, fact: f.UserText) -> None:
        transcript = self._transcripts.pop(fact.ref, None)
        if transcript is None:
            return
        self._out.engine_event(e.UserSaid(transcript.item_id, fact.text))
        if not transcript.asked:
            return
        self._ledger.transcribe(transcript.item_id, fact.text)
        self._out.event(
            e.TranscriptionCompleted,
            item_id=transcript.item_id,
            content_index=0,
            transcript=fact.text,
            usage={"type": "duration", "seconds": round(fact.seconds, 3)},
        )

    def _words_failed(self, ref: int, code: str, message: str) -> None:
        transcript = self._transcripts.pop(ref, None)
        if transcript is not None and transcript.asked:
            error = {"type": "transcription_error", "code": code, "message": message, "param": None}
            self._out.event(e.TranscriptionFailed, item_id=transcript.item_id, content_index=0, error=error)

    def _lost(self, fact: f.Lost, now: float) -> None:
        for ref in [*self._transcripts]:
            self._words_failed(ref, fact.code, fact.message)
        self._replies.lost(fact.code, fact.message, now)
        # Its `error` is whoever's who ends the call (call/machine.py): a client is told once.
        self._out.engine_event(e.EngineEnded(fact.code, fact.message))
        self.ended = True

    # --- responses ------------------------------------------------------------------------------------------------

    def _owe_reply(self, now: float) -> None:
        """A spoken turn has ended: answer it, now or after the response that is under way."""
        self._replies.owe(now)
        self._pay_reply(now)

    def _pay_reply(self, now: float) -> None:
        if self._replies.owed and not self._replies.busy and self._turn is None:
            self._replies.start(ResponsePlan.of(self._session, ResponseParams()), None, now)

    def _release(self, now: float) -> None:
        self._replies.release(now)
        self._pay_reply(now)

    # --- idle timeout (OpenAI Realtime: server_vad.idle_timeout_ms) -------------------------------------------------

    def _idle_at(self) -> float | None:
        settings = self._session.turn_detection
        if not isinstance(settings, ServerVad) or settings.idle_timeout_ms is None:
            return None
        if self._replies.idle_from is None or self._replies.busy or self._turn is not None:
            return None
        return self._replies.idle_from + settings.idle_timeout_ms / 1000

    def _take_idle_turn(self, now: float) -> None:
        """Nobody has spoken since the last answer was heard: the client asked us to take the turn then."""
        settings = self._session.turn_detection
        waited_ms = (settings.idle_timeout_ms or 0) if isinstance(settings, ServerVad) else 0
        start = max(self._buffer.uncommitted_from, self._buffer.appended - samples_of_ms(waited_ms))
        self._turn = _Turn(self._out.mint("item"), start)
        self._ledger.reserve(self._turn.item_id)
        self._out.event(
            e.TimeoutTriggered,
            audio_start_ms=ms_of_samples(start),
            audio_end_ms=ms_of_samples(self._buffer.appended),
            item_id=self._turn.item_id,
        )
        self._end_turn(self._buffer.appended, now)
        self._owe_reply(now)
