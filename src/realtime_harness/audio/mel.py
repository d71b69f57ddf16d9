"""The spectrum that Whisper and Smart Turn were trained on: log-mel, 80 bands, 10 ms apart, of 16 kHz audio.

Source: openai/whisper `audio.py` and librosa's Slaney mel scale.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from realtime_harness.audio.resample import Float32

Float64: TypeAlias = NDArray[np.float64]

RATE_HZ = 16_000
BANDS = 80
HOP_SAMPLES = 160
WINDOW_SAMPLES = 400

_LINEAR_HZ_PER_MEL = 200.0 / 3.0
_BEND_HZ = 1_000.0
_BEND_MEL = _BEND_HZ / _LINEAR_HZ_PER_MEL
_LOG_STEP = math.log(6.4) / 27.0
_FLOOR_LOG10 = -10.0
_RANGE_LOG10 = 8.0  # quieter than the loudest by more than this is cut off


def log_mel(samples_16k: Float32, length_samples: int | None = None) -> Float32:
    """The log-mel spectrum, shape (80, samples // 160). Needs more than 200 samples.

    With `length_samples`, of the recording with digital silence after it to that length; what is beyond is cut off.
    """
    length = len(samples_16k) if length_samples is None else length_samples
    kept = samples_16k[:length]
    sounding = min(length, len(kept) + WINDOW_SAMPLES)  # beyond, every window holds nothing but silence
    padded = np.pad(np.pad(kept, (0, sounding - len(kept))), WINDOW_SAMPLES // 2, mode="reflect")
    frames = np.lib.stride_tricks.sliding_window_view(padded, WINDOW_SAMPLES)[::HOP_SAMPLES][: sounding // HOP_SAMPLES]
    spectrum = np.fft.rfft(frames * _window(), axis=1)
    power = (spectrum.real**2 + spectrum.imag**2).astype(np.float32)
    bands = np.full((BANDS, length // HOP_SAMPLES), _FLOOR_LOG10, np.float32)
    bands[:, : len(frames)] = np.log10(np.maximum(_filters() @ power.T, np.float32(10**_FLOOR_LOG10)))
    floored = np.maximum(bands, bands.max() - np.float32(_RANGE_LOG10))
    return ((floored + np.float32(4)) / np.float32(4)).astype(np.float32)


@cache
def _window() -> Float32:
    return np.hanning(WINDOW_SAMPLES + 1)[:-1].astype(np.float32)


@cache
def _filters() -> Float32:
    """Triangles of equal area, evenly spaced in mel, as a matrix (80, 201)."""
    top_mel = _BEND_MEL + math.log(RATE_HZ / 2 / _BEND_HZ) / _LOG_STEP
    mels: Float64 = np.linspace(0.0, top_mel, BANDS + 2)
    edges_hz = np.where(mels < _BEND_MEL, mels * _LINEAR_HZ_PER_MEL, _BEND_HZ * np.exp((mels - _BEND_MEL) * _LOG_STEP))
    bins_hz: Float64 = np.arange(WINDOW_SAMPLES // 2 + 1, dtype=np.float64) * (RATE_HZ / WINDOW_SAMPLES)
    widths: Float64 = np.diff(edges_hz)
    distance: Float64 = edges_hz[:, None] - bins_hz[None]
    rising: Float64 = -distance[:-2] / widths[:-1, None]
    falling: Float64 = distance[2:] / widths[1:, None]
    areas: Float64 = 2.0 / (edges_hz[2:] - edges_hz[:-2])
    return (np.maximum(0.0, np.minimum(rising, falling)) * areas[:, None]).astype(np.float32)
