"""A mind on any server that speaks OpenAI Chat Completions, streamed over HTTP.

One request, no retries: the caller knows how long it can wait. The server's own reason comes back in MindError; the key
never does.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Literal, cast

import httpx2
import orjson

from realtime_harness.errors import MindError
from realtime_harness.minds.mind import (
    CallMade,
    ChatChunk,
    ChatMessage,
    ChatRequest,
    Finished,
    MindUsage,
    TextDelta,
    ToolCall,
    ToolName,
)

CONNECT_S = 5.0
SILENCE_S = 60.0  # between two pieces of an answer
MAX_LINE_CHARS = 1_000_000
MAX_REASON_CHARS = 300
MAX_CALLS = 16


@dataclass(slots=True)
class _Pending:
    """A call whose pieces are still coming."""

    name: str = ""
    arguments: str = ""


@dataclass(slots=True)
class _Answer:
    """What has come of an answer so far."""

    calls: dict[int, _Pending] = field(default_factory=dict[int, _Pending])
    finish: str | None = None
    usage: MindUsage = field(default_factory=lambda: MindUsage(0, 0, 0))


class ChatCompletionsMind:
    """`base_url` ends before `/chat/completions`. `context_tokens` is what the server's model takes: it is not asked."""

    def __init__(
        self,
        base_url: str,
        model: str,
        key: str | None = None,
        *,
        context_tokens: int = 32_768,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        timeout = httpx2.Timeout(SILENCE_S, connect=CONNECT_S)
        self._http = httpx2.AsyncClient(
            base_url=base_url.rstrip("/") + "/", headers=headers, timeout=timeout, transport=transport
        )
        self._model = model
        self._context_tokens = context_tokens
        self._key = key

    @property
    def name(self) -> str:
        """The model's name at its server."""
        return self._model

    @property
    def context_tokens(self) -> int:
        """The window of one conversation."""
        return self._context_tokens

    async def prepare(self, request: ChatRequest) -> None:
        """Nothing: a server of another's reads when it is asked."""

    async def release(self, affinity: str) -> None:
        """Nothing is kept between requests."""

    async def close(self) -> None:
        """Closes the connections."""
        await self._http.aclose()

    async def complete(self, request: ChatRequest, deadline: float) -> AsyncGenerator[ChatChunk]:
        """Answer (see Mind). Raises MindError: `deadline`, `unreachable`, `http_<status>`, `bad_answer`."""
        answer = _Answer()
        try:
            asked = self._http.build_request("POST", "chat/completions", json=self._body(request))
            async with asyncio.timeout_at(deadline):
                response = await self._http.send(asked, stream=True)
            async with aclosing(response):
                if response.status_code != 200:
                    async with asyncio.timeout_at(deadline):
                        raise self._refused(response.status_code, await response.aread())
                lines = _lines(response)
                while True:
                    # Only the waiting is timed: the deadline must not strike while the caller has the chunk.
                    async with asyncio.timeout_at(deadline):
                        line = await anext(lines, None)
                    if line is None:
                        break
                    for chunk in self._read(line, answer):
                        yield chunk
        except TimeoutError as error:
            raise MindError("the mind's server did not answer in time", code="deadline", retryable=True) from error
        except httpx2.TimeoutException as error:
            raise MindError("the mind's server fell silent", code="deadline", retryable=True) from error
        except httpx2.HTTPError as error:
            raise MindError(
                f"the mind's server cannot be reached: {type(error).__name__}", code="unreachable", retryable=True
            ) from error
        if answer.finish is None:
            raise MindError("the mind's server ended its answer in the middle", code="bad_answer", retryable=True)
        for call in answer.calls.values():
            yield CallMade(ToolCall(f"call_{secrets.token_hex(12)}", call.name, _checked(call)))
        yield Finished(_reason(answer), answer.usage)

    def _body(self, request: ChatRequest) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self._model,
            "messages": [_message(message) for message in request.messages],
            "max_tokens": request.max_tokens,
            "temperature": request.temperature,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if request.seed is not None:
            body["seed"] = request.seed
        if request.tools and request.tool_choice != "none":
            body["tools"] = [
                {
                    "type": "function",
                    "function": {
                        "name": tool.name,
                        "description": tool.description,
                        "parameters": dict(tool.parameters) or {"type": "object", "properties": {}},
                    },
                }
                for tool in request.tools
            ]
            choice = request.tool_choice
            body["tool_choice"] = (
                {"type": "function", "function": {"name": choice.name}} if isinstance(choice, ToolName) else choice
            )
        return body

    def _read(self, line: str, answer: _Answer) -> list[ChatChunk]:
        """One line of the stream."""
        if len(line) > MAX_LINE_CHARS:
            raise MindError(f"the mind's server sent a line of {len(line)} characters", code="bad_answer")
        if not line.startswith("data:"):
            return []
        text = line[5:].strip()
        if not text or text == "[DONE]":
            return []
        try:
            event: Any = orjson.loads(text)
        except orjson.JSONDecodeError as error:
            raise MindError(f"the mind's server sent what is not JSON: {error}", code="bad_answer") from error
        fields = _fields(event)
        if not fields:
            raise MindError("the mind's server sent JSON that is no object", code="bad_answer")
        if fields.get("error"):
            raise MindError(self._plain(fields["error"]), code="server_error")
        if isinstance(fields.get("usage"), dict):
            answer.usage = _usage(_fields(fields["usage"]))
        choices: Any = fields.get("choices")
        choice = _fields(cast("list[Any]", choices)[0]) if isinstance(choices, list) and choices else {}
        answer.finish = choice.get("finish_reason") or answer.finish
        delta = _fields(choice.get("delta") or choice.get("message"))
        pieces: Any = delta.get("tool_calls")
        for piece in cast("list[Any]", pieces) if isinstance(pieces, list) else ():
            _gather(answer, _fields(piece))
        content = delta.get("content")
        return [TextDelta(content)] if isinstance(content, str) and content else []

    def _refused(self, status: int, body: bytes) -> MindError:
        try:
            reason: Any = orjson.loads(body)
            reason = _fields(reason).get("error", reason)
        except orjson.JSONDecodeError:
            reason = body.decode("utf-8", "replace")
        return MindError(
            f"the mind's server answered {status}: {self._plain(reason)}",
            code=f"http_{status}",
            retryable=status == 429 or status >= 500,
        )

    def _plain(self, reason: Any) -> str:
        """The server's reason in one short line, without our key should the server have repeated it."""
        said: Any = _fields(reason).get("message", reason)
        text = " ".join(str(said).split())
        return (text.replace(self._key, "***") if self._key else text)[:MAX_REASON_CHARS]


async def _lines(response: httpx2.Response) -> AsyncGenerator[str]:
    """The lines of a stream; of a server that does not stream, its one answer as such a line."""
    if response.headers.get("content-type", "").startswith("application/json"):
        yield f"data: {(await response.aread()).decode('utf-8', 'replace')}"
        return
    async for line in response.aiter_lines():
        yield line


def _fields(value: object) -> dict[str, Any]:
    """A JSON object's fields; none for anything else."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _message(message: ChatMessage) -> dict[str, Any]:
    content: Any = message.text
    if message.images:
        content = [{"type": "text", "text": message.text}] if message.text else []
        content += [{"type": "image_url", "image_url": {"url": url}} for url in message.images]
    wire: dict[str, Any] = {"role": message.role, "content": content}
    if message.calls:
        wire["tool_calls"] = [
            {"id": call.call_id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.calls
        ]
    if message.role == "tool":
        wire["tool_call_id"] = message.call_id or ""
    return wire


def _gather(answer: _Answer, piece: dict[str, Any]) -> None:
    given_index: Any = piece.get("index")
    index = given_index if isinstance(given_index, int) else len(answer.calls)
    call = answer.calls.setdefault(index, _Pending())
    if len(answer.calls) > MAX_CALLS:
        raise MindError(f"the mind made more than {MAX_CALLS} calls at once", code="bad_answer")
    function = _fields(piece.get("function"))
    name = function.get("name")
    call.name += name if isinstance(name, str) else ""
    given: Any = function.get("arguments") or ""
    call.arguments += given if isinstance(given, str) else orjson.dumps(given).decode()


def _checked(call: _Pending) -> str:
    """The arguments as a JSON object's text."""
    text = call.arguments or "{}"
    try:
        value: object = orjson.loads(text)
        if isinstance(value, str):  # some servers write the text of the text
            text = value
            value = orjson.loads(text)
    except orjson.JSONDecodeError:
        value = None
    if not isinstance(value, dict) or not call.name:
        raise MindError(
            f"the mind's call of {call.name[:60]!r} has arguments that are no JSON object", code="invalid_arguments"
        )
    return text


def _usage(usage: dict[str, Any]) -> MindUsage:
    details = _fields(usage.get("prompt_tokens_details"))
    return MindUsage(
        int(usage.get("prompt_tokens") or 0),
        int(usage.get("completion_tokens") or 0),
        int(details.get("cached_tokens") or 0),
    )


def _reason(answer: _Answer) -> Literal["stop", "length", "tool_calls"]:
    if answer.calls:
        return "tool_calls"
    return "length" if answer.finish == "length" else "stop"
