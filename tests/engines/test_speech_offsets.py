"""Offsets of speech through the detector and the machine, as a client sees them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.oracle import read_oracle

from realtime_harness.audio.vad import SpeechDetector
from realtime_harness.conversation import Conversation
from realtime_harness.realtime import events as e
from realtime_harness.realtime import facts as f
from realtime_harness.realtime import orders as o
from realtime_harness.realtime.pcm import RATE_HZ, bytes_of_ms, silence
from realtime_harness.realtime.session import Session

TOLERANCE_MS = 32  # one frame of the detector


class Engine:
    """A conversation whose input audio really goes through the detector. Nothing else answers."""

    def __init__(self, silence_ms: int) -> None:
        self.machine = Conversation(Session(model="test"))
        self.detector = SpeechDetector()
        self.turns: list[list[int]] = []
        self.machine.begin()
        self.machine.handle(f.Opened(1, "test"), 0.0)
        self.vad = {"type": "server_vad", "silence_duration_ms": silence_ms, "create_response": False}
        self.turn_detection(self.vad)

    def turn_detection(self, value: dict[str, Any] | None) -> None:
        patch = {"type": "realtime", "audio": {"input": {"turn_detection": value}}}
        self._take(self.machine.handle(e.SessionUpdate(session=patch), 0.0))

    def hear(self, pcm: bytes, step_ms: int = 100) -> None:
        step = bytes_of_ms(step_ms)
        for start in range(0, len(pcm), step):
            self._take(self.machine.handle(e.AudioAppend(audio=pcm[start : start + step]), 0.0))

    def _take(self, outputs: list[Any]) -> None:
        for output in outputs:
            match output:
                case o.Audio() if output.detect:
                    for end_sample, p in self.detector.feed(output.pcm):
                        self._take(self.machine.handle(f.SpeechProbability(output.epoch, end_sample, p), 0.0))
                case o.DropAudio():
                    self.detector.reset()
                case e.SpeechStarted():
                    self.turns.append([output.audio_start_ms])
                case e.SpeechStopped():
                    self.turns[-1].append(output.audio_end_ms)
                case _:
                    pass


def near(seen: list[list[int]], expected: list[list[int]], tolerance_ms: int) -> bool:
    return len(seen) == len(expected) and all(
        len(a) == len(b) and all(abs(x - y) <= tolerance_ms for x, y in zip(a, b, strict=True))
        for a, b in zip(seen, expected, strict=True)
    )


@pytest.fixture
def oracle_clip() -> bytes:
    return read_oracle().clip


@pytest.mark.parametrize(
    ("silence_ms", "name"), [(200, "openai_recorded"), (500, "silero_iterator_prediction_silence_500")]
)
def test_offsets_are_those_recorded(oracle_clip: bytes, silence_ms: int, name: str) -> None:
    recorded = read_oracle().recorded[name]
    engine = Engine(silence_ms)
    engine.hear((oracle_clip + silence(2000)) * 3)
    assert near(engine.turns[: len(recorded)], recorded, TOLERANCE_MS), engine.turns
    assert len(engine.turns) == 3


def test_offsets_count_from_the_switch_after_a_listening_pause(oracle_clip: bytes) -> None:
    engine = Engine(200)
    engine.hear(oracle_clip + silence(2000))
    engine.turn_detection(None)
    engine.turn_detection(engine.vad)
    engine.hear(oracle_clip + silence(2000))
    assert near(engine.turns, [[1460, 4256], [1460, 4256]], TOLERANCE_MS), engine.turns


@pytest.mark.parametrize("step_ms", [10, 33, 100, 1500])
def test_offsets_do_not_depend_on_how_audio_is_cut(oracle_clip: bytes, step_ms: int) -> None:
    engine = Engine(200)
    engine.hear(oracle_clip + silence(1000), step_ms)
    assert engine.turns == [[1460, 4256]]


@pytest.mark.real
def test_offsets_of_speech_made_here(speech: Callable[[str], bytes]) -> None:
    """The same on audio we make: onset and end are where the samples say they are."""
    clip = speech("The quick brown fox jumps over the lazy dog.")
    loud = np.flatnonzero(np.abs(np.frombuffer(clip, "<i2").astype(int)) > 600)
    onset_ms, end_ms = (int(sample) * 1000 // RATE_HZ for sample in (loud[0], loud[-1]))
    lead_ms = 1600
    engine = Engine(500)
    engine.hear(silence(lead_ms) + clip + silence(2000))
    engine.turn_detection(None)
    engine.turn_detection(engine.vad)
    engine.hear(silence(lead_ms) + clip + silence(2000))
    assert len(engine.turns) == 2
    assert engine.turns[0] == engine.turns[1], "after a listening pause they count from the switch"
    start, stop = engine.turns[0]
    assert abs(start + 300 - (lead_ms + onset_ms)) <= 128
    assert abs(stop - 512 - (lead_ms + end_ms)) <= 160
