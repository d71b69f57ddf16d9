"""A decision: exactly one call, of a tool that was offered, with arguments that are valid; or a clear error, in time.

A study's platform takes nothing else, and does not ask twice (agent-spec 0.2.0, `modelEndpoint`: no retries). So what a
model gets nearly right is put right by rule, and what it gets wrong is asked for again with the reason, as long as there
is time. Nothing is ever made up.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import orjson

from realtime_harness.errors import MindError
from realtime_harness.minds import mending, narrowing
from realtime_harness.minds.mind import (
    CallMade,
    ChatMessage,
    ChatRequest,
    ChatTool,
    Finished,
    Mind,
    MindUsage,
    TextDelta,
    ToolCall,
    ToolName,
)
from realtime_harness.minds.schema import faults
from realtime_harness.minds.written_calls import written_call

MAX_TRIES = 4
MARGIN_S = 0.5  # before the deadline: the time to say that it could not be done
LEAST_S = 1.0  # a try with less time than this is not worth beginning
PAUSE_S = 0.25  # before a server that was busy or unreachable is asked again; four times as long each time
MAX_PAUSE_S = 8.0
NO_DECISION = "no_decision"
_MODELS_OWN = frozenset({"bad_answer", "invalid_arguments", "mind_failed"})  # what the model said, not its server
_HOPELESS = frozenset({"http_401", "http_403", "http_404", "context_length_exceeded", "closed", "no_tool"})
_NAMESPACES = ("functions.", "tools.", "tool_", "function_")


@dataclass(slots=True)
class _Answer:
    """What one try brought."""

    text: str = ""
    calls: list[ToolCall] = field(default_factory=list[ToolCall])
    reason: Literal["stop", "length", "tool_calls"] = "stop"
    usage: MindUsage = field(default_factory=lambda: MindUsage(0, 0, 0))


@dataclass(frozen=True, slots=True)
class Decision:
    """What came of a request. `call` is None where none was due: then `text` is the answer.

    `repairs` says in short words what was put right or asked again, in order; `tries` how often the mind was asked.
    """

    call: ToolCall | None
    text: str
    reason: Literal["stop", "length", "tool_calls"]
    usage: MindUsage
    tries: int
    repairs: tuple[str, ...]


async def decide(mind: Mind, request: ChatRequest, deadline: float) -> Decision:
    """Asks `mind` until its answer is a decision. `deadline` is in the event loop's monotonic seconds.

    With tools and any choice but "none", exactly one valid call. Raises MindError: `no_decision` where the mind did not
    give one in time, with what was wrong; and what the mind itself raises that asking again cannot mend.
    """
    if not request.tools or request.tool_choice == "none":
        answer = await _ask(mind, request, deadline - MARGIN_S)
        return Decision(None, answer.text, answer.reason, answer.usage, 1, ())
    return await _Deciding(mind, request, deadline).run()


class _Deciding:
    """One decision at work."""

    def __init__(self, mind: Mind, request: ChatRequest, deadline: float) -> None:
        self._mind = mind
        self._request = replace(request, tool_choice=_firm(request))
        self._last = deadline - MARGIN_S
        self._repairs: list[str] = []
        self._usage = MindUsage(0, 0, 0)
        self._wrong: list[str] = []
        self._failed: str | None = None
        self._unlisted: ToolCall | None = None

    async def run(self) -> Decision:
        clock = asyncio.get_running_loop().time
        tries = failures = 0
        while tries < MAX_TRIES and (tries + failures == 0 or self._last - clock() > LEAST_S):
            try:
                answer = await self._try()
            except MindError as problem:
                if problem.code == "deadline" and self._unlisted is not None:
                    break
                if problem.code in _HOPELESS or problem.code == "deadline" or not self._may_pass(problem):
                    raise
                failures += 1  # nothing was answered: the same is asked again, a little later each time
                await asyncio.sleep(min(PAUSE_S * 4 ** (failures - 1), MAX_PAUSE_S, max(0.0, self._last - clock())))
                continue
            tries += 1
            call = self._valid(answer) if answer is not None else None
            if call is not None:
                return Decision(call, "", "tool_calls", self._usage, tries, tuple(self._repairs))
        if self._unlisted is not None:
            self._repairs.append("an option that the text may not list")
            return Decision(self._unlisted, "", "tool_calls", self._usage, tries, tuple(self._repairs))
        tries += failures
        asked = "once" if tries == 1 else f"{tries} times"
        raise MindError(
            f"the mind gave no valid decision (asked {asked}): {self._wrong[-1] if self._wrong else self._failed or 'no answer'}",
            code=NO_DECISION,
        )

    async def _try(self) -> _Answer | None:
        """One answer; None where the model's own was none, which is then put down. Raises MindError of its server."""
        try:
            answer = await _ask(self._mind, self._asked(), self._last)
        except MindError as problem:
            if problem.code not in _MODELS_OWN:
                raise
            self._again("the model failed", str(problem))
            return None
        self._usage = _sum(self._usage, answer.usage)
        return answer

    def _may_pass(self, problem: MindError) -> bool:
        """Whether asking the same again may help; put down."""
        if problem.code == "http_400" and self._request.tool_choice == "required":
            self._request = replace(self._request, tool_choice="auto")  # some servers know no "required"
        elif not problem.retryable and problem.code != "server_error":
            return False
        self._repairs.append("asked again: the mind's server failed")
        self._failed = str(problem)
        return True

    def _asked(self) -> ChatRequest:
        """The request, with what was wrong with the last answer at its end."""
        if not self._wrong:
            return self._request
        names = ", ".join(tool.name for tool in self._request.tools)
        reason = (
            f"Your last answer could not be used: {self._wrong[-1]}. Answer with exactly one call of one of these tools, "
            f"with valid arguments: {names}."
        )
        return replace(self._request, messages=(*self._request.messages, ChatMessage("user", reason)))

    def _valid(self, answer: _Answer) -> ToolCall | None:
        """The call of an answer, put right; None where there is none that can be, which is then put down."""
        given: list[tuple[str, Any]] = [(call.name, call.arguments) for call in answer.calls]
        if not given:
            written = written_call(answer.text, self._request.tools)
            if written is None:
                cut = " and was cut off" if answer.reason == "length" else ""
                self._again("an answer in prose", f"it was text, not a call{cut}")
                return None
            self._repairs.append("a call written as text")
            given = [written]
        notes: list[str] = []
        good: list[ToolCall] = []
        for name, arguments in given:
            call = self._put_right(name, arguments, notes)
            if call is not None:
                good.append(call)
        distinct = list({(call.name, call.arguments): call for call in good}.values())
        if len(distinct) > 1:  # which is meant is not ours to say, unless only one of them answers the question
            answering = narrowing.answering(self._request.tools, self._request.question)
            distinct = [call for call in distinct if answering is not None and call.name == answering.name]
        if len(distinct) != 1:
            if len(good) > 1:
                self._again("several calls", f"there were {len(good)} calls, not one")
            return None
        if len(given) > 1:
            notes.append("one call taken of several")
        self._repairs += [note for note in dict.fromkeys(notes) if note not in self._repairs]
        return distinct[0]

    def _put_right(self, name: str, arguments: Any, notes: list[str]) -> ToolCall | None:
        tool = _named(name, self._request.tools)
        choice = self._request.tool_choice
        if tool is not None and isinstance(choice, ToolName) and tool.name != choice.name:
            self._again("another tool", f"only {choice.name} may be called now")
            return None
        if tool is None:
            self._again("a tool that was not offered", f"there is no tool {name[:60]!r}")
            return None
        if tool.name != name:
            notes.append("a tool's name written exactly")
        narrow = narrowing.narrow(tool, self._request.question, guess=False)
        value, done = mending.mended(_given(arguments), narrow)
        if not isinstance(value, dict):
            self._again("arguments that are no object", f"the arguments of {tool.name} were no JSON object")
            return None
        wrong = faults(value, narrow)
        call = ToolCall(f"call_{secrets.token_hex(12)}", tool.name, orjson.dumps(value).decode())
        if wrong:
            own = {"type": "object", **tool.parameters}
            if not faults(value, own) and not narrowing.listed_plainly(self._request.question or ""):
                self._unlisted = call  # valid by its schema; that its options were rightly read is not certain
            self._again("invalid arguments", "; ".join(wrong[:3]))
            return None
        notes += done
        return call

    def _again(self, repair: str, reason: str) -> None:
        self._repairs.append(f"asked again: {repair}")
        self._wrong.append(reason)


def _given(arguments: Any) -> Any:
    """The arguments of a call, which come as JSON's text; what is none stays as it came."""
    try:
        return orjson.loads(arguments) if isinstance(arguments, str) else arguments
    except orjson.JSONDecodeError:
        return arguments


def _firm(request: ChatRequest) -> Literal["required"] | ToolName:
    """A decision is always a call: "auto" means so here."""
    return request.tool_choice if isinstance(request.tool_choice, ToolName) else "required"


def _named(name: str, tools: Sequence[ChatTool]) -> ChatTool | None:
    """The tool that is meant by a name: exactly, or but for its case, marks and a namespace before it."""
    wanted = {name, *(name.removeprefix(prefix) for prefix in _NAMESPACES)}
    for tool in tools:
        if tool.name in wanted:
            return tool
    plain = {mending.plain(each) for each in wanted}
    meant = [tool for tool in tools if mending.plain(tool.name) in plain]
    return meant[0] if len(meant) == 1 else None


async def _ask(mind: Mind, request: ChatRequest, deadline: float) -> _Answer:
    answer = _Answer()
    async with aclosing(mind.complete(request, deadline)) as chunks:
        async for chunk in chunks:
            match chunk:
                case TextDelta():
                    answer.text += chunk.text
                case CallMade():
                    answer.calls.append(chunk.call)
                case Finished():
                    answer.reason, answer.usage = chunk.reason, chunk.usage
    return answer


def _sum(left: MindUsage, right: MindUsage) -> MindUsage:
    return MindUsage(
        left.input_tokens + right.input_tokens,
        left.output_tokens + right.output_tokens,
        left.cached_tokens + right.cached_tokens,
    )


def last_words(messages: Sequence[ChatMessage]) -> str | None:
    """What the user was last told: the text in which a question's options stand."""
    return next((message.text for message in reversed(messages) if message.role == "user"), None)
