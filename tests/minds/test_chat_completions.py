"""A mind on a Chat Completions server: what is sent, what comes back, and every way it can go wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import httpx2
import orjson
import pytest

from realtime_harness.errors import MindError
from realtime_harness.minds.chat_completions import ChatCompletionsMind
from realtime_harness.minds.mind import (
    CallMade,
    ChatChunk,
    ChatMessage,
    ChatRequest,
    ChatTool,
    Finished,
    MindUsage,
    TextDelta,
    ToolCall,
    ToolName,
)

KEY = "sk-secret-of-the-test"
WEATHER = ChatTool("get_weather", "Get the weather.", {"type": "object", "properties": {"city": {"type": "string"}}})
HELLO = ChatRequest((ChatMessage("user", "Hello?"),))


def events(*values: Any) -> bytes:
    return b"".join(b"data: " + orjson.dumps(value) + b"\n\n" for value in values) + b"data: [DONE]\n\n"


def delta(finish: str | None = None, **fields: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": fields, "finish_reason": finish}]}


def ask(
    request: ChatRequest, answer: Callable[[httpx2.Request], httpx2.Response], within_s: float = 5.0
) -> list[ChatChunk]:
    async def run() -> list[ChatChunk]:
        mind = ChatCompletionsMind("http://mind.test/v1", "some-model", KEY, transport=httpx2.MockTransport(answer))
        try:
            return [chunk async for chunk in mind.complete(request, asyncio.get_running_loop().time() + within_s)]
        finally:
            await mind.close()

    return asyncio.run(run())


def streamed(body: bytes) -> Callable[[httpx2.Request], httpx2.Response]:
    return lambda _request: httpx2.Response(200, content=body, headers={"content-type": "text/event-stream"})


def test_text_comes_piece_by_piece_and_ends_with_the_servers_usage() -> None:
    usage = {"prompt_tokens": 12, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 8}}
    body = events(
        delta(role="assistant"),
        delta(content="Hi "),
        delta(content="there"),
        delta("stop"),
        {"choices": [], "usage": usage},
    )
    assert ask(HELLO, streamed(body)) == [TextDelta("Hi "), TextDelta("there"), Finished("stop", MindUsage(12, 3, 8))]


def test_the_request_is_chat_completions_with_the_key_in_its_header() -> None:
    seen: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        seen.append(request)
        return streamed(events(delta("stop", content="ok")))(request)

    call = ToolCall("call_1", "get_weather", '{"city":"Rome"}')
    messages = (ChatMessage("assistant", "", (call,)), ChatMessage("tool", "sunny", call_id="call_1"))
    ask(ChatRequest(messages, (WEATHER,), ToolName("get_weather"), max_tokens=9, seed=4), answer)
    body = orjson.loads(seen[0].content)
    assert str(seen[0].url) == "http://mind.test/v1/chat/completions"
    assert seen[0].headers["authorization"] == f"Bearer {KEY}"
    assert body["tool_choice"] == {"type": "function", "function": {"name": "get_weather"}}
    assert body["messages"][0]["tool_calls"][0]["function"] == {"name": "get_weather", "arguments": '{"city":"Rome"}'}
    assert body["messages"][1] == {"role": "tool", "content": "sunny", "tool_call_id": "call_1"}
    assert (body["max_tokens"], body["seed"], body["stream"]) == (9, 4, True)


def test_no_tools_are_offered_when_none_may_be_called() -> None:
    seen: list[dict[str, Any]] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        seen.append(orjson.loads(request.content))
        return streamed(events(delta("stop", content="ok")))(request)

    ask(ChatRequest(HELLO.messages, (WEATHER,), "none"), answer)
    assert "tools" not in seen[0]


def test_a_call_is_put_together_from_its_pieces() -> None:
    first = {"index": 0, "id": "x", "function": {"name": "get_weather", "arguments": '{"ci'}}
    body = events(
        delta(tool_calls=[first]),
        delta(tool_calls=[{"index": 0, "function": {"arguments": 'ty":"Rome"}'}}]),
        delta("tool_calls"),
    )
    made, finished = ask(HELLO, streamed(body))
    assert isinstance(made, CallMade)
    assert (made.call.name, made.call.arguments) == ("get_weather", '{"city":"Rome"}')
    assert isinstance(finished, Finished)
    assert finished.reason == "tool_calls"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (events(delta(content="half")), "bad_answer"),
        (b"data: {not json\n\n", "bad_answer"),
        (b"data: [1]\n\n", "bad_answer"),
        (events({"error": {"message": "out of memory"}}), "server_error"),
        (
            events(delta("tool_calls", tool_calls=[{"index": 0, "function": {"name": "f", "arguments": "[1"}}])),
            "invalid_arguments",
        ),
    ],
)
def test_a_bad_answer_is_a_mind_error(body: bytes, code: str) -> None:
    with pytest.raises(MindError) as caught:
        ask(HELLO, streamed(body))
    assert caught.value.code == code


@pytest.mark.parametrize(("status", "retryable"), [(400, False), (401, False), (404, False), (429, True), (503, True)])
def test_a_refusal_carries_the_servers_reason_and_no_secret(status: int, retryable: bool) -> None:
    def answer(_request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(status, json={"error": {"message": f"no such thing for {KEY}"}})

    with pytest.raises(MindError, match="no such thing") as caught:
        ask(HELLO, answer)
    assert caught.value.code == f"http_{status}"
    assert caught.value.retryable is retryable
    assert KEY not in str(caught.value)


def test_a_server_that_is_not_there_is_unreachable() -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("refused", request=request)

    with pytest.raises(MindError) as caught:
        ask(HELLO, answer)
    assert (caught.value.code, caught.value.retryable) == ("unreachable", True)


def test_a_server_that_does_not_answer_meets_the_deadline() -> None:
    async def answer(request: httpx2.Request) -> httpx2.Response:
        await asyncio.sleep(30)
        return streamed(b"")(request)

    with pytest.raises(MindError) as caught:
        ask(HELLO, answer, within_s=0.05)  # pyright: ignore[reportArgumentType]
    assert caught.value.code == "deadline"
