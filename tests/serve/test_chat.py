"""The model endpoint: keys, models, text, decisions, streams, limits, and what goes into its journal."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from pathlib import Path
from typing import Any

import httpx2
import orjson
import pytest
from starlette.applications import Starlette

from realtime_harness.errors import MindError
from realtime_harness.minds.mind import CallMade, ChatChunk, ChatRequest, Finished, MindUsage, TextDelta, ToolCall
from realtime_harness.serve.auth import KeyRing
from realtime_harness.serve.chat import ChatEndpoint, ServedMind
from realtime_harness.serve.journal import Journal

KEY = "a-key-of-the-tests"
SUBMIT = {
    "type": "function",
    "function": {
        "name": "submit_response",
        "description": "Submit your response.",
        "parameters": {
            "type": "object",
            "properties": {"value": {"type": "number", "minimum": 0, "maximum": 100}},
            "required": ["value"],
            "additionalProperties": False,
        },
    },
}
ASKED = {"messages": [{"role": "user", "content": "How warm was it? Respond with a number between 0 and 100."}]}


def schema(value: Any) -> dict:
    """A tool whose one argument has that schema."""
    return {
        "type": "function",
        "function": {"name": "t", "parameters": {"type": "object", "properties": {"value": value}}},
    }


Answer = Callable[[ChatRequest, int], list[ChatChunk] | MindError]


def called(name: str, arguments: str) -> list[ChatChunk]:
    return [CallMade(ToolCall("call_1", name, arguments)), Finished("tool_calls", MindUsage(10, 5, 2))]


def said(text: str) -> list[ChatChunk]:
    return [*(TextDelta(word) for word in text.split(" ")), Finished("stop", MindUsage(10, 5, 2))]


class Mind:
    name = "scripted"
    context_tokens = 4_096

    def __init__(self, answer: Answer, takes_s: float = 0.0) -> None:
        self.answer = answer
        self.takes_s = takes_s
        self.asked: list[ChatRequest] = []

    async def prepare(self, request: ChatRequest) -> None: ...
    async def release(self, affinity: str) -> None: ...
    async def close(self) -> None: ...

    async def complete(self, request: ChatRequest, deadline: float) -> AsyncGenerator[ChatChunk]:
        self.asked.append(request)
        await asyncio.sleep(self.takes_s)
        given = self.answer(request, len(self.asked))
        if isinstance(given, MindError):
            raise given
        for chunk in given:
            yield chunk


def ask(
    mind: Mind,
    work: Callable[[httpx2.AsyncClient], Coroutine[Any, Any, Any]],
    *,
    journal: Journal | None = None,
    decision_s: float = 10.0,
    at_once: int = 2,
    look: Any = None,
    loaded: bool = True,
) -> Any:
    async def run() -> Any:
        endpoint = ChatEndpoint(KeyRing({KEY: "key"}), journal, decision_s)
        if loaded:
            endpoint.serve({"local": ServedMind(mind, at_once, look)})
        transport = httpx2.ASGITransport(Starlette(routes=endpoint.routes()))
        headers = {"Authorization": f"Bearer {KEY}"}
        async with httpx2.AsyncClient(transport=transport, base_url="http://t/v1/", headers=headers) as http:
            return await work(http)

    return asyncio.run(run())


def complete(mind: Mind, body: dict, **how: Any) -> httpx2.Response:
    return ask(mind, lambda http: http.post("chat/completions", json=body), **how)


def test_a_wrong_or_missing_key_is_401_on_every_route() -> None:
    async def play(http: httpx2.AsyncClient) -> list[int]:
        out = []
        for headers in ({"Authorization": "Bearer wrong"}, {"Authorization": ""}):
            out.append((await http.get("models", headers=headers)).status_code)
            out.append((await http.get("models/local", headers=headers)).status_code)
            out.append((await http.post("chat/completions", json=ASKED, headers=headers)).status_code)
        return out

    assert ask(Mind(lambda *_: said("hi")), play) == [401] * 6


def test_the_default_is_listed_first_and_any_other_name_means_it() -> None:
    async def play(http: httpx2.AsyncClient) -> tuple[Any, Any, int]:
        listed = (await http.get("models")).json()
        answered = (await http.post("chat/completions", json={**ASKED, "model": "gpt-9"})).json()
        return listed, answered, (await http.get("models/gpt-9")).status_code

    listed, answered, status = ask(Mind(lambda *_: said("hi")), play)
    assert [each["id"] for each in listed["data"]] == ["local"]
    assert answered["model"] == "local"
    assert status == 404


def test_words_come_back_whole() -> None:
    body = complete(Mind(lambda *_: said("I am here .")), ASKED).json()

    assert body["object"] == "chat.completion"
    assert body["choices"][0] == {
        "index": 0,
        "message": {"role": "assistant", "content": "Iamhere.", "refusal": None},
        "logprobs": None,
        "finish_reason": "stop",
    }
    assert body["usage"]["total_tokens"] == 15


def test_a_decision_is_one_call_with_its_arguments_as_text() -> None:
    answer = complete(Mind(lambda *_: called("submit_response", '{"value": 70}')), {**ASKED, "tools": [SUBMIT]})

    (choice,) = answer.json()["choices"]
    assert choice["finish_reason"] == "tool_calls"
    assert choice["message"]["content"] is None
    (call,) = choice["message"]["tool_calls"]
    assert call["function"] == {"name": "submit_response", "arguments": '{"value":70}'}
    assert answer.headers["x-rth-decision"] == "tries=1; repairs=none"


def test_what_is_wrong_is_asked_for_again_with_the_reason() -> None:
    given = [
        said("About seventy."),
        called("submit_response", '{"value": 170}'),
        called("submit_response", '{"value": 70}'),
    ]
    mind = Mind(lambda _r, number: given[number - 1])

    answer = complete(mind, {**ASKED, "tools": [SUBMIT]})

    assert answer.json()["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"] == '{"value":70}'
    assert answer.headers["x-rth-decision"].startswith("tries=3; repairs=asked again: an answer in prose")
    assert "it was text, not a call" in mind.asked[1].messages[-1].text
    assert "out of range" in mind.asked[2].messages[-1].text


def test_where_no_decision_comes_there_is_a_clear_error_and_no_invented_one() -> None:
    answer = complete(Mind(lambda *_: said("I would rather not.")), {**ASKED, "tools": [SUBMIT]})

    assert answer.status_code == 502
    assert answer.json()["error"]["code"] == "no_decision"
    assert "text, not a call" in answer.json()["error"]["message"]


@pytest.mark.parametrize("limit", ["max_tokens", "max_completion_tokens"])
@pytest.mark.parametrize("tools", [[], [SUBMIT]])
def test_a_connection_test_of_one_token_is_answered(limit: str, tools: list) -> None:
    answer = complete(Mind(lambda *_: [Finished("length", MindUsage(3, 1, 0))]), {**ASKED, "tools": tools, limit: 1})

    assert answer.status_code == 200
    assert answer.json()["choices"][0]["finish_reason"] == "length"


def test_words_stream_as_they_are_made() -> None:
    body = {**ASKED, "stream": True, "stream_options": {"include_usage": True}}

    lines = complete(Mind(lambda *_: said("I am here")), body).text.split("\n\n")

    events = [orjson.loads(line[6:]) for line in lines if line.startswith("data: {")]
    assert [each["choices"][0]["delta"].get("content") for each in events if each["choices"]] == [
        "",
        "I",
        "am",
        "here",
        None,
    ]
    assert events[-1]["usage"]["prompt_tokens"] == 10
    assert lines[-2] == "data: [DONE]"


def test_a_decision_streams_as_one_whole_call() -> None:
    mind = Mind(lambda *_: called("submit_response", '{"value": 70}'))

    lines = complete(mind, {**ASKED, "tools": [SUBMIT], "stream": True}).text.split("\n\n")

    first = orjson.loads(lines[0][6:])["choices"][0]["delta"]
    assert first["tool_calls"][0]["index"] == 0
    assert first["tool_calls"][0]["function"]["arguments"] == '{"value":70}'
    assert orjson.loads(lines[1][6:])["choices"][0]["finish_reason"] == "tool_calls"


def test_images_go_through_or_are_told_in_words() -> None:
    url = "data:image/png;base64,AAAA"
    content = [{"type": "text", "text": "Look."}, {"type": "image_url", "image_url": {"url": url}}]
    body = {"messages": [{"role": "user", "content": content}]}

    async def look(seen: str) -> str:
        assert seen == url
        return "It is red."

    sees, told = Mind(lambda *_: said("ok")), Mind(lambda *_: said("ok"))
    complete(sees, body)
    complete(told, body, look=look)

    assert sees.asked[0].messages[0].images == (url,)
    assert told.asked[0].messages[0].images == ()
    assert "It is red." in told.asked[0].messages[0].text


def test_links_to_images_are_not_followed() -> None:
    part = {"type": "image_url", "image_url": {"url": "http://169.254.169.254/latest"}}
    mind = Mind(lambda *_: said("ok"))

    assert complete(mind, {"messages": [{"role": "user", "content": [part]}]}).status_code == 200

    assert mind.asked[0].messages[0].images == ()
    assert "links are not followed" in mind.asked[0].messages[0].text


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({}, "messages"),
        ({"messages": []}, "messages"),
        ({"messages": [{"role": "robot", "content": "x"}]}, "messages[0].role"),
        ({"messages": [{"role": "user", "content": 7}]}, "messages[0].content"),
        ({"messages": ["hello"]}, "messages[0]"),
        ({**ASKED, "tools": [{"type": "function", "function": {}}]}, "tools[0].function.name"),
        ({**ASKED, "tools": [SUBMIT], "tool_choice": {"function": {"name": "other"}}}, "tool_choice"),
        ({**ASKED, "tools": [schema({"type": "number", "minimum": "0"})]}, "tools[0].function.parameters"),
        ({**ASKED, "tools": [schema([])]}, "tools[0].function.parameters"),
        ({**ASKED, "tools": [schema({"enum": 5})]}, "tools[0].function.parameters"),
        ({**ASKED, "tools": [schema({"anyOf": [7]})]}, "tools[0].function.parameters"),
        ({**ASKED, "max_tokens": 0}, "max_tokens"),
        ({**ASKED, "temperature": "hot"}, "temperature"),
    ],
)
def test_bad_input_names_its_parameter(body: dict, param: str) -> None:
    answer = complete(Mind(lambda *_: said("hi")), body)

    assert answer.status_code == 400
    assert answer.json()["error"]["param"] == param
    assert "expected" in answer.json()["error"]["message"]


def test_what_is_not_json_is_said() -> None:
    answer = ask(Mind(lambda *_: said("hi")), lambda http: http.post("chat/completions", content=b"{nope"))

    assert answer.status_code == 400
    assert "not JSON" in answer.json()["error"]["message"]


def test_before_the_model_is_loaded_it_is_503() -> None:
    answer = complete(Mind(lambda *_: said("hi")), ASKED, loaded=False)

    assert answer.status_code == 503
    assert answer.headers["retry-after"]


@pytest.mark.parametrize(
    ("code", "status"),
    [("deadline", 504), ("context_length_exceeded", 400), ("http_401", 502), ("unreachable", 502)],
)
def test_a_minds_failure_is_never_taken_for_a_wrong_key(code: str, status: int) -> None:
    answer = complete(Mind(lambda *_: MindError("it failed", code=code)), {**ASKED, "tools": [SUBMIT]})

    assert answer.status_code == status


def test_one_that_could_not_be_answered_in_time_is_turned_away_at_once() -> None:
    mind = Mind(lambda *_: said("hi"), takes_s=0.3)

    async def play(http: httpx2.AsyncClient) -> list[int]:
        answers = await asyncio.gather(*(http.post("chat/completions", json=ASKED) for _ in range(8)))
        return sorted(answer.status_code for answer in answers)

    statuses = ask(mind, play, decision_s=10.0, at_once=1)

    assert statuses[0] == 200
    assert statuses[-1] == 503
    assert set(statuses) == {200, 503}


def test_the_journal_has_a_line_a_decision_and_nobodys_words(tmp_path: Path) -> None:
    path = tmp_path / "state" / "decisions.jsonl"
    journal = Journal(path)

    complete(Mind(lambda *_: called("submit_response", '{"value": 70}')), {**ASKED, "tools": [SUBMIT]}, journal=journal)
    complete(Mind(lambda *_: MindError("no", code="deadline")), {**ASKED, "tools": [SUBMIT]}, journal=journal)
    journal.close()

    first, second = (orjson.loads(line) for line in path.read_bytes().splitlines())
    assert (first["outcome"], first["tool"], first["tries"], first["inputTokens"]) == (
        "decided",
        "submit_response",
        1,
        10,
    )
    assert len(first["request"]) == 64
    assert (second["outcome"], second["status"]) == ("deadline", 504)
    assert "warm" not in path.read_text()
    assert path.stat().st_mode & 0o077 == 0
