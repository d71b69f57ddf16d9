"""The voice: chunks that know how far they reach, speed, level, and text that is not prose."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from realtime_harness.engines.local.voice import CHUNK_SAMPLES, DEFAULT_VOICE, SpokenChunk, Voice

pytestmark = pytest.mark.real

SENTENCE = "The capital of France is Paris, as far as I know."


@pytest.fixture(scope="module")
def voice() -> Voice:
    voice = Voice()
    voice.warm_up()
    return voice


def spoken(voice: Voice, text: str, speed: float = 1.0) -> tuple[list[SpokenChunk], bytes]:
    chunks = list(voice.speak(text, speed))
    return chunks, b"".join(chunk.pcm for chunk in chunks)


def samples(pcm: bytes) -> np.ndarray:
    return np.frombuffer(pcm, "<i2").astype(np.float64) / 32_768


def test_chunks_are_whole_samples_of_at_most_200_ms(voice: Voice) -> None:
    chunks, _ = spoken(voice, SENTENCE)
    assert all(len(chunk.pcm) % 2 == 0 and 0 < len(chunk.pcm) <= 2 * CHUNK_SAMPLES for chunk in chunks)


def test_the_chunks_tell_how_far_in_the_text_they_reach(voice: Voice) -> None:
    chunks, pcm = spoken(voice, SENTENCE)
    ends = [chunk.text_end for chunk in chunks]
    assert ends == sorted(ends)
    assert ends[-1] == len(SENTENCE)
    half = next(n for n in range(len(chunks)) if sum(len(c.pcm) for c in chunks[: n + 1]) >= len(pcm) / 2)
    assert SENTENCE[: ends[half]] in {
        "The capital of France",
        "The capital of France is",
        "The capital of France is Paris,",
    }


def test_text_ends_are_where_the_words_are_heard_to_end(voice: Voice, hear: Callable[[bytes], str]) -> None:
    text = "My favourite animals are elephants and monkeys, and I have never seen a tiger."
    chunks, _ = spoken(voice, text)
    comma = text.index(",") + 1
    before = b"".join(chunk.pcm for chunk in chunks if chunk.text_end <= comma)
    heard = hear(before).lower()
    assert "monkeys" in heard
    assert "never" not in heard


def test_the_last_chunk_reaches_the_end_even_of_what_is_not_spoken(voice: Voice) -> None:
    chunks, _ = spoken(voice, "Done. 🎉🎉🎉\n")
    assert chunks[-1].text_end == len("Done. 🎉🎉🎉\n")


@pytest.mark.parametrize("speed", [0.25, 0.4, 0.5, 0.8, 0.95, 1.1, 1.25, 1.4, 1.5])
def test_speed_is_applied(voice: Voice, speed: float) -> None:
    _, usual = spoken(voice, SENTENCE)
    _, paced = spoken(voice, SENTENCE, speed)
    assert len(usual) / len(paced) == pytest.approx(speed, rel=0.04)


@pytest.mark.parametrize(("asked", "given"), [(0.01, 0.25), (99.0, 1.5)])
def test_a_speed_out_of_range_is_clamped(voice: Voice, asked: float, given: float) -> None:
    assert spoken(voice, "Hello there.", asked)[1] == spoken(voice, "Hello there.", given)[1]


@pytest.mark.parametrize("speed", [0.4, 0.5, 0.8, 1.0, 1.25, 1.5])
def test_speech_is_understood_at_any_pace(voice: Voice, hear: Callable[[bytes], str], speed: float) -> None:
    _, pcm = spoken(voice, "Please set a timer for ten minutes.", speed)
    assert hear(pcm).lower().replace("10", "ten") == "please set a timer for ten minutes."


def test_speech_is_loud_enough_and_never_clips(voice: Voice) -> None:
    _, pcm = spoken(voice, SENTENCE)
    audio = samples(pcm)
    assert 0.3 < np.abs(audio).max() <= 0.91
    assert 0.05 < np.sqrt(np.mean(audio**2)) < 0.2


def test_speech_begins_at_once(voice: Voice) -> None:
    audio = samples(spoken(voice, SENTENCE)[1])
    assert np.abs(audio[: 24 * 50]).max() > 0.01


def test_a_pause_follows_a_sentence(voice: Voice) -> None:
    sentence, bare = spoken(voice, "I think so.")[1], spoken(voice, "I think so")[1]
    assert np.abs(samples(sentence)[-24 * 200 :]).max() < 0.01
    assert np.abs(samples(bare)[-24 * 100 :]).max() > 0.01


def test_the_same_text_sounds_the_same(voice: Voice) -> None:
    assert spoken(voice, SENTENCE)[1] == spoken(voice, SENTENCE)[1]


@pytest.mark.parametrize("text", ["", " ", "\n", ".", "🙂🙂", "你好世界", "Привет", "---", "***", "\ud800", "\x00\x01"])
def test_nothing_to_say_yields_nothing(voice: Voice, text: str) -> None:
    assert spoken(voice, text) == ([], b"")


@pytest.mark.parametrize(
    "text",
    [
        "a" * 5000,
        "9" * 5000,
        "https://example.com/" + "x" * 5000,
        "**bold** `x = f(1)` <b>",
        "1,000 3.5% $5 7:30pm",
        "½ ² ™ ¼",
        "مرحبا hello",
        "ALLCAPS_WITH_UNDERSCORES",
        "a.b.c.d",
        "[x](/y/)",
        "[x](y",
        "'''''",
        "-5°C",
        "MMXXIV IVIVIV",
    ],
    ids=lambda text: text[:12],
)
def test_odd_text_is_spoken_soon_and_never_raises(voice: Voice, text: str) -> None:
    start = time.perf_counter()
    chunks, _ = spoken(voice, text)
    assert time.perf_counter() - start < 3
    assert not chunks or chunks[-1].text_end == len(text)


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(max_size=40))
def test_any_text_at_all_is_borne(voice: Voice, text: str) -> None:
    ends = [chunk.text_end for chunk in voice.speak(text)]
    assert ends == sorted(ends)
    assert not ends or ends[-1] == len(text)


def test_long_text_begins_to_sound_before_it_is_all_made(voice: Voice) -> None:
    start = time.perf_counter()
    next(voice.speak("no punctuation at all " * 200))
    assert time.perf_counter() - start < 1.5


def test_several_threads_may_speak_at_once(voice: Voice) -> None:
    alone = spoken(voice, SENTENCE)[1]
    found: list[bytes] = []
    threads = [threading.Thread(target=lambda: found.append(spoken(voice, SENTENCE)[1])) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [alone] * 4


@pytest.mark.parametrize("name", ["marin", "alloy", "nobody", ""])
def test_a_name_that_is_no_voice_of_ours_gets_the_default_one(voice: Voice, name: str) -> None:
    assert list(voice.speak("Hello.", 1.0, name)) == list(voice.speak("Hello.", 1.0, DEFAULT_VOICE))
