"""The checks of a model endpoint. Source: agent-spec 0.2.0, `modelEndpoint` and `answers`.

A failed request is a failed decision, and nothing is asked twice: so each check asks once.
"""

from __future__ import annotations

import asyncio
import math
import statistics
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import urlsplit

import orjson

from realtime_harness.conformance.endpoint.client import Answer, EndpointClient
from realtime_harness.conformance.endpoint.study import COLOURS, NAMES, QUESTIONS, SYSTEM, Asked, decision, screen
from realtime_harness.conformance.faults import Fault
from realtime_harness.conformance.pictures import png
from realtime_harness.hyperstudy.endpoint import CONNECTION_TESTS, REQUEST_TIMEOUT
from realtime_harness.hyperstudy.questions import Question
from realtime_harness.hyperstudy.validate import Refusal, check_submission
from realtime_harness.realtime.wire import Json

SLOW_MS = 10_000  # the shortest limit that an experimenter may set
WRONG_KEY = "rth-definitely-a-wrong-key"


@dataclass(slots=True)
class Found:
    """What one check finds."""

    client: EndpointClient
    at_once: int = 8
    faults: list[Fault] = field(default_factory=list[Fault])
    notes: list[str] = field(default_factory=list[str])
    grades: dict[str, str] = field(default_factory=dict[str, str])
    timings_ms: dict[str, int] = field(default_factory=dict[str, int])

    def expect(self, holds: bool, rule: str, expected: str, seen: str) -> bool:
        """A fault unless it holds."""
        if not holds:
            self.faults.append(Fault(rule, expected, seen))
        return holds


Run = Callable[[Found], Awaitable[None]]


async def models(found: Found) -> None:
    """GET /models, as the platform's connection test asks it."""
    answer = await found.client.models(CONNECTION_TESTS[0].timeout_ms)
    found.timings_ms["models"] = answer.took_ms
    found.expect(answer.status < 500, "models.status", "any answer but a server error", answer.shown)
    data: Any = (answer.value or {}).get("data")
    listed = cast("list[Any]", data) if isinstance(data, list) else []
    first: Any = listed[0] if listed else None
    name: Any = cast("Json", first).get("id") if isinstance(first, dict) else None
    if isinstance(name, str):
        found.client.model = found.client.model or name
        found.grades["model"] = name
    else:
        found.notes.append("No model is listed: the platform will ask for a model of its own naming.")


async def connection(found: Found) -> None:
    """A completion of one token, by either name of the limit, as the platform's connection test asks it."""
    for name in ("max_tokens", "max_completion_tokens"):
        hello: Json = {"messages": [{"role": "user", "content": "Hi"}], name: 1}
        answer = await found.client.complete(hello, CONNECTION_TESTS[1].timeout_ms)
        found.timings_ms[f"one token, {name}"] = answer.took_ms
        right = answer.status == 200 and isinstance((answer.value or {}).get("choices"), list)
        found.expect(right, "connection.one_token", f"200 with a choices array for {name} of 1", answer.shown)


async def auth(found: Found) -> None:
    """A wrong key and none are refused, and the right one is not."""
    body: Json = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 1}
    for what, key in (("a wrong key", WRONG_KEY), ("no key", "")):
        answer = await found.client.complete(body, CONNECTION_TESTS[1].timeout_ms, key=key)
        found.expect(answer.status in (401, 403), "auth.refused", f"401 or 403 for {what}", answer.shown)
    answer = await found.client.complete(body, CONNECTION_TESTS[1].timeout_ms)
    found.expect(answer.status == 200, "auth.accepted", "the right key to be let in", answer.shown)


def answers(asked: Asked, *, text_chat: bool) -> Run:
    """One question, answered by exactly one valid `submit_response`."""

    async def run(found: Found) -> None:
        answer = await found.client.complete(
            decision(asked.question, screen(asked.question), text_chat=text_chat), REQUEST_TIMEOUT.default_ms
        )
        _decided(found, "answer", answer, asked.question)

    return run


async def chat_turn(found: Found) -> None:
    """Somebody types; nothing is asked on the screen."""
    text = 'Screen: a chat.\nRecent messages:\n<participant name="Alex">Hello! Are you there?</participant>'
    answer = await found.client.complete(decision(None, text, text_chat=True), REQUEST_TIMEOUT.default_ms)
    call = _one_call(found, "chat", answer, ("send_chat", "wait"))
    if call is not None and call[0] == "send_chat":
        message = call[1].get("message")
        whole = isinstance(message, str) and bool(message.strip()) and set(call[1]) == {"message"}
        found.expect(whole, "chat.arguments", "a message to send, and nothing else", f"came {call[1]}")


async def wait(found: Found) -> None:
    """Nothing is required: `wait` is all there is to do."""
    text = "Screen: the other participants are still reading. Nothing is required of you right now."
    answer = await found.client.complete(decision(None, text, text_chat=False), REQUEST_TIMEOUT.default_ms)
    call = _one_call(found, "wait", answer, ("wait",))
    if call is not None:
        found.expect(call[1] == {}, "wait.arguments", "no arguments", f"came {call[1]}")


async def image(found: Found) -> None:
    """A question about a picture that comes with it."""
    body = decision(COLOURS, screen(COLOURS), text_chat=False, images=[png((255, 0, 0))])
    answer = await found.client.complete(body, REQUEST_TIMEOUT.default_ms)
    value = _decided(found, "image", answer, COLOURS)
    if value is not None:
        found.grades["image"] = "seen" if value == "red" else "not seen"


async def refused_before(found: Found) -> None:
    """A decision that was refused, asked for again with the reason."""
    question = NAMES["multiplechoice"].question
    body = decision(question, screen(question), text_chat=False)
    call = {"id": "call_1", "type": "function", "function": {"name": "submit_response", "arguments": '{"value":"tea"}'}}
    reason = "Not one of the choices: answer with the exact text of one."
    body["messages"] += [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": orjson.dumps({"error": reason}).decode()},
    ]
    answer = await found.client.complete(body, REQUEST_TIMEOUT.default_ms)
    _decided(found, "refused_before", answer, question)


async def plain_text(found: Found) -> None:
    """A request without tools, as a stage of cognition makes it: words, and no call."""
    body: Json = {
        "messages": [
            {"role": "system", "content": SYSTEM},
            {"role": "user", "content": "In one sentence: what might Alex, who said hello, want to know about you?"},
        ]
    }
    answer = await found.client.complete(body, REQUEST_TIMEOUT.default_ms)
    if not found.expect(answer.status == 200, "plain_text.status", "200", answer.shown):
        return
    text = answer.message.get("content")
    found.expect(isinstance(text, str) and bool(text.strip()), "plain_text.content", "words", f"came {text!r}")
    found.expect(
        not answer.message.get("tool_calls"), "plain_text.no_call", "no call where no tool is offered", answer.shown
    )


async def extra_parameters(found: Found) -> None:
    """Parameters that an experimenter or an SDK adds are no reason to refuse."""
    question = NAMES["vasrating"].question
    extra: Json = {
        "temperature": 0.7,
        "top_p": 0.9,
        "seed": 7,
        "top_k": 40,
        "max_completion_tokens": 512,
        "reasoning_effort": "low",
        "chat_template_kwargs": {"enable_thinking": False},
        "some_parameter_of_tomorrow": True,
    }
    body = {**decision(question, screen(question), text_chat=False), **extra}
    answer = await found.client.complete(body, REQUEST_TIMEOUT.default_ms)
    _decided(found, "extra_parameters", answer, question)


async def at_once(found: Found) -> None:
    """Several seats decide at the same time, each on its own question."""
    chosen = [QUESTIONS[number % len(QUESTIONS)] for number in range(found.at_once)]
    bodies = [
        decision(asked.question, f"Seat {number}.\n{screen(asked.question)}", text_chat=False)
        for number, asked in enumerate(chosen)
    ]
    came = await asyncio.gather(*(found.client.complete(body, REQUEST_TIMEOUT.default_ms) for body in bodies))
    for asked, answer in zip(chosen, came, strict=True):
        _decided(found, "at_once", answer, asked.question)
    times = sorted(answer.took_ms for answer in came)
    found.timings_ms["p50"] = round(statistics.median(times))
    found.timings_ms["p95"] = times[math.ceil(len(times) * 0.95) - 1]
    if found.timings_ms["p95"] > SLOW_MS:
        found.notes.append(
            f"With {found.at_once} at once the slowest took {times[-1]} ms: let the experimenter set a longer time limit."
        )


async def public_url(found: Found) -> None:
    """Where the endpoint is: a platform refuses what is not public and https. A note, for it can be tested anywhere."""
    parts = urlsplit(str(found.client.http.base_url))
    local = (parts.hostname or "") in ("localhost", "127.0.0.1", "::1")
    if parts.scheme != "https" or local:
        found.notes.append(
            "A platform needs a public https URL; this one is only for tests (`rth tunnel`, or a proxy)."
        )
    found.grades["url"] = "public" if parts.scheme == "https" and not local else "not public"


def _decided(found: Found, check: str, answer: Answer, question: Question) -> Any:
    """The value that was submitted, if it is a valid one."""
    call = _one_call(found, check, answer, ("submit_response",))
    if call is None:
        return None
    verdict = check_submission(question, call[0], orjson.dumps(call[1]).decode())
    if isinstance(verdict, Refusal):
        found.faults.append(Fault(f"{check}.value", "an answer that the study accepts", verdict.reason))
        return None
    return verdict.value


def _one_call(found: Found, check: str, answer: Answer, names: tuple[str, ...]) -> tuple[str, Json] | None:
    """The one call of an answer: its name and arguments."""
    found.timings_ms[check] = max(answer.took_ms, found.timings_ms.get(check, 0))
    if not found.expect(answer.status == 200, f"{check}.status", "200", answer.shown):
        return None
    calls: Any = answer.message.get("tool_calls")
    made = cast("list[Any]", calls) if isinstance(calls, list) else []
    if not found.expect(
        len(made) == 1, f"{check}.one_call", "exactly one tool call", f"came {len(made)}; {answer.shown}"
    ):
        return None
    reason = answer.finish_reason
    found.expect(reason == "tool_calls", f"{check}.finish_reason", "finish_reason tool_calls", f"came {reason!r}")
    given: Any = made[0]
    call = cast("Json", given) if isinstance(given, dict) else {}
    call_id = call.get("id")
    found.expect(
        isinstance(call_id, str) and bool(call_id), f"{check}.call_id", "a call with an id", f"came {call_id!r}"
    )
    function: Any = call.get("function")
    inner = cast("Json", function) if isinstance(function, dict) else {}
    name, arguments = inner.get("name"), inner.get("arguments")
    if not found.expect(name in names, f"{check}.tool", f"a call of {' or '.join(names)}", f"came {name!r}"):
        return None
    if not found.expect(
        isinstance(arguments, str), f"{check}.arguments", "arguments as JSON text", f"came {arguments!r}"
    ):
        return None
    try:
        value: Any = orjson.loads(str(arguments))
    except orjson.JSONDecodeError:
        value = None
    if not found.expect(
        isinstance(value, dict), f"{check}.arguments", "the text of a JSON object", f"came {arguments!r}"
    ):
        return None
    return str(name), cast("Json", value)


CHECKS: dict[str, tuple[str, Run]] = {
    "models": ("GET /models answers as the connection test wants it.", models),
    "connection": ("A completion of one token answers 200 with choices.", connection),
    "auth": ("A wrong key is refused.", auth),
    **{
        f"answer_{asked.id}": (
            f"A {asked.question.component} is answered by one valid call.",
            answers(asked, text_chat=False),
        )
        for asked in QUESTIONS
    },
    "answer_beside_chat": (
        "A question is answered where chatting is possible too.",
        answers(NAMES["vasrating"], text_chat=True),
    ),
    "chat_turn": ("A typed message is answered by one call.", chat_turn),
    "wait": ("Where nothing is to be done, wait is called.", wait),
    "image": ("A question with a picture is accepted and answered.", image),
    "refused_before": ("A refused answer is given anew.", refused_before),
    "plain_text": ("A request without tools gets words.", plain_text),
    "extra_parameters": ("Unknown parameters are accepted.", extra_parameters),
    "at_once": ("Several decisions at the same time are all valid.", at_once),
    "public_url": ("Where the endpoint is.", public_url),
}
