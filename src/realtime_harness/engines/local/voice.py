"""Text to speech: the hibari voice, in small chunks that know how far in the text they reach."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from math import log
from typing import Any, Final, Protocol, cast

import numpy as np
from numpy.random import Generator

from realtime_harness.audio.native import native
from realtime_harness.audio.resample import Float32, to_pcm
from realtime_harness.audio.stretch import stretch
from realtime_harness.engines.local.speakable import SpokenWord, pieces, spoken_words

RATE_HZ = 24_000
CHUNK_MS = 200
CHUNK_SAMPLES = RATE_HZ * CHUNK_MS // 1000
MIN_SPEED, MAX_SPEED = 0.25, 1.5
# The model's own speeds are coarse, for it counts in whole frames: asked for, and then truly had (five sentences,
# within 3 %). The nearest is asked for and the rest is stretched; fast ones jump from 1.16 to 1.6, so are not used.
MODEL_SPEEDS: Final = {0.25: 0.259, 0.35: 0.347, 0.5: 0.504, 0.7: 0.693, 1.0: 1.0}

VOICES: Final = ("heart",)  # those that are in the library's package: no other is downloaded
DEFAULT_VOICE: Final = VOICES[0]

GAIN = 2.0  # the voice's own level is about -26 dBFS in speech
MAX_PEAK = 0.9
QUIET_RMS = 0.002
RMS_SAMPLES = RATE_HZ // 200  # 5 ms
LEAD_MS, TAIL_MS = 15, 40  # kept around speech: soft consonants
FADE_SAMPLES = RATE_HZ * 5 // 1000

_SENTENCE_PAUSE_MS, _CLAUSE_PAUSE_MS, _COMMA_PAUSE_MS = 240, 180, 110
_PAUSES_MS: Final = {
    **dict.fromkeys(".!?", _SENTENCE_PAUSE_MS),
    **dict.fromkeys(";:—", _CLAUSE_PAUSE_MS),
    ",": _COMMA_PAUSE_MS,
}
_PAUSE_WEIGHT: Final = {**dict.fromkeys(".!?;:—", 4), ",": 3}  # in phonemes


@dataclass(frozen=True, slots=True)
class SpokenChunk:
    """At most 200 ms of PCM16 mono at 24 kHz; once it has been heard, `text[:text_end]` has been said."""

    pcm: bytes
    text_end: int


class _Hibari(Protocol):
    def phonemize(self, text: str) -> list[str]: ...
    def ids(self, phonemes: str) -> list[int]: ...
    def from_ids(self, ids: Sequence[int], speed: float, rng: Generator) -> Float32: ...


class Voice:
    """All of VOICES. `speak` blocks about 1/100 of the speech's length; several threads may speak at once."""

    def __init__(self, threads: int = 1) -> None:
        hibari: Any = native("hibari")
        self._voices = {name: cast("_Hibari", hibari.Hibari(voice=name, threads=threads)) for name in VOICES}
        self._reading = threading.Lock()  # turning text into phonemes keeps state
        self._weight = lru_cache(maxsize=4096)(_phonemes_in)

    def warm_up(self) -> None:
        """Pay the first use's cost now."""
        for _ in self.speak("Hello there, 1 2 3. Zorblat."):
            pass

    def speak(self, text: str, speed: float = 1.0, voice: str = DEFAULT_VOICE) -> Iterator[SpokenChunk]:
        """The text as speech, `speed` times as fast (0.25 to 1.5; beyond is clamped). Says nothing if there is nothing.

        `voice` is one of VOICES; any other name, as of another provider's voice, gets the default one. The chunks'
        `text_end` never goes back, and the last is len(text).
        """
        hibari = self._voices.get(voice) or self._voices[DEFAULT_VOICE]
        pace = min(MAX_SPEED, max(MIN_SPEED, speed))
        runs = pieces(spoken_words(text))
        held: SpokenChunk | None = None
        said = 0
        for run in runs:
            for chunk in self._speak_run(hibari, run, pace, said):
                if held is not None:
                    yield held
                held = chunk
            said = run[-1].end
        if held is not None:
            yield SpokenChunk(held.pcm, len(text))

    def _speak_run(self, hibari: _Hibari, run: Sequence[SpokenWord], pace: float, said: int) -> Iterator[SpokenChunk]:
        spoken = " ".join(word.text for word in run)
        with self._reading:
            sentences = hibari.phonemize(spoken)
            weights = [self._weight(hibari, word.text) for word in run]
        audio = _synthesised(hibari, sentences, pace)
        if len(audio) == 0:
            return
        pause = int(_PAUSES_MS.get(_last_mark(spoken), 0) * RATE_HZ / 1000 / pace)
        ends = _word_ends(weights, len(audio))
        pcm = to_pcm(np.pad(audio, (0, pause)))
        reached = 0
        for start in range(0, len(audio) + pause, CHUNK_SAMPLES):
            heard = min(start + CHUNK_SAMPLES, len(audio) + pause)
            while reached < len(run) and ends[reached] <= heard:
                reached += 1
            yield SpokenChunk(pcm[start * 2 : heard * 2], run[reached - 1].end if reached else said)


def _synthesised(hibari: _Hibari, sentences: Sequence[str], pace: float) -> Float32:
    """The sentences' audio, without the silence around each, at a sane level."""
    parts: list[Float32] = []
    asked, had = min(MODEL_SPEEDS.items(), key=lambda pair: abs(log(pair[1] / pace)))
    for phonemes in sentences:
        made = hibari.from_ids(hibari.ids(phonemes), asked, np.random.default_rng(0))
        part = stretch(_trimmed(made), pace / had, RATE_HZ)
        if len(part):
            if parts:
                parts.append(np.zeros(int(_SENTENCE_PAUSE_MS * RATE_HZ / 1000 / pace), np.float32))
            parts.append(part)
    if not parts:
        return np.zeros(0, np.float32)
    audio = np.concatenate(parts)
    peak = float(np.abs(audio).max())
    return (audio * np.float32(min(GAIN, MAX_PEAK / max(peak, 1e-6)))).astype(np.float32)


def _phonemes_in(hibari: _Hibari, word: str) -> float:
    """How long a word takes beside others, in phonemes."""
    sounds = sum(len(sound) for sound in hibari.phonemize(word))
    return sounds + _PAUSE_WEIGHT.get(_last_mark(word), 0) + 0.5


def _last_mark(text: str) -> str:
    """The punctuation that ends the text, or nothing."""
    bare = text.rstrip("\"')]} ")
    return bare[-1] if bare and not bare[-1].isalnum() else ""


def _word_ends(weights: Sequence[float], samples: int) -> list[int]:
    """The sample at which each word ends; the last is `samples`."""
    total = sum(weights) or 1.0
    return [round(part / total * samples) for part in accumulate(weights)]


def _trimmed(audio: Float32) -> Float32:
    """The audio without the silence at its ends, faded over 5 ms there; empty if it is all silence."""
    whole = len(audio) - len(audio) % RMS_SAMPLES
    if whole == 0:
        return audio[:0]
    rms = np.sqrt(np.mean(np.square(audio[:whole].reshape(-1, RMS_SAMPLES)), axis=1))
    (loud,) = np.nonzero(rms > QUIET_RMS)
    if len(loud) == 0:
        return audio[:0]
    first = max(0, int(loud[0]) * RMS_SAMPLES - LEAD_MS * RATE_HZ // 1000)
    last = min(len(audio), (int(loud[-1]) + 1) * RMS_SAMPLES + TAIL_MS * RATE_HZ // 1000)
    kept = audio[first:last].copy()
    fade = min(FADE_SAMPLES, len(kept) // 2)
    ramp = np.linspace(0, 1, fade, dtype=np.float32)
    kept[:fade] *= ramp
    kept[len(kept) - fade :] *= ramp[::-1]
    return kept
