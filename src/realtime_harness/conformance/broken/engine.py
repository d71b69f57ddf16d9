"""A correct scripted engine: small, with no model, and nothing of our own machine in it, so that no mistake is shared.

It hears loudness, answers with a tone, calls the tool it is asked for, and sees the colour of a plain PNG. Everything a
broken engine changes is a method or a figure of its own.
"""

from __future__ import annotations

import asyncio
import itertools
import math
import zlib
from collections.abc import Mapping
from typing import Any, ClassVar, cast

import numpy as np
import orjson
import pybase64

from realtime_harness.client.transport import Transport
from realtime_harness.conformance.broken.ears import BYTES_PER_MS, PREFIX_MS, Ears, Edge
from realtime_harness.errors import Disconnected
from realtime_harness.realtime.engine import Clock

Event = dict[str, Any]
FORMAT: Event = {"type": "audio/pcm", "rate": 24_000}
SEMANTIC_SILENCE_MS = 800
ANSWER_WORDS = "I would say that it is Paris, as far as I know."
STORY_WORDS = "Once upon a time there was a lighthouse. " * 12
ANSWER_MS, STORY_MS = 1_500, 20_000
COLOURS = {(255, 0, 0): "red", (0, 255, 0): "green", (0, 0, 255): "blue"}
STUDY_TOOLS = ("send_chat", "answer_")


class ScriptedEngine:
    """One session. `run` serves it to its end."""

    DEFECT: ClassVar[object] = None  # what is broken in it, of an engine that is
    DELTA_MS = 100
    AHEAD_MS = 500  # how far the audio that is sent may be ahead of real time
    THINKING_S = 0.3

    def __init__(self, transport: Transport, clock: Clock) -> None:
        self.transport = transport
        self.clock = clock
        self.numbers = itertools.count(1)
        self.session = self.new_session()
        self.ears: Ears | None = None
        self.odd = b""
        self.turn: str | None = None
        self.uncommitted_ms = 0
        self.audio_ms: dict[str, int] = {}  # of each answer's item
        self.items: set[str] = set()
        self.active: str | None = None
        self.active_item: str | None = None
        self.spoken = False  # whether the active response is one that is heard
        self.replying: asyncio.Task[None] | None = None
        self.tasks: set[asyncio.Task[None]] = set()
        self.colour: str | None = None
        self.last_text = ""
        self.tool_used = False

    # The session.

    async def run(self) -> None:
        """Serves until the client has gone."""
        self.listen_anew()
        try:
            await self.created()
            while True:
                await self.handle(orjson.loads(await self.transport.receive()))
        except Disconnected:
            pass
        finally:
            for task in self.tasks:
                task.cancel()
            await asyncio.gather(*self.tasks, return_exceptions=True)

    def new_session(self) -> Event:
        """The session as it is before the client's first update."""
        return {
            "type": "realtime",
            "object": "realtime.session",
            "id": self.new_id("sess"),
            "model": "scripted",
            "output_modalities": ["audio"],
            "instructions": "",
            "tools": [],
            "tool_choice": "auto",
            "audio": {
                "input": {
                    "format": FORMAT,
                    "transcription": None,
                    "turn_detection": {
                        "type": "server_vad",
                        "threshold": 0.5,
                        "prefix_padding_ms": PREFIX_MS,
                        "silence_duration_ms": 500,
                        "create_response": True,
                        "interrupt_response": True,
                    },
                },
                "output": {"format": FORMAT, "voice": "marin", "speed": 1},
            },
        }

    def new_id(self, kind: str) -> str:
        """An id that was never given before."""
        return f"{kind}_{next(self.numbers):04d}"

    async def created(self) -> None:
        """Opens the session."""
        await self.emit("session.created", session=self.session)

    async def emit(self, kind: str, **fields: Any) -> None:
        """Sends one event: the one place where all of them pass."""
        await self.transport.send(orjson.dumps({"type": kind, "event_id": self.new_id("event"), **fields}).decode())

    async def error(self, code: str, message: str) -> None:
        """Refuses something; the session goes on."""
        await self.emit("error", error={"type": "invalid_request_error", "code": code, "message": message})

    async def handle(self, event: Event) -> None:
        """One event of the client's."""
        match event.get("type"):
            case "session.update":
                await self.update(event["session"])
            case "input_audio_buffer.append":
                await self.append(pybase64.b64decode(event["audio"]))
            case "input_audio_buffer.commit":
                await self.commit()
            case "conversation.item.create":
                await self.create_item(event["item"])
            case "conversation.item.truncate":
                await self.truncate(event["item_id"], event["audio_end_ms"])
            case "response.create":
                await self.create_response(event.get("response") or {})
            case "response.cancel":
                await self.cancel(event.get("response_id"))
            case other:
                await self.error("invalid_event", f"Unknown event {other!r}.")

    # Settings.

    @property
    def turn_detection(self) -> Event | None:
        """Turn detection as it is now."""
        return self.session["audio"]["input"]["turn_detection"]

    async def update(self, patch: Event) -> None:
        """Merges an update and answers with the whole session."""
        before = self.turn_detection
        self.merge(patch)
        if before is not None and self.turn_detection is None:
            await self.stop_listening()
        if before is None and self.turn_detection is not None:
            self.listen_anew()
        await self.updated()

    def merge(self, patch: Event) -> None:
        """A deep merge, in which null is a value."""
        self.session = deep_merge(self.session, patch)

    async def updated(self) -> None:
        """Answers an update."""
        await self.emit("session.updated", session=self.session)

    async def stop_listening(self) -> None:
        """Turn detection was switched off: the open turn waits for its commit."""
        self.ears = None

    def listen_anew(self) -> None:
        """Turn detection was switched on: the clock starts at 0, and nothing is open."""
        asked = self.turn_detection or {}
        self.ears = Ears(self.silence_ms(asked))
        self.turn = None
        self.uncommitted_ms = 0

    def silence_ms(self, asked: Event) -> int:
        """How much silence ends a turn."""
        return int(asked.get("silence_duration_ms") or SEMANTIC_SILENCE_MS)

    # Hearing.

    async def append(self, pcm: bytes) -> None:
        """Audio of the user's."""
        pcm = self.odd + pcm
        whole = len(pcm) // 2 * 2
        pcm, self.odd = pcm[:whole], pcm[whole:]
        self.uncommitted_ms += len(pcm) // BYTES_PER_MS
        if self.ears is not None:
            for edge in self.ears.take(pcm):
                await (self.started(edge) if edge.kind == "started" else self.stopped(edge))

    async def started(self, edge: Edge) -> None:
        """Somebody begins to speak: an answer that is heard is cancelled on this edge."""
        self.turn = self.new_id("item")
        await self.emit_started(edge.ms, self.turn)
        asked = self.turn_detection or {}
        if self.active is not None and self.spoken and asked.get("interrupt_response", True):
            await self.stop_reply("turn_detected")

    async def emit_started(self, ms: int, item_id: str) -> None:
        """Says that speech has begun."""
        await self.emit("input_audio_buffer.speech_started", audio_start_ms=ms, item_id=item_id)

    async def stopped(self, edge: Edge) -> None:
        """They have finished: the turn is committed and answered."""
        item_id = self.turn or self.new_id("item")
        await self.emit_stopped(edge.ms, item_id)
        await self.keep_turn(item_id)
        if (self.turn_detection or {}).get("create_response", True):
            self.reply_to_turn()

    async def emit_stopped(self, ms: int, item_id: str) -> None:
        """Says that speech has ended."""
        await self.emit("input_audio_buffer.speech_stopped", audio_end_ms=ms, item_id=item_id)

    async def keep_turn(self, item_id: str) -> None:
        """Commits what was said as that item."""
        self.turn = None
        self.uncommitted_ms = 0
        await self.emit("input_audio_buffer.committed", item_id=item_id, previous_item_id=None)
        content = [{"type": "input_audio", "transcript": None}]
        await self.add_item(
            {"id": item_id, "type": "message", "role": "user", "status": "completed", "content": content}
        )

    async def commit(self) -> None:
        """The client commits: the open turn, with turn detection off. Nothing replies."""
        if self.uncommitted_ms < 100:
            await self.error("input_audio_buffer_commit_empty", "There is no audio to commit.")
            return
        await self.keep_turn(self.turn or self.new_id("item"))

    def reply_to_turn(self) -> None:
        """The end of a spoken turn starts an answer: a call, the first time a tool of the client's own is there."""
        own = next((tool for tool in self.session["tools"] if not tool["name"].startswith(STUDY_TOOLS)), None)
        if own is not None and not self.tool_used:
            self.tool_used = True
            self.start(self.call_reply(own, {"audio": True}))
        else:
            self.start(self.spoken_reply())

    # The conversation.

    async def add_item(self, item: Event) -> None:
        """Puts an item into the conversation."""
        self.items.add(item["id"])
        await self.emit("conversation.item.added", item=item, previous_item_id=None)
        await self.emit("conversation.item.done", item=item, previous_item_id=None)

    async def create_item(self, item: Event) -> None:
        """The client's own item. It starts nothing."""
        parts: list[Event] = item.get("content") or []
        for part in parts:
            if part["type"] == "input_image":
                self.colour = self.see(part["image_url"])
            elif part["type"] == "input_text":
                self.last_text = part["text"]
        await self.add_item({"id": self.new_id("item"), "status": "completed", **item})

    def see(self, url: str) -> str | None:
        """The colour of a plain 8-bit RGB PNG, by its first pixel."""
        data = pybase64.b64decode(url.partition(",")[2])
        start = data.index(b"IDAT")
        size = int.from_bytes(data[start - 4 : start], "big")
        pixels = zlib.decompress(data[start + 4 : start + 4 + size])
        return COLOURS.get((pixels[1], pixels[2], pixels[3]))

    async def truncate(self, item_id: str, ms: int) -> None:
        """Cuts an answer at what was heard, or at the end of what there is."""
        if item_id not in self.audio_ms:
            await self.error("item_truncate_invalid_item_id", "There is no such answer.")
            return
        self.audio_ms[item_id] = min(ms, self.audio_ms[item_id])
        await self.emit(
            "conversation.item.truncated", item_id=item_id, content_index=0, audio_end_ms=self.audio_ms[item_id]
        )

    # Answering.

    def start(self, reply: Any) -> None:
        """Answers in the background."""
        self.replying = asyncio.create_task(reply, name="scripted reply")
        self.tasks.add(self.replying)
        self.replying.add_done_callback(self.tasks.discard)

    async def create_response(self, asked: Event) -> None:
        """The client asks for an answer."""
        if self.active is not None:
            await self.error("conversation_already_has_active_response", f"{self.active} is open.")
            return
        choice = asked.get("tool_choice")
        if isinstance(choice, dict):
            name = cast("Event", choice)["name"]
            tool = next(tool for tool in self.session["tools"] if tool["name"] == name)
            self.start(self.call_reply(tool, {"audio": False}))
        else:
            self.start(self.spoken_reply())

    async def cancel(self, response_id: str | None) -> None:
        """The client stops an answer."""
        if self.active is None or response_id not in (None, self.active):
            await self.error("response_cancel_not_active", "No active response.")
            return
        await self.stop_reply("client_cancelled")

    async def stop_reply(self, reason: str) -> None:
        """Ends the open answer at once: what is open is closed, and its one `response.done` follows."""
        response_id, item_id = self.active, self.active_item
        if response_id is None:
            return
        if self.replying is not None:
            self.replying.cancel()
        if item_id is not None:
            await self.close_audio(response_id, item_id, "")
        self.active = self.active_item = None
        await self.done(response_id, "cancelled", reason)

    async def open_response(self, *, spoken: bool) -> str:
        """Creates a response; its id."""
        response_id = self.new_id("resp")
        self.active, self.active_item, self.spoken = response_id, None, spoken
        await self.emit("response.created", response=self.response(response_id, "in_progress"))
        return response_id

    def response(self, response_id: str, status: str, reason: str | None = None) -> Event:
        """The response object."""
        details = {"type": status, "reason": reason} if reason else None
        usage = None if status == "in_progress" else self.usage()
        return {
            "id": response_id,
            "object": "realtime.response",
            "status": status,
            "status_details": details,
            "output": [],
            "usage": usage,
        }

    def usage(self) -> Event | None:
        """What an answer used."""
        return {"total_tokens": 30, "input_tokens": 20, "output_tokens": 10}

    async def done(self, response_id: str, status: str, reason: str | None = None) -> None:
        """A response has ended."""
        await self.emit("response.done", response=self.response(response_id, status, reason))

    async def spoken_reply(self) -> None:
        """An answer that is heard: a tone, paced, with its words."""
        await self.sleep(self.THINKING_S)
        if self.active is not None:
            return
        response_id = await self.open_response(spoken=True)
        story = "story" in self.last_text
        self.last_text = ""
        words, length_ms = (STORY_WORDS, STORY_MS) if story else (ANSWER_WORDS, ANSWER_MS)
        item_id = self.new_id("item")
        self.active_item = item_id
        await self.emit(
            "response.output_item.added",
            response_id=response_id,
            output_index=0,
            item={"id": item_id, "type": "message"},
        )
        await self.emit(
            "conversation.item.added", item={"id": item_id, "type": "message", "role": "assistant", "content": []}
        )
        await self.speak(response_id, item_id, words, length_ms)
        await self.close_audio(response_id, item_id, words)
        await self.emit(
            "conversation.item.done", item={"id": item_id, "type": "message", "role": "assistant", "content": []}
        )
        self.active = self.active_item = None
        await self.done(response_id, "completed")
        await self.after_reply()

    async def speak(self, response_id: str, item_id: str, words: str, length_ms: int) -> None:
        """The audio of an answer in pieces, and its words."""
        began = self.clock.now()
        said = 0
        self.audio_ms[item_id] = 0
        for at_ms in range(0, length_ms, self.DELTA_MS):
            upto = len(words) * (at_ms + self.DELTA_MS) // length_ms
            if words[said:upto]:
                await self.emit_words(response_id, item_id, words[said:upto])
            said = upto
            await self.emit_audio(response_id, item_id, tone(at_ms, self.DELTA_MS))
            self.audio_ms[item_id] += self.DELTA_MS
            await self.clock.sleep_until(began + (at_ms + self.DELTA_MS - self.AHEAD_MS) / 1000)

    async def emit_words(self, response_id: str, item_id: str, words: str) -> None:
        """Some words of an answer."""
        await self.emit("response.output_audio_transcript.delta", response_id=response_id, item_id=item_id, delta=words)

    async def emit_audio(self, response_id: str, item_id: str, pcm: bytes) -> None:
        """Some audio of an answer."""
        delta = pybase64.b64encode_as_string(pcm)
        await self.emit("response.output_audio.delta", response_id=response_id, item_id=item_id, delta=delta)

    async def close_audio(self, response_id: str, item_id: str, words: str) -> None:
        """The audio of an answer is over."""
        await self.emit("response.output_audio.done", response_id=response_id, item_id=item_id)
        await self.emit(
            "response.output_audio_transcript.done", response_id=response_id, item_id=item_id, transcript=words
        )

    async def after_reply(self) -> None:
        """An answer has ended by itself. Nothing follows."""

    async def call_reply(self, tool: Event, how: Mapping[str, bool]) -> None:
        """An answer that is one call."""
        await self.sleep(self.THINKING_S)
        response_id = await self.open_response(spoken=how["audio"])
        await self.emit_call(response_id, self.new_id("call"), tool["name"], self.arguments(tool))
        self.active = None
        await self.done(response_id, "completed")

    async def emit_call(self, response_id: str, call_id: str, name: str, arguments: Event) -> None:
        """A whole call."""
        item_id = self.new_id("item")
        await self.emit(
            "response.function_call_arguments.done",
            response_id=response_id,
            item_id=item_id,
            call_id=call_id,
            name=name,
            arguments=orjson.dumps(arguments).decode(),
        )

    def arguments(self, tool: Event) -> Event:
        """Arguments that fit the tool."""
        known: Event = {"city": "Paris", "value": 50, "choice": self.colour or "green", "message": "Hello."}
        return {name: known.get(name, "text") for name in tool["parameters"]["properties"]}

    async def sleep(self, seconds: float) -> None:
        """Lets time pass."""
        await self.clock.sleep_until(self.clock.now() + seconds)


def deep_merge(old: Event, new: Event) -> Event:
    """`new` over `old`; a type that changes replaces the whole of turn detection."""
    out = dict(old)
    for name, value in new.items():
        before = old.get(name)
        if isinstance(value, dict) and isinstance(before, dict):
            given, had = cast("Event", value), cast("Event", before)
            changed = name == "turn_detection" and given.get("type") != had.get("type")
            out[name] = given if changed else deep_merge(had, given)
        else:
            out[name] = value
    return out


def tone(at_ms: int, length_ms: int) -> bytes:
    """A quiet 220 Hz tone: PCM16 mono 24 kHz."""
    times = (np.arange(length_ms * 24) + at_ms * 24) / 24_000
    return (np.sin(2 * math.pi * 220 * times) * 6_000).astype("<i2").tobytes()
