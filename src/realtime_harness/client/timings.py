"""How fast the other side was: from what was sent and what came, with times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from realtime_harness.client.hrp import Received
from realtime_harness.client.microphone import Microphone
from realtime_harness.realtime import events as e
from realtime_harness.realtime.pcm import SAMPLES_PER_MS

_E = TypeVar("_E", bound=e.ServerEventBase)
WINDOW_MS = 10
LOUD_RMS = 250.0  # of 32768: about -42 dBFS


@dataclass(frozen=True, slots=True)
class Spoken:
    """Speech that was streamed: its first and last loud milliseconds, on the stream's own clock."""

    first_word_ms: int
    last_word_ms: int


@dataclass(frozen=True, slots=True)
class Timing:
    """One figure, in whole milliseconds."""

    name: str
    ms: int


def loud_span(pcm: bytes) -> tuple[int, int]:
    """The first and last milliseconds of PCM16 24 kHz that are loud enough to be speech; (0, 0) for silence."""
    size = WINDOW_MS * SAMPLES_PER_MS
    samples = np.frombuffer(pcm[: len(pcm) // 2 * 2], "<i2").astype(np.float64)
    windows = len(samples) // size
    rms = np.sqrt(np.mean(np.square(samples[: windows * size].reshape(windows, size)), axis=1))
    loud = np.nonzero(rms > LOUD_RMS)[0]
    return (int(loud[0]) * WINDOW_MS, (int(loud[-1]) + 1) * WINDOW_MS) if len(loud) else (0, 0)


def timings_of_turn(
    received: Sequence[Received], microphone: Microphone, spoken: Spoken, prefix_padding_ms: int
) -> list[Timing]:
    """The figures of one spoken turn. `received` begins where the turn's speech did."""
    out: list[Timing] = []
    started = _first(received, e.SpeechStarted)
    if started is not None:
        onset_ms = started[1].audio_start_ms + prefix_padding_ms
        _add(out, "speech_started behind its audio", microphone.sent_at(onset_ms), started[0])
    stopped = _last(received, e.SpeechStopped)
    if stopped is None:
        return out
    _add(out, "speech_stopped behind its audio", microphone.sent_at(stopped[1].audio_end_ms), stopped[0])
    last_word_at = microphone.sent_at(spoken.last_word_ms)
    _add(out, "end of last word to speech_stopped", last_word_at, stopped[0])
    after = [one for one in received if one.at >= stopped[0]]
    for name, kind in (
        ("end of last word to your words", e.TranscriptionCompleted),
        ("end of last word to response.created", e.ResponseCreated),
        ("end of last word to a tool call", e.FunctionArgumentsDone),
        ("end of last word to first audio", e.OutputAudioDelta),
    ):
        found = _first(after, kind)
        if found is not None:
            _add(out, name, last_word_at, found[0])
    return out


def timings_of_interruption(received: Sequence[Received], microphone: Microphone, spoken: Spoken) -> list[Timing]:
    """The figures of one interruption. `received` begins where the interrupting speech did."""
    out: list[Timing] = []
    started = _first(received, e.SpeechStarted)
    if started is None:
        return out
    first_word_at = microphone.sent_at(spoken.first_word_ms)
    _add(out, "start of interruption to speech_started", first_word_at, started[0])
    done = _first(received, e.ResponseDone)
    until = done[0] if done is not None else received[-1].at
    audio = [one.at for one in received if isinstance(one.event, e.OutputAudioDelta) and one.at <= until]
    if first_word_at is not None:  # nothing after it: 0
        _add(out, "start of interruption to last audio received", first_word_at, max([*audio[-1:], first_word_at]))
    if done is not None:
        _add(out, "speech_started to response.done", started[0], done[0])
    cut = _first(received, e.ItemTruncated)
    if cut is not None:
        _add(out, "speech_started to truncated", started[0], cut[0])
    return out


def _add(out: list[Timing], name: str, since: float | None, until: float) -> None:
    if since is not None:
        out.append(Timing(name, round((until - since) * 1000)))


def _first(received: Sequence[Received], kind: type[_E]) -> tuple[float, _E] | None:
    return next(((one.at, one.event) for one in received if isinstance(one.event, kind)), None)


def _last(received: Sequence[Received], kind: type[_E]) -> tuple[float, _E] | None:
    return _first(list(reversed(received)), kind)
