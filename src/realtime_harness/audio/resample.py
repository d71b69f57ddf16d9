"""Sample-rate conversion of mono PCM16, streaming or whole, by libsoxr."""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from realtime_harness.audio.native import native

Float32: TypeAlias = NDArray[np.float32]

FULL_SCALE = 32_768.0


class Quality(StrEnum):
    """Those of libsoxr's presets that we use. QUICK is cubic interpolation: nearly no delay, and the one the detector was matched with."""

    QUICK = "QQ"
    HIGH = "HQ"


class _Stream(Protocol):
    def resample_chunk(self, x: Float32, last: bool = False) -> Float32: ...
    def clear(self) -> None: ...


class _Soxr(Protocol):
    def ResampleStream(  # noqa: N802 - the library's name
        self, in_rate: float, out_rate: float, num_channels: int, dtype: str, quality: str
    ) -> _Stream: ...
    def resample(self, x: Float32, in_rate: float, out_rate: float, quality: str) -> Float32: ...


class Resampler:
    """A stream of mono PCM16 at `from_hz` turned into floats at `to_hz`. One stream, one instance, one thread.

    It computes in floats because libsoxr dithers integers, block by block: then the result would hang on how the
    stream was cut (docs/decisions/0003).
    """

    def __init__(self, from_hz: int, to_hz: int, quality: Quality = Quality.HIGH) -> None:
        soxr = cast("_Soxr", native("soxr"))
        self.from_hz = from_hz
        self.to_hz = to_hz
        self._stream = soxr.ResampleStream(from_hz, to_hz, 1, dtype="float32", quality=quality.value)

    def feed(self, pcm: bytes) -> Float32:
        """The samples that are ready once `pcm` (whole samples, little-endian) has come in; may be none."""
        return self._stream.resample_chunk(to_float(pcm))

    def finish(self) -> Float32:
        """The samples still held back. The stream has ended: `reset` before it is fed again."""
        return self._stream.resample_chunk(np.zeros(0, np.float32), last=True)

    def reset(self) -> None:
        """Forget all that came in, as if new."""
        self._stream.clear()


def resample(samples: Float32, from_hz: int, to_hz: int, quality: Quality = Quality.HIGH) -> Float32:
    """The whole mono signal at another rate."""
    if from_hz == to_hz:
        return samples
    return cast("_Soxr", native("soxr")).resample(samples, from_hz, to_hz, quality.value)


def to_float(pcm: bytes) -> Float32:
    """PCM16 little-endian as floats in -1..1."""
    return np.frombuffer(pcm, np.dtype("<i2")).astype(np.float32) / np.float32(FULL_SCALE)


def to_pcm(samples: Float32) -> bytes:
    """Floats as PCM16 little-endian; what is beyond full scale is clipped."""
    scaled = np.round(samples * np.float32(FULL_SCALE))
    return np.clip(scaled, -FULL_SCALE, FULL_SCALE - 1).astype("<i2").tobytes()
