"""All tasks of this process: starts them, finds them, recovers those whose process is gone."""

from __future__ import annotations

import asyncio
import hashlib
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import orjson
import structlog

from realtime_harness.call import CallLimits, CallPlan, Calls
from realtime_harness.realtime import events as e
from realtime_harness.realtime.items import Item, read_item
from realtime_harness.realtime.session import Session
from realtime_harness.record import Claim, Record, StoredResponse, StoredSession
from realtime_harness.tasks.harness import Harness
from realtime_harness.tasks.running import RunningTask
from realtime_harness.uhp.errors import UhpError
from realtime_harness.uhp.ids import new_id
from realtime_harness.uhp.request import TaskRequest
from realtime_harness.uhp.turn import TERMINAL_STATUSES, Turn, new_response

LEASE_S = 15.0
RENEW_S = 5.0
KEYS_KEPT_S = 48 * 3600
KEYS_EVERY = 720  # renewals
MAX_TITLE_CHARS = 80
STOP_S = 10.0
INTERRUPTED = "The server stopped in the middle of this answer."
_log = structlog.get_logger(__name__)
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Started:
    """A task that was started, or an earlier one that the same idempotency key had started: then `running` may be None."""

    response_id: str
    running: RunningTask | None


class Tasks:
    """An async context: on leaving it every task has ended and is recorded."""

    def __init__(self, calls: Calls, record: Record) -> None:
        self._calls = calls
        self._record = record
        self._harnesses: Mapping[str, Harness] = {}
        self._lease = secrets.token_hex(16)
        self._running: dict[str, RunningTask] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._keeper: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        await self._recover()
        self._keeper = asyncio.create_task(self._keep(), name="task leases")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._keeper is not None:
            self._keeper.cancel()
            await asyncio.gather(self._keeper, return_exceptions=True)
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=STOP_S)

    def ready(self, harnesses: Mapping[str, Harness]) -> None:
        """From now on tasks may start. The first harness is the default."""
        self._harnesses = harnesses

    @property
    def harnesses(self) -> Mapping[str, Harness]:
        """What is configured, by id."""
        return self._harnesses

    def harness(self, harness_id: str) -> Harness:
        """Raises UhpError (`harness_not_found`)."""
        found = self._harnesses.get(harness_id)
        if found is None:
            raise UhpError("harness_not_found", "There is no such harness.", param="metadata.harness_id")
        return found

    async def start(self, owner: str, request: TaskRequest, key: str | None, asked: bytes) -> Started:
        """Starts a task. `asked` is the request's body, by which one that comes again under `key` is known.

        Raises UhpError: harness_not_found, response_not_found, harness_mismatch, session_busy, model_unavailable, ...
        """
        if not self._harnesses:
            raise UhpError("harness_unavailable", "The server is starting. Try again in some seconds.")
        before, harness = await self._where(owner, request)
        if request.model is not None and request.model not in (harness.model, harness.engine):
            raise UhpError("model_unavailable", f"This harness runs {harness.model}.", param="model")
        session_id = before.session_id if before is not None else new_id("session")
        response = new_response(
            created_at=int(time.time()),
            model=harness.model,
            session_id=session_id,
            harness_id=harness.id,
            previous_response_id=request.previous_response_id,
            store=request.store,
            metadata=dict(request.metadata or {}),
            ignored_fields=request.ignored_fields,
        )
        found = await self._record.claim(
            Claim(
                owner=owner,
                session_id=session_id,
                harness_id=harness.id,
                title=" ".join(request.text.split())[:MAX_TITLE_CHARS],
                body=response,
                input=request.input,
                lease=self._lease,
                lease_until=time.time() + LEASE_S,
                key=key,
                request=hashlib.sha256(asked).hexdigest(),
            )
        )
        if found.other_request:
            raise UhpError(
                "invalid_input", "This Idempotency-Key was used for another request.", param="Idempotency-Key"
            )
        if found.response_id is not None:
            return Started(found.response_id, self._running.get(found.response_id))
        if found.busy:
            raise UhpError("session_busy", "This session is answering already.", param="previous_response_id")
        history = await self._record.turns(session_id) if before is not None else []
        running = RunningTask(Turn(response), self._record, request.timeout_s or harness.timeout_s)
        self._running[running.id] = running
        plan = _plan(harness, request, owner, [turn for turn in history if turn.id != running.id])
        task = asyncio.create_task(running.run(self._calls, plan, _asked(request)), name=f"task {running.id}")
        self._tasks.add(task)
        task.add_done_callback(lambda done: self._ended(running.id, done))
        return Started(running.id, running)

    async def response(self, owner: str, response_id: str) -> StoredResponse:
        """Raises UhpError (`response_not_found`), also for another's."""
        found = await self._record.response(owner, response_id)
        if found is None:
            raise UhpError("response_not_found", "There is no such response.")
        return found

    def running(self, response_id: str) -> RunningTask | None:
        """The task, while it is at work in this process."""
        return self._running.get(response_id)

    async def wait(self, owner: str, response_id: str) -> Json:
        """The response once it has ended."""
        running = self._running.get(response_id)
        if running is not None:
            await running.over.wait()
        return (await self.response(owner, response_id)).body

    async def cancel(self, owner: str, response_id: str) -> Json:
        """Stops a task; the response as it then is. One that has ended stays as it is."""
        stored = await self.response(owner, response_id)
        running = self._running.get(response_id)
        if running is None or stored.body["status"] in TERMINAL_STATUSES:
            return stored.body
        running.cancel()
        return await self.wait(owner, response_id)

    async def happened(self, response_id: str, after: int) -> list[Json]:
        """The recorded events of a response with a higher sequence number."""
        return await self._record.happened(response_id, after)

    async def delete_response(self, owner: str, response_id: str) -> None:
        """Forgets a response; one at work is not stopped by it, and ends unrecorded. Raises UhpError."""
        if not await self._record.delete_response(owner, response_id):
            raise UhpError("response_not_found", "There is no such response.")

    async def session(self, owner: str, session_id: str) -> StoredSession:
        """Raises UhpError (`session_not_found`), also for another's."""
        found = await self._record.session(owner, session_id)
        if found is None:
            raise UhpError("session_not_found", "There is no such session.")
        return found

    async def turns(self, owner: str, session_id: str) -> list[StoredResponse]:
        """A session's responses, oldest first. Raises UhpError."""
        return await self._record.turns((await self.session(owner, session_id)).id)

    async def list_sessions(
        self, owner: str, limit: int, before: tuple[int, str] | None, harness_id: str | None
    ) -> list[StoredSession]:
        """A page of that owner's sessions, the last used first."""
        return await self._record.list_sessions(owner, limit, before, harness_id)

    async def delete_session(self, owner: str, session_id: str) -> None:
        """Stops what it is answering, then forgets all of it."""
        await self.cancel_session(session_id)
        await self._record.delete_session(owner, session_id)

    async def cancel_session(self, session_id: str) -> None:
        """Stops what a session is answering, and waits until it has ended."""
        for turn in await self._record.turns(session_id):
            running = self._running.get(turn.id)
            if running is not None:
                running.cancel()
                await running.over.wait()

    async def _where(self, owner: str, request: TaskRequest) -> tuple[StoredResponse | None, Harness]:
        """The turn that is continued, if one is, and the harness."""
        if request.previous_response_id is None:
            default = next(iter(self._harnesses))
            return None, self.harness(request.harness_id or default)
        before = await self.response(owner, request.previous_response_id)
        harness_id = str(before.body["metadata"]["harness_id"])
        if request.harness_id is not None and request.harness_id != harness_id:
            self.harness(request.harness_id)
            raise UhpError("harness_mismatch", "This session belongs to another harness.", param="metadata.harness_id")
        return before, self.harness(harness_id)

    def _ended(self, response_id: str, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._running.pop(response_id, None)

    async def _keep(self) -> None:
        """Renews this process's lease, and closes what another has left."""
        for number in range(2**62):
            await asyncio.sleep(RENEW_S)
            try:
                await self._record.renew(self._lease, time.time() + LEASE_S)
                await self._recover()
                if number % KEYS_EVERY == 0:
                    await self._record.forget_keys(int(time.time()) - KEYS_KEPT_S)
            except Exception:  # noqa: BLE001 - a task's top: what failed is tried again
                _log.exception("leases could not be kept")

    async def _recover(self) -> None:
        """Closes each task whose process is gone: it failed, and says why. What it had said is kept."""
        for stored in await self._record.abandoned(time.time()):
            if stored.id in self._running:
                continue
            happened = await self._record.happened(stored.id, -1)
            turn = Turn.resumed(stored.body, happened)
            error = {
                "type": "harness_error",
                "code": "harness_error",
                "message": INTERRUPTED,
                "param": None,
                "detail": None,
            }
            events = turn.end("failed", error=error)
            await self._record.write(stored.id, events, turn.response)
            _log.warning("task recovered", response_id=stored.id)


def _plan(harness: Harness, request: TaskRequest, owner: str, history: list[StoredResponse]) -> CallPlan:
    instructions = "\n\n".join(part for part in (harness.instructions, request.instructions or "") if part)
    timeout_s = request.timeout_s or harness.timeout_s
    session = Session(model=harness.model, instructions=instructions, output_modalities=("text",))
    limits = CallLimits(max_duration_s=timeout_s + 30, idle_s=timeout_s + 30)
    return CallPlan(session=session, engine=harness.engine, seed=tuple(_seed(history)), limits=limits, owner=owner)


def _seed(history: list[StoredResponse]) -> list[Item]:
    """What was said before, each turn's two sides."""
    items: list[Item] = []
    for turn in history:
        items += [_message(each) for each in turn.input]
        words = "".join(part["text"] for item in turn.body["output"] for part in item["content"])
        if words:
            content = [{"type": "output_text", "text": words}]
            items.append(read_item({"type": "message", "role": "assistant", "content": content}))
    return items


def _message(item: Json) -> Item:
    role = "system" if item["role"] == "developer" else item["role"]
    kind = "output_text" if role == "assistant" else "input_text"
    content = [{"type": kind, "text": part["text"]} for part in item["content"]]
    return read_item({"type": "message", "role": role, "content": content})


def _asked(request: TaskRequest) -> tuple[e.ClientEvent, ...]:
    items = tuple(
        e.ItemCreate(item=orjson.loads(orjson.dumps(_message(each).model_dump(exclude_unset=True))))
        for each in request.input
    )
    how: Json = {"output_modalities": ["text"]}
    if request.max_output_tokens is not None:
        how["max_output_tokens"] = min(request.max_output_tokens, 4_096)
    return (*items, e.ResponseCreate(response=how))
