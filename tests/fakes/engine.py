"""A scripted engine: answers each turn with a tone and known words, through hand-written events. No models, no time."""

from __future__ import annotations

import asyncio
from array import array
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from realtime_harness.errors import Refused
from realtime_harness.realtime import events as e
from realtime_harness.realtime.engine import Clock, Profile
from realtime_harness.realtime.ids import IdMint
from realtime_harness.realtime.items import Item
from realtime_harness.realtime.pcm import bytes_of_ms
from realtime_harness.realtime.session import Session

WORDS = "The capital of France is Paris."
ANSWER_MS = 1_000
DELTA_MS = 100

Script = Callable[["ScriptedSession", e.ClientEvent], None]


class ScriptedSession:
    """Keeps what it was sent; says what its script says."""

    def __init__(self, session: Session, script: Script, on_close: Callable[[], None]) -> None:
        self.ids = IdMint()
        self.session = session.model_copy(update={"id": self.ids.mint("sess")})
        self.script = script
        self.sent: list[e.ClientEvent] = []
        self.closed: list[str] = []
        self.appended = 0
        self.hold: asyncio.Event | None = None  # while set and unset, `send` waits: an engine that is behind
        self._on_close = on_close
        self._events: asyncio.Queue[e.ServerEvent | e.EngineEvent | BaseException | None] = asyncio.Queue()
        self.say(e.SessionCreated, session=self.session.to_wire())

    def say(self, kind: type[Any], **fields: Any) -> None:
        self.put(kind(event_id=self.ids.mint("event"), **fields))

    speaking_from: int | None = None

    def put(self, event: e.ServerEvent | e.EngineEvent | BaseException | None) -> None:
        self._events.put_nowait(event)

    async def send(self, event: e.ClientEvent) -> None:
        if self.hold is not None:
            await self.hold.wait()
        self.sent.append(event)
        self.script(self, event)

    async def events(self) -> AsyncIterator[e.ServerEvent | e.EngineEvent]:
        while (event := await self._events.get()) is not None:
            if isinstance(event, BaseException):
                raise event
            yield event

    async def close(self, reason: str) -> None:
        if not self.closed:
            self._on_close()
        self.closed.append(reason)
        self._events.put_nowait(None)


def answer(session: ScriptedSession, text: str = WORDS, ms: int = ANSWER_MS) -> None:
    """One spoken response, all at once."""
    response_id, item_id = session.ids.mint("resp"), session.ids.mint("item")
    where = {"response_id": response_id, "item_id": item_id, "output_index": 0, "content_index": 0}
    item = {"id": item_id, "type": "message", "role": "assistant", "status": "in_progress", "content": []}
    response = {"id": response_id, "object": "realtime.response", "status": "in_progress", "output": [], "usage": None}
    session.say(e.ResponseCreated, response=response)
    session.say(e.OutputItemAdded, response_id=response_id, output_index=0, item=item)
    session.say(e.ItemAdded, item=item, previous_item_id=None)
    session.say(e.ContentPartAdded, **where, part={"type": "audio", "transcript": ""})
    session.say(e.OutputTranscriptDelta, **where, delta=text)
    for _ in range(ms // DELTA_MS):
        session.say(e.OutputAudioDelta, **where, delta=b"\x00\x10" * (bytes_of_ms(DELTA_MS) // 2))
    session.say(e.OutputAudioDone, **where)
    session.say(e.OutputTranscriptDone, **where, transcript=text)
    session.say(e.ContentPartDone, **where, part={"type": "audio", "transcript": text})
    done = {**item, "status": "completed", "content": [{"type": "output_audio", "transcript": text}]}
    session.say(e.ItemDone, item=done, previous_item_id=None)
    session.say(e.OutputItemDone, response_id=response_id, output_index=0, item=done)
    session.say(e.ResponseDone, response={**response, "status": "completed", "output": [done], "usage": {}})


def hear(session: ScriptedSession, start_ms: int, end_ms: int, words: str) -> None:
    """One spoken turn of the participant's."""
    item_id = session.ids.mint("item")
    item = {"id": item_id, "type": "message", "role": "user", "status": "completed", "content": []}
    session.say(e.SpeechStarted, audio_start_ms=start_ms, item_id=item_id)
    session.say(e.SpeechStopped, audio_end_ms=end_ms, item_id=item_id)
    session.say(e.AudioCommitted, item_id=item_id, previous_item_id=None)
    session.say(e.ItemAdded, item=item, previous_item_id=None)
    session.say(e.ItemDone, item=item, previous_item_id=None)
    session.say(e.TranscriptionCompleted, item_id=item_id, content_index=0, transcript=words, usage={})


def call_tool(session: ScriptedSession, name: str, arguments: str) -> None:
    """A response that only calls a function."""
    response_id, item_id, call_id = session.ids.mint("resp"), session.ids.mint("item"), session.ids.mint("call")
    where = {"response_id": response_id, "item_id": item_id, "output_index": 0, "call_id": call_id}
    response = {"id": response_id, "object": "realtime.response", "status": "in_progress", "output": [], "usage": None}
    session.say(e.ResponseCreated, response=response)
    session.say(e.FunctionArgumentsDone, **where, name=name, arguments=arguments)
    session.say(e.ResponseDone, response={**response, "status": "completed", "usage": {}})


def is_loud(audio: bytes) -> bool:
    samples = array("h", audio[: len(audio) // 2 * 2])
    return max(map(abs, samples), default=0) > 500


def conversational(session: ScriptedSession, event: e.ClientEvent) -> None:
    """Hears a turn when sound (not silence) is followed by silence, and answers it; answers `response.create`."""
    match event:
        case e.SessionUpdate(session=patch):
            session.session = session.session.updated(patch, Session())
            session.say(e.SessionUpdated, session=session.session.to_wire())
        case e.AudioAppend(audio=audio):
            before = session.appended
            session.appended += len(audio)
            sound = is_loud(audio)
            if sound and session.speaking_from is None:
                session.speaking_from = before // 48
            elif not sound and (start := session.speaking_from) is not None:
                session.speaking_from = None
                hear(session, start, session.appended // 48, "What is the capital of France?")
                answer(session)
        case e.ItemTruncate(item_id=item_id, content_index=index, audio_end_ms=end):
            session.say(e.ItemTruncated, item_id=item_id, content_index=index, audio_end_ms=end)
        case e.ItemCreate(item=item):
            made = {"id": session.ids.mint("item"), **item}
            session.say(e.ItemAdded, item=made, previous_item_id=None)
            session.say(e.ItemDone, item=made, previous_item_id=None)
        case e.ResponseCreate():
            tools = session.session.tools
            outputs = [x for x in session.sent if isinstance(x, e.ItemCreate) and "call_id" in x.item]
            if tools and not outputs:
                call_tool(session, tools[0].name, '{"city":"Paris"}')
            else:
                answer(session)
        case _:
            pass


class ScriptedEngine:
    """Opens scripted sessions, up to `capacity` at once; keeps them all."""

    def __init__(self, script: Script = conversational, capacity: int = 100) -> None:
        self.profile = Profile(name="scripted", model="scripted-voice")
        self.script = script
        self.capacity = capacity
        self.sessions: list[ScriptedSession] = []
        self.open_now = 0
        self.closed = False
        self.problem: Exception | None = None

    async def open(self, session: Session, seed: Sequence[Item], clock: Clock) -> ScriptedSession:
        if self.problem is not None:
            raise self.problem
        if self.open_now >= self.capacity:
            raise Refused("capacity", f"All {self.capacity} places of this engine are taken. Try again later.")
        self.open_now += 1
        opened = ScriptedSession(session, self.script, self._freed)
        self.sessions.append(opened)
        return opened

    async def close(self) -> None:
        self.closed = True

    def _freed(self) -> None:
        self.open_now -= 1
