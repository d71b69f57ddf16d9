"""A configured harness: what a task runs on. Frozen; owned by the server, never by a client."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Harness:
    """`engine` is a name in the registry of engines; `model` is how it goes in the protocol. Times are in seconds."""

    id: str
    name: str
    engine: str
    model: str
    instructions: str = ""
    timeout_s: float = 600.0
    created_at_ms: int = 0
