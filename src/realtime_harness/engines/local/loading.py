"""Loads the local engine's models once, and warms them up."""

from __future__ import annotations

import asyncio

from realtime_harness.engines.local.end_of_turn import EndOfTurn
from realtime_harness.engines.local.engine import LocalEngine, default_capacity
from realtime_harness.engines.local.hearing import Hearing
from realtime_harness.engines.local.sight import describe
from realtime_harness.engines.local.voice import Voice
from realtime_harness.engines.local.workshop import Workshop
from realtime_harness.minds.mind import Mind
from realtime_harness.models import ModelStore


async def load(mind: Mind, capacity: int | None = None) -> LocalEngine:
    """The engine, ready to answer with `mind`, which it closes with itself. `capacity`: sessions at once.

    Raises ModelFileError, which names the command that mends it; then `mind` is still the caller's.
    """
    store = ModelStore()

    def speech() -> tuple[Hearing, EndOfTurn, Voice]:
        hearing = Hearing(store.path("whisper-tiny.en"))
        judge = EndOfTurn(store.file("smart-turn-v3.2"))
        voice = Voice()
        for model in (hearing, judge, voice):
            model.warm_up()
        return hearing, judge, voice

    hearing, judge, voice = await asyncio.to_thread(speech)
    return LocalEngine(Workshop(hearing, judge, voice, describe, mind), capacity or default_capacity())
