"""The model at work: slots, threads, reading and generating. It knows tokens and grammars, but no conversation."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import structlog

from realtime_harness.minds.llama import LlamaChunk, LlamaServer
from realtime_harness.minds.mind import MindUsage
from realtime_harness.minds.reader import Reader, Ticket
from realtime_harness.minds.slots import Slot, Slots

NO_TOKENS = MindUsage(0, 0, 0)
CLOSE_S = 10.0  # the model looks at its ticket after every token and every piece that it reads
_log = structlog.get_logger(__name__)
_T = TypeVar("_T")


@dataclass(slots=True)
class Generated:
    """What one run of the model said, and why it ended. Without `finish`, it was stopped."""

    text: str = ""
    finish: str | None = None
    usage: MindUsage = NO_TOKENS


def _ignore(_text: str) -> None: ...


def _never(_text: str) -> bool:
    return False


class Runtime:
    """One model, its slots (`conversations` for chat and one for routing) and the threads that wait for it."""

    def __init__(self, server: LlamaServer, conversations: int) -> None:
        self.chat = Slots(range(conversations))
        self.routing = Slots((conversations,))
        self.reader = Reader(self._read_piece)
        self._server = server
        self._pool = ThreadPoolExecutor(conversations + 3, thread_name_prefix="mind")
        self._tasks: dict[asyncio.Task[Any], Ticket] = {}

    async def in_thread(self, function: Callable[..., _T], *arguments: Any) -> _T:
        """Run what blocks."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, function, *arguments)

    def start(self, work: Coroutine[Any, Any, _T], ticket: Ticket) -> asyncio.Task[_T]:
        """Work that is never cancelled, only told by its ticket to end, so that it leaves its slot in order."""
        task = asyncio.create_task(work)
        self._tasks[task] = ticket
        task.add_done_callback(lambda done: self._tasks.pop(done, None))
        return task

    async def generate_for(
        self,
        owner: str,
        tokens: Sequence[int],
        body: Mapping[str, Any],
        ticket: Ticket,
        emit: Callable[[str], None] = _ignore,
    ) -> Generated:
        """Generate in the conversation's own slot, once it is free. `emit` gets each piece, on the loop."""
        while True:
            slot = await self.chat.claim(owner, tokens)
            async with slot.held():
                if slot.owner == owner:
                    return await self._generate(slot, tokens, body, ticket, emit, _never)

    async def route(
        self, tokens: Sequence[int], body: Mapping[str, Any], ticket: Ticket, enough: Callable[[str], bool]
    ) -> Generated:
        """Generate in the slot for routing, until `enough` of the text is there. `enough` runs in another thread."""
        slot = await self.routing.claim("routing", tokens)
        async with slot.held():
            return await self._generate(slot, tokens, body, ticket, _ignore, enough)

    async def close(self) -> None:
        """Tell all work to end, wait for it, and end the runtime and its threads. In bounded time: a model that does not
        stop is left to the end of the process, for nothing may be freed under a thread that is in it."""
        for ticket in self._tasks.values():
            ticket.dropped = True
        working = list(self._tasks)
        if working:
            done, late = await asyncio.wait(working, timeout=CLOSE_S)
            await asyncio.gather(*done, return_exceptions=True)
            if late:
                _log.error("the model did not stop in time", works=len(late), seconds=CLOSE_S)
                self._pool.shutdown(wait=False, cancel_futures=True)
                return
        await self.in_thread(self._server.close)
        self._pool.shutdown()

    async def _generate(
        self,
        slot: Slot,
        tokens: Sequence[int],
        body: Mapping[str, Any],
        ticket: Ticket,
        emit: Callable[[str], None],
        enough: Callable[[str], bool],
    ) -> Generated:
        """Read what is unread, then generate. The slot is held by the caller. Ends early if the ticket is dropped."""
        loop = asyncio.get_running_loop()
        said = Generated()
        cached = max(0, min(slot.common(tokens), len(tokens) - 1))
        await self.reader.read_now(slot, tokens, ticket)

        def receive(chunk: LlamaChunk) -> bool:
            if ticket.dropped:
                return True
            if chunk.text:
                said.text += chunk.text
                loop.call_soon_threadsafe(emit, chunk.text)
            if chunk.finish is not None:
                said.finish = chunk.finish
                said.usage = MindUsage(chunk.prompt_tokens, chunk.output_tokens, cached)
            return enough(said.text)

        if ticket.dropped:
            return said
        async with self.reader.replying():
            slot.tokens = tokens[: slot.common(tokens)]
            request = {**body, "prompt": tokens, "id_slot": slot.index, "cache_prompt": True}
            await self.in_thread(self._server.complete, request, receive)
        if said.text:
            slot.tokens = [*tokens, *await self.in_thread(self._reply_tokens, said.text)]
        return said

    def _reply_tokens(self, text: str) -> list[int]:
        return self._server.tokenize(text, control=False)

    async def _read_piece(self, slot: Slot, tokens: Sequence[int], ticket: Ticket) -> bool:
        finished = False

        def receive(chunk: LlamaChunk) -> bool:
            nonlocal finished
            finished = finished or chunk.finish is not None
            return ticket.dropped and not finished

        request = {"prompt": tokens, "n_predict": 0, "id_slot": slot.index, "cache_prompt": True}
        await self.in_thread(self._server.complete, request, receive)
        return finished
