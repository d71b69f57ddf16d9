"""WAV in and out."""

from __future__ import annotations

import io
import wave
from pathlib import Path

import numpy as np
import pytest

from realtime_harness.audio.wav import WavUnreadable, read_wav, wav_bytes, write_wav


def made(rate_hz: int, channels: int = 1, width: int = 2, frames: bytes = b"") -> bytes:
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(width)
        file.setframerate(rate_hz)
        file.writeframes(frames)
    return out.getvalue()


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    pcm = np.arange(-500, 500, dtype="<i2").tobytes()
    write_wav(tmp_path / "a.wav", pcm)
    assert read_wav(tmp_path / "a.wav") == pcm
    assert read_wav(wav_bytes(pcm)) == pcm


@pytest.mark.parametrize("rate_hz", [8_000, 11_025, 16_000, 22_050, 44_100, 48_000])
def test_any_rate_becomes_24_khz(rate_hz: int) -> None:
    second = (8_000 * np.sin(2 * np.pi * 300 * np.arange(rate_hz) / rate_hz)).astype("<i2")
    samples = np.frombuffer(read_wav(made(rate_hz, frames=second.tobytes())), "<i2")
    assert len(samples) == pytest.approx(24_000, abs=1)
    assert np.abs(samples).max() == pytest.approx(8_000, rel=0.1)


def test_channels_are_averaged() -> None:
    stereo = np.tile(np.array([1_000, 3_000], "<i2"), 100).tobytes()
    assert set(np.frombuffer(read_wav(made(24_000, channels=2, frames=stereo)), "<i2")) == {2_000}


def test_a_file_without_samples_is_silence_of_no_length() -> None:
    assert read_wav(made(16_000)) == b""


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "not a PCM WAV file"),
        (b"ID3 and more", "not a PCM WAV file"),
        (made(24_000)[:30], "not a PCM WAV file"),
        (made(24_000, width=1, frames=bytes(10)), "8-bit samples; expected 16-bit"),
        (made(24_000, width=3, frames=bytes(30)), "24-bit samples; expected 16-bit"),
        (made(24_000).replace(b"\x01\x00\x01\x00", b"\x03\x00\x01\x00", 1), "not a PCM WAV file"),
    ],
    ids=["empty", "mp3", "short", "8-bit", "24-bit", "float"],
)
def test_what_cannot_be_read_is_said_with_the_way_out(data: bytes, said: str) -> None:
    with pytest.raises(WavUnreadable, match=said):
        read_wav(data)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(WavUnreadable, match=r"none\.wav"):
        read_wav(tmp_path / "none.wav")
