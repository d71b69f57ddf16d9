"""One reply: the mind's words, cut into clauses, spoken as they come. Ends with exactly one ReplyEnded."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import Literal

import structlog

from realtime_harness.engines.local.clauses import ClauseSplitter
from realtime_harness.engines.local.workshop import Workshop
from realtime_harness.errors import HarnessError, MindError
from realtime_harness.minds.mind import CallMade, ChatChunk, ChatRequest, Finished, MindUsage, TextDelta, ToolCall
from realtime_harness.realtime import facts as f
from realtime_harness.realtime.orders import Reply
from realtime_harness.realtime.pcm import BYTES_PER_SAMPLE, RATE_HZ
from realtime_harness.realtime.responses import Usage
from realtime_harness.realtime.wire import Json

DEADLINE_S = 45.0  # of the mind, for a whole reply; `Conversation` gives up after 60 s of nothing
MAX_ANSWER_CHARS = 50_000  # of one answer: more than any `max_output_tokens` comes to
AHEAD_S = 20.0  # of speech made before it can have been heard: the bound on what a reply keeps in memory
TOO_LONG = "context_length_exceeded"
_log = structlog.get_logger(__name__)

Tell = Callable[[f.Fact], None]
Ask = Callable[[bool], Awaitable[ChatRequest]]  # makes the request; True: a tight one, for the last did not fit
_Out = str | ToolCall | None  # a clause or a written piece, a call, the end


class ReplyWork:
    """Carries out one Reply order."""

    def __init__(self, order: Reply, workshop: Workshop, tell: Tell) -> None:
        self._order = order
        self._ref = order.ref
        self._workshop = workshop
        self._tell = tell
        self._splitter = ClauseSplitter()
        self._thought_chars = 0
        self._said_chars = 0
        self._spoken_s = 0.0
        self._began_at: float | None = None
        self._opened = False
        self._usage: Usage | None = None
        self._reason: str | None = None
        self._ended = False

    async def run(self, ask: Ask) -> None:
        """Runs to the end. Whatever happens, and also when cancelled, ReplyEnded is told."""
        self._tell(f.ReplyStarted(self._ref))
        try:
            try:
                await self._answer(await ask(False))
            except MindError as problem:
                if problem.code != TOO_LONG or self._opened:
                    raise
                await self._answer(await ask(True))
        except asyncio.CancelledError:
            self._end("cancelled")
            raise
        except MindError as problem:
            self._end("failed", problem.code, str(problem))
        except HarnessError as problem:
            self._end("failed", "reply_failed", str(problem))
        except Exception as problem:  # noqa: BLE001 - a reply's top: it fails, the session goes on
            _log.exception("reply failed")
            self._end("failed", "reply_failed", f"The reply failed: {type(problem).__name__}.")
        else:
            self._end("incomplete" if self._reason else "completed")

    def end_if_cut(self) -> None:
        """A reply that was cancelled before it ran has ended too."""
        self._end("cancelled")

    def _end(
        self, status: Literal["completed", "incomplete", "failed", "cancelled"], code: str = "", message: str = ""
    ) -> None:
        if self._ended:
            return
        self._ended = True
        error: Json | None = {"type": "server_error", "code": code, "message": message} if code else None
        reason = self._reason if status == "incomplete" else None
        self._tell(f.ReplyEnded(self._ref, status, self._usage, reason, error))

    async def _answer(self, request: ChatRequest) -> None:
        """Thinks and speaks side by side: the mind goes on with the text while its beginning is spoken."""
        out: asyncio.Queue[_Out] = asyncio.Queue()  # bounded by MAX_ANSWER_CHARS: the mind need not wait for the voice
        thinking = asyncio.create_task(self._think(request, out))
        try:
            while (piece := await out.get()) is not None:
                await self._give(piece)
            await thinking
        finally:
            thinking.cancel()
            await asyncio.gather(thinking, return_exceptions=True)

    async def _think(self, request: ChatRequest, out: asyncio.Queue[_Out]) -> None:
        deadline = asyncio.get_running_loop().time() + DEADLINE_S
        try:
            async with aclosing(self._workshop.mind.complete(request, deadline)) as chunks:
                async for chunk in chunks:
                    self._take(chunk, out)
            self._flush(out)
        finally:
            out.put_nowait(None)

    def _take(self, chunk: ChatChunk, out: asyncio.Queue[_Out]) -> None:
        match chunk:
            case TextDelta():
                self._thought_chars += len(chunk.text)
                if self._thought_chars > MAX_ANSWER_CHARS:
                    raise MindError(
                        f"Expected an answer within max_tokens; the mind wrote more than {MAX_ANSWER_CHARS:,} characters. "
                        "Does its server keep to max_tokens?",
                        code="bad_answer",
                    )
                pieces = [chunk.text] if self._order.plan.modality == "text" else self._splitter.feed(chunk.text)
                for piece in pieces:
                    out.put_nowait(piece)
            case CallMade():
                self._flush(out)
                out.put_nowait(chunk.call)
            case Finished():
                self._usage = _usage(chunk.usage)
                self._reason = "max_output_tokens" if chunk.reason == "length" else None

    def _flush(self, out: asyncio.Queue[_Out]) -> None:
        for clause in self._splitter.flush():
            out.put_nowait(clause)

    async def _give(self, piece: str | ToolCall) -> None:
        if isinstance(piece, ToolCall):
            self._tell(f.CallOut(self._ref, piece.call_id, piece.name, piece.arguments))
            return
        spoken = self._order.plan.modality == "audio"
        if not self._opened:
            self._opened = True
            self._tell(f.PartStarted(self._ref, 0, "audio" if spoken else "text"))
        self._tell(f.TextOut(self._ref, 0, piece))
        if spoken:
            await self._say(piece)

    async def _say(self, clause: str) -> None:
        before, self._said_chars = self._said_chars, self._said_chars + len(clause)
        plan = self._order.plan
        async with aclosing(self._workshop.speak(clause, plan.speed, plan.voice)) as chunks:
            async for chunk in chunks:
                self._tell(f.AudioOut(self._ref, 0, chunk.pcm, before + chunk.text_end))
                await self._keep_pace(len(chunk.pcm))

    async def _keep_pace(self, size_bytes: int) -> None:
        now = asyncio.get_running_loop().time()
        self._began_at = now if self._began_at is None else self._began_at
        self._spoken_s += size_bytes / (BYTES_PER_SAMPLE * RATE_HZ)
        ahead_s = self._spoken_s - (now - self._began_at)
        if ahead_s > AHEAD_S:
            await asyncio.sleep(ahead_s - AHEAD_S)


def _usage(usage: MindUsage) -> Usage:
    """The mind reads and writes text only, and says so; what it did not read again is `cached`."""
    return Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        input_text_tokens=usage.input_tokens,
        cached_tokens=usage.cached_tokens,
        output_text_tokens=usage.output_tokens,
    )
