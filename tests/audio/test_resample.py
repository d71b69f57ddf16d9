"""Resampling keeps what is heard, and does not depend on how a stream is cut."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from realtime_harness.audio.resample import Float32, Quality, Resampler, resample, to_float, to_pcm


def tone(rate_hz: int, ms: int = 500, hz: int = 440) -> Float32:
    return (0.5 * np.sin(2 * np.pi * hz * np.arange(rate_hz * ms // 1000) / rate_hz)).astype(np.float32)


@pytest.mark.parametrize("quality", list(Quality))
def test_a_tone_stays_the_tone(quality: Quality) -> None:
    out = resample(tone(24_000), 24_000, 16_000, quality)
    middle = slice(1_000, 7_000)
    assert np.abs(out[middle] - tone(16_000)[middle]).max() < 0.01


@pytest.mark.parametrize("quality", [Quality.QUICK, Quality.HIGH])
def test_a_stream_has_the_length_of_its_source(quality: Quality) -> None:
    stream = Resampler(24_000, 16_000, quality)
    out = np.concatenate((stream.feed(to_pcm(tone(24_000))), stream.finish()))
    assert len(out) == 8_000


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(1, 3_000), min_size=1, max_size=8))
def test_a_quick_stream_does_not_depend_on_its_cuts(sizes: list[int]) -> None:
    pcm = to_pcm(tone(24_000))
    stream = Resampler(24_000, 16_000, Quality.QUICK)
    whole = stream.feed(pcm)
    stream.reset()
    parts: list[Float32] = []
    start = turn = 0
    while start < len(pcm):
        end = start + 2 * sizes[turn % len(sizes)]
        parts.append(stream.feed(pcm[start:end]))
        start, turn = end, turn + 1
    assert np.array_equal(np.concatenate(parts), whole)


def test_the_same_rate_changes_nothing() -> None:
    samples = tone(16_000)
    assert resample(samples, 16_000, 16_000) is samples


def test_pcm_and_floats_are_each_others_inverse() -> None:
    pcm = np.arange(-32_768, 32_768, dtype="<i2").tobytes()
    assert to_pcm(to_float(pcm)) == pcm


def test_what_is_beyond_full_scale_is_clipped() -> None:
    assert np.frombuffer(to_pcm(np.array([2.0, -2.0], np.float32)), "<i2").tolist() == [32_767, -32_768]
