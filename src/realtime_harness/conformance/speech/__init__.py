"""The speech that the suite plays, made by scripts/make-speech. PCM16 mono 24 kHz; licence in NOTICE.

A clip begins at its first loud millisecond and ends at its last: its onset is its start.
"""

from __future__ import annotations

import io
import json
import wave
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

ClipName = Literal["question", "tool_question", "interruption", "cut_sentence", "yes", "mm_hm"]


@dataclass(frozen=True, slots=True)
class Clip:
    """One utterance: its words, its samples, and how long it is. `cut_sentence` ends in the middle of a word."""

    name: ClipName
    words: str
    pcm: bytes
    length_ms: int


@cache
def clip(name: ClipName) -> Clip:
    """The clip of that name."""
    folder = files(__name__)
    facts = json.loads((folder / "clips.json").read_text())[name]
    with wave.open(io.BytesIO((folder / f"{name}.wav").read_bytes()), "rb") as file:
        pcm = file.readframes(file.getnframes())
    return Clip(name, facts["words"], pcm, facts["length_ms"])
