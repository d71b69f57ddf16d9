"""One reply: the mind's words, cut into clauses, spoken as they come. Ends with exactly one ReplyEnded."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import aclosing
from typing import Literal

import structlog

from realtime_harness.engines.local.clauses import ClauseSplitter
from realtime_harness.engines.local.workshop import Workshop
from realtime_harness.errors import HarnessError, MindError
from realtime_harness.minds.mind import CallMade, ChatChunk, ChatRequest, Finished, MindUsage, TextDelta
from realtime_harness.realtime import facts as f
from realtime_harness.realtime.orders import Reply
from realtime_harness.realtime.pcm import BYTES_PER_SAMPLE, RATE_HZ
from realtime_harness.realtime.responses import Usage

DEADLINE_S = 45.0  # of the mind, for a whole reply; `Conversation` gives up after 60 s of nothing
AHEAD_S = 20.0  # of speech made before it can have been heard: the bound on what a reply keeps in memory
_log = structlog.get_logger(__name__)

Tell = Callable[[f.Fact], None]


class ReplyWork:
    """Carries out one Reply order."""

    def __init__(self, order: Reply, workshop: Workshop, tell: Tell) -> None:
        self._order = order
        self._ref = order.ref
        self._workshop = workshop
        self._tell = tell
        self._splitter = ClauseSplitter()
        self._said_chars = 0
        self._spoken_s = 0.0
        self._began = 0.0
        self._opened = False
        self._usage: Usage | None = None
        self._ended = False

    def end_if_not_run(self) -> None:
        """A reply that was cancelled before it ran has ended too."""
        if not self._ended:
            self._end(f.ReplyEnded(self._ref, "cancelled"))

    def _end(self, fact: f.ReplyEnded) -> None:
        self._ended = True
        self._tell(fact)

    async def run(self, request: Callable[[], ChatRequest]) -> None:
        """Runs to the end. Whatever happens, and also when cancelled, ReplyEnded is told."""
        status: Literal["completed", "incomplete", "failed", "cancelled"] = "cancelled"
        reason: str | None = None
        error: dict[str, object] | None = None
        try:
            reason = await self._answer(request())
            status = "incomplete" if reason else "completed"
        except asyncio.CancelledError:
            raise
        except MindError as problem:
            status, error = "failed", {"type": "server_error", "code": problem.code, "message": str(problem)}
        except HarnessError as problem:
            status, error = "failed", {"type": "server_error", "code": "reply_failed", "message": str(problem)}
        except Exception as problem:  # noqa: BLE001 - a reply's top: it fails, the session goes on
            _log.exception("reply failed")
            message = f"The reply failed: {type(problem).__name__}."
            status, error = "failed", {"type": "server_error", "code": "reply_failed", "message": message}
        finally:
            self._end(f.ReplyEnded(self._ref, status, self._usage, reason, error))

    async def _answer(self, request: ChatRequest) -> str | None:
        """The reason why the answer is incomplete, None when it is whole."""
        deadline = asyncio.get_running_loop().time() + DEADLINE_S
        reason: str | None = None
        stream = self._workshop.mind.complete(request, deadline)
        async with aclosing(stream) as chunks:
            async for chunk in chunks:
                reason = await self._take(chunk) or reason
        for clause in self._splitter.flush():
            await self._say(clause)
        return reason

    async def _take(self, chunk: ChatChunk) -> str | None:
        match chunk:
            case TextDelta():
                if self._order.plan.modality == "text":
                    self._open("text")
                    self._tell(f.TextOut(self._ref, 0, chunk.text))
                else:
                    for clause in self._splitter.feed(chunk.text):
                        await self._say(clause)
            case CallMade():
                call = chunk.call
                self._tell(f.CallOut(self._ref, call.call_id, call.name, call.arguments))
            case Finished():
                self._usage = _usage(chunk.usage)
                if chunk.reason == "length":
                    return "max_output_tokens"
        return None

    async def _say(self, clause: str) -> None:
        self._open("audio")
        self._tell(f.TextOut(self._ref, 0, clause))
        before, self._said_chars = self._said_chars, self._said_chars + len(clause)
        async with aclosing(self._workshop.speak(clause, self._order.plan.speed)) as pieces:
            async for piece in pieces:
                self._tell(f.AudioOut(self._ref, 0, piece.pcm, before + piece.text_end))
                await self._keep_pace(len(piece.pcm))

    async def _keep_pace(self, size_bytes: int) -> None:
        now = time.monotonic()
        self._began = self._began or now
        self._spoken_s += size_bytes / (BYTES_PER_SAMPLE * RATE_HZ)
        ahead_s = self._spoken_s - (now - self._began)
        if ahead_s > AHEAD_S:
            await asyncio.sleep(ahead_s - AHEAD_S)

    def _open(self, kind: Literal["audio", "text"]) -> None:
        if not self._opened:
            self._opened = True
            self._tell(f.PartStarted(self._ref, 0, kind))


def _usage(usage: MindUsage) -> Usage:
    """The mind reads and writes text only, and says so; what it did not read again is `cached`."""
    return Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        input_text_tokens=usage.input_tokens,
        cached_tokens=usage.cached_tokens,
        output_text_tokens=usage.output_tokens,
    )
