"""The log-mel spectrum that the models were trained on."""

from __future__ import annotations

import numpy as np
import pytest

from realtime_harness.audio.mel import log_mel


def tone(hz: float) -> np.ndarray:
    return np.sin(2 * np.pi * hz * np.arange(16_000) / 16_000).astype(np.float32)


def test_there_are_80_bands_every_10_ms() -> None:
    spectrum = log_mel(tone(440))
    assert spectrum.shape == (80, 100)
    assert spectrum.dtype == np.float32


@pytest.mark.parametrize(("hz", "band"), [(100, 2), (440, 11), (1_000, 26), (4_000, 62)])
def test_a_tone_is_in_its_band(hz: int, band: int) -> None:
    assert abs(int(log_mel(tone(hz))[:, 50].argmax()) - band) <= 1


def test_the_range_is_eighty_decibels() -> None:
    spectrum = log_mel(tone(440))
    assert spectrum.max() - spectrum.min() == pytest.approx(2.0)
    assert log_mel(np.zeros(16_000, np.float32)).max() == pytest.approx(-1.5)


@pytest.mark.parametrize("length", [16_000, 16_100, 16_399, 16_400, 20_000, 240_000, 8_000])
def test_silence_after_the_recording_need_not_be_there(length: int) -> None:
    samples = tone(440) + np.random.default_rng(0).normal(0, 0.01, 16_000).astype(np.float32)
    silent = np.pad(samples, (0, max(0, length - len(samples))))[:length]
    assert np.allclose(log_mel(samples, length), log_mel(silent), atol=1e-5)
