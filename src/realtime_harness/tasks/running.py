"""One task at work: its call, its turn, and everybody who follows it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import Any

import structlog

from realtime_harness.call import CallPlan, Calls, Grant
from realtime_harness.errors import Refused
from realtime_harness.realtime import events as e
from realtime_harness.record import Record
from realtime_harness.tasks.surface import TaskSurface
from realtime_harness.uhp.turn import Turn

FLUSH_S = 0.025  # what happens within so much time is one write
CLOSE_S = 10.0
_log = structlog.get_logger(__name__)
Json = dict[str, Any]


class RunningTask:
    """Runs one turn. Events are told to followers once they are in the record."""

    def __init__(self, turn: Turn, record: Record, timeout_s: float) -> None:
        self.turn = turn
        self._record = record
        self._timeout_s = timeout_s
        self._told: list[Json] = []
        self._waiting: list[Json] = []
        self._news = asyncio.Condition()
        self._surface: TaskSurface | None = None
        self._stop: asyncio.Event = asyncio.Event()
        self.over = asyncio.Event()

    @property
    def id(self) -> str:
        """The response's id."""
        return self.turn.response["id"]

    async def follow(self, after: int = -1) -> AsyncGenerator[Json]:
        """Its events from that sequence number on, as they are written, to the last."""
        place = after + 1
        while True:
            async with self._news:
                while len(self._told) <= place and not self.over.is_set():
                    await self._news.wait()
            for event in self._told[place:]:
                yield event
                place += 1
            if self.over.is_set() and place >= len(self._told):
                return

    def cancel(self) -> None:
        """Stops it: it ends `cancelled`."""
        self._stop.set()

    async def run(self, calls: Calls, plan: CallPlan, asked: tuple[e.ClientEvent, ...]) -> None:
        """To its end, whatever happens; then it is over for all who follow it."""
        try:
            self._happen(self.turn.begin())
            await self._write()
            try:
                async with asyncio.timeout(self._timeout_s):
                    await self._answer(calls, plan, asked)
            except TimeoutError:
                self._happen(self.turn.end("incomplete", incomplete="timeout_seconds"))
        except asyncio.CancelledError:
            self._fail("harness_error", "The server stopped before the answer was whole.")
            raise
        except Exception:  # noqa: BLE001 - a task's top: it fails, the others go on
            _log.exception("task failed", response_id=self.id)
            self._fail("harness_error", "Something failed inside the harness.")
        finally:
            self._fail("harness_error", "The answer ended without a result.")  # has no effect on one that has ended
            with suppress(Exception):
                await asyncio.shield(self._write())
            self.over.set()
            async with self._news:
                self._news.notify_all()

    async def _answer(self, calls: Calls, plan: CallPlan, asked: tuple[e.ClientEvent, ...]) -> None:
        stopped = asyncio.ensure_future(self._stop.wait())
        try:
            call_id = await calls.start(plan, Grant.OPEN)
        except Refused as refused:
            stopped.cancel()
            self._fail("harness_error", str(refused))
            return
        surface = TaskSurface(asked)
        attached = asyncio.create_task(calls.attach(call_id, surface), name=f"task {self.id}")
        try:
            while not self.turn.ended:
                heard = asyncio.ensure_future(surface.next())
                done, _ = await asyncio.wait((heard, stopped), return_when=asyncio.FIRST_COMPLETED)
                if stopped in done:
                    heard.cancel()
                    surface.cancel()
                    self._happen(self.turn.end("cancelled"))
                    break
                event = heard.result()
                if event is None:
                    self._fail("harness_error", f"The engine's session ended: {surface.why_closed}")
                    break
                self._hear(event)
                await self._write()
        finally:
            stopped.cancel()
            surface.hang_up()
            await self._write()
            await asyncio.wait((attached,), timeout=CLOSE_S)
            await calls.close(call_id, "the task is over")

    def _hear(self, event: e.ServerEvent) -> None:
        match event:
            case e.OutputTextDelta():
                self._happen(self.turn.text(event.delta))
            case e.ResponseDone():
                self._done(event.response)
            case e.ErrorEvent():
                self._fail("provider_error", str(event.error.get("message") or "The engine refused the request."))
            case _:
                pass

    def _done(self, response: Json) -> None:
        usage = _usage(response.get("usage"))
        match response.get("status"):
            case "completed":
                self._happen(self.turn.end("completed", usage=usage))
            case "incomplete":
                details: Json = response.get("status_details") or {}
                self._happen(
                    self.turn.end(
                        "incomplete", usage=usage, incomplete=str(details.get("reason") or "max_output_tokens")
                    )
                )
            case "cancelled":
                self._happen(self.turn.end("cancelled", usage=usage))
            case _:
                details = response.get("status_details") or {}
                error: Json = details.get("error") or {}
                self._fail("provider_error", str(error.get("message") or "The engine could not answer."), usage)

    def _fail(self, code: str, message: str, usage: Json | None = None) -> None:
        error = {"type": "harness_error", "code": code, "message": message, "param": None, "detail": None}
        self._happen(self.turn.end("failed", usage=usage, error=error))

    def _happen(self, events: list[Json]) -> None:
        self._waiting += events

    async def _write(self) -> None:
        """Puts down what has happened, then tells it."""
        if not self._waiting:
            return
        if not self.turn.ended:
            await asyncio.sleep(FLUSH_S)
        events, self._waiting = self._waiting, []
        await self._record.write(self.id, events, self.turn.response)
        self._told += events
        async with self._news:
            self._news.notify_all()


def _usage(usage: Json | None) -> Json | None:
    """The engine's own figures, or none: never a zero that was made up."""
    if not usage or usage.get("total_tokens") is None:
        return None
    told: Json = {name: usage[name] for name in ("input_tokens", "output_tokens", "total_tokens") if name in usage}
    for name in ("input_token_details", "output_token_details"):
        details: Json = usage.get(name) or {}
        figures = {key: value for key, value in details.items() if isinstance(value, int)}
        if figures:
            told[name.replace("token_", "tokens_")] = figures
    return told
