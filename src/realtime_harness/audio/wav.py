"""WAV files: any mono or many-channel PCM16 in, mono PCM16 at 24 kHz out; and back."""

from __future__ import annotations

import io
import wave
from pathlib import Path

import numpy as np

from realtime_harness.audio.resample import FULL_SCALE, Float32, Quality, resample, to_pcm
from realtime_harness.errors import Unreadable
from realtime_harness.realtime.pcm import BYTES_PER_SAMPLE, RATE_HZ

WIRE_HZ = RATE_HZ


class WavUnreadable(Unreadable):
    """A WAV file that cannot be read."""


def read_wav(source: Path | bytes, rate_hz: int = WIRE_HZ) -> bytes:
    """The audio of a PCM16 WAV as mono PCM16 at `rate_hz`; channels are averaged. Raises WavUnreadable."""
    samples, from_hz = read_samples(source)
    return to_pcm(resample(samples, from_hz, rate_hz, Quality.HIGH))


def read_samples(source: Path | bytes) -> tuple[Float32, int]:
    """The audio of a PCM16 WAV as mono floats, and its own rate in Hz. Raises WavUnreadable."""
    name = "the WAV data" if isinstance(source, bytes) else str(source)
    try:
        data = source if isinstance(source, bytes) else source.read_bytes()
    except OSError as error:
        raise WavUnreadable(f"{name} cannot be read: {error.strerror or error}.") from error
    try:
        with wave.open(io.BytesIO(data), "rb") as file:
            channels, width, rate_hz = file.getnchannels(), file.getsampwidth(), file.getframerate()
            frames = file.readframes(file.getnframes())
    except (wave.Error, EOFError, RuntimeError) as error:
        raise WavUnreadable(
            f"{name} is not a PCM WAV file ({str(error) or 'it ends too early'}). Expected 16-bit PCM; convert it "
            "with: ffmpeg -i IN -acodec pcm_s16le OUT.wav"
        ) from error
    if width != BYTES_PER_SAMPLE:
        raise WavUnreadable(
            f"{name} has {width * 8}-bit samples; expected 16-bit PCM. Convert it with: "
            "ffmpeg -i IN -acodec pcm_s16le OUT.wav"
        )
    if rate_hz <= 0:
        raise WavUnreadable(f"{name} claims a rate of {rate_hz} Hz; expected more than 0.")
    whole = len(frames) - len(frames) % (BYTES_PER_SAMPLE * channels)
    grid = np.frombuffer(frames[:whole], np.dtype("<i2")).reshape(-1, channels).astype(np.float32)
    return grid.mean(axis=1, dtype=np.float32) / np.float32(FULL_SCALE), rate_hz


def wav_bytes(pcm: bytes, rate_hz: int = WIRE_HZ) -> bytes:
    """Mono PCM16 as the bytes of a WAV file."""
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(BYTES_PER_SAMPLE)
        file.setframerate(rate_hz)
        file.writeframes(pcm)
    return out.getvalue()


def write_wav(path: Path, pcm: bytes, rate_hz: int = WIRE_HZ) -> None:
    """Mono PCM16 into a WAV file."""
    path.write_bytes(wav_bytes(pcm, rate_hz))
