"""UHP Core over tasks: discovery, harnesses, models, responses, sessions. A codec: what it means is in `tasks`.

Source: UHP 2026-10-04 and 2026-08-11. What is not there is not claimed (`uhp/versions.py`).
"""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping

import orjson
import structlog
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from realtime_harness import __version__
from realtime_harness.errors import InvalidEvent
from realtime_harness.realtime.wire import Json, load_object
from realtime_harness.record import StoredSession
from realtime_harness.serve.auth import KeyRing, key_of
from realtime_harness.tasks import Harness, Started, Tasks
from realtime_harness.tasks.running import RunningTask
from realtime_harness.uhp.errors import UhpError
from realtime_harness.uhp.request import read_request
from realtime_harness.uhp.versions import DEFAULT_VERSION, HEADER, discovery, negotiated

BASE = "realtime"
BACKEND = "realtime_harness"
KEEP_ALIVE_S = 15.0
METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"]  # any other is answered by the framework
MAX_BODY_BYTES = 4 * 1024 * 1024
MAX_KEY_CHARS = 255
PAGE, MAX_PAGE = 20, 100
_log = structlog.get_logger(__name__)

Handler = Callable[[Request, str], Awaitable[Response]]


class UhpEndpoint:
    """All of UHP Core. `openai_models` are added to the catalogue that OpenAI's clients read at the same path."""

    def __init__(self, tasks: Tasks, keys: KeyRing, openai_models: Callable[[], list[Json]] = list) -> None:
        self._tasks = tasks
        self._keys = keys
        self._openai_models = openai_models

    def routes(self) -> list[BaseRoute]:
        """Everything below /v1 that is UHP's."""
        table: list[tuple[str, str, Handler]] = [
            ("GET", "/v1/harnesses", self._harnesses),
            ("GET", "/v1/harnesses/{id}", self._harness),
            ("GET", "/v1/harnesses/{id}/models", self._harness_models),
            ("GET", "/v1/models", self._models),
            ("POST", "/v1/responses", self._create),
            ("GET", "/v1/responses/{id}", self._read),
            ("DELETE", "/v1/responses/{id}", self._delete),
            ("GET", "/v1/responses/{id}/input_items", self._input_items),
            ("POST", "/v1/responses/{id}/cancel", self._cancel),
            ("GET", "/v1/sessions", self._sessions),
            ("GET", "/v1/sessions/{id}", self._session),
            ("GET", "/v1/sessions/{id}/turns", self._turns),
            ("POST", "/v1/sessions/{id}/cancel", self._cancel_session),
            ("DELETE", "/v1/sessions/{id}", self._delete_session),
            ("DELETE", "/v1/traces/{id}", self._delete_session),
        ]
        by_path: dict[str, dict[str, Handler]] = {}
        for method, path, handler in table:
            by_path.setdefault(path, {})[method] = handler
        routes: list[BaseRoute] = [Route("/v1/uhp", self._discovery)]
        return [*routes, *(Route(path, self._served(handlers), methods=METHODS) for path, handlers in by_path.items())]

    def _served(self, handlers: Mapping[str, Handler]) -> Callable[[Request], Awaitable[Response]]:
        """A path: its version, its key, its method; and every failure in UHP's envelope."""

        async def serve(request: Request) -> Response:
            version = DEFAULT_VERSION
            try:
                version = negotiated(request.headers.get(HEADER))
                owner = self._owner(request)
                handler = handlers.get(request.method)
                if handler is None:
                    raise UhpError("rth_method_not_allowed", f"This path takes {', '.join(handlers)}.")
                response = await handler(request, owner)
            except UhpError as problem:
                response = _json(problem.to_json(), problem.status)
                if problem.status == 503:
                    response.headers["retry-after"] = "5"
            except Exception:  # noqa: BLE001 - a request's top: it failed, and nothing of ours is shown
                _log.exception("request failed", path=request.url.path)
                response = _json(UhpError("rth_internal", "Something failed inside the server.").to_json(), 500)
            response.headers[HEADER] = version
            return response

        return serve

    def _owner(self, request: Request) -> str:
        owner = self._keys.owner_of(request)
        if owner is None:
            if key_of(request) is None:
                raise UhpError("missing_credential", "A key is needed: Authorization: Bearer KEY.")
            raise UhpError("invalid_credential", "The key is not known.")
        return owner

    async def _discovery(self, request: Request) -> Response:
        try:
            version = negotiated(request.headers.get(HEADER))
            response = _json(discovery("realtime-harness", __version__))
        except UhpError as problem:
            version, response = DEFAULT_VERSION, _json(problem.to_json(), problem.status)
        response.headers[HEADER] = version
        return response

    # Harnesses and models.

    async def _harnesses(self, _request: Request, _owner: str) -> Response:
        return _json({"harnesses": [_harness(each) for each in self._tasks.harnesses.values()]})

    async def _harness(self, request: Request, _owner: str) -> Response:
        return _json(_harness(self._tasks.harness(request.path_params["id"])))

    async def _harness_models(self, request: Request, _owner: str) -> Response:
        harness = self._tasks.harness(request.path_params["id"])
        told = {"harness_id": harness.id, "backend": BACKEND, "default": harness.model, "models": [_model(harness)]}
        return _json(told)

    async def _models(self, _request: Request, _owner: str) -> Response:
        """One body for both: `object` and `data` are OpenAI's, `backends` is UHP's."""
        harnesses = list(self._tasks.harnesses.values())
        backends: Json = {}
        if harnesses:
            models = {harness.model: _model(harness) for harness in harnesses}
            backends[BACKEND] = {"default": harnesses[0].model, "models": list(models.values())}
        return _json({"object": "list", "data": self._openai_models(), "backends": backends})

    # Responses.

    async def _create(self, request: Request, owner: str) -> Response:
        body = await _body(request)
        try:
            asked = read_request(load_object(body))
        except InvalidEvent as wrong:
            raise UhpError("invalid_input", wrong.message) from None
        key = request.headers.get("idempotency-key") or None
        if key is not None and len(key) > MAX_KEY_CHARS:
            raise UhpError(
                "invalid_input", f"An Idempotency-Key has at most {MAX_KEY_CHARS} characters.", param="Idempotency-Key"
            )
        started = await self._tasks.start(owner, asked, key, body)
        if asked.stream:
            events = self._events(started, _after(request))
            return StreamingResponse(events, media_type="text/event-stream", headers={"cache-control": "no-cache"})
        if asked.background:
            return _json((await self._tasks.response(owner, started.response_id)).body)
        return _json(await self._tasks.wait(owner, started.response_id))

    async def _events(self, started: Started, after: int) -> AsyncGenerator[bytes]:
        """A task's events as they are recorded. Whoever goes away is not missed: the task goes on."""
        running = started.running
        if running is None:
            for event in await self._tasks.happened(started.response_id, after):
                yield _sse(event)
            return
        async for event in _kept_alive(running, after):
            yield event

    async def _read(self, request: Request, owner: str) -> Response:
        response_id = request.path_params["id"]
        stored = await self._tasks.response(owner, response_id)
        if request.query_params.get("stream") == "true":
            started = Started(response_id, self._tasks.running(response_id))
            events = self._events(started, _after(request))
            return StreamingResponse(events, media_type="text/event-stream", headers={"cache-control": "no-cache"})
        return _json(stored.body)

    async def _input_items(self, request: Request, owner: str) -> Response:
        stored = await self._tasks.response(owner, request.path_params["id"])
        return _json({"object": "list", "data": stored.input})

    async def _cancel(self, request: Request, owner: str) -> Response:
        return _json(await self._tasks.cancel(owner, request.path_params["id"]))

    async def _delete(self, request: Request, owner: str) -> Response:
        response_id = request.path_params["id"]
        await self._tasks.delete_response(owner, response_id)
        return _json({"id": response_id, "deleted": True})

    # Sessions.

    async def _sessions(self, request: Request, owner: str) -> Response:
        limit = _limit(request.query_params.get("limit"))
        before = _cursor(request.query_params.get("cursor"))
        found = await self._tasks.list_sessions(owner, limit + 1, before, request.query_params.get("harness"))
        page = found[:limit]
        cursor = _as_cursor(page[-1]) if len(found) > limit else None
        return _json({"sessions": [_session(each) for each in page], "next_cursor": cursor})

    async def _session(self, request: Request, owner: str) -> Response:
        return _json(_session(await self._tasks.session(owner, request.path_params["id"])))

    async def _turns(self, request: Request, owner: str) -> Response:
        turns = await self._tasks.turns(owner, request.path_params["id"])
        return _json({"turns": [_turn(each.body, each.input) for each in turns]})

    async def _cancel_session(self, request: Request, owner: str) -> Response:
        session = await self._tasks.session(owner, request.path_params["id"])
        await self._tasks.cancel_session(session.id)
        return _json({"id": session.id, "status": "idle"})

    async def _delete_session(self, request: Request, owner: str) -> Response:
        session = await self._tasks.session(owner, request.path_params["id"])
        await self._tasks.delete_session(owner, session.id)
        return _json({"id": session.id, "deleted": True})


async def _kept_alive(running: RunningTask, after: int) -> AsyncGenerator[bytes]:
    events = running.follow(after)
    waiting: asyncio.Future[Json] | None = None
    try:
        while True:
            waiting = waiting or asyncio.ensure_future(anext(events))
            done, _ = await asyncio.wait((waiting,), timeout=KEEP_ALIVE_S)
            if not done:
                yield b": keep-alive\n\n"
                continue
            try:
                event = waiting.result()
            except StopAsyncIteration:
                return
            waiting = None
            yield _sse(event)
    finally:
        if waiting is not None:
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
        await events.aclose()


async def _body(request: Request) -> bytes:
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > MAX_BODY_BYTES:
            raise UhpError(
                "rth_body_too_large",
                f"A request has at most {MAX_BODY_BYTES} bytes.",
                detail={"max_bytes": MAX_BODY_BYTES},
            )
        parts.append(part)
    return b"".join(parts)


def _sse(event: Json) -> bytes:
    return b"data: " + orjson.dumps(event) + b"\n\n"


def _after(request: Request) -> int:
    """The sequence number behind which to go on: of `Last-Event-ID`."""
    value = request.headers.get("last-event-id", "").strip()
    return int(value) if value.isdigit() and len(value) < 10 else -1


def _json(value: Json, status: int = 200) -> Response:
    return Response(orjson.dumps(value), status, media_type="application/json; charset=utf-8")


def _harness(harness: Harness) -> Json:
    told: Json = {
        "id": harness.id,
        "object": "harness",
        "name": harness.name,
        "base": BASE,
        "baseLabel": "Realtime Harness",
        "defaultModel": harness.model,
        "mcpServers": [],
        "skills": [],
        "plugins": [],
        "disabledTools": [],
        "maxStep": None,
        "timeoutSeconds": int(harness.timeout_s),
        "createdAt": harness.created_at_ms,
    }
    return {**told, "systemPrompt": harness.instructions} if harness.instructions else told


def _model(harness: Harness) -> Json:
    return {"id": harness.model, "label": harness.model, "backend": BACKEND, "available": True, "default": True}


def _session(session: StoredSession) -> Json:
    return {
        "id": session.id,
        "object": "session",
        "harness_id": session.harness_id,
        "title": session.title,
        "status": "running" if session.busy else "idle",
        "created_at": session.created_at,
        "updated_at": session.updated_at,
    }


def _turn(body: Json, asked: list[Json]) -> Json:
    user = "\n".join(part["text"] for item in asked for part in item["content"])
    said = "".join(part["text"] for item in body["output"] for part in item.get("content", ()))
    return {"id": body["id"], "status": body["status"], "user": user, "assistant": said, "tools": [], "files": []}


def _limit(value: str | None) -> int:
    if value is None:
        return PAGE
    if not value.isdigit() or not 1 <= int(value[:6]) <= MAX_PAGE:
        raise UhpError("invalid_input", f"Expected a limit from 1 to {MAX_PAGE}; got {value[:20]!r}.", param="limit")
    return int(value)


def _cursor(value: str | None) -> tuple[int, str] | None:
    if not value:
        return None
    try:
        at, _, session_id = base64.urlsafe_b64decode(value.encode()).decode().partition(":")
        return int(at), session_id
    except (binascii.Error, ValueError):
        raise UhpError("invalid_input", "The cursor is none that this server gave.", param="cursor") from None


def _as_cursor(session: StoredSession) -> str:
    return base64.urlsafe_b64encode(f"{session.updated_at}:{session.id}".encode()).decode()
