"""The ears: words right, nothing heard in silence, nothing lost of long speech, no loops."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from realtime_harness.audio.resample import Float32, resample, to_float
from realtime_harness.engines.local.hearing import Hearing, cut_at_quiet
from realtime_harness.engines.local.words_heard import is_loop, joined, number_hint, without_loop
from realtime_harness.errors import ModelFileError

SENTENCES = (
    "The capital of France is Paris.",
    "I would like to book a table for two people tomorrow evening.",
    "What is the weather like in Boston?",
    "She sells seashells by the seashore.",
    "My favorite color is green, but I also like blue.",
    "Can you tell me a short story about a dog?",
    "I think the answer is wrong.",
    "It was raining all day, so we stayed at home.",
    "Please wait a moment while I look for my glasses.",
    "The quick brown fox jumps over the lazy dog.",
)
QUESTION = "How warm did you feel, from 0 to 100?"


@pytest.fixture(scope="module")
def hearing() -> Hearing:
    from realtime_harness.models import ModelStore

    ears = Hearing(ModelStore().path("whisper-tiny.en"), threads=2)
    ears.warm_up()
    return ears


@pytest.fixture
def heard(speech: Callable[[str], bytes]) -> Callable[[str], Float32]:
    return lambda text: resample(to_float(speech(text)), 24_000, 16_000)


def words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9']+", text.lower())


@pytest.mark.real
@pytest.mark.parametrize("sentence", SENTENCES)
def test_a_sentence_is_heard_word_for_word(hearing: Hearing, heard: Callable[[str], Float32], sentence: str) -> None:
    assert words(hearing.transcribe(heard(sentence))) == words(sentence)


@pytest.mark.real
def test_numbers_are_heard_when_a_number_was_asked_for(hearing: Hearing, heard: Callable[[str], Float32]) -> None:
    wrong: list[tuple[int, str]] = []
    for number in range(0, 101, 4):
        text = hearing.transcribe(heard(f"I would say {number}."), number_hint(QUESTION))
        if str(number) not in words(text) and not (number == 0 and "zero" in words(text)):
            wrong.append((number, text))
    assert len(wrong) <= 1, wrong


def transcribed(hearing: Hearing, samples: Float32) -> str:
    """The words of a recording of any length, window by window."""
    return joined([hearing.transcribe(window) for window in cut_at_quiet(samples)])


def noise(level: float) -> Float32:
    return np.random.default_rng(0).normal(0, level, 48_000).astype(np.float32)


def hum(hz: int) -> Float32:
    return (0.3 * np.sin(np.arange(48_000) * 2 * np.pi * hz / 16_000)).astype(np.float32)


@pytest.mark.real
@pytest.mark.parametrize("hint", [None, number_hint(QUESTION)], ids=["bare", "hint"])
@pytest.mark.parametrize(
    "samples",
    [
        np.zeros(0, np.float32),
        np.ones(1, np.float32),
        np.zeros(80000, np.float32),
        noise(0.0003),
        noise(0.05),
        noise(0.3),
        hum(60),
        hum(1000),
        np.eye(1, 16000, 8000, dtype=np.float32)[0],
        np.full(16000, 0.5, np.float32),
    ],
    ids=["none", "one", "silence", "hiss", "noise", "loud", "hum", "tone", "click", "offset"],
)
def test_nothing_is_heard_where_nobody_speaks(hearing: Hearing, samples: Float32, hint: str | None) -> None:
    assert hearing.transcribe(samples, hint) == ""


@pytest.mark.real
@pytest.mark.parametrize("silence_s", [1, 5, 12, 40])
def test_silence_around_speech_adds_no_words(hearing: Hearing, heard: Callable[[str], Float32], silence_s: int) -> None:
    spoken = np.pad(heard("Hello there."), silence_s * 16_000)
    assert words(transcribed(hearing, spoken)) == ["hello", "there"]


@pytest.mark.real
@pytest.mark.parametrize("gain", [0.005, 0.05, 1.0, 1.4])
def test_quiet_and_loud_speech_is_heard(hearing: Hearing, heard: Callable[[str], Float32], gain: float) -> None:
    spoken = np.clip(heard("Please call me tomorrow.") * np.float32(gain), -1, 1)
    assert words(hearing.transcribe(spoken)) == words("Please call me tomorrow.")


@pytest.mark.real
def test_of_long_speech_nothing_is_lost(hearing: Hearing, heard: Callable[[str], Float32]) -> None:
    text = " ".join(SENTENCES * 2)
    recording = heard(text)
    assert len(recording) > 40 * 16_000
    assert words(transcribed(hearing, recording)) == words(text)


@pytest.mark.real
def test_more_than_fits_a_window_is_refused_and_not_cut_short(hearing: Hearing) -> None:
    with pytest.raises(ValueError, match=r"at most 30 s; got 31 s\. Cut it"):
        hearing.transcribe(np.zeros(31 * 16_000, np.float32))


@pytest.mark.real
def test_several_threads_may_listen_at_once(hearing: Hearing, heard: Callable[[str], Float32]) -> None:
    spoken = [heard(sentence) for sentence in SENTENCES[:3]]
    found: dict[int, str] = {}

    def listen(n: int) -> None:
        found[n] = hearing.transcribe(spoken[n])

    threads = [threading.Thread(target=listen, args=(n,)) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [words(found[n]) for n in range(3)] == [words(sentence) for sentence in SENTENCES[:3]]


@pytest.mark.real
def test_a_directory_without_the_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="rth models fetch"):
        Hearing(tmp_path)


@pytest.mark.parametrize("seconds", [1, 30, 31, 75, 300])
def test_windows_are_the_recording(seconds: int) -> None:
    recording = np.random.default_rng(0).normal(0, 0.1, seconds * 16_000).astype(np.float32)
    windows = cut_at_quiet(recording)
    assert np.array_equal(np.concatenate(windows), recording)
    assert max(len(window) for window in windows) <= 30 * 16_000


def test_a_cut_is_made_in_the_pause() -> None:
    recording = np.random.default_rng(0).normal(0, 0.1, 40 * 16_000).astype(np.float32)
    recording[22 * 16_000 : 22 * 16_000 + 4_800] = 0
    first, _ = cut_at_quiet(recording)
    assert 22 * 16_000 < len(first) < 22 * 16_000 + 4_800


@pytest.mark.parametrize(
    ("text", "audio_s", "loop"),
    [
        ("The capital of France is Paris.", 2, False),
        ("Yes, yes, yes.", 1, False),
        ("the end of the end of the end of the end of the", 4, True),
        ("no no no no no no no no", 3, True),
        ("It is a long sentence that nobody could say in one second of time", 1, True),
        ("I went, and I saw, and I came, and I went home.", 5, False),
    ],
)
def test_a_loop_is_known(text: str, audio_s: float, loop: bool) -> None:
    assert is_loop(text, audio_s) is loop


def test_a_loop_is_cut_to_one_round() -> None:
    assert without_loop("I said thank you. thank you. thank you. thank you. Bye.") == "I said thank you. Bye."
    assert without_loop("a b a b a b a b") == "a b"
    assert without_loop("nothing repeated here") == "nothing repeated here"


def test_windows_are_joined_by_a_space() -> None:
    assert joined(["One. ", "", " Two."]) == "One. Two."


def test_a_number_hint_ends_in_numbers() -> None:
    assert number_hint(" How\nwarm? ") == "How warm? 42. 75. 13. 100. 80."
    assert number_hint() == "From 0 to 100? 42. 75. 13. 100. 80."
    assert len(number_hint("x " * 5_000)) < 250
