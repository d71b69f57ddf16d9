"""Input audio is kept as long as a turn may need it, and no longer."""

from __future__ import annotations

import weakref

from tests.engines.local.stage import FRAME, Loudness, quiet, tone

from realtime_harness.engines.local.ears import KEPT_MS, MAX_TURN_MS, TRIM_MS, Ears
from realtime_harness.realtime.pcm import bytes_of_ms, silence

SECOND = silence(1000)


def listening() -> Ears:
    return Ears(Loudness())


def test_every_frame_has_its_probability_in_order() -> None:
    ears = listening()

    found = ears.hear(0, quiet(1) + tone(2), detect=True)

    assert [(fact.end_sample, fact.p) for fact in found] == [(FRAME, 0.0), (2 * FRAME, 0.9), (3 * FRAME, 0.9)]


def test_audio_that_is_not_to_be_judged_is_kept_for_a_manual_commit() -> None:
    ears = listening()

    assert ears.hear(0, tone(4), detect=False) == []
    assert ears.recording(FRAME, 3 * FRAME) == tone(2)


def test_an_hour_of_silence_keeps_half_a_minute() -> None:
    ears = listening()

    for _ in range(3600):
        ears.hear(0, SECOND, detect=True)
        assert ears.held_bytes <= bytes_of_ms(KEPT_MS + TRIM_MS + 1000)

    assert len(ears.recording(3595 * 24_000, 3600 * 24_000)) == 5 * 48_000


def test_an_open_turn_is_kept_from_its_start_up_to_a_bound() -> None:
    ears = listening()
    ears.hear(0, SECOND * 10, detect=True)
    ears.turn_open(9 * 24_000)

    for _ in range(60):
        ears.hear(0, SECOND, detect=True)
    assert len(ears.recording(9 * 24_000, 70 * 24_000)) == 61 * 48_000

    for _ in range(1200):
        ears.hear(0, SECOND, detect=True)
    assert ears.held_bytes <= bytes_of_ms(MAX_TURN_MS + TRIM_MS + 1000)


def test_while_nobody_listens_for_turns_ten_minutes_are_kept_for_a_commit() -> None:
    ears = listening()

    for _ in range(1800):
        ears.hear(0, SECOND, detect=False)

    assert bytes_of_ms(MAX_TURN_MS) <= ears.held_bytes <= bytes_of_ms(MAX_TURN_MS + TRIM_MS + 1000)


def test_a_new_epoch_counts_from_nothing() -> None:
    ears = listening()
    ears.hear(0, tone(3), detect=True)

    ears.drop(1)

    assert [fact.end_sample for fact in ears.hear(1, quiet(1), detect=True)] == [FRAME]
    assert ears.recording(0, FRAME) == quiet(1)
    assert ears.quiet_since(0)


def test_audio_dropped_in_the_same_epoch_is_gone_and_counting_goes_on() -> None:
    ears = listening()
    ears.hear(0, tone(3), detect=True)

    ears.drop(0)

    assert [fact.end_sample for fact in ears.hear(0, quiet(2), detect=True)] == [4 * FRAME, 5 * FRAME]
    assert ears.recording(0, 5 * FRAME) == quiet(2)


def test_it_knows_whether_anything_was_said_after_a_moment() -> None:
    ears = listening()
    ears.hear(0, tone(2) + quiet(2), detect=True)

    assert ears.quiet_since(2 * FRAME)
    assert not ears.quiet_since(FRAME)

    ears.hear(0, quiet(1), detect=False)  # nobody listened: there may have been a word in it
    assert not ears.quiet_since(4 * FRAME)


def test_closed_ears_let_go_of_their_detector_and_of_the_audio() -> None:
    """A detector holds over a mebibyte: kept by what is left of sessions, it made a server grow with every call."""
    detector = Loudness()
    ears = Ears(detector)
    ears.hear(0, silence(100), detect=True)
    kept = weakref.ref(detector)
    del detector

    ears.close()

    assert kept() is None
    assert ears.held_bytes == 0
    assert ears.hear(0, silence(100), detect=True) == []
