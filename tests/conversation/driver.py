"""A conversation on a virtual clock, with the test as its client and as its backend."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, TypeVar

from realtime_harness.conversation import Conversation, Output
from realtime_harness.realtime import events as e
from realtime_harness.realtime import facts as f
from realtime_harness.realtime import orders as o
from realtime_harness.realtime.ids import IdMint
from realtime_harness.realtime.items import Item
from realtime_harness.realtime.pcm import silence
from realtime_harness.realtime.responses import Usage
from realtime_harness.realtime.session import Session

from .watch import Watch

FRAME = 768  # samples in 32 ms
USAGE = Usage(input_tokens=30, output_tokens=12, output_audio_tokens=8)
T = TypeVar("T")


def tool(name: str) -> dict[str, Any]:
    return {"type": "function", "name": name, "parameters": {"type": "object"}}


class Talk:
    """Verbs of a client (speak, quiet, commit, create, …) and of a backend (say, write, call, end, …); `see` what came."""

    def __init__(self, session: Session | None = None, seed: Sequence[Item] = (), **patch: Any) -> None:
        self.now = 1_000.0
        self.log: list[tuple[float, Output]] = []
        self.watch = Watch()
        self._seen = 0
        self._loud = 0.0
        self._epoch = self._samples = self._framed = 0
        self._detected: list[f.SpeechProbability] = []
        self.auto_detect = True
        self.machine = Conversation(session or Session(), seed, IdMint(random.Random(4)))
        self._took(None, self.machine.begin())
        self.tell(f.Opened(self.order(o.Open).ref, "test-engine"))
        if patch:
            self.update(**patch)
        self.see()

    # --- the two sides --------------------------------------------------------------------------------------------

    def send(self, event: e.ClientEvent) -> list[Output]:
        return self._took(event, self.machine.handle(event, self.now))

    def tell(self, fact: f.Fact) -> list[Output]:
        return self._took(fact, self.machine.handle(fact, self.now))

    def wait(self, seconds: float) -> None:
        until = self.now + seconds
        while (due := self.machine.wake_at()) is not None and due <= until:
            self.now = max(self.now, due)
            self.wake()
        self.now = until

    def wake(self) -> list[Output]:
        outputs = self._took(None, self.machine.wake(self.now))
        due = self.machine.wake_at()
        assert due is None or due > self.now, "woken, and due again at once: a busy loop"
        return outputs

    def _took(self, x: e.ClientEvent | f.Fact | None, outputs: list[Output]) -> list[Output]:
        self.log += [(self.now, output) for output in outputs]
        self.watch.step(x, outputs)
        for output in outputs:
            if isinstance(output, o.DropAudio) and output.epoch != self._epoch:
                self._epoch, self._samples, self._framed = output.epoch, 0, 0
            if isinstance(output, o.Audio):
                self._samples += len(output.pcm) // 2
                while self._framed + FRAME <= self._samples:
                    self._framed += FRAME
                    if output.detect:
                        self._detected.append(f.SpeechProbability(output.epoch, self._framed, self._loud))
        while self.auto_detect and self._detected:
            self.tell(self._detected.pop(0))
        return outputs

    # --- a client's verbs -----------------------------------------------------------------------------------------

    def update(self, **session: Any) -> list[Output]:
        return self.send(e.SessionUpdate(session={"type": "realtime", **session}))

    def detection(self, value: Any) -> list[Output]:
        return self.update(audio={"input": {"turn_detection": value}})

    def transcription(self, value: Any) -> list[Output]:
        return self.update(audio={"input": {"transcription": value}})

    def speak_ms(self, ms: float, p: float = 0.9) -> None:
        self._stream(ms, p)

    def quiet_ms(self, ms: float) -> None:
        self._stream(ms, 0.01)

    def _stream(self, ms: float, p: float) -> None:
        """In real time, in pieces that end with the detector's frames."""
        self._loud = p
        left = round(ms * 24)
        while left > 0:
            samples = min(left, FRAME - self._samples % FRAME)
            self.append(bytes(2 * samples))
            self.wait(samples / 24_000)
            left -= samples

    def append(self, pcm: bytes) -> list[Output]:
        return self.send(e.AudioAppend(audio=pcm))

    def turn(self, ms: float = 640) -> str:
        """A spoken turn, whole: the id of its item."""
        self.speak_ms(ms)
        self.quiet_ms(640)
        return self.last(e.AudioCommitted).item_id

    def commit(self) -> list[Output]:
        return self.send(e.AudioCommit())

    def clear(self) -> list[Output]:
        return self.send(e.AudioClear())

    def type(self, text: str, after: str | None = None, item_id: str | None = None) -> str:
        item: dict[str, Any] = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
        if item_id is not None:
            item["id"] = item_id
        self.send(e.ItemCreate(item=item, previous_item_id=after))
        return self.last(e.ItemAdded).item["id"]

    def answer(self, call_id: str, output: str = '{"accepted":true}') -> list[Output]:
        item = {"type": "function_call_output", "call_id": call_id, "output": output}
        return self.send(e.ItemCreate(item=item))

    def create(self, **response: Any) -> list[Output]:
        return self.send(e.ResponseCreate(response=response))

    def ask_silently(self, name: str) -> list[Output]:
        """As HyperStudy asks an on-screen question (HRP 0.2.0, "Answering questions")."""
        return self.create(output_modalities=["text"], tool_choice={"type": "function", "name": name})

    def cancel(self, response_id: str | None = None) -> list[Output]:
        return self.send(e.ResponseCancel(response_id=response_id))

    def truncate(self, item_id: str, ms: int, index: int = 0) -> list[Output]:
        return self.send(e.ItemTruncate(item_id=item_id, content_index=index, audio_end_ms=ms))

    def delete(self, item_id: str) -> list[Output]:
        self.watch.allow_deletes()
        return self.send(e.ItemDelete(item_id=item_id))

    def shown(self, item_id: str) -> dict[str, Any]:
        """The item as the engine has it now."""
        self.send(e.ItemRetrieve(item_id=item_id))
        return self.last(e.ItemRetrieved).item

    # --- a backend's verbs ----------------------------------------------------------------------------------------

    @property
    def ref(self) -> int:
        return self.order(o.Reply).ref

    def say(self, text: str, ms: float, part: int = 0, ref: int | None = None) -> None:
        """Words first, then their audio in pieces of 200 ms, aligned."""
        ref = self.ref if ref is None else ref
        self.tell(f.TextOut(ref, part, text))
        out = 0.0
        while out < ms:
            piece = min(200, ms - out)
            out += piece
            self.tell(f.AudioOut(ref, part, silence(piece), round(len(text) * out / ms)))

    def write(self, text: str) -> None:
        self.tell(f.TextOut(self.ref, 0, text))

    def call(self, name: str, arguments: str = "{}", ref: int | None = None) -> None:
        self.tell(f.CallOut(self.ref if ref is None else ref, "upstream-1", name, arguments))

    def end(self, status: Any = "completed", ref: int | None = None, **more: Any) -> list[Output]:
        return self.tell(f.ReplyEnded(self.ref if ref is None else ref, status, **{"usage": USAGE, **more}))

    def reply(self, text: str = "It is Paris.", ms: float = 600) -> None:
        """A whole spoken answer, at once."""
        self.tell(f.ReplyStarted(self.ref))
        self.say(text, ms)
        self.end()

    def understood(self, text: str = "hello", ref: int | None = None) -> list[Output]:
        turn = self.order(o.EndTurn)
        return self.tell(f.UserText(ref or turn.ref, turn.item_id, text, 1.25))

    # --- what came ------------------------------------------------------------------------------------------------

    def see(self) -> list[str]:
        """Types of the server events since the last look; a run of one type counts as one."""
        kinds: list[str] = []
        for _, output in self.log[self._seen :]:
            if isinstance(output, e.ServerEventBase) and (not kinds or kinds[-1] != output.type):
                kinds.append(output.type)
        self._seen = len(self.log)
        return kinds

    def all(self, kind: type[T]) -> list[T]:
        return [output for _, output in self.log if isinstance(output, kind)]

    def last(self, kind: type[T]) -> T:
        return self.all(kind)[-1]

    def order(self, kind: type[T]) -> T:
        return self.last(kind)

    @property
    def error(self) -> dict[str, Any]:
        return self.last(e.ErrorEvent).error

    @property
    def done(self) -> dict[str, Any]:
        return self.last(e.ResponseDone).response

    @property
    def audio_ms(self) -> float:
        """Of all that went out."""
        return sum(len(delta.delta) for delta in self.all(e.OutputAudioDelta)) / 48

    @property
    def spoken_item(self) -> str:
        return self.last(e.OutputAudioDelta).item_id
