"""A runtime without a model: a token a character, answers by script, and a record of everything that was read."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from realtime_harness.errors import MindError
from realtime_harness.minds.llama import LlamaChunk, OnChunk

CONTROL = ("<|im_start|>", "<|im_end|>", "<tool_call>")
FIRST_CONTROL = 0x110000


@dataclass
class Run:
    """One request: how much of its prompt was new, and whether it only read."""

    slot: int
    prompt: str
    new: int
    only_read: bool
    grammar: str | None


@dataclass
class FakeLlama:
    """`answer` gives what the model says to a prompt. With `gate`, each piece of an answer waits until it is set."""

    answer: Callable[[str], str] = lambda _prompt: "Hello there."
    context_tokens: int = 4000
    gate: threading.Event | None = None
    runs: list[Run] = field(default_factory=list)
    held: dict[int, list[int]] = field(default_factory=dict)
    stopped: int = 0
    closed: bool = False
    fail: MindError | None = None

    def tokenize(self, text: str, *, control: bool) -> list[int]:
        tokens: list[int] = []
        while text:
            special = next((each for each in CONTROL if control and text.startswith(each)), None)
            tokens.append(FIRST_CONTROL + CONTROL.index(special) if special else ord(text[0]))
            text = text[len(special or "x") :]
        return tokens

    def show(self, tokens: list[int]) -> str:
        """Control tokens in brackets that no text has."""
        return "".join(
            f"\u27e8{CONTROL[token - FIRST_CONTROL]}\u27e9" if token >= FIRST_CONTROL else chr(token)
            for token in tokens
        )

    def complete(self, body: Mapping[str, Any], on_chunk: OnChunk) -> None:
        if self.fail is not None:
            raise self.fail
        prompt, slot = list(body["prompt"]), body["id_slot"]
        held = self.held.get(slot, [])
        same = next(
            (i for i, (a, b) in enumerate(zip(held, prompt, strict=False)) if a != b), min(len(held), len(prompt))
        )
        only_read = body["n_predict"] == 0
        run = Run(slot, self.show(prompt), len(prompt) - same, only_read, body.get("grammar"))
        self.runs.append(run)
        self.held[slot] = [*prompt]
        if on_chunk(LlamaChunk("")):
            self.stopped += 1
            return
        said = "" if only_read else self.answer(run.prompt)
        for letter in said:
            if self.gate is not None:
                self.gate.wait()
            if on_chunk(LlamaChunk(letter)):
                self.stopped += 1
                return
            self.held[slot].append(ord(letter))
        on_chunk(LlamaChunk("", "stop", len(prompt), len(said), same))

    def close(self) -> None:
        self.closed = True
