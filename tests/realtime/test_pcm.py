from __future__ import annotations

import pytest

from realtime_harness.realtime import pcm


@pytest.mark.parametrize(("ms", "samples"), [(0, 0), (1, 24), (32, 768), (1000, 24_000), (0.5, 12), (0.04, 0)])
def test_samples_of_ms(ms: float, samples: int) -> None:
    assert pcm.samples_of_ms(ms) == samples
    assert pcm.bytes_of_ms(ms) == 2 * samples
    assert pcm.silence(ms) == bytes(2 * samples)


@pytest.mark.parametrize(
    ("samples", "ms"), [(0, 0), (23, 0), (24, 1), (767, 31), (768, 32), (3600 * 24_000, 3_600_000)]
)
def test_ms_of_samples_rounds_down(samples: int, ms: int) -> None:
    assert pcm.ms_of_samples(samples) == ms


@pytest.mark.parametrize(("size", "samples"), [(0, 0), (1, 0), (2, 1), (3, 1)])
def test_half_a_sample_is_none(size: int, samples: int) -> None:
    assert pcm.samples_of_bytes(size) == samples
