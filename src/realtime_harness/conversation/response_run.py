"""One response: what the backend produced, released downstream in order and at the pace of speech.

docs/design.md 4.2: the only pacer, about 1 s ahead at most; a response ends downstream when its audio has been
released, whatever the backend has already said. Section 5: deltas of 20 to 200 ms, whole samples.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from typing import Literal, assert_never

from realtime_harness.conversation.ledger import Entry, Ledger, Spoken
from realtime_harness.conversation.outbox import Outbox
from realtime_harness.realtime import events as e
from realtime_harness.realtime import facts as f
from realtime_harness.realtime.items import ContentPart, FunctionCallItem, ItemStatus, MessageItem
from realtime_harness.realtime.orders import AddItem
from realtime_harness.realtime.pcm import BYTES_PER_SAMPLE, RATE_HZ, bytes_of_ms
from realtime_harness.realtime.responses import ResponseBody, ResponsePlan, ResponseStatus, Usage
from realtime_harness.realtime.session import ForcedTool
from realtime_harness.realtime.wire import Json

LEAD_S = 1.0
DELTA_BYTES = bytes_of_ms(100)
LEAST_DELTA_BYTES = bytes_of_ms(20)

Queued = f.PartStarted | f.TextOut | f.AudioOut | f.CallOut | f.ReplyEnded


@dataclass(slots=True)
class Playhead:
    """When the audio released so far will have been played, if the client plays it as it comes. Monotonic seconds."""

    until: float = 0.0

    def may_release(self, now: float) -> bool:
        """More may go out: the client has less than the lead in hand."""
        return now >= self.next_at

    @property
    def next_at(self) -> float:
        """From when on more may go out."""
        return self.until - LEAD_S

    def released(self, pcm: bytes, now: float) -> None:
        """`pcm` is out."""
        self.until = max(self.until, now) + len(pcm) / (BYTES_PER_SAMPLE * RATE_HZ)

    def stop(self, now: float) -> None:
        """What was still to be played will not be."""
        self.until = now


@dataclass(slots=True)
class _Open:
    """The message that a response is speaking or writing."""

    part: int
    kind: Literal["audio", "text"]
    output_index: int
    entry: Entry
    item_id: str
    spoken: Spoken = field(default_factory=Spoken)


class ResponseRun:
    """A response from `response.created` to `response.done`."""

    def __init__(
        self, outbox: Outbox, ledger: Ledger, playhead: Playhead, plan: ResponsePlan, conversation_id: str
    ) -> None:
        self._outbox = outbox
        self._ledger = ledger
        self._playhead = playhead
        self.plan = plan
        self._conversation_id = None if plan.out_of_band else conversation_id
        self.id = outbox.mint("resp")
        self.calls = 0
        self._queue: deque[Queued] = deque()  # as long as the reply: a backend bounds how far ahead of speech it works
        self._odd: tuple[int, bytes] = (0, b"")  # a part's half sample
        self._open: _Open | None = None
        self._output: list[Json] = []
        self.ended = False

    @property
    def spoken(self) -> bool:
        """It may be heard: a participant who speaks over it interrupts it."""
        return self.plan.modality == "audio"

    def created(self) -> None:
        """Announces it."""
        self._outbox.event(e.ResponseCreated, response=self._body("in_progress"))

    def accept(self, fact: Queued) -> None:
        """Takes what the backend produced; what this response may not have (audio in a silent answer) is left out."""
        match fact:
            case f.AudioOut():
                fact = self._whole(fact)
                if not self.spoken or not fact.pcm:
                    return
            case f.PartStarted():
                if not self.spoken and fact.kind == "audio":
                    return
            case f.CallOut():
                choice = self.plan.tool_choice
                if choice == "none":
                    return
                if isinstance(choice, ForcedTool) and (self.calls or fact.name != choice.name):
                    return  # HRP, "Answering questions": exactly one call of that name
                if fact.name not in {tool.name for tool in self.plan.tools}:
                    return
                self.calls += 1
            case f.TextOut() | f.ReplyEnded():
                pass
        self._queue.append(fact)

    def _whole(self, fact: f.AudioOut) -> f.AudioOut:
        """Whole samples only: a half one waits for the rest of it."""
        part, odd = self._odd
        pcm = odd + fact.pcm if odd and part == fact.part else fact.pcm
        size = len(pcm) - len(pcm) % BYTES_PER_SAMPLE
        self._odd = (fact.part, pcm[size:])
        return fact if pcm is fact.pcm and size == len(pcm) else replace(fact, pcm=pcm[:size])

    def wake_at(self) -> float | None:
        """When more audio may go out; None when there is none, or too little of it."""
        head = self._queue[0] if self._queue else None
        if isinstance(head, f.AudioOut) and (len(self._queue) > 1 or len(head.pcm) >= LEAST_DELTA_BYTES):
            return self._playhead.next_at
        return None

    def release(self, now: float) -> None:
        """Sends downstream all that may go out now."""
        while self._queue:
            head = self._queue[0]
            match head:
                case f.AudioOut():
                    if not self._release_audio(head, now):
                        return
                    continue
                case f.PartStarted():
                    self._open_message(head.part, head.kind)
                case f.TextOut():
                    self._write(head)
                case f.CallOut():
                    self._call(head)
                case f.ReplyEnded():
                    self._queue.clear()
                    self._end(head)
                    return
                case _:
                    assert_never(head)
            self._queue.popleft()

    def cut(self) -> f.ReplyEnded | None:
        """Stops at once: what was not released never will be, and what is open is closed.

        Returns the reply's end where the backend has already told it.
        """
        last = self._queue[-1] if self._queue else None
        self._queue.clear()
        self._close_message("incomplete")
        return last if isinstance(last, f.ReplyEnded) else None

    def done(self, status: ResponseStatus, details: Json | None, usage: Usage | None) -> None:
        """The one terminal event."""
        self._close_message("completed" if status == "completed" else "incomplete")
        self._queue.clear()
        self.ended = True
        self._outbox.event(e.ResponseDone, response=self._body(status, details, usage))

    def _end(self, end: f.ReplyEnded) -> None:
        details: Json | None = None
        match end.status:
            case "completed":
                pass
            case "incomplete":
                details = {"type": "incomplete", "reason": end.reason or "max_output_tokens"}
            case "cancelled":
                details = {"type": "cancelled", "reason": end.reason or "client_cancelled"}
            case "failed":
                details = {
                    "type": "failed",
                    "error": end.error or {"type": "server_error", "code": "failed", "message": "The reply failed."},
                }
            case _:
                assert_never(end.status)
        self.done(end.status, details, end.usage)

    def _body(self, status: ResponseStatus, details: Json | None = None, usage: Usage | None = None) -> Json:
        return ResponseBody(
            self.id, status, self.plan, self._conversation_id, tuple(self._output), details, usage
        ).to_wire()

    # --- messages -------------------------------------------------------------------------------------------------

    def _open_message(self, part: int, kind: Literal["audio", "text"]) -> _Open:
        self._close_message("completed")
        item_id = self._outbox.mint("item")
        entry = Entry(MessageItem(id=item_id, role="assistant", status="in_progress"), finished=False)
        opened = _Open(part, kind, len(self._output), entry, item_id)
        if kind == "audio":
            entry.spoken = opened.spoken
        self._open = opened
        self._add(entry, opened.output_index)
        shown: Json = {"type": "audio", "transcript": ""} if kind == "audio" else {"type": "text", "text": ""}
        self._outbox.event(e.ContentPartAdded, **self._where(opened), part=shown)
        return opened

    def _add(self, entry: Entry, output_index: int) -> None:
        self._outbox.event(e.OutputItemAdded, response_id=self.id, output_index=output_index, item=entry.item.to_wire())
        if self.plan.out_of_band:
            self._ledger.reserve(entry.item.id)
            return
        previous = self._ledger.add(entry)
        self._outbox.event(e.ItemAdded, item=entry.item.to_wire(), previous_item_id=previous)

    def _where(self, opened: _Open) -> Json:
        return {
            "response_id": self.id,
            "item_id": opened.item_id,
            "output_index": opened.output_index,
            "content_index": 0,
        }

    def _write(self, fact: f.TextOut) -> None:
        if not fact.text:
            return
        opened = self._open
        if opened is None or opened.part != fact.part:
            opened = self._open_message(fact.part, "audio" if self.spoken else "text")
        opened.spoken.text += fact.text
        kind = e.OutputTranscriptDelta if opened.kind == "audio" else e.OutputTextDelta
        self._outbox.event(kind, **self._where(opened), delta=fact.text)

    def _release_audio(self, head: f.AudioOut, now: float) -> bool:
        """One delta, if it may go out now."""
        if not self._playhead.may_release(now):
            return False
        following = self._queue[1] if len(self._queue) > 1 else None
        if len(head.pcm) < LEAST_DELTA_BYTES:
            if following is None:
                return False  # more is coming, or the end is
            if isinstance(following, f.AudioOut) and following.part == head.part:
                self._queue.popleft()
                self._queue[0] = replace(following, pcm=head.pcm + following.pcm)
                return True
            if isinstance(following, f.TextOut) and following.part == head.part:
                self._queue[0], self._queue[1] = following, head  # words may lead; more audio may follow them
                return True
            head = self._queue[0] = replace(head, pcm=head.pcm.ljust(LEAST_DELTA_BYTES, b"\0"))  # the last of its part
        opened = self._open
        if opened is None or opened.part != head.part or opened.kind != "audio":
            self._open_message(head.part, "audio")
            return True
        size = DELTA_BYTES if len(head.pcm) >= DELTA_BYTES + LEAST_DELTA_BYTES else len(head.pcm)
        pcm, rest = head.pcm[:size], head.pcm[size:]
        said = opened.spoken.texts[-1]
        text_end = said + (head.text_end - said) * len(pcm) // len(head.pcm) if rest else head.text_end
        if rest:
            self._queue[0] = replace(head, pcm=rest)
        else:
            self._queue.popleft()
        opened.spoken.add(len(pcm) // BYTES_PER_SAMPLE, text_end)
        self._playhead.released(pcm, now)
        self._outbox.event(e.OutputAudioDelta, **self._where(opened), delta=pcm)
        return True

    def _close_message(self, status: ItemStatus) -> None:
        opened, self._open = self._open, None
        if opened is None:
            return
        where, text, entry = self._where(opened), opened.spoken.text, opened.entry
        if opened.kind == "audio":
            part = ContentPart(type="output_audio", transcript=text)
            self._outbox.event(e.OutputAudioDone, **where)
            self._outbox.event(e.OutputTranscriptDone, **where, transcript=text)
            self._outbox.event(e.ContentPartDone, **where, part={"type": "audio", "transcript": text})
        else:
            part = ContentPart(type="output_text", text=text)
            self._outbox.event(e.OutputTextDone, **where, text=text)
            self._outbox.event(e.ContentPartDone, **where, part={"type": "text", "text": text})
        item = MessageItem(id=opened.item_id, role="assistant", status=status, content=(part,))
        self._close_item(entry, item, opened.output_index)
        if opened.kind == "audio":
            self._keep_what_was_said(entry, item, opened.spoken, whole=status == "completed")
        self._mirror(entry)

    def _keep_what_was_said(self, entry: Entry, item: MessageItem, spoken: Spoken, *, whole: bool) -> None:
        """The record of a spoken item is what went out (or was heard, where a truncation said so), not what was meant."""
        if entry.cut_at is not None:
            spoken.cut(entry.cut_at)
        elif not whole:
            spoken.cut(spoken.samples)
        else:
            spoken.texts[-1] = len(spoken.text)
        entry.item = item.model_copy(update={"content": (ContentPart(type="output_audio", transcript=spoken.text),)})

    def _close_item(self, entry: Entry, item: MessageItem | FunctionCallItem, output_index: int) -> None:
        entry.item, entry.finished = item, True
        wire = item.to_wire()
        # A client may have deleted the item while it was open.
        if not self.plan.out_of_band and self._ledger.find(item.id) is not None:
            self._outbox.event(e.ItemDone, item=wire, previous_item_id=self._ledger.before(item.id))
        self._outbox.event(e.OutputItemDone, response_id=self.id, output_index=output_index, item=wire)
        self._output.append(wire)

    # --- calls ----------------------------------------------------------------------------------------------------

    def _call(self, fact: f.CallOut) -> None:
        self._close_message("completed")
        call_id, index = self._outbox.mint("call"), len(self._output)
        opened = FunctionCallItem(id=self._outbox.mint("item"), status="in_progress", call_id=call_id, name=fact.name)
        entry = Entry(opened, finished=False)
        self._add(entry, index)
        where: Json = {"response_id": self.id, "item_id": opened.id, "output_index": index, "call_id": call_id}
        self._outbox.event(e.FunctionArgumentsDelta, **where, delta=fact.arguments)
        self._outbox.event(e.FunctionArgumentsDone, **where, name=fact.name, arguments=fact.arguments)
        item = FunctionCallItem(
            id=opened.id, status="completed", call_id=call_id, name=fact.name, arguments=fact.arguments
        )
        self._close_item(entry, item, index)
        self._mirror(entry)

    def _mirror(self, entry: Entry) -> None:
        """Tells the backend what it said, as the record has it."""
        item = entry.item
        said_nothing = isinstance(item, MessageItem) and not item.text
        if not self.plan.out_of_band and not said_nothing and self._ledger.find(item.id) is not None:
            self._outbox.order(AddItem, item=item, after_id=self._ledger.mirrored_before(item.id))
            entry.mirrored = True
