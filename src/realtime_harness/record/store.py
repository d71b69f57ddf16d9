"""What is kept and asked for. One thread owns the database; several writes that wait are one transaction.

An object is always asked for with its owner: another's is not there.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from queue import Empty, Queue
from typing import Any, TypeVar

import orjson
import structlog
from sqlalchemy import Connection, Engine, and_, delete, func, insert, select, update

from realtime_harness.errors import HarnessError
from realtime_harness.record.tables import events, idempotency, responses, sessions

T = TypeVar("T")
Json = dict[str, Any]
MAX_BATCH = 200
MAX_WAITING = 10_000
CLOSE_S = 10.0
_log = structlog.get_logger(__name__)


class RecordFailed(HarnessError):
    """The record could not be written or read."""


@dataclass(frozen=True, slots=True)
class StoredSession:
    """A session. Times are Unix seconds; `busy`: one of its responses is in progress."""

    id: str
    harness_id: str
    title: str
    created_at: int
    updated_at: int
    busy: bool


@dataclass(frozen=True, slots=True)
class StoredResponse:
    """A response as it is, and what it was asked."""

    id: str
    session_id: str
    body: Json
    input: list[Json]


@dataclass(frozen=True, slots=True)
class Claim:
    """A new response that a process is about to run. `lease` names the process, `lease_until` is Unix seconds."""

    owner: str
    session_id: str
    harness_id: str
    title: str
    body: Json
    input: Sequence[Json]
    lease: str
    lease_until: float
    key: str | None = None
    request: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """What came of a claim: nothing in its way; the session is busy; or the key was used, for that response."""

    busy: bool = False
    response_id: str | None = None
    other_request: bool = False


_Job = tuple[Callable[[Connection], Any], asyncio.Future[Any], asyncio.AbstractEventLoop]


class Record:
    """The record over a migrated database. Use from one event loop; `close` when done."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._jobs: Queue[_Job | None] = Queue(MAX_WAITING)
        self._thread = threading.Thread(target=self._work, name="record", daemon=True)
        self._thread.start()

    async def close(self) -> None:
        """Writes what waits, then ends the thread and the connections."""
        self._jobs.put(None)
        await asyncio.to_thread(self._thread.join, CLOSE_S)
        self._engine.dispose()

    # Writing.

    async def claim(self, claim: Claim) -> Found:
        """Takes a response into the record, and its session if it is new; or says what is in the way."""

        def work(connection: Connection) -> Found:
            if claim.key is not None:
                used = connection.execute(
                    select(idempotency).where(idempotency.c.owner == claim.owner, idempotency.c.key == claim.key)
                ).first()
                if used is not None:
                    return Found(response_id=used.response_id, other_request=used.request != claim.request)
            now = int(time.time())
            here = connection.execute(select(sessions.c.id).where(sessions.c.id == claim.session_id)).first()
            place = 0
            if here is None:
                connection.execute(
                    insert(sessions).values(
                        id=claim.session_id,
                        owner=claim.owner,
                        harness_id=claim.harness_id,
                        title=claim.title,
                        created_at=now,
                        updated_at=now,
                    )
                )
            else:
                mine = responses.c.session_id == claim.session_id
                if connection.execute(select(responses.c.id).where(mine, responses.c.status == "in_progress")).first():
                    return Found(busy=True)
                last = connection.execute(select(func.max(responses.c.place)).where(mine)).scalar()
                place = 0 if last is None else last + 1
                connection.execute(update(sessions).where(sessions.c.id == claim.session_id).values(updated_at=now))
            connection.execute(
                insert(responses).values(
                    id=claim.body["id"],
                    session_id=claim.session_id,
                    owner=claim.owner,
                    place=place,
                    status=claim.body["status"],
                    input=_text(list(claim.input)),
                    body=_text(claim.body),
                    stored=bool(claim.body.get("store", True)),
                    lease=claim.lease,
                    lease_until=claim.lease_until,
                )
            )
            if claim.key is not None:
                connection.execute(
                    insert(idempotency).values(
                        owner=claim.owner,
                        key=claim.key,
                        response_id=claim.body["id"],
                        request=claim.request,
                        created_at=now,
                    )
                )
            return Found()

        return await self._do(work)

    async def write(self, response_id: str, happened: Sequence[Json], body: Json) -> None:
        """More events of a response, and the response as it is after them."""

        def work(connection: Connection) -> None:
            rows = [
                {"response_id": response_id, "sequence_number": each["sequence_number"], "body": _text(each)}
                for each in happened
            ]
            changed: Json = {"body": _text(body), "status": body["status"]}
            if body["status"] != "in_progress":
                changed |= {"lease": None, "lease_until": None}
            found = connection.execute(update(responses).where(responses.c.id == response_id).values(**changed))
            if found.rowcount and rows:  # one that was deleted meanwhile has no events
                connection.execute(insert(events), rows)

        await self._do(work)

    async def renew(self, lease: str, until: float) -> None:
        """The process that holds `lease` is still there."""
        await self._do(
            lambda connection: connection.execute(
                update(responses).where(responses.c.lease == lease).values(lease_until=until)
            )
        )

    async def abandoned(self, now: float) -> list[StoredResponse]:
        """Responses in progress whose process is gone: their lease ran out."""
        running = and_(responses.c.status == "in_progress", responses.c.lease_until < now)
        return await self._do(
            lambda connection: [_response(row) for row in connection.execute(select(responses).where(running))]
        )

    async def delete_response(self, owner: str, response_id: str) -> bool:
        """Forgets a response. False where there is none of that owner's."""
        mine = and_(responses.c.id == response_id, responses.c.owner == owner)
        return await self._do(lambda connection: connection.execute(delete(responses).where(mine)).rowcount > 0)

    async def delete_session(self, owner: str, session_id: str) -> bool:
        """Forgets a session and all of it. False where there is none of that owner's."""
        mine = and_(sessions.c.id == session_id, sessions.c.owner == owner)
        return await self._do(lambda connection: connection.execute(delete(sessions).where(mine)).rowcount > 0)

    async def forget_keys(self, before: int) -> None:
        """Idempotency keys older than that (Unix seconds) may be used again."""
        await self._do(
            lambda connection: connection.execute(delete(idempotency).where(idempotency.c.created_at < before))
        )

    # Reading.

    async def response(self, owner: str, response_id: str) -> StoredResponse | None:
        """A response of that owner's."""
        mine = and_(responses.c.id == response_id, responses.c.owner == owner)

        def work(connection: Connection) -> StoredResponse | None:
            row = connection.execute(select(responses).where(mine)).first()
            return None if row is None else _response(row)

        return await self._do(work)

    async def happened(self, response_id: str, after: int) -> list[Json]:
        """The events of a response with a higher sequence number."""
        wanted = and_(events.c.response_id == response_id, events.c.sequence_number > after)
        query = select(events.c.body).where(wanted).order_by(events.c.sequence_number)
        return await self._do(lambda connection: [orjson.loads(row.body) for row in connection.execute(query)])

    async def turns(self, session_id: str) -> list[StoredResponse]:
        """The responses of a session, oldest first."""
        query = select(responses).where(responses.c.session_id == session_id).order_by(responses.c.place)
        return await self._do(lambda connection: [_response(row) for row in connection.execute(query)])

    async def session(self, owner: str, session_id: str) -> StoredSession | None:
        """A session of that owner's."""
        mine = and_(sessions.c.id == session_id, sessions.c.owner == owner)

        def work(connection: Connection) -> StoredSession | None:
            row = connection.execute(_sessions().where(mine)).first()
            return None if row is None else _session(row)

        return await self._do(work)

    async def list_sessions(
        self, owner: str, limit: int, before: tuple[int, str] | None, harness_id: str | None
    ) -> list[StoredSession]:
        """Sessions of that owner's, the last used first, from `before` (when used, and id) on."""
        query = _sessions().where(sessions.c.owner == owner)
        if harness_id is not None:
            query = query.where(sessions.c.harness_id == harness_id)
        if before is not None:
            at, session_id = before
            older = (sessions.c.updated_at < at) | ((sessions.c.updated_at == at) & (sessions.c.id < session_id))
            query = query.where(older)
        query = query.order_by(sessions.c.updated_at.desc(), sessions.c.id.desc()).limit(limit)
        return await self._do(lambda connection: [_session(row) for row in connection.execute(query)])

    # The thread.

    async def _do(self, work: Callable[[Connection], T]) -> T:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._jobs.put_nowait((work, future, loop))
        return await future

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            batch = [job]
            last = False
            while len(batch) < MAX_BATCH:
                try:
                    more = self._jobs.get_nowait()
                except Empty:
                    break
                if more is None:
                    last = True
                    break
                batch.append(more)
            self._run(batch)
            if last:
                return

    def _run(self, batch: list[_Job]) -> None:
        """All of them in one transaction; if that fails, each in its own, so that one's fault is not another's."""
        try:
            with self._engine.begin() as connection:
                done = [(job, job[0](connection)) for job in batch]
        except Exception as problem:  # noqa: BLE001 - the thread's top: the waiting are told, the thread goes on
            if len(batch) > 1:
                for job in batch:
                    self._run([job])
                return
            _log.exception("record failed")
            failed = RecordFailed(f"The record failed: {type(problem).__name__}.")
            failed.__cause__ = problem
            _tell(batch[0], lambda future: future.set_exception(failed))
            return
        for job, value in done:
            _tell(job, lambda future, value=value: future.set_result(value))


def _tell(job: _Job, settle: Callable[[asyncio.Future[Any]], None]) -> None:
    _, future, loop = job

    def on_loop() -> None:
        if not future.done():
            settle(future)

    if not loop.is_closed():
        loop.call_soon_threadsafe(on_loop)


def _sessions() -> Any:
    open_ones = select(responses.c.id).where(
        responses.c.session_id == sessions.c.id, responses.c.status == "in_progress"
    )
    return select(sessions, open_ones.exists().label("busy"))


def _session(row: Any) -> StoredSession:
    return StoredSession(row.id, row.harness_id, row.title, row.created_at, row.updated_at, bool(row.busy))


def _response(row: Any) -> StoredResponse:
    return StoredResponse(row.id, row.session_id, orjson.loads(row.body), orjson.loads(row.input))


def _text(value: Any) -> str:
    return orjson.dumps(value).decode()
