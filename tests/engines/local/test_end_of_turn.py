"""The end-of-turn model: a finished sentence is told from a broken one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from realtime_harness.audio.resample import Float32, resample, to_float
from realtime_harness.engines.local.end_of_turn import EndOfTurn
from realtime_harness.errors import ModelFileError

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def end_of_turn() -> EndOfTurn:
    from realtime_harness.models import ModelStore

    detector = EndOfTurn(ModelStore().file("smart-turn-v3.2"))
    detector.warm_up()
    return detector


@pytest.fixture
def heard(speech: Callable[[str], bytes]) -> Callable[[str], Float32]:
    return lambda text: resample(to_float(speech(text)), 24_000, 16_000)


@pytest.mark.parametrize("text", ["The capital of France is Paris.", "What is the weather like in Boston?"])
def test_a_finished_sentence_is_complete(end_of_turn: EndOfTurn, heard: Callable[[str], Float32], text: str) -> None:
    assert end_of_turn.probability(heard(text)) > 0.5


def test_a_sentence_that_breaks_off_is_less_complete(end_of_turn: EndOfTurn, heard: Callable[[str], Float32]) -> None:
    whole = heard("I would like to book a table for two people tomorrow evening.")
    assert end_of_turn.probability(whole[: int(len(whole) * 0.3)]) < 0.5 < end_of_turn.probability(whole)


@pytest.mark.parametrize("length", [0, 1, 399, 16_000, 8 * 16_000, 20 * 16_000])
def test_any_length_gives_a_probability(end_of_turn: EndOfTurn, length: int) -> None:
    assert 0 <= end_of_turn.probability(np.zeros(length, np.float32)) <= 1


def test_only_the_last_eight_seconds_count(end_of_turn: EndOfTurn, heard: Callable[[str], Float32]) -> None:
    tail = np.pad(heard("It was raining all day."), (8 * 16_000, 0))[-8 * 16_000 :]
    assert end_of_turn.probability(np.concatenate((np.ones(50_000, np.float32), tail))) == end_of_turn.probability(tail)


def test_a_file_that_is_not_the_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.onnx").write_bytes(b"no model")
    with pytest.raises(ModelFileError, match="rth models fetch"):
        EndOfTurn(tmp_path / "x.onnx")
    with pytest.raises(ModelFileError, match="rth models fetch"):
        EndOfTurn(tmp_path / "none.onnx")
