"""Turns requests into tokens, within the window, and remembers the tokens of texts it has seen."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable

from realtime_harness.minds.chatml import Part, render_message
from realtime_harness.minds.llama import LlamaServer
from realtime_harness.minds.mind import ChatMessage
from realtime_harness.minds.window import fit

REMEMBERED_TEXTS = 4096


class Prompter:
    """Makes prompts of tokens. Its methods block (the tokenizer is the runtime's) and may run in several threads."""

    def __init__(self, server: LlamaServer) -> None:
        self._server = server
        self._known: OrderedDict[tuple[str, bool], list[int]] = OrderedDict()
        self._lock = threading.Lock()

    def tokens(self, parts: Iterable[Part]) -> list[int]:
        """The tokens of `parts`. Text that was said is never read as control."""
        return [token for part in parts for token in self._part(part)]

    def conversation(self, messages: tuple[ChatMessage, ...], reserve: int) -> list[int]:
        """The tokens of as much of a conversation as leaves `reserve` tokens of the window.

        Raises MindError (`context_length_exceeded`).
        """
        each = [self.tokens(render_message(message)) for message in messages]
        kept = fit(
            [len(tokens) for tokens in each],
            [message.droppable for message in messages],
            self._server.context_tokens - reserve,
        )
        return [token for index in kept for token in each[index]]

    def _part(self, part: Part) -> list[int]:
        key = (part.text, part.control)
        with self._lock:
            known = self._known.get(key)
            if known is not None:
                self._known.move_to_end(key)
                return known
        tokens = self._server.tokenize(part.text, control=part.control)
        with self._lock:
            self._known[key] = tokens
            while len(self._known) > REMEMBERED_TEXTS:
                self._known.popitem(last=False)
        return tokens
