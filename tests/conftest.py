"""What tests of several rooms share: speech made here, and ears for what the engine says."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import pytest


@pytest.fixture(scope="session")
def speech() -> Callable[[str], bytes]:
    """PCM16 24 kHz of a sentence, spoken by the engine's own voice."""
    from realtime_harness.engines.local.voice import Voice

    voice = Voice()

    @lru_cache
    def say(text: str) -> bytes:
        return b"".join(chunk.pcm for chunk in voice.speak(text, 1.0))

    return say


@pytest.fixture(scope="session")
def hear() -> Callable[[bytes], str]:
    """The words in PCM16 24 kHz, by the engine's own ears: what a person would hear."""
    import soxr

    from realtime_harness.engines.local.hearing import Hearing, cut_at_quiet
    from realtime_harness.engines.local.words_heard import joined
    from realtime_harness.models import ModelStore

    hearing = Hearing(ModelStore().path("whisper-tiny.en"), 1)

    def words(pcm: bytes) -> str:
        samples: Any = np.frombuffer(pcm, "<i2").astype(np.float32) / 32768
        windows = cut_at_quiet(soxr.resample(samples, 24_000, 16_000).astype(np.float32))
        return joined([hearing.transcribe(window) for window in windows])

    return words
