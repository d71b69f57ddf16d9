"""What the callers say, spoken by the engine's own voice (never by a robotic one: recognisers fail on it)."""

from __future__ import annotations

from functools import lru_cache

from realtime_harness.engines.local.voice import Voice

QUESTIONS = (
    "What is the capital of France?",
    "What is two plus two?",
    "Which colour is the sky on a clear day?",
    "What do bees make?",
    "How many days are there in a week?",
    "What is the opposite of hot?",
    "Which animal says meow?",
    "What is the capital of Italy?",
    "How many legs does a spider have?",
    "What do we call frozen water?",
)
INTERRUPTION = "Wait, please stop for a moment."


@lru_cache(maxsize=1)
def _voice() -> Voice:
    return Voice()


@lru_cache(maxsize=200)
def spoken(text: str) -> bytes:
    """PCM16 mono 24 kHz."""
    return b"".join(chunk.pcm for chunk in _voice().speak(text, 1.0))
