"""What must hold of every conversation, judged only by what goes in and what comes out: shares no code with the machine."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from realtime_harness.conversation import Output
from realtime_harness.realtime import events as e
from realtime_harness.realtime import facts as f
from realtime_harness.realtime import orders as o

Json = dict[str, Any]
BYTES_PER_MS = 48


@dataclass
class Part:
    """An item that a response has open."""

    item_id: str
    index: int
    kind: str = ""
    words: str = ""
    audio_bytes: int = 0
    closed: set[str] = field(default_factory=set)


@dataclass
class Response:
    """A response between its two ends."""

    id: str
    in_conversation: bool
    spoken: bool
    open: Part | None = None
    output: list[Json] = field(default_factory=list)
    muted: bool = False


class Watch:
    """Feed it every input, then every output that came of it; `AssertionError` says what broke."""

    def __init__(self) -> None:
        self.event_ids: set[str] = set()
        self.item_ids: set[str] = set()
        self.response_ids: set[str] = set()
        self.calls: dict[str, int] = {}
        self.order_of_items: list[str] = []  # as the client can know it
        self.mirror: list[str] = []  # as the backend can know it
        self.live: dict[str, Response] = {}
        self.session: Json = {}
        self.refs: set[int] = set()
        self.replies: dict[int, bool] = {}  # ref -> still running
        self.turn: str | None = None
        self.owed = False
        self.last_end_ms = 0
        self.last_start_ms = 0
        self.epoch = 0
        self.appended = 0
        self.taken_to = 0
        self.committed: dict[str, bool] = {}  # item_id -> has its words
        self.ended = False
        self._x: object = None

    # --- inputs and what they call for --------------------------------------------------------------------------

    def step(self, x: e.ClientEvent | f.Fact | None, outputs: list[Output]) -> None:
        self._x = x
        assert not (self.ended and outputs), f"after the end: {outputs}"
        if isinstance(x, f.ReplyEnded):
            self.replies.pop(x.ref, None)
        for output in outputs:
            if isinstance(output, o.Order):
                self._order(output)
            elif isinstance(output, e.EngineEnded):
                self.ended = True
            elif isinstance(output, e.ServerEventBase):
                self._event(output)
        self._answered(x, outputs)

    def _answered(self, x: object, outputs: list[Output]) -> None:
        errors = [output for output in outputs if isinstance(output, e.ErrorEvent)]
        wanted = {
            e.SessionUpdate: e.SessionUpdated,
            e.AudioCommit: e.AudioCommitted,
            e.AudioClear: e.AudioCleared,
            e.ItemCreate: e.ItemDone,
            e.ItemRetrieve: e.ItemRetrieved,
            e.ItemDelete: e.ItemDeleted,
            e.ItemTruncate: e.ItemTruncated,
            e.ResponseCreate: e.ResponseCreated,
        }.get(type(x))  # type: ignore[arg-type]
        if self.ended:
            return
        if isinstance(x, e.ClientEventBase):
            assert len(errors) <= 1
            assert all(error.error["event_id"] == x.event_id for error in errors), "an error names another event"
            if wanted is not None:
                answers = [output for output in outputs if isinstance(output, wanted)]
                assert bool(answers) != bool(errors), f"{x.type} was answered by {outputs}"
            if isinstance(x, e.AudioAppend):
                assert not errors

    # --- orders ---------------------------------------------------------------------------------------------------

    def _order(self, order: o.Order) -> None:
        assert order.ref not in self.refs, f"ref {order.ref} again"
        self.refs.add(order.ref)
        match order:
            case o.Reply():
                self.replies[order.ref] = True
            case o.CancelReply():
                assert self.replies.get(order.reply_ref), f"cancels reply {order.reply_ref}, which is not under way"
            case o.Audio():
                assert order.epoch == self.epoch
                assert len(order.pcm) % 2 == 0
                assert order.pcm
                self.appended += len(order.pcm) // 2
            case o.DropAudio():
                if order.epoch != self.epoch:
                    self.epoch, self.appended, self.taken_to = order.epoch, 0, 0
                    self.last_end_ms = self.last_start_ms = 0
                self.taken_to = self.appended
                self.turn = None
            case o.AddItem():
                self._mirror(order.item.id, order.after_id)
            case o.EndTurn():
                assert self.taken_to <= order.from_sample <= order.to_sample <= self.appended, "turns overlap"
                self.taken_to = order.to_sample
                self._mirror(order.item_id, order.after_id)
            case o.DropItem():
                self.mirror.remove(order.item_id)
            case o.Truncate():
                assert order.item_id in self.mirror, "the backend has no such item"
            case _:
                pass

    def _mirror(self, item_id: str, after_id: str | None) -> None:
        assert item_id not in self.mirror, "the backend has it already"
        assert after_id is None or after_id in self.mirror, f"the backend does not know {after_id}"
        self.mirror.insert(0 if after_id is None else self.mirror.index(after_id) + 1, item_id)

    # --- events ---------------------------------------------------------------------------------------------------

    def _event(self, event: e.ServerEvent) -> None:
        assert event.event_id not in self.event_ids, "an event id again"
        self.event_ids.add(event.event_id)
        response_id = getattr(event, "response_id", None)
        response = self.live.get(response_id) if response_id else None
        assert response_id is None or response is not None, f"{event.type} of a response that is not under way"
        match event:
            case e.SessionCreated():
                assert not self.session, "created twice"
                self.session = event.session
            case e.SessionUpdated():
                was_on = self._detection() is not None
                self.session = event.session
                if self._detection() is None and was_on and self.turn is not None:
                    self.owed = False
            case e.SpeechStarted():
                self._started(event)
            case e.SpeechStopped():
                assert event.item_id == self.turn, "stops a turn that is not open"
                assert self.last_start_ms <= event.audio_end_ms <= self.appended // 24
                assert event.audio_end_ms >= self.last_end_ms
                self.last_end_ms = event.audio_end_ms
                detection = self._detection()
                self.owed = self.owed or bool(detection and detection["create_response"])
            case e.TimeoutTriggered():
                assert self.turn is None
                self.turn, self.owed = event.item_id, True
                self._new_item(event.item_id)
                self.last_end_ms = self.last_start_ms = event.audio_end_ms
            case e.AudioCommitted():
                if self.turn is None:
                    self._new_item(event.item_id)
                else:
                    assert event.item_id == self.turn, "committed under another id than was announced"
                self.turn = None
                self.committed[event.item_id] = False
            case e.AudioCleared():
                self.turn = None
            case e.ItemAdded():
                self._added(event)
            case e.ItemDone():
                assert event.item["id"] in self.order_of_items
            case e.ItemDeleted():
                self.order_of_items.remove(event.item_id)
            case e.TranscriptionCompleted() | e.TranscriptionFailed():
                assert self.committed[event.item_id] is False, "the words of a turn came twice"
                self.committed[event.item_id] = True
            case e.ResponseCreated():
                self._created(event.response)
            case e.ResponseDone():
                self._done(event.response)
            case _ if response is not None:
                self._of_response(event, response)
            case _:
                pass
        # Sums that only hold once an item stands in both: the backend's order is the client's.
        shared = [item_id for item_id in self.order_of_items if item_id in self.mirror]
        assert shared == [item_id for item_id in self.mirror if item_id in self.order_of_items], "orders differ"

    def _detection(self) -> Json | None:
        return self.session["audio"]["input"]["turn_detection"] if self.session else None

    def _started(self, event: e.SpeechStarted) -> None:
        detection = self._detection()
        assert detection is not None, "speech, with turn detection off"
        assert self.turn is None, "a turn is open already"
        assert self.last_start_ms <= event.audio_start_ms <= self.appended // 24
        assert event.audio_start_ms >= self.last_end_ms, "turns overlap"
        self._new_item(event.item_id)
        self.turn, self.last_start_ms = event.item_id, event.audio_start_ms
        if detection["interrupt_response"]:
            self.owed = False
            for response in self.live.values():
                response.muted = response.muted or (response.in_conversation and response.spoken)

    def _new_item(self, item_id: str) -> None:
        assert item_id not in self.item_ids, f"{item_id} again"
        self.item_ids.add(item_id)

    def _added(self, event: e.ItemAdded) -> None:
        item = event.item
        if item["id"] not in self.committed:
            self._new_item(item["id"])
        assert item["id"] not in self.order_of_items
        place = 0 if event.previous_item_id is None else self.order_of_items.index(event.previous_item_id) + 1
        self.order_of_items.insert(place, item["id"])
        if item["type"] == "function_call":
            assert item["call_id"] not in self.calls, "a call id again"
            self.calls[item["call_id"]] = 0
        if item["type"] == "function_call_output":
            self.calls[item["call_id"]] += 1
            assert self.calls[item["call_id"]] == 1 or "delete" in self._deletes, "a call answered twice"

    _deletes: frozenset[str] = frozenset()

    def allow_deletes(self) -> None:
        """An output that was deleted may be given again: told by the driver that deletes."""
        self._deletes = frozenset({"delete"})

    def _created(self, body: Json) -> None:
        assert body["id"] not in self.response_ids, "a response id again"
        self.response_ids.add(body["id"])
        inside = body["conversation_id"] is not None
        if inside:
            assert not any(response.in_conversation for response in self.live.values()), "two active responses"
        if not isinstance(self._x, e.ResponseCreate):
            assert self.owed, "a reply that nobody asked for"
            assert inside
        if inside:
            self.owed = False
        assert body["status"] == "in_progress"
        self.live[body["id"]] = Response(body["id"], inside, body["output_modalities"] == ["audio"])

    def _done(self, body: Json) -> None:
        response = self.live.pop(body["id"], None)
        assert response is not None, "a second terminal event"
        assert response.open is None, "ended with an item open"
        assert body["output"] == response.output, "the response's output is not what was sent"
        assert body["status"] in ("completed", "cancelled", "failed", "incomplete")
        if body["status"] in ("cancelled", "incomplete"):
            assert body["status_details"]["reason"]
        if body["status"] == "failed":
            assert body["status_details"]["error"]["code"]

    def _of_response(self, event: e.ServerEvent, response: Response) -> None:
        part = response.open
        if isinstance(event, e.OutputItemAdded):
            assert part is None, "the item before it is still open"
            assert not response.muted, "opens an item after the edge"
            assert event.output_index == len(response.output)
            response.open = Part(event.item["id"], event.output_index, event.item["type"])
            if not response.in_conversation:
                self._new_item(event.item["id"])
            return
        assert part is not None, f"{event.type} with no item open"
        assert event.output_index == part.index  # type: ignore[union-attr]
        if not isinstance(event, e.OutputItemDone):
            assert event.item_id == part.item_id  # type: ignore[union-attr]
            assert event.type not in part.closed, f"{event.type} twice"
        match event:
            case e.ContentPartAdded():
                assert part.kind == "message"
                part.kind = event.part["type"]
            case e.OutputAudioDelta():
                assert response.spoken, "audio in a silent answer"
                assert part.kind == "audio"
                assert not response.muted, "audio after the edge"
                assert e.OutputAudioDone.type not in part.closed
                assert len(event.delta) % 2 == 0
                assert 20 <= len(event.delta) / BYTES_PER_MS <= 200, f"a delta of {len(event.delta)} bytes"
                part.audio_bytes += len(event.delta)
            case e.OutputTranscriptDelta() | e.OutputTextDelta() | e.FunctionArgumentsDelta():
                part.words += event.delta
            case e.OutputTranscriptDone():
                assert (part.kind, event.transcript) == ("audio", part.words)
                part.closed.add(event.type)
            case e.OutputTextDone():
                assert (part.kind, event.text) == ("text", part.words)
                part.closed.add(event.type)
            case e.FunctionArgumentsDone():
                assert (part.kind, event.arguments) == ("function_call", part.words)
                part.closed.add(event.type)
            case e.OutputAudioDone() | e.ContentPartDone():
                part.closed.add(event.type)
            case e.OutputItemDone():
                wanted = {
                    "audio": {e.OutputAudioDone.type, e.OutputTranscriptDone.type, e.ContentPartDone.type},
                    "text": {e.OutputTextDone.type, e.ContentPartDone.type},
                    "function_call": {e.FunctionArgumentsDone.type},
                }[part.kind]
                assert part.closed == wanted, f"closed with {part.closed}"
                assert event.item["id"] == part.item_id
                response.output.append(event.item)
                response.open = None
            case _:
                pass

    def at_rest(self) -> None:
        """Once everything is over: nothing is left open."""
        assert not self.live, f"never ended: {list(self.live)}"
        assert not self.owed, "a turn was never answered"
