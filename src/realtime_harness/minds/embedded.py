"""The embedded mind: a small language model in this process, shared by all calls.

How its time is divided, and why, is in docs/decisions/0005-scheduling-the-embedded-mind.md.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import secrets
from collections.abc import AsyncGenerator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import orjson
import structlog

from realtime_harness.errors import MindError
from realtime_harness.minds import asking, grammar, narrowing, router
from realtime_harness.minds.chatml import CALL, START, answer_head
from realtime_harness.minds.llama import LlamaServer, LlamaSettings, XllamaServer, special_token
from realtime_harness.minds.mind import (
    CallMade,
    ChatChunk,
    ChatRequest,
    ChatTool,
    Finished,
    MindUsage,
    TextDelta,
    ToolCall,
    ToolName,
)
from realtime_harness.minds.prompt import Prompter
from realtime_harness.minds.reader import Ticket
from realtime_harness.minds.runtime import NO_TOKENS, Runtime

ARGUMENT_TOKENS = 320
ASKING_TOKENS = 320  # kept free in the window for the turn that asks for arguments
REPEAT_PENALTY = 1.1  # a small model repeats itself without it
NEARLY_READ_TOKENS = 16
ROUTED_CHARS = 400  # how much of the end of a long turn decides which tool it asks for
_BRACES = (
    "{",
    '{"',
    " {",
    ' {"',
    "{\n",
    "{\\",
    "{'",
    "{}",
    "[{",
    "({",
    "```",
    "{$",
    "${",
)  # as far as each is one token

_T = TypeVar("_T")
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class EmbeddedSettings:
    """How the embedded mind is laid out. `conversations` are kept read at once; `context_tokens` is each one's window."""

    conversations: int = 4
    context_tokens: int = 6144
    threads: int | None = None


@dataclass(slots=True)
class _Job:
    """One completion at work. `out` takes its chunks, then None or the error that ended it."""

    request: ChatRequest
    owner: str
    ticket: Ticket = field(default_factory=Ticket)
    out: asyncio.Queue[ChatChunk | MindError | None] = field(default_factory=asyncio.Queue[Any])


@dataclass(frozen=True, slots=True)
class _Route:
    """A decision, made or being made, on which tool a sentence asks for."""

    key: tuple[Any, ...]
    task: asyncio.Task[str | None]
    ticket: Ticket

    def usable(self) -> bool:
        """Whether it is being made, or was made."""
        failed = self.task.done() and (self.task.cancelled() or self.task.exception() is not None)
        return not self.ticket.dropped and not failed


class EmbeddedMind:
    """A chat model in this process (protocol: Mind). Use it from one event loop. Made by `load`."""

    def __init__(self, server: LlamaServer, name: str, conversations: int) -> None:
        self._server = server
        self._name = name
        self._prompter = Prompter(server)
        self._runtime = Runtime(server, conversations)
        self._tickets: dict[str, Ticket] = {}
        self._routes: dict[str, _Route] = {}
        self._nameless = itertools.count()
        self._banned: tuple[list[list[Any]], ...] | None = None
        self._closed = False

    @classmethod
    async def load(cls, path: Path, settings: EmbeddedSettings | None = None) -> EmbeddedMind:
        """Load the weights at `path` (GGUF, a ChatML model). Raises MindError (`model_load_failed`, `runtime_missing`)."""
        chosen = settings or EmbeddedSettings()
        layout = LlamaSettings(
            slots=chosen.conversations + 1,
            context_tokens=chosen.context_tokens,
            threads=chosen.threads or max(1, min(8, os.cpu_count() or 1)),
        )
        loop = asyncio.get_running_loop()
        with ThreadPoolExecutor(1, thread_name_prefix="mind-load") as loader:
            server = await loop.run_in_executor(loader, XllamaServer, path, layout)
        return cls(server, path.stem, chosen.conversations)

    @property
    def name(self) -> str:
        """The weights' name."""
        return self._name

    @property
    def context_tokens(self) -> int:
        """The window of one conversation."""
        return self._server.context_tokens

    async def prepare(self, request: ChatRequest) -> None:
        """Read the conversation, and the tools, into this conversation's slot; decide early which tool a turn asks for."""
        if self._closed or not request.affinity:
            return
        ticket = self._supersede(request.affinity)
        await self._wait_for(self._runtime.start(self._prepare(request, ticket), ticket), ticket)

    async def complete(self, request: ChatRequest, deadline: float) -> AsyncGenerator[ChatChunk]:
        """Answer (see Mind). Raises MindError, also with `invalid_arguments` and `closed`."""
        if self._closed:
            raise MindError("the mind is closed", code="closed")
        owner = request.affinity or f"nameless-{next(self._nameless)}"
        job = _Job(request, owner)
        self._supersede(owner)
        self._runtime.start(self._run(job), job.ticket)
        try:
            while (chunk := await _before(deadline, job.out)) is not None:
                if isinstance(chunk, MindError):
                    raise chunk
                yield chunk
        finally:
            job.ticket.dropped = True

    async def release(self, affinity: str) -> None:
        """Free the conversation's slot."""
        self._supersede(affinity)
        self._tickets.pop(affinity, None)
        self._forget_route(affinity)
        self._runtime.chat.release(affinity)

    async def close(self) -> None:
        """Stop everything, the runtime and its threads included."""
        if self._closed:
            return
        self._closed = True
        await self._runtime.close()

    # Reading ahead.

    async def _prepare(self, request: ChatRequest, ticket: Ticket) -> None:
        try:
            tokens = await self._runtime.in_thread(
                self._prompter.conversation, request.messages, self._reserve(request)
            )
            await self._runtime.reader.read_ahead(
                await self._runtime.chat.claim(request.affinity, tokens), tokens, ticket
            )
            tools = router.routable(request.tools) if request.tool_choice == "auto" else ()
            if not tools or ticket.dropped:
                return
            start = await self._runtime.in_thread(self._prompter.tokens, router.beginning(tools, may_reply=True))
            slot = await self._runtime.routing.claim("routing", start)
            await self._runtime.reader.read_ahead(slot, start, ticket)
            if router.just_said(request.messages) is not None and not ticket.dropped:
                await self._wait_for(self._decision(request, request.affinity), ticket)
        except MindError:
            return  # complete() meets the same and says so

    # Answering.

    async def _run(self, job: _Job) -> None:
        try:
            tool, forced = await self._tool(job)
            if job.ticket.dropped:
                return
            if tool is None:
                await self._speak(job)
            else:
                await self._call(job, tool, forced=forced)
            job.out.put_nowait(None)
        except MindError as error:
            job.out.put_nowait(error)
        except Exception as error:  # noqa: BLE001 - the top of a task: logged, and told to whoever waits
            _log.exception("a completion of the embedded mind failed")
            job.out.put_nowait(MindError(f"the embedded mind failed: {type(error).__name__}"))
        finally:
            if not job.request.affinity:
                self._tickets.pop(job.owner, None)
                self._runtime.chat.release(job.owner)

    async def _tool(self, job: _Job) -> tuple[ChatTool | None, bool]:
        """The tool to call, if any, and whether the client named it."""
        request = job.request
        match request.tool_choice:
            case ToolName(name):
                named = next((tool for tool in request.tools if tool.name == name), None)
                if named is None:
                    raise MindError(
                        f"the tool {name!r} is forced, but the request declares no such tool", code="no_tool"
                    )
                return named, True
            case "none":
                return None, False
            case "required":
                if not request.tools:
                    raise MindError("a tool call is required, but the request declares no tool", code="no_tool")
                if len(request.tools) == 1:
                    return request.tools[0], request.question is not None
                if (answering := narrowing.answering(request.tools, request.question)) is not None:
                    return answering, True
            case "auto":
                said, tools = router.just_said(request.messages), router.routable(request.tools)
                if said is None or not tools:
                    return None, False
                if not router.may_ask(said, tools) and not await self._router_is_read(tools):
                    self._forget_route(job.owner)  # it would read on beside the answer
                    return None, False
        chosen: str | None = None
        while chosen is None and not job.ticket.dropped:  # none: something newer was prepared in the middle of it
            chosen = await asyncio.shield(self._decision(request, job.owner))
        return next((tool for tool in request.tools if tool.name == chosen), None), request.question is not None

    async def _router_is_read(self, tools: tuple[ChatTool, ...]) -> bool:
        """Whether the choice among these tools can be made at once. If not, reading its prompt takes seconds, for which a
        sentence that has nothing to do with any of them should not wait."""
        start = await self._runtime.in_thread(self._prompter.tokens, router.beginning(tools, may_reply=True))
        slot = self._runtime.routing.find("routing")
        return slot is not None and len(start) - slot.common(start) <= NEARLY_READ_TOKENS

    def _decision(self, request: ChatRequest, owner: str) -> asyncio.Task[str | None]:
        """The decision on the last thing said: the one made or being made, or a new one."""
        may_reply = request.tool_choice != "required"
        tools = router.routable(request.tools) if may_reply else request.tools
        said = router.just_said(request.messages)
        if said is None:  # a call is required, though nobody has just asked for one: the last that was told decides
            said = next((message.text for message in reversed(request.messages) if message.role == "user"), "")
        sentence = said[-ROUTED_CHARS:]
        key = (tuple((tool.name, tool.description) for tool in tools), may_reply, sentence)
        known = self._routes.get(owner)
        if known is not None and known.key == key and known.usable():
            return known.task
        self._forget_route(owner)
        ticket = Ticket()
        task = self._runtime.start(self._decide(tools, sentence, ticket, may_reply=may_reply), ticket)
        if request.affinity:
            self._routes[owner] = _Route(key, task, ticket)
        return task

    async def _decide(
        self, tools: tuple[ChatTool, ...], sentence: str, ticket: Ticket, *, may_reply: bool
    ) -> str | None:
        choices = router.words(tools, may_reply=may_reply)
        parts = (*router.beginning(tools, may_reply=may_reply), *router.ending(sentence))
        tokens = await self._runtime.in_thread(self._prompter.tokens, parts)
        body = {"n_predict": 24, "temperature": 0.0, "grammar": grammar.one_of(choices)}
        said = await self._runtime.route(tokens, body, ticket, lambda text: router.settled(text, choices) is not None)
        return None if ticket.dropped else router.settled(said.text, choices) or said.text

    async def _speak(self, job: _Job) -> None:
        request = job.request
        tokens = await self._runtime.in_thread(self._spoken_prompt, request)
        body = {
            "n_predict": max(1, min(request.max_tokens, self.context_tokens - len(tokens) - 1)),
            "temperature": request.temperature,
            "top_p": 0.9,
            "repeat_penalty": REPEAT_PENALTY,
            **({} if request.seed is None else {"seed": request.seed}),
            "logit_bias": await self._ban(calls=any(message.calls for message in request.messages)),
        }
        begun = False

        def emit(text: str) -> None:
            nonlocal begun
            shown = text if begun else text.lstrip()
            if shown:
                begun = True
                job.out.put_nowait(TextDelta(shown))

        said = await self._runtime.generate_for(job.owner, tokens, body, job.ticket, emit)
        job.out.put_nowait(Finished("length" if said.finish == "length" else "stop", said.usage))

    async def _call(self, job: _Job, tool: ChatTool, *, forced: bool) -> None:
        schema = narrowing.narrow(tool, job.request.question)
        own: Mapping[str, Any] = {"type": "object", **tool.parameters}
        value, usage = asking.by_rule(job.request, schema), NO_TOKENS
        wrong: list[str] = []
        for attempt in range(2):
            if value is not None:
                break
            tokens = await self._runtime.in_thread(self._asking_prompt, job.request, tool, forced, wrong)
            body = {
                "n_predict": ARGUMENT_TOKENS,
                "temperature": job.request.temperature if forced and attempt == 0 else 0.0,
                **({} if job.request.seed is None else {"seed": job.request.seed}),
                "repeat_penalty": REPEAT_PENALTY,
                "grammar": grammar.arguments(schema),
            }
            said = await self._runtime.generate_for(job.owner, tokens, body, job.ticket)
            if job.ticket.dropped:
                return
            usage = _sum(usage, said.usage)
            read, wrong = asking.read_arguments(said.text, schema)
            value = read if not wrong else None
        if value is None or (wrong := asking.faults(value, own)):
            raise MindError(
                f"the mind could not fill in the arguments of {tool.name}: {'; '.join(wrong[:3])}",
                code="invalid_arguments",
                retryable=True,
            )
        call = ToolCall(f"call_{secrets.token_hex(12)}", tool.name, orjson.dumps(value).decode())
        job.out.put_nowait(CallMade(call))
        job.out.put_nowait(Finished("tool_calls", usage))

    # Prompts. These block, and run in our threads.

    def _spoken_prompt(self, request: ChatRequest) -> list[int]:
        tokens = self._prompter.conversation(request.messages, self._reserve(request))
        return tokens + self._prompter.tokens(answer_head())

    def _asking_prompt(self, request: ChatRequest, tool: ChatTool, forced: bool, wrong: list[str]) -> list[int]:
        end = self._prompter.tokens(asking.asking(request, tool, forced=forced, mended=wrong))
        reserve = max(self._reserve(request), len(end) + ARGUMENT_TOKENS)
        return self._prompter.conversation(request.messages, reserve) + end

    def _reserve(self, request: ChatRequest) -> int:
        """What must stay free for the answer. The same with and without tools, so that prompts begin the same."""
        return max(min(request.max_tokens, self.context_tokens // 4), ARGUMENT_TOKENS) + ASKING_TOKENS

    async def _ban(self, *, calls: bool) -> list[list[Any]]:
        """Tokens that no spoken answer may hold: control tokens; after `calls`, also the braces that would imitate one."""
        if self._banned is None:
            control = [await self._runtime.in_thread(self._special, text) for text in (START, CALL)]
            braces = [await self._runtime.in_thread(self._special, text) for text in _BRACES]
            self._banned = tuple(
                [[token, False] for token in found if token is not None] for found in (control, braces)
            )
        control_bans, brace_bans = self._banned
        return control_bans + brace_bans if calls else control_bans

    def _special(self, text: str) -> int | None:
        return special_token(self._server, text)

    # Tasks.

    async def _wait_for(self, task: asyncio.Task[Any], ticket: Ticket) -> None:
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            ticket.dropped = True
            raise

    def _supersede(self, owner: str) -> Ticket:
        """Drop what is being read ahead for `owner`; a new ticket for the next."""
        old = self._tickets.get(owner)
        if old is not None:
            old.dropped = True
        self._tickets[owner] = Ticket()
        return self._tickets[owner]

    def _forget_route(self, owner: str) -> None:
        known = self._routes.pop(owner, None)
        if known is not None:
            known.ticket.dropped = True


async def _before(deadline: float, queue: asyncio.Queue[_T]) -> _T:
    """The queue's next. Only the waiting is timed: the deadline must not strike while the caller has the chunk."""
    try:
        async with asyncio.timeout_at(deadline):
            return await queue.get()
    except TimeoutError as error:
        raise MindError("the mind did not answer in time", code="deadline", retryable=True) from error


def _sum(left: MindUsage, right: MindUsage) -> MindUsage:
    return MindUsage(
        left.input_tokens + right.input_tokens,
        left.output_tokens + right.output_tokens,
        left.cached_tokens + right.cached_tokens,
    )
