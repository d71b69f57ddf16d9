"""Audio goes out at the pace of speech. Source: docs/design.md 4.2 and 5.9."""

from __future__ import annotations

import pytest

from realtime_harness.realtime import events as e
from realtime_harness.realtime import facts as f
from realtime_harness.realtime.pcm import silence

from .driver import Talk


def leads_s(talk: Talk) -> list[float]:
    """How far ahead of a player that started with the first delta each delta put us, with its own length."""
    leads, until = [], 0.0
    for at, output in talk.log:
        if isinstance(output, e.OutputAudioDelta):
            until = max(until, at) + len(output.delta) / 48_000
            leads.append(until - at)
    return leads


def sizes_ms(talk: Talk) -> list[float]:
    return [len(delta.delta) / 48 for delta in talk.all(e.OutputAudioDelta)]


def test_a_first_burst_of_a_second_then_real_time(talk: Talk) -> None:
    talk.turn()
    talk.reply(ms=10_000)
    assert 1000 <= talk.audio_ms <= 1200
    talk.wait(5)
    assert 6000 <= talk.audio_ms <= 6200
    talk.wait(5)
    assert talk.audio_ms == 10_000
    assert max(leads_s(talk)) <= 1.2


def test_the_response_ends_when_its_audio_is_out_whatever_the_backend_said(talk: Talk) -> None:
    talk.turn()
    talk.reply(ms=3000)
    talk.wait(1.7)
    assert not talk.all(e.ResponseDone)
    talk.wait(0.4)
    assert talk.done["status"] == "completed"


@pytest.mark.parametrize("piece_bytes", [2, 50, 958, 960, 4800, 5758, 5760, 9600, 96_000, 480_000])
def test_deltas_have_20_to_200_ms_whatever_the_backend_makes(talk: Talk, piece_bytes: int) -> None:
    talk.turn()
    pieces = max(1, 48_000 // piece_bytes)
    for _ in range(pieces):
        talk.tell(f.AudioOut(talk.ref, 0, bytes(piece_bytes), 0))
    talk.end()
    talk.wait(15)
    assert all(20 <= size <= 200 for size in sizes_ms(talk))
    assert 0 <= talk.audio_ms - pieces * piece_bytes / 48 < 20


def test_half_samples_of_the_backend_never_get_out(talk: Talk) -> None:
    """Pieces of 4801 bytes made odd deltas: noise from there on."""
    talk.turn()
    pcm = bytes(range(240)) * 200
    for start in range(0, len(pcm), 4801):
        talk.tell(f.AudioOut(talk.ref, 0, pcm[start : start + 4801], 0))
    talk.end()
    talk.wait(3)
    assert b"".join(delta.delta for delta in talk.all(e.OutputAudioDelta)) == pcm


def test_a_short_piece_waits_for_more_and_nobody_spins(talk: Talk) -> None:
    """5 ms of audio with nothing after it: `wake_at` was now, for ever."""
    talk.turn()
    talk.tell(f.AudioOut(talk.ref, 0, silence(5), 0))
    talk.wait(1)
    assert talk.audio_ms == 0
    talk.tell(f.AudioOut(talk.ref, 0, silence(100), 0))
    assert sizes_ms(talk) == [105]


def test_a_short_piece_between_words_waits_too(talk: Talk) -> None:
    """The end of one clause, 5 ms, went out alone because words followed it."""
    talk.turn()
    talk.say("One.", 205)
    talk.say(" Two.", 200)
    talk.end()
    talk.wait(1)
    assert all(size >= 20 for size in sizes_ms(talk))
    assert talk.audio_ms == 405
    assert talk.done["output"][0]["content"][0]["transcript"] == "One. Two."


def test_the_last_short_piece_is_filled_with_silence(talk: Talk) -> None:
    talk.turn()
    talk.say("Yes.", 205)
    talk.end()
    talk.wait(1)
    assert sizes_ms(talk)[-1] == 20


def test_after_an_underrun_there_is_no_catching_up(talk: Talk) -> None:
    talk.turn()
    talk.say("First.", 400)
    talk.wait(10)
    before = talk.audio_ms
    talk.say("Second.", 8000)
    assert talk.audio_ms - before <= 1200
    talk.wait(2)
    assert talk.audio_ms - before <= 3200


def test_two_responses_in_a_row_share_one_lead(talk: Talk) -> None:
    talk.turn()
    talk.reply(ms=2000)
    talk.wait(1.1)
    talk.create()
    talk.reply(ms=2000)
    assert max(leads_s(talk)) <= 1.2
    talk.wait(3)
    assert talk.audio_ms == 4000


def test_after_a_client_cancel_the_next_response_starts_with_a_burst(talk: Talk) -> None:
    talk.turn()
    talk.say("Long.", 5000)
    talk.wait(1)
    talk.cancel()
    talk.create()
    before = talk.audio_ms
    talk.reply(ms=3000)
    assert talk.audio_ms - before >= 1000


def test_words_come_with_their_audio_not_all_at_once(talk: Talk) -> None:
    talk.turn()
    for clause in ("One.", " Two.", " Three."):
        talk.say(clause, 2000)
    talk.end()
    assert [delta.delta for delta in talk.all(e.OutputTranscriptDelta)] == ["One."]
    talk.wait(6)
    assert "".join(delta.delta for delta in talk.all(e.OutputTranscriptDelta)) == "One. Two. Three."


def test_a_written_answer_is_not_paced(talk: Talk) -> None:
    talk.create(output_modalities=["text"])
    talk.write("A long answer. " * 100)
    talk.end()
    assert talk.done["status"] == "completed"


@pytest.mark.parametrize("offset", [0.0, 0.1, 1 / 3, 0.7, 1e6 + 0.3])
def test_the_pacer_never_asks_for_a_wake_that_finds_nothing_to_do(talk: Talk, offset: float) -> None:
    """A lead of exactly 1 s was not due by one sum and due by the other: a busy loop."""
    talk.now += offset
    talk.create()
    talk.say("Tick.", 20_000)
    for _ in range(150):
        due = talk.machine.wake_at()
        assert due is not None
        talk.now = due
        talk.wake()
