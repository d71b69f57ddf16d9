"""One open line to the engine through the official SDK, with the verbs of a call: say, wait, ask."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from openai import AsyncOpenAI, OpenAI

CHUNK_BYTES = 4800  # 100 ms
SILENCE = bytes(CHUNK_BYTES)


@dataclass
class Seen:
    """One server event and when it came (monotonic seconds)."""

    at: float
    event: Any

    @property
    def type(self) -> str:
        return self.event.type


@dataclass
class Line:
    """Sends and receives; keeps every event. A microphone that is open streams silence when nobody speaks."""

    sdk: Any
    events: list[Seen] = field(default_factory=list)
    ended_at: float = 0.0  # when the last sample of speech had been sent
    _speech: asyncio.Queue[bytes] = field(default_factory=asyncio.Queue)
    _news: asyncio.Event = field(default_factory=asyncio.Event)
    muted: bool = False

    async def send(self, **event: Any) -> None:
        await self.sdk.send(event)

    async def configure(self, **session: Any) -> Any:
        start = len(self.events)
        await self.send(type="session.update", session={"type": "realtime", **session})
        return (await self.wait("session.updated", start)).event.session

    async def turn_detection(self, value: dict[str, Any] | None) -> None:
        await self.configure(audio={"input": {"turn_detection": value}})

    async def say(self, pcm: bytes) -> None:
        """Speaks in real time; returns when the last sample has been sent."""
        for start in range(0, len(pcm), CHUNK_BYTES):
            await self._speech.put(pcm[start : start + CHUNK_BYTES])
        while not self._speech.empty():
            await asyncio.sleep(0.01)
        self.ended_at = time.monotonic()

    async def context(self, json_text: str, image_url: str | None = None) -> None:
        content: list[dict[str, Any]] = [{"type": "input_text", "text": f"[context] {json_text}"}]
        if image_url:
            content.append({"type": "input_image", "image_url": image_url})
        await self.send(type="conversation.item.create", item={"type": "message", "role": "user", "content": content})

    async def silent_answer(self, tool: str) -> Any:
        """Asks for the forced call; returns it, having checked that nothing was said."""
        start = len(self.events)
        choice = {"type": "function", "name": tool}
        await self.send(type="response.create", response={"output_modalities": ["text"], "tool_choice": choice})
        done = await self.wait("response.done", start, timeout_s=45)
        types = [seen.type for seen in self.events[start:]]
        assert not [name for name in types if "output_audio" in name], types
        calls = [seen.event for seen in self.events[start:] if seen.type == "response.function_call_arguments.done"]
        assert done.event.response.status == "completed", done.event
        assert len(calls) == 1, types
        assert calls[0].name == tool
        return calls[0]

    async def output(self, call_id: str, output: str) -> None:
        item = {"type": "function_call_output", "call_id": call_id, "output": output}
        await self.send(type="conversation.item.create", item=item)

    async def wait(self, kind: str, start: int = 0, timeout_s: float = 20.0) -> Seen:
        """The first event of that type at or after `start`."""
        deadline = time.monotonic() + timeout_s
        while True:
            for seen in self.events[start:]:
                if seen.type == kind:
                    return seen
            self._news.clear()
            left = deadline - time.monotonic()
            try:
                await asyncio.wait_for(self._news.wait(), max(0.0, left))
            except TimeoutError:
                types = [seen.type for seen in self.events[start:]]
                raise AssertionError(f"no {kind} within {timeout_s:g} s; came: {types}") from None

    def of(self, kind: str, start: int = 0) -> list[Any]:
        return [seen.event for seen in self.events[start:] if seen.type == kind]

    def audio(self, start: int = 0) -> bytes:
        return b"".join(base64.b64decode(event.delta) for event in self.of("response.output_audio.delta", start))

    def said(self, start: int = 0) -> str:
        return " ".join(event.transcript for event in self.of("response.output_audio_transcript.done", start))

    async def _listen(self) -> None:
        while True:
            event = await self.sdk.recv()
            self.events.append(Seen(time.monotonic(), event))
            self._news.set()

    async def _microphone(self) -> None:
        due = time.monotonic()
        while True:
            if not self.muted:
                chunk = SILENCE if self._speech.empty() else self._speech.get_nowait()
                audio = base64.b64encode(chunk).decode()
                await self.send(type="input_audio_buffer.append", audio=audio)
            due += 0.1
            await asyncio.sleep(max(0.0, due - time.monotonic()))


class _Sync:
    """The synchronous SDK, each call in a thread."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    async def send(self, event: dict[str, Any]) -> None:
        await asyncio.to_thread(self._connection.send, event)

    async def recv(self) -> Any:
        return await asyncio.to_thread(self._connection.recv)


@contextlib.asynccontextmanager
async def open_line(kind: str, base_url: str, key: str, model: str = "local") -> AsyncIterator[Line]:
    """A line through the SDK `kind` ("sync" or "async"), its microphone open."""
    async with contextlib.AsyncExitStack() as stack:
        if kind == "async":
            client = await stack.enter_async_context(AsyncOpenAI(api_key=key, base_url=base_url))
            sdk: Any = await stack.enter_async_context(client.realtime.connect(model=model))
        else:
            sync_client = stack.enter_context(OpenAI(api_key=key, base_url=base_url))
            sdk = _Sync(stack.enter_context(sync_client.realtime.connect(model=model)))
        line = Line(sdk)
        tasks = [asyncio.create_task(line._listen()), asyncio.create_task(line._microphone())]
        try:
            await line.wait("session.created")
            yield line
        finally:
            line.muted = True
            if kind == "sync":  # ends the thread that waits in recv
                await asyncio.to_thread(sdk._connection.close)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
