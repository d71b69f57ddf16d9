"""A Chat Completions server that misbehaves, in the ways real ones do: each a name, and what it sends.

`hopeless`: what was said cannot be made a decision; then there must be a clear error, and nothing invented.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import httpx2
import orjson

Handler = Callable[[httpx2.Request, int], Awaitable[httpx2.Response]]


@dataclass(frozen=True)
class Misbehaviour:
    name: str
    handler: Handler
    hopeless: bool = False


def message(content: str | None = None, calls: list[Any] | None = None, finish: str | None = None) -> dict[str, Any]:
    delta: dict[str, Any] = {"role": "assistant", "content": content}
    if calls is not None:
        delta["tool_calls"] = calls
    reason = finish or ("tool_calls" if calls else "stop")
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}


def call(name: str = "submit_response", arguments: Any = '{"value":"Tea"}', index: int | None = 0) -> dict[str, Any]:
    made: dict[str, Any] = {"id": f"c{index}", "type": "function", "function": {"name": name, "arguments": arguments}}
    return made if index is None else {**made, "index": index}


def stream(*events: Any, end: bool = True) -> httpx2.Response:
    body = b"".join(b"data: " + orjson.dumps(event) + b"\n\n" for event in events) + (
        b"data: [DONE]\n\n" if end else b""
    )
    return httpx2.Response(200, content=body, headers={"content-type": "text/event-stream"})


def right() -> httpx2.Response:
    return stream(message(calls=[call()]))


def always(make: Callable[[], httpx2.Response]) -> Handler:
    async def handler(_request: httpx2.Request, _number: int) -> httpx2.Response:
        return make()

    return handler


def once(make: Callable[[], httpx2.Response]) -> Handler:
    """The first time only; right afterwards."""

    async def handler(_request: httpx2.Request, number: int) -> httpx2.Response:
        return make() if number == 1 else right()

    return handler


async def _hangs(_request: httpx2.Request, _number: int) -> httpx2.Response:
    await asyncio.sleep(3600)
    raise AssertionError


async def _knows_no_required(request: httpx2.Request, _number: int) -> httpx2.Response:
    if orjson.loads(request.content).get("tool_choice") == "required":
        return httpx2.Response(400, json={"error": {"message": "tool_choice must be auto or none"}})
    return right()


async def _refused(_request: httpx2.Request, _number: int) -> httpx2.Response:
    raise httpx2.ConnectError("refused")


def tagged(text: str) -> httpx2.Response:
    return stream(message(text))


MISBEHAVIOURS = [
    Misbehaviour("prose, once", once(lambda: tagged("I think I would rather have tea."))),
    Misbehaviour("prose, always", always(lambda: tagged("I think I would rather have tea.")), hopeless=True),
    Misbehaviour("nothing at all", always(lambda: tagged("")), hopeless=True),
    Misbehaviour(
        "a call in tags",
        always(lambda: tagged('<tool_call>{"name":"submit_response","arguments":{"value":"Tea"}}</tool_call>')),
    ),
    Misbehaviour(
        "a call in a fence",
        always(lambda: tagged('Sure!\n```json\n{"name": "submit_response", "parameters": {"value": "Tea"}}\n```')),
    ),
    Misbehaviour("a call as code", always(lambda: tagged('submit_response({"value": "Tea"})'))),
    Misbehaviour("only the arguments", always(lambda: tagged('{"value": "Tea"}'))),
    Misbehaviour(
        "a call of the beta's shape in text",
        always(lambda: tagged('{"function": {"name": "submit_response", "arguments": "{\\"value\\": \\"Tea\\"}"}}')),
    ),
    Misbehaviour("two equal calls", always(lambda: stream(message(calls=[call(), call(index=1)])))),
    Misbehaviour("a call and a chat", always(lambda: stream(message(calls=[call(), call("wait", "{}", 1)])))),
    Misbehaviour("a wrong name, once", once(lambda: stream(message(calls=[call("answer")])))),
    Misbehaviour("a wrong name, always", always(lambda: stream(message(calls=[call("respond")]))), hopeless=True),
    Misbehaviour("a name with a namespace", always(lambda: stream(message(calls=[call("functions.submit_response")])))),
    Misbehaviour("a name in camels", always(lambda: stream(message(calls=[call("submitResponse")])))),
    Misbehaviour("arguments as an object", always(lambda: stream(message(calls=[call(arguments={"value": "Tea"})])))),
    Misbehaviour(
        "arguments as text of text",
        always(lambda: stream(message(calls=[call(arguments=orjson.dumps('{"value":"Tea"}').decode())]))),
    ),
    Misbehaviour("arguments cut off, once", once(lambda: stream(message(calls=[call(arguments='{"value":"Te')])))),
    Misbehaviour(
        "arguments cut off, always",
        always(lambda: stream(message(calls=[call(arguments='{"value":"Te')]))),
        hopeless=True,
    ),
    Misbehaviour(
        "an extra argument", always(lambda: stream(message(calls=[call(arguments='{"value":"Tea","why":"warm"}')])))
    ),
    Misbehaviour("another case", always(lambda: stream(message(calls=[call(arguments='{"value":"tea."}')])))),
    Misbehaviour("with its number", always(lambda: stream(message(calls=[call(arguments='{"value":"2. Tea"}')])))),
    Misbehaviour("in a list", always(lambda: stream(message(calls=[call(arguments='{"value":["Tea"]}')])))),
    Misbehaviour(
        "an option that is none, once", once(lambda: stream(message(calls=[call(arguments='{"value":"Cocoa"}')])))
    ),
    Misbehaviour(
        "an option that is none, always",
        always(lambda: stream(message(calls=[call(arguments='{"value":"Cocoa"}')]))),
        hopeless=True,
    ),
    Misbehaviour("no argument, always", always(lambda: stream(message(calls=[call(arguments="{}")]))), hopeless=True),
    Misbehaviour("null for a value, once", once(lambda: stream(message(calls=[call(arguments='{"value":null}')])))),
    Misbehaviour("busy, once", once(lambda: httpx2.Response(429, json={"error": {"message": "slow down"}}))),
    Misbehaviour("broken, once", once(lambda: httpx2.Response(500, text="Internal Server Error"))),
    Misbehaviour(
        "broken, always", always(lambda: httpx2.Response(503, text="<html>unavailable</html>")), hopeless=True
    ),
    Misbehaviour(
        "its key refused", always(lambda: httpx2.Response(401, json={"error": {"message": "bad key"}})), hopeless=True
    ),
    Misbehaviour("knows no required", _knows_no_required),
    Misbehaviour(
        "does not stream",
        always(
            lambda: httpx2.Response(
                200,
                json={
                    "choices": [
                        {
                            "index": 0,
                            "message": message(calls=[call(index=None)])["choices"][0]["delta"],
                            "finish_reason": "tool_calls",
                        }
                    ]
                },
            )
        ),
    ),
    Misbehaviour(
        "ends in the middle, once",
        once(
            lambda: stream(
                message("I", finish=None)
                | {"choices": [{"index": 0, "delta": {"content": "I"}, "finish_reason": None}]},
                end=False,
            )
        ),
    ),
    Misbehaviour(
        "sends garbage, once",
        once(lambda: httpx2.Response(200, content=b"data: {nope\n\n", headers={"content-type": "text/event-stream"})),
    ),
    Misbehaviour("an error in the stream, once", once(lambda: stream({"error": {"message": "out of memory"}}))),
    Misbehaviour(
        "cut off for length",
        always(lambda: stream(message("Well, let me think about", finish="length"))),
        hopeless=True,
    ),
    Misbehaviour("hangs", _hangs, hopeless=True),
    Misbehaviour("nobody there", _refused, hopeless=True),
]
