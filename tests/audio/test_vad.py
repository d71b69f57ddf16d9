"""The speech detector: the same probabilities however the audio comes, and the offsets that were recorded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracle import read_oracle

from realtime_harness.audio.vad import FRAME_SAMPLES, SpeechDetector

FRAME_MS = 32
Frames = Sequence[tuple[int, float]]


def turns(frames: Frames, threshold: float = 0.5, prefix_ms: int = 300, silence_ms: int = 200) -> list[list[float]]:
    """Turns as OpenAI's server_vad reports them (the rule of the oracle)."""
    found: list[list[float]] = []
    speaking, quiet_since = False, 0.0
    for end_sample, p in frames:
        now = end_sample / 24
        if p >= threshold:
            quiet_since = 0.0
            if not speaking:
                speaking = True
                found.append([max(0.0, now - FRAME_MS - prefix_ms)])
        elif p < threshold - 0.15 and speaking:
            quiet_since = quiet_since or now
            if now - quiet_since >= silence_ms:
                speaking, quiet_since = False, 0.0
                found[-1].append(now)
    return found


@cache
def noisy_audio() -> bytes:
    """0.7 s of noise in bursts: enough for the model to have something to say."""
    dice = np.random.default_rng(7)
    burst = np.repeat(dice.integers(0, 2, 28), 600) * dice.normal(0, 4_000, 16_800)
    return np.clip(burst, -32_768, 32_767).astype("<i2").tobytes()


@pytest.fixture(scope="module")
def detector() -> SpeechDetector:
    return SpeechDetector()


def fed(detector: SpeechDetector, pcm: bytes, sizes: Sequence[int]) -> list[tuple[int, float]]:
    """The detector's frames for pcm cut into pieces of `sizes` samples, again and again."""
    detector.reset()
    frames: list[tuple[int, float]] = []
    start = turn = 0
    while start < len(pcm):
        end = start + 2 * sizes[turn % len(sizes)]
        frames += detector.feed(pcm[start:end])
        start, turn = end, turn + 1
    return frames


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(1, 4_000), min_size=1, max_size=12))
def test_any_cutting_of_the_stream_gives_the_same_frames(sizes: list[int]) -> None:
    assert fed(shared_detector(), noisy_audio(), sizes) == frames_of_the_whole()


@cache
def shared_detector() -> SpeechDetector:
    return SpeechDetector()


@cache
def frames_of_the_whole() -> list[tuple[int, float]]:
    return fed(SpeechDetector(), noisy_audio(), [10**6])


def test_frames_end_every_768_samples(detector: SpeechDetector) -> None:
    frames = fed(detector, noisy_audio(), [480])
    assert [end for end, _ in frames] == [FRAME_SAMPLES * (n + 1) for n in range(len(frames))]
    assert len(frames) == 21  # 21.9 frames were fed
    assert all(0 <= p <= 1 for _, p in frames)


def test_a_frame_is_told_one_sample_after_its_end(detector: SpeechDetector) -> None:
    detector.reset()
    assert detector.feed(bytes(2 * FRAME_SAMPLES)) == []
    assert [end for end, _ in detector.feed(bytes(2))] == [FRAME_SAMPLES]


def test_nothing_fed_is_nothing_found(detector: SpeechDetector) -> None:
    assert detector.feed(b"") == []


def test_a_reset_begins_a_new_epoch(detector: SpeechDetector) -> None:
    first = fed(detector, noisy_audio(), [777])
    detector.feed(noisy_audio()[:3_000])
    assert fed(detector, noisy_audio(), [777]) == first


def test_two_detectors_know_nothing_of_each_other(detector: SpeechDetector) -> None:
    alone = fed(detector, noisy_audio(), [480])
    other = SpeechDetector()
    detector.reset()
    frames: list[tuple[int, float]] = []
    for start in range(0, len(noisy_audio()), 960):
        frames += detector.feed(noisy_audio()[start : start + 960])
        other.feed(bytes(960))
    assert frames == alone


def test_silence_is_not_speech(detector: SpeechDetector) -> None:
    assert max(p for _, p in fed(detector, bytes(48_000), [480])) < 0.1


@pytest.mark.real
@pytest.mark.parametrize("sizes", [[480], [4_800], [10**6], [1, 2_000, 37]], ids=str)
def test_the_offsets_are_those_openai_recorded(detector: SpeechDetector, sizes: list[int]) -> None:
    oracle = read_oracle()
    frames = fed(detector, (oracle.clip + bytes(96_000)) * 3, sizes)
    assert turns(frames) == oracle.recorded["openai_recorded"]
    assert turns(frames, silence_ms=500)[:2] == oracle.recorded["silero_iterator_prediction_silence_500"]


@pytest.mark.real
def test_the_offsets_of_speech_made_here_are_where_it_is(
    detector: SpeechDetector, speech: Callable[[str], bytes]
) -> None:
    one, two = speech("The capital of France is Paris."), speech("I would like to know more about it.")
    lead, gap = bytes(48 * 1_000), bytes(48 * 1_500)
    truth = [1_000, 1_000 + len(one) / 48, 2_500 + len(one) / 48, 2_500 + (len(one) + len(two)) / 48]
    (first, second) = turns(fed(detector, lead + one + gap + two + gap, [480]))
    assert first[0] + 300 == pytest.approx(truth[0], abs=150)
    assert first[1] - 200 == pytest.approx(truth[1] - 240, abs=200)  # the voice ends with 240 ms of pause
    assert second[0] + 300 == pytest.approx(truth[2], abs=150)
    assert second[1] - 200 == pytest.approx(truth[3] - 240, abs=200)
