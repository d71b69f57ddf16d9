"""Speech to text: Whisper on CTranslate2, with guards against its two vices, looping and hearing words in silence."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np

from realtime_harness.audio.mel import RATE_HZ, log_mel
from realtime_harness.audio.native import native
from realtime_harness.audio.resample import Float32
from realtime_harness.audio.vad import MODEL_FRAME_SAMPLES, SpeechModel
from realtime_harness.engines.local.words_heard import is_loop, without_loop
from realtime_harness.errors import ModelFileError

# A 15 s window costs 0.4 of Whisper's usual 30 s; with a shorter one, or less silence at its end, it begins to loop.
MIN_WINDOW_S = 15.0
WINDOW_PADDING_S = 6.0
MAX_WINDOW_S = 30.0
CUT_FROM_S, CUT_TO_S = 18.0, 28.0  # a recording too long for one window is cut in the quietest place between these
QUIET_SPAN_S = 0.2

SPEECH_P = 0.3  # lower than for turns: a word missed here is lost
MARGIN_S = 0.4  # kept around speech
QUIET_PEAK = 0.001  # -60 dBFS: below this there is nothing to amplify
WANTED_PEAK = 0.5

MAX_HINT_TOKENS = 160
TOKENS_PER_S = 8
SPARE_TOKENS = 30
WHISPER_MAX_TOKENS = 448
UNSURE_LOG_PROBABILITY = -1.0
NO_SPEECH_P = 0.6


@dataclass(frozen=True, slots=True)
class _Guess:
    text: str
    log_probability: float
    no_speech_p: float


class _Result(Protocol):
    sequences_ids: Sequence[Sequence[int]]
    scores: Sequence[float]
    no_speech_prob: float


class _Whisper(Protocol):
    is_multilingual: bool

    def generate(
        self,
        features: object,
        prompts: Sequence[Sequence[int]],
        *,
        beam_size: int,
        max_length: int,
        return_scores: bool,
        return_no_speech_prob: bool,
    ) -> Sequence[_Result]: ...


class _Encoding(Protocol):
    ids: list[int]


class _Tokenizer(Protocol):
    def token_to_id(self, token: str) -> int | None: ...
    def encode(self, sequence: str, *, add_special_tokens: bool) -> _Encoding: ...
    def decode(self, ids: Sequence[int]) -> str: ...


class Hearing:
    """Whisper in `model_dir` (CTranslate2: model.bin, tokenizer.json). Its calls block; several threads may call.

    Raises ModelFileError if the directory does not hold a usable model.
    """

    def __init__(self, model_dir: Path, threads: int = 2) -> None:
        ctranslate2: Any = native("ctranslate2")
        tokenizers: Any = native("tokenizers")
        tokenizer_file = model_dir / "tokenizer.json"
        try:
            self._tokenizer = cast("_Tokenizer", tokenizers.Tokenizer.from_file(str(tokenizer_file)))
            self._model = cast(
                "_Whisper",
                ctranslate2.models.Whisper(str(model_dir), device="cpu", compute_type="int8", intra_threads=threads),
            )
            self._start = self._token("<|startoftranscript|>")
            self._end = self._token("<|endoftext|>")
            self._previous = self._token("<|startofprev|>")
            no_timestamps = self._token("<|notimestamps|>")
            language = [self._token("<|en|>"), self._token("<|transcribe|>")] if self._model.is_multilingual else []
        except ModelFileError:
            raise
        except Exception as error:  # both libraries raise bare RuntimeError and Exception
            raise ModelFileError(
                f"{model_dir} does not hold a usable Whisper model ({error}). Run: rth models fetch whisper-tiny.en"
            ) from error
        self._prefix = [self._start, *language, no_timestamps]
        self._storage: Any = ctranslate2.StorageView
        self._speech = SpeechModel()
        self._speech_lock = threading.Lock()

    def warm_up(self) -> None:
        """Pay the first use's cost now."""
        self._decode(np.zeros(RATE_HZ, np.float32), MIN_WINDOW_S, None)

    def transcribe(self, samples_16k: Float32, hint: str | None = None) -> str:
        """The words in one window (`cut_at_quiet`); empty if nobody spoke.

        `hint` is text that might have come before: it biases spelling. Raises ValueError for more than fits a window.
        """
        if len(samples_16k) > MAX_WINDOW_S * RATE_HZ:
            raise ValueError(
                f"Expected at most {MAX_WINDOW_S:g} s; got {len(samples_16k) / RATE_HZ:g} s. Cut it: cut_at_quiet."
            )
        spoken = self._spoken_part(samples_16k)
        return self._hear(spoken, hint).text if len(spoken) else ""

    def _spoken_part(self, samples: Float32) -> Float32:
        """The recording from a little before its first speech to a little after its last, at a sane level."""
        peak = float(np.abs(samples).max()) if len(samples) else 0.0
        if peak < QUIET_PEAK:
            return samples[:0]
        level = (samples * np.float32(WANTED_PEAK / peak)).astype(np.float32)
        padded = np.pad(level, (0, MODEL_FRAME_SAMPLES * 2))
        with self._speech_lock:
            probabilities = self._speech.probabilities(padded)
        (found,) = np.nonzero(probabilities >= SPEECH_P)
        if len(found) == 0:
            return samples[:0]
        margin = int(MARGIN_S * RATE_HZ)
        first = max(0, int(found[0]) * MODEL_FRAME_SAMPLES - margin)
        last = (int(found[-1]) + 1) * MODEL_FRAME_SAMPLES + margin
        return level[first:last]

    def _hear(self, samples: Float32, hint: str | None) -> _Guess:
        """One window's words; heard again, in full and without the hint, if they cannot be true."""
        audio_s = len(samples) / RATE_HZ
        window_s = min(MAX_WINDOW_S, max(MIN_WINDOW_S, audio_s + WINDOW_PADDING_S))
        guess = self._decode(samples, window_s, hint)
        if is_loop(guess.text, audio_s) or (hint is not None and _echoes(guess.text, hint)):
            first = guess.text
            guess = self._decode(samples, MAX_WINDOW_S, None)
            if is_loop(guess.text, audio_s) and guess.text != first:  # twice the same: it was said
                guess = _Guess(without_loop(guess.text), guess.log_probability, guess.no_speech_p)
        if guess.no_speech_p > NO_SPEECH_P and guess.log_probability < UNSURE_LOG_PROBABILITY:
            guess = _Guess("", guess.log_probability, guess.no_speech_p)
        return guess

    def _decode(self, samples: Float32, window_s: float, hint: str | None) -> _Guess:
        size = int(window_s * RATE_HZ)
        prompt = [*self._hint_tokens(hint), *self._prefix]
        budget = len(prompt) + SPARE_TOKENS + int(len(samples) / RATE_HZ * TOKENS_PER_S)
        features = self._storage.from_array(np.ascontiguousarray(log_mel(samples, size)[None]))
        (result,) = self._model.generate(
            features,
            [prompt],
            beam_size=1,
            max_length=min(WHISPER_MAX_TOKENS, budget),
            return_scores=True,
            return_no_speech_prob=True,
        )
        words = [token for token in result.sequences_ids[0] if token < self._end]
        return _Guess(self._tokenizer.decode(words).strip(), result.scores[0], result.no_speech_prob)

    def _hint_tokens(self, hint: str | None) -> list[int]:
        if not hint or not hint.strip():
            return []
        ids = self._tokenizer.encode(" " + hint.strip(), add_special_tokens=False).ids
        return [self._previous, *(token for token in ids if token < self._end)][-MAX_HINT_TOKENS:]

    def _token(self, name: str) -> int:
        token = self._tokenizer.token_to_id(name)
        if token is None:
            raise ModelFileError(f"The tokenizer has no {name}: it is not Whisper's.")
        return token


def cut_at_quiet(samples_16k: Float32) -> list[Float32]:
    """The recording in windows that Whisper can take, each cut where it is quietest; joined, they are the recording."""
    windows: list[Float32] = []
    rest = samples_16k
    span = int(QUIET_SPAN_S * RATE_HZ)
    while len(rest) > MAX_WINDOW_S * RATE_HZ:
        start, end = int(CUT_FROM_S * RATE_HZ), int(CUT_TO_S * RATE_HZ)
        total = np.concatenate((np.zeros(1), np.cumsum(np.square(rest[start:end], dtype=np.float64))))
        cut = start + int((total[span:] - total[:-span]).argmin()) + span // 2
        windows.append(rest[:cut])
        rest = rest[cut:]
    windows.append(rest)
    return windows


def _echoes(text: str, hint: str) -> bool:
    """The hint's own end, given back as what was said."""
    said = text.strip().lower()
    return len(said.split()) >= 3 and hint.strip().lower().endswith(said)
