"""The study leaves the video chat, often in mid-sentence. Source: HRP 0.2.0, "Turn-taking and interruptions"."""

from __future__ import annotations

import pytest

from realtime_harness.realtime import events as e
from realtime_harness.realtime import facts as f
from realtime_harness.realtime import orders as o

from .driver import Talk

ON = {"type": "server_vad", "silence_duration_ms": 500, "create_response": True, "interrupt_response": True}


def test_in_mid_speech_the_commit_is_the_announced_turn_without_a_reply(talk: Talk) -> None:
    talk.speak_ms(960)
    announced = talk.last(e.SpeechStarted).item_id
    talk.detection(None)
    talk.commit()
    talk.wait(5)
    assert talk.see() == [
        "input_audio_buffer.speech_started",
        "session.updated",
        "input_audio_buffer.committed",
        "conversation.item.added",
        "conversation.item.done",
    ]
    assert talk.last(e.AudioCommitted).item_id == announced == talk.last(e.ItemDone).item["id"]


def test_afterwards_offsets_count_from_the_switch(talk: Talk) -> None:
    talk.speak_ms(960)
    talk.detection(None)
    talk.commit()
    talk.detection(ON)
    talk.quiet_ms(640)
    talk.turn(320)
    assert talk.last(e.SpeechStarted).audio_start_ms == 340
    assert talk.last(e.SpeechStopped).audio_end_ms == 640 + 320 + 32 + 512
    assert len({started.item_id for started in talk.all(e.SpeechStarted)}) == 2
    assert talk.see()[-1] == "response.created"


def test_a_silent_pause_has_nothing_to_commit_and_harms_nothing(talk: Talk) -> None:
    talk.quiet_ms(2000)
    talk.detection(None)
    talk.commit()
    assert talk.see() == ["session.updated", "error"]
    talk.detection(ON)
    talk.turn()
    assert talk.last(e.SpeechStarted).audio_start_ms == 0
    assert talk.see()[-1] == "response.created"


def test_a_turn_of_one_frame_is_kept_too(talk: Talk) -> None:
    """32 ms without padding were refused as an empty buffer, though the turn had been announced."""
    talk.detection({**ON, "prefix_padding_ms": 0})
    talk.speak_ms(32)
    talk.detection(None)
    talk.commit()
    assert talk.last(e.AudioCommitted).item_id == talk.last(e.SpeechStarted).item_id


def test_an_odd_byte_does_not_leak_over_the_switch(talk: Talk) -> None:
    talk.append(b"\1\2\3")
    talk.detection(None)
    talk.detection(ON)
    talk.append(b"\4\5")
    assert talk.order(o.Audio).pcm == b"\4\5"


def test_an_odd_byte_is_carried_to_the_next_append(talk: Talk) -> None:
    talk.append(b"\1\2\3")
    talk.append(b"\4\5")
    talk.append(b"\6")
    assert [order.pcm for order in talk.all(o.Audio)] == [b"\1\2", b"\3\4", b"\5\6"]


def test_what_is_uncommitted_at_the_switch_is_nobodys(talk: Talk) -> None:
    talk.speak_ms(960)
    talk.detection(None)
    talk.detection(ON)
    talk.quiet_ms(2000)
    assert not talk.all(e.AudioCommitted)
    assert not talk.all(e.SpeechStopped)


def test_frames_of_before_the_switch_count_no_more(talk: Talk) -> None:
    talk.auto_detect = False
    talk.speak_ms(320)
    late = list(talk._detected)
    talk.detection(None)
    talk.detection(ON)
    talk.append(bytes(48_000))
    for frame in late:
        talk.tell(frame)
    assert not talk.all(e.SpeechStarted)


def test_audio_appended_while_off_is_kept_for_a_commit(talk: Talk) -> None:
    talk.quiet_ms(1000)
    talk.detection(None)
    talk.speak_ms(400)
    talk.commit()
    assert (talk.order(o.EndTurn).from_sample, talk.order(o.EndTurn).to_sample) == (24_000, 33_600)


@pytest.mark.parametrize("same", [ON, {**ON, "silence_duration_ms": 700}, {"type": "semantic_vad"}])
def test_only_a_switch_from_off_to_on_restarts_the_clock(talk: Talk, same: dict[str, object]) -> None:
    talk.quiet_ms(1600)
    talk.detection(same)
    talk.speak_ms(64)
    assert talk.last(e.SpeechStarted).audio_start_ms == 1300
    assert not talk.all(o.DropAudio)


def test_ten_switches_a_second(talk: Talk) -> None:
    for _ in range(50):
        talk.speak_ms(50)
        talk.detection(None)
        talk.speak_ms(50)
        talk.detection(ON)
    assert len(talk.all(e.SessionUpdated)) == 101
    talk.quiet_ms(960)
    talk.turn()
    assert talk.last(e.SpeechStarted).audio_start_ms == 660
    assert len(talk.all(e.ResponseCreated)) == 1


def test_an_instructions_only_update_ends_no_turn_and_keeps_the_clock(talk: Talk) -> None:
    talk.quiet_ms(1600)
    talk.speak_ms(320)
    before = talk.last(e.SessionUpdated).session
    talk.update(instructions="Now speak of the weather.")
    talk.quiet_ms(640)
    after = talk.last(e.SessionUpdated).session
    assert after == {**before, "instructions": "Now speak of the weather."}
    assert talk.last(e.SpeechStopped).audio_end_ms == 1600 + 320 + 32 + 512
    assert talk.see()[-1] == "response.created"


def test_a_reply_already_under_way_goes_on(talk: Talk) -> None:
    talk.turn()
    talk.detection(None)
    talk.reply()
    talk.wait(1)
    assert talk.done["status"] == "completed"


def test_a_commit_pays_no_debt_of_an_earlier_turn() -> None:
    """A turn ended during a silent answer, the next was cut off by the pause: the commit was followed by a reply."""
    talk = Talk(audio={"input": {"turn_detection": {**ON, "interrupt_response": False}}})
    talk.create(output_modalities=["text"])
    talk.turn()
    talk.speak_ms(320)
    talk.detection(None)
    talk.end()
    talk.see()
    talk.commit()
    talk.wait(5)
    assert talk.see() == ["input_audio_buffer.committed", "conversation.item.added", "conversation.item.done"]


def test_words_of_a_cut_off_turn_still_come(talk: Talk) -> None:
    talk.transcription({"model": "whisper-1"})
    talk.speak_ms(960)
    talk.detection(None)
    talk.commit()
    turn = talk.order(o.EndTurn)
    talk.tell(f.UserText(turn.ref, turn.item_id, "I was just about to", 0.96))
    assert talk.last(e.TranscriptionCompleted).transcript == "I was just about to"
