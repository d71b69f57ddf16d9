"""Faster or slower speech at the same pitch: WSOLA (Verhelst and Roelands, 1993), for one voice at a time.

Windows are laid down at even steps, each taken from near where it is due, at the place that best continues the last.
"""

from __future__ import annotations

import numpy as np

from realtime_harness.audio.resample import Float32

WINDOW_MS = 30.0
SEARCH_MS = 8.0
NEGLIGIBLE = 0.01


def stretch(samples: Float32, speed: float, rate_hz: int) -> Float32:
    """The signal `speed` times as fast, its length divided by `speed`. Meant for 0.5 to 2."""
    step = int(WINDOW_MS * rate_hz / 2_000)
    window = 2 * step
    if abs(speed - 1) < NEGLIGIBLE or len(samples) < 2 * window:
        return samples
    reach = int(SEARCH_MS * rate_hz / 1_000)
    length = round(len(samples) / speed)
    count = -(-length // step) + 1
    padded = np.pad(samples, (step + reach, window + 2 * reach + step))
    last_start = len(padded) - window - 2 * reach
    shape = np.hanning(window + 1)[:-1].astype(np.float32)
    out = np.zeros((count + 1) * step, np.float32)
    taken = reach
    for number in range(count):
        due = min(last_start, int(number * step * speed))  # less `reach`: the start of the search
        if number:
            wanted = padded[taken + step : taken + step + window]
            place = padded[due : due + window + 2 * reach]
            taken = due + int(np.correlate(place, wanted, mode="valid").argmax()) if len(wanted) == window else due
        out[number * step : number * step + window] += shape * padded[taken : taken + window]
    return out[step : step + length]
