"""Stretching changes the pace and nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from realtime_harness.audio.stretch import stretch

RATE_HZ = 24_000


def voiced(ms: int = 800, hz: float = 180.0) -> np.ndarray:
    """A tone rich in harmonics, like a held vowel."""
    time = np.arange(RATE_HZ * ms // 1000) / RATE_HZ
    return (0.1 * sum(np.sin(2 * np.pi * hz * n * time) / n for n in range(1, 8))).astype(np.float32)


def pitch_hz(samples: np.ndarray) -> float:
    middle = samples[len(samples) // 4 : 3 * len(samples) // 4]
    spectrum = np.abs(np.fft.rfft(middle * np.hanning(len(middle)), 1 << 16))
    return float(spectrum.argmax()) * RATE_HZ / (1 << 16)


@pytest.mark.parametrize("speed", [0.5, 0.7, 0.9, 1.1, 1.3, 1.5, 2.0])
def test_the_pitch_and_the_level_stay(speed: float) -> None:
    out = stretch(voiced(), speed, RATE_HZ)
    middle = slice(len(out) // 4, 3 * len(out) // 4)
    assert pitch_hz(out) == pytest.approx(180, rel=0.02)
    assert np.abs(out[middle]).max() == pytest.approx(np.abs(voiced()).max(), rel=0.1)
    assert np.sqrt(np.mean(out[middle] ** 2)) == pytest.approx(np.sqrt(np.mean(voiced() ** 2)), rel=0.1)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 9_000), st.floats(0.5, 2.0))
def test_the_length_is_divided_by_the_speed(length: int, speed: float) -> None:
    samples = np.random.default_rng(0).normal(0, 0.1, length).astype(np.float32)
    out = stretch(samples, speed, RATE_HZ)
    assert len(out) in {round(length / speed), length}
    assert length < 1_440 or abs(speed - 1) < 0.01 or len(out) == round(length / speed)
    assert np.isfinite(out).all()


def test_at_the_same_pace_nothing_changes() -> None:
    samples = voiced()
    assert stretch(samples, 1.0, RATE_HZ) is samples
