"""Ears, mouth and mind that a test plays, and a backend on top of them. No model, and next to no time."""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, ParamSpec

import numpy as np

from realtime_harness.engines.local.backend import LocalBackend
from realtime_harness.engines.local.ears import Ears
from realtime_harness.engines.local.image_header import ImageUnreadable
from realtime_harness.engines.local.workshop import Workshop
from realtime_harness.minds.mind import ChatChunk, ChatRequest, Finished, MindUsage, TextDelta
from realtime_harness.realtime import facts as f
from realtime_harness.realtime import orders as o
from realtime_harness.realtime.items import ContentPart, Item, MessageItem
from realtime_harness.realtime.responses import ResponseParams, ResponsePlan
from realtime_harness.realtime.session import FunctionTool, Session

P = ParamSpec("P")
FRAME = 768
USAGE = MindUsage(10, 3, 4)


def in_loop(test: Callable[P, Awaitable[None]]) -> Callable[P, None]:
    """Runs an async test to its end, within 10 s; no task may be left."""

    @functools.wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        async def whole() -> None:
            async with asyncio.timeout(10):
                await test(*args, **kwargs)
            left = asyncio.all_tasks() - {asyncio.current_task()}
            assert not left, f"tasks left: {left}"

        asyncio.run(whole())

    return run


def tone(frames: int) -> bytes:
    """Audio that the detector takes for speech."""
    return np.full(frames * FRAME, 1000, "<i2").tobytes()


def quiet(frames: int) -> bytes:
    """Audio that it takes for silence."""
    return bytes(frames * FRAME * 2)


class Loudness:
    """A detector: whatever is not silent is speech."""

    def __init__(self) -> None:
        self._waiting = b""
        self._frames = 0

    def feed(self, pcm24k: bytes) -> list[tuple[int, float]]:
        self._waiting += pcm24k
        found: list[tuple[int, float]] = []
        while len(self._waiting) >= FRAME * 2:
            frame, self._waiting = self._waiting[: FRAME * 2], self._waiting[FRAME * 2 :]
            self._frames += 1
            found.append((self._frames * FRAME, 0.9 if any(frame) else 0.0))
        return found

    def reset(self) -> None:
        self._waiting, self._frames = b"", 0


@dataclass
class Listener:
    """Hears one of `words` after another, or how long it listened where there are none; an exception is raised.

    While `gate` is closed, it is still listening.
    """

    words: list[str | Exception] = field(default_factory=lambda: ["Hello."])
    gate: threading.Event = field(default_factory=threading.Event)
    heard_s: list[float] = field(default_factory=list)
    hints: list[str | None] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.gate.set()

    def transcribe(self, samples_16k: Any, hint: str | None = None) -> str:
        assert self.gate.wait(5)
        self.heard_s.append(round(len(samples_16k) / 16_000, 3))
        self.hints.append(hint)
        if not self.words:
            return f"{self.heard_s[-1]} s"
        word = self.words[min(len(self.heard_s), len(self.words)) - 1]
        if isinstance(word, Exception):
            raise word
        return word


class Judge:
    def probability(self, samples_16k: Any) -> float:
        return 0.75


@dataclass
class Chunk:
    pcm: bytes
    text_end: int


@dataclass
class Speaker:
    """A tenth of a second for every character. Breaks on a text that holds `breaks_on`."""

    breaks_on: str = "\0"
    spoken: list[tuple[str, float]] = field(default_factory=list)
    voices: list[str] = field(default_factory=list)

    def speak(self, text: str, speed: float, voice: str) -> Iterator[Chunk]:
        self.spoken.append((text, speed))
        self.voices.append(voice)
        if self.breaks_on in text:
            raise RuntimeError("no voice")
        for end in range(1, len(text) + 1):
            yield Chunk(bytes(4800), end)


Script = Callable[[ChatRequest], AsyncGenerator[ChatChunk]]


def saying(*deltas: str, reason: Any = "stop") -> Script:
    """A mind that says this."""

    async def script(_: ChatRequest) -> AsyncGenerator[ChatChunk]:
        for delta in deltas:
            yield TextDelta(delta)
        yield Finished(reason, USAGE)

    return script


class Mind:
    name = "fake"
    context_tokens = 4096

    def __init__(self, script: Script | None = None) -> None:
        self.script = script or saying("I am ", "fine, thank you.")
        self.prepared: list[ChatRequest] = []
        self.asked: list[ChatRequest] = []
        self.stopped = 0
        self.released: list[str] = []
        self.closed = 0

    async def prepare(self, request: ChatRequest) -> None:
        self.prepared.append(request)

    async def complete(self, request: ChatRequest, deadline: float) -> AsyncGenerator[ChatChunk]:
        self.asked.append(request)
        try:
            async for chunk in self.script(request):
                yield chunk
        finally:
            self.stopped += 1

    async def release(self, affinity: str) -> None:
        self.released.append(affinity)

    async def close(self) -> None:
        self.closed += 1


def texts(request: ChatRequest) -> list[str]:
    """What the mind reads, with roles, the manner of speaking aside."""
    return [f"{message.role}: {message.text}" for message in request.messages[1:]]


def see(image: bytes) -> str:
    """Eyes that see red, but cannot open what is broken."""
    if image == b"broken":
        raise ImageUnreadable("The image is broken.")
    if image == b"bug":
        raise RuntimeError("a bug")
    return f"The colour that fills the image is red ({len(image)} bytes)."


class Stage:
    """A backend and what it is made of. `async with` it; `tell` orders, `until` facts."""

    def __init__(self, mind: Mind | None = None, listener: Listener | None = None, speaker: Speaker | None = None):
        self.mind = mind or Mind()
        self.listener = listener or Listener()
        self.speaker = speaker or Speaker()
        self.workshop = Workshop(self.listener, Judge(), self.speaker, see, self.mind)
        self.backend = LocalBackend(self.workshop, Ears(Loudness()), "one", "local/fake")
        self.facts: list[f.Fact] = []
        self.ref = 0
        self._more = asyncio.Event()

    async def __aenter__(self) -> Stage:
        self._pump = asyncio.create_task(self._listen())
        self.tell(o.Open, session=Session())
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.backend.close()
        await self._pump
        await self.workshop.close()

    async def _listen(self) -> None:
        async for fact in self.backend.facts():
            self.facts.append(fact)
            self._more.set()

    def tell(self, kind: Any, **fields: Any) -> int:
        self.ref += 1
        self.backend.send(kind(ref=self.ref, **fields))
        return self.ref

    def hear(self, pcm: bytes, *, epoch: int = 0, detect: bool = True) -> None:
        self.tell(o.Audio, epoch=epoch, pcm=pcm, detect=detect)

    def add(self, item: Item, after_id: str | None, **more: Any) -> None:
        self.tell(o.AddItem, item=item, after_id=after_id, **more)

    def reply(self, plan: ResponsePlan | None = None, **more: Any) -> int:
        return self.tell(o.Reply, plan=plan or planned(), **more)

    async def until(self, kind: type[Any], ref: int | None = None) -> Any:
        """The first fact of that kind (and ref), waited for."""
        while True:
            for fact in self.facts:
                if isinstance(fact, kind) and ref in (None, getattr(fact, "ref", None)):
                    return fact
            self._more.clear()
            await self._more.wait()

    async def prepared(self, count: int) -> ChatRequest:
        """What the mind was given to read the `count`th time."""
        while len(self.mind.prepared) < count:
            await asyncio.sleep(0.005)
        return self.mind.prepared[count - 1]

    async def listened(self, count: int) -> None:
        """Until the listener has begun `count` times."""
        while len(self.listener.heard_s) < count:
            await asyncio.sleep(0.005)

    def of(self, ref: int) -> list[f.Fact]:
        return [fact for fact in self.facts if getattr(fact, "ref", None) == ref]


def planned(session: Session | None = None, **params: Any) -> ResponsePlan:
    return ResponsePlan.of(session or Session(), ResponseParams.read(params))


def said(item_id: str, text: str, role: Any = "user") -> MessageItem:
    """A message of one text."""
    part = ContentPart(type="input_text", text=text)
    if role == "assistant":
        part = ContentPart(type="output_audio", transcript=text)
    return MessageItem(id=item_id, role=role, content=(part,))


def tool(name: str, description: str = "Does it.", **properties: Any) -> FunctionTool:
    return FunctionTool(
        type="function", name=name, description=description, parameters={"type": "object", "properties": properties}
    )
