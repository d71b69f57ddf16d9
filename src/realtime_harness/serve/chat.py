"""The model endpoint: OpenAI Chat Completions over a mind, for text agents. Stateless.

Source: agent-spec 0.2.0, `modelEndpoint`: a request with tools is a decision, answered by exactly one valid call.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any

import orjson
import structlog
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from realtime_harness.errors import HarnessError, InvalidEvent, MindError, Refused
from realtime_harness.minds.decision import NO_DECISION, Decision, decide, last_words
from realtime_harness.minds.mind import ChatMessage, ChatRequest, Finished, Mind, MindUsage, TextDelta
from realtime_harness.realtime.wire import Json, load_object
from realtime_harness.serve.auth import KeyRing
from realtime_harness.serve.chat_request import ChatAsked, read_chat
from realtime_harness.serve.decision_desk import DecisionDesk
from realtime_harness.serve.journal import Journal

MAX_BODY_BYTES = 32 * 1024 * 1024
DECISION_S = 55.0  # a platform waits 60 s by default (agent-spec 0.2.0, `requestTimeoutMs`)
DECISION_HEADER = "x-rth-decision"
_STATUS: Mapping[str, int] = {"deadline": 504, "context_length_exceeded": 400, "closed": 503, "no_tool": 400}
_log = structlog.get_logger(__name__)

Look = Callable[[str], Awaitable[str]]  # a data URL to what can be told of the image, in words


@dataclass(frozen=True, slots=True)
class ServedMind:
    """A mind that is served by name. `look`: for one that does not see, who tells it of images; `at_once`: how many
    requests it answers side by side."""

    mind: Mind
    at_once: int
    look: Look | None = None


class _HttpError(HarnessError):
    """An answer that is an error, in OpenAI's shape."""

    def __init__(self, status: int, kind: str, code: str, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.error: Json = {"message": message, "type": kind, "param": param, "code": code}


class ChatEndpoint:
    """/v1/models and /v1/chat/completions. The first mind served is the default; an unknown model's name means it."""

    def __init__(self, keys: KeyRing, journal: Journal | None = None, decision_s: float = DECISION_S) -> None:
        self._keys = keys
        self._journal = journal
        self._decision_s = decision_s
        self._minds: dict[str, ServedMind] = {}
        self._desks: dict[str, DecisionDesk] = {}
        self._began = int(time.time())

    def serve(self, minds: Mapping[str, ServedMind]) -> None:
        """The minds are loaded: from now on they answer."""
        self._minds = dict(minds)
        self._desks = {name: DecisionDesk(served.at_once) for name, served in minds.items()}

    def routes(self) -> list[BaseRoute]:
        """All of them, below /v1."""
        return [
            Route("/v1/models", self.models),
            Route("/v1/models/{name:path}", self.model),
            Route("/v1/chat/completions", self.complete, methods=["POST"]),
        ]

    def listed(self) -> list[Json]:
        """What may be asked for, the default first: the `data` of /v1/models."""
        return [self._model(name) for name in self._minds]

    async def models(self, request: Request) -> Response:
        """What may be asked for; the default first."""
        try:
            self._owner(request)
        except _HttpError as refused:
            return _failed(refused)
        return _answer({"object": "list", "data": self.listed()})

    async def model(self, request: Request) -> Response:
        """One of them."""
        try:
            self._owner(request)
            name = str(request.path_params["name"])
            if name not in self._minds:
                raise _HttpError(404, "invalid_request_error", "model_not_found", f"There is no model {name[:80]!r}.")
        except _HttpError as refused:
            return _failed(refused)
        return _answer(self._model(name))

    async def complete(self, request: Request) -> Response:
        """One answer. With tools: a decision."""
        start = time.monotonic()
        deadline = asyncio.get_running_loop().time() + self._decision_s
        try:
            owner = self._owner(request)
            body = await _body(request)
            asked = read_chat(load_object(body))
            name, served = self._served(asked.model)
        except InvalidEvent as wrong:
            kind = "invalid_request_error"
            return _failed(_HttpError(400, kind, wrong.code or "invalid_json", wrong.message, wrong.param))
        except _HttpError as refused:
            return _failed(refused)
        entry: Json = {
            "at": round(time.time(), 3),
            "owner": owner,
            "model": name,
            "request": hashlib.sha256(body).hexdigest(),
            "tools": [tool.name for tool in asked.request.tools],
        }
        if asked.stream and (not asked.request.tools or asked.request.tool_choice == "none"):
            pieces = self._spoken(name, served, asked, deadline, entry, start)
            return StreamingResponse(pieces, media_type="text/event-stream", headers={"cache-control": "no-store"})
        try:
            decision = await self._decided(name, served, asked.request, deadline)
        except (MindError, Refused) as problem:
            error = _http_error(problem)
            self._note(entry, start, outcome=str(error.error["code"]), status=error.status)
            return _failed(error)
        self._note(entry, start, outcome="decided" if decision.call else "text", status=200, decision=decision)
        headers = {DECISION_HEADER: _told(decision)}
        if not asked.stream:
            return _answer(_completion(name, decision), headers)
        chunks = _chunks(name, decision, usage=asked.stream_usage)
        return StreamingResponse(chunks, media_type="text/event-stream", headers=headers)

    async def _decided(self, name: str, served: ServedMind, request: ChatRequest, deadline: float) -> Decision:
        if request.tools and request.tool_choice != "none" and request.max_tokens == 1:
            # A connection test: one token is no room for a call, and is not worth a mind's time.
            return Decision(None, "", "length", MindUsage(0, 0, 0), 0, ())
        async with self._desks[name].turn(deadline):
            return await decide(served.mind, await _readable(served, request, deadline), deadline)

    async def _spoken(
        self, name: str, served: ServedMind, asked: ChatAsked, deadline: float, entry: Json, start: float
    ) -> AsyncGenerator[bytes]:
        """A text answer as it is made."""
        stamp = _Stamp(name)
        usage, reason = MindUsage(0, 0, 0), "stop"
        try:
            async with self._desks[name].turn(deadline):
                request = await _readable(served, asked.request, deadline)
                yield stamp.event({"role": "assistant", "content": ""})
                async with aclosing(served.mind.complete(request, deadline)) as chunks:
                    async for chunk in chunks:
                        match chunk:
                            case TextDelta():
                                yield stamp.event({"content": chunk.text})
                            case Finished():
                                usage, reason = chunk.usage, chunk.reason
                            case _:
                                pass
        except (MindError, Refused) as problem:
            error = _http_error(problem)
            self._note(entry, start, outcome=str(error.error["code"]), status=error.status)
            yield b"data: " + orjson.dumps({"error": error.error}) + b"\n\n"
            return
        yield stamp.event({}, reason)
        if asked.stream_usage:
            yield stamp.last(usage)
        yield b"data: [DONE]\n\n"
        self._note(entry, start, outcome="text", status=200, decision=Decision(None, "", "stop", usage, 1, ()))

    def _owner(self, request: Request) -> str:
        owner = self._keys.owner_of(request)
        if owner is None:
            message = "The key is wrong or missing: expected `Authorization: Bearer KEY`."
            raise _HttpError(401, "authentication_error", "invalid_api_key", message)
        return owner

    def _served(self, model: str | None) -> tuple[str, ServedMind]:
        if not self._minds:
            raise _HttpError(503, "server_error", "starting", "The model is being loaded. Try again in some seconds.")
        name = model if model in self._minds else next(iter(self._minds))
        return name, self._minds[name]

    def _model(self, name: str) -> Json:
        return {
            "id": name,
            "object": "model",
            "created": self._began,
            "owned_by": "realtime-harness",
            "at_once": self._minds[name].at_once,
        }

    def _note(self, entry: Json, start: float, *, outcome: str, status: int, decision: Decision | None = None) -> None:
        entry |= {"outcome": outcome, "status": status, "latencyMs": round((time.monotonic() - start) * 1000)}
        if decision is not None:
            entry |= {
                "tool": decision.call.name if decision.call else None,
                "tries": decision.tries,
                "repairs": list(decision.repairs),
                "inputTokens": decision.usage.input_tokens,
                "outputTokens": decision.usage.output_tokens,
            }
        _log.info("decision", **entry)
        if self._journal is not None:
            self._journal.write(entry)


async def _body(request: Request) -> bytes:
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > MAX_BODY_BYTES:
            message = f"Expected a body of at most {MAX_BODY_BYTES} bytes; got more."
            raise _HttpError(413, "invalid_request_error", "request_too_large", message)
        parts.append(part)
    return b"".join(parts)


async def _readable(served: ServedMind, request: ChatRequest, deadline: float) -> ChatRequest:
    """The request as this mind can read it: images told in words to one that does not see. Raises MindError."""
    request = replace(request, question=last_words(request.messages))
    if served.look is None:
        return request
    try:
        async with asyncio.timeout_at(deadline):
            return await _told_in_words(request, served.look)
    except TimeoutError:
        raise MindError("the images could not be looked at in time", code="deadline") from None


async def _told_in_words(request: ChatRequest, look: Look) -> ChatRequest:
    messages: list[ChatMessage] = []
    for message in request.messages:
        told = [
            f"Image {number} of {len(message.images)} (as a simple program describes it): {await look(url)}"
            for number, url in enumerate(message.images, 1)
        ]
        messages.append(replace(message, text="\n".join([*told, message.text]), images=()) if told else message)
    return replace(request, messages=tuple(messages))


def _http_error(problem: MindError | Refused) -> _HttpError:
    if isinstance(problem, Refused):
        return _HttpError(503, "server_error", problem.reason, str(problem))
    status = _STATUS.get(problem.code, 502)
    kind = "invalid_request_error" if status == 400 else "server_error"
    code = problem.code if problem.code in (*_STATUS, NO_DECISION) else "upstream_failed"
    return _HttpError(status, kind, code, str(problem))


def _told(decision: Decision) -> str:
    """What happened, for a header: how often the mind was asked, and what was put right."""
    repairs = ", ".join(decision.repairs) or "none"
    return f"tries={decision.tries}; repairs={repairs}"[:500].encode("ascii", "replace").decode()


def _message(decision: Decision) -> Json:
    if decision.call is None:
        return {"role": "assistant", "content": decision.text, "refusal": None}
    function = {"name": decision.call.name, "arguments": decision.call.arguments}
    call = {"id": decision.call.call_id, "type": "function", "function": function}
    return {"role": "assistant", "content": None, "refusal": None, "tool_calls": [call]}


def _usage(usage: MindUsage) -> Json:
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
    }


def _completion(name: str, decision: Decision) -> Json:
    return {
        "id": f"chatcmpl-{secrets.token_hex(12)}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": name,
        "choices": [{"index": 0, "message": _message(decision), "logprobs": None, "finish_reason": decision.reason}],
        "usage": _usage(decision.usage),
    }


class _Stamp:
    """Writes the chunks of one streamed answer."""

    def __init__(self, name: str) -> None:
        self._head: Json = {
            "id": f"chatcmpl-{secrets.token_hex(12)}",
            "object": "chat.completion.chunk",
            "created": int(time.time()),
            "model": name,
        }

    def event(self, delta: Json, reason: str | None = None) -> bytes:
        """One chunk."""
        return self._written([{"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}])

    def last(self, usage: MindUsage) -> bytes:
        """The chunk of the usage."""
        return self._written([], usage=_usage(usage))

    def _written(self, choices: list[Json], **more: Any) -> bytes:
        return b"data: " + orjson.dumps({**self._head, "choices": choices, **more}) + b"\n\n"


async def _chunks(name: str, decision: Decision, *, usage: bool) -> AsyncGenerator[bytes]:
    """A decision as a stream: it is whole before it begins, for half a decision is none."""
    stamp = _Stamp(name)
    message = _message(decision)
    for place, call in enumerate(message.get("tool_calls", ())):
        call["index"] = place
    yield stamp.event({key: value for key, value in message.items() if key != "refusal"})
    yield stamp.event({}, decision.reason)
    if usage:
        yield stamp.last(decision.usage)
    yield b"data: [DONE]\n\n"


def _answer(value: Json, headers: Mapping[str, str] | None = None, status: int = 200) -> Response:
    return Response(
        orjson.dumps(value), status, {"cache-control": "no-store", **(headers or {})}, media_type="application/json"
    )


def _failed(error: _HttpError) -> Response:
    headers = {"retry-after": "5"} if error.status == 503 else {}
    return _answer({"error": error.error}, headers, error.status)
