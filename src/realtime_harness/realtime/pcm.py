"""PCM16 arithmetic: samples, bytes and milliseconds of the one audio format on the wire.

Source: HRP 0.2.0, "Audio": PCM16 little-endian mono at 24,000 Hz in both directions.
"""

from __future__ import annotations

RATE_HZ = 24_000
BYTES_PER_SAMPLE = 2
SAMPLES_PER_MS = RATE_HZ // 1000


def samples_of_ms(ms: float) -> int:
    """Whole samples in `ms` milliseconds, rounded down."""
    return int(ms * SAMPLES_PER_MS)


def ms_of_samples(samples: int) -> int:
    """Whole milliseconds in `samples`, rounded down."""
    return samples // SAMPLES_PER_MS


def samples_of_bytes(size_bytes: int) -> int:
    """Whole samples in `size_bytes`; a trailing odd byte is not one."""
    return size_bytes // BYTES_PER_SAMPLE


def bytes_of_ms(ms: float) -> int:
    """Bytes that hold `ms` milliseconds, a whole number of samples."""
    return samples_of_ms(ms) * BYTES_PER_SAMPLE


def silence(ms: float) -> bytes:
    """`ms` milliseconds of digital silence."""
    return bytes(bytes_of_ms(ms))
