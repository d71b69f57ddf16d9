"""Turns of speech. Sources: HRP 0.2.0, "Turn-taking and interruptions"; recorded event orders; docs/design.md 5.1."""

from __future__ import annotations

import pytest

from realtime_harness.realtime import events as e
from realtime_harness.realtime import facts as f
from realtime_harness.realtime import orders as o

from .driver import FRAME, Talk

TURN = [
    "input_audio_buffer.speech_started",
    "input_audio_buffer.speech_stopped",
    "input_audio_buffer.committed",
    "conversation.item.added",
    "conversation.item.done",
    "response.created",
]
SPOKEN = [
    "response.output_item.added",
    "conversation.item.added",
    "response.content_part.added",
    "response.output_audio_transcript.delta",
    "response.output_audio.delta",
    "response.output_audio.done",
    "response.output_audio_transcript.done",
    "response.content_part.done",
    "conversation.item.done",
    "response.output_item.done",
    "response.done",
]


def test_a_spoken_turn_comes_in_the_recorded_order(talk: Talk) -> None:
    talk.turn()
    assert talk.see() == TURN
    talk.reply()
    talk.wait(1)
    assert talk.see() == SPOKEN
    assert talk.done["status"] == "completed"
    talk.watch.at_rest()


def test_one_item_id_from_speech_started_to_the_user_item(talk: Talk) -> None:
    talk.turn()
    ids = {talk.last(kind).item_id for kind in (e.SpeechStarted, e.SpeechStopped, e.AudioCommitted)}
    assert ids == {talk.last(e.ItemAdded).item["id"]} == {talk.last(e.ItemDone).item["id"]}
    assert talk.last(e.ItemDone).item["content"] == [{"type": "input_audio", "transcript": None}]


def test_previous_item_id_names_the_item_before(talk: Talk) -> None:
    first = talk.turn()
    talk.reply()
    talk.wait(1)
    talk.turn()
    assert talk.all(e.AudioCommitted)[0].previous_item_id is None
    assert talk.last(e.AudioCommitted).previous_item_id == talk.spoken_item
    assert [added.previous_item_id for added in talk.all(e.ItemAdded)] == [None, first, talk.spoken_item]


@pytest.mark.parametrize(
    ("quiet_before_ms", "start_ms"),
    [(1600, 1300), (320, 20), (288, 0), (0, 0)],
)
def test_the_start_is_the_onset_less_the_padding_and_never_below_zero(
    talk: Talk, quiet_before_ms: int, start_ms: int
) -> None:
    talk.quiet_ms(quiet_before_ms)
    talk.speak_ms(64)
    assert talk.last(e.SpeechStarted).audio_start_ms == start_ms


@pytest.mark.parametrize(("silence_ms", "end_ms"), [(0, 672), (200, 896), (500, 1184), (1000, 1696)])
def test_the_end_includes_the_silence_in_whole_frames(talk: Talk, silence_ms: int, end_ms: int) -> None:
    """Speech ends at 640; the first quiet frame ends at 672, and from there the silence counts (oracle)."""
    talk.detection({"type": "server_vad", "silence_duration_ms": silence_ms})
    talk.speak_ms(640)
    talk.quiet_ms(1500)
    assert talk.last(e.SpeechStopped).audio_end_ms == end_ms


def test_a_pause_within_the_silence_does_not_end_the_turn(talk: Talk) -> None:
    talk.speak_ms(320)
    talk.quiet_ms(448)
    talk.speak_ms(320)
    talk.quiet_ms(448)
    assert talk.see() == ["input_audio_buffer.speech_started"]
    assert [type(order) for order in talk.all(o.Order) if not isinstance(order, o.Audio)][-4:] == [
        o.TurnStarted,
        o.TurnMaybeEnding,
        o.TurnResumed,
        o.TurnMaybeEnding,
    ]


def test_a_frame_between_the_two_thresholds_neither_starts_nor_ends(talk: Talk) -> None:
    talk.speak_ms(320, p=0.4)
    assert talk.see() == []
    talk.speak_ms(320)
    talk.speak_ms(2000, p=0.4)
    assert talk.see() == ["input_audio_buffer.speech_started"]


@pytest.mark.parametrize("threshold", [0.0, 0.05, 0.1, 0.15, 0.9, 1.0])
def test_a_turn_ends_at_every_threshold_a_client_may_set(talk: Talk, threshold: float) -> None:
    """Threshold 0.1 with the fixed margin of 0.15 put the release below zero: no turn ever ended."""
    talk.detection({"type": "server_vad", "threshold": threshold})
    talk.speak_ms(320, p=1.0)
    assert "input_audio_buffer.speech_started" in talk.see()
    talk._loud = 0.0
    talk._stream(1000, p=0.001 if threshold else -1)
    assert "input_audio_buffer.committed" in talk.see()


def test_the_next_turn_starts_no_earlier_than_the_last_one_ended(talk: Talk) -> None:
    """Silence 32 ms, padding 300 ms: the padding of the second turn reached into the first one's audio."""
    talk.detection({"type": "server_vad", "silence_duration_ms": 32})
    talk.speak_ms(640)
    talk.quiet_ms(96)
    talk.speak_ms(320)
    assert talk.last(e.SpeechStopped).audio_end_ms == 704
    assert talk.last(e.SpeechStarted).audio_start_ms == 704
    assert talk.order(o.TurnStarted).from_sample == 704 * 24


def test_create_response_false_commits_and_says_nothing(talk: Talk) -> None:
    talk.detection({"type": "server_vad", "create_response": False})
    talk.turn()
    talk.wait(5)
    assert talk.see()[-2:] == ["conversation.item.added", "conversation.item.done"]
    assert not talk.all(e.ResponseCreated)


def test_silence_duration_may_change_while_someone_speaks(talk: Talk) -> None:
    talk.speak_ms(320)
    talk.detection({"type": "server_vad", "silence_duration_ms": 200})
    talk.quiet_ms(288)
    assert talk.last(e.SpeechStopped).audio_end_ms == 320 + 32 + 224
    assert talk.last(e.SpeechStopped).item_id == talk.last(e.SpeechStarted).item_id


def test_the_kind_of_turn_detection_may_change_while_someone_speaks(talk: Talk) -> None:
    talk.speak_ms(320)
    talk.detection({"type": "semantic_vad", "eagerness": "high"})
    talk.quiet_ms(1900)
    assert not talk.all(e.SpeechStopped)
    talk.quiet_ms(200)
    assert len(talk.all(e.SpeechStarted)) == len(talk.all(e.SpeechStopped)) == 1


@pytest.mark.parametrize(("eagerness", "limit_s"), [("low", 8), ("medium", 4), ("auto", 4), ("high", 2)])
def test_semantic_vad_waits_at_most_as_its_eagerness_says(talk: Talk, eagerness: str, limit_s: int) -> None:
    talk.detection({"type": "semantic_vad", "eagerness": eagerness})
    talk.speak_ms(320)
    talk.quiet_ms(limit_s * 1000)
    assert not talk.all(e.SpeechStopped)
    talk.quiet_ms(64)
    assert talk.see()[-1] == "response.created"


def test_semantic_vad_ends_soon_when_the_sentence_sounds_finished(talk: Talk) -> None:
    talk.detection({"type": "semantic_vad"})
    talk.speak_ms(320)
    talk.quiet_ms(224)
    asked = talk.order(o.TurnMaybeEnding)
    assert asked.judge
    talk.tell(f.TurnComplete(asked.ref, 0.9))
    talk.quiet_ms(96)
    assert talk.last(e.SpeechStopped).audio_end_ms <= 320 + 32 + 288


def test_a_judgement_of_a_silence_that_is_over_counts_no_more(talk: Talk) -> None:
    talk.detection({"type": "semantic_vad"})
    talk.speak_ms(320)
    talk.quiet_ms(224)
    stale = talk.order(o.TurnMaybeEnding).ref
    talk.speak_ms(64)
    talk.quiet_ms(224)
    talk.tell(f.TurnComplete(stale, 1.0))
    talk.quiet_ms(1000)
    assert not talk.all(e.SpeechStopped)


def test_commit_by_hand_in_mid_speech_takes_the_open_turn_and_makes_no_reply(talk: Talk) -> None:
    talk.speak_ms(640)
    talk.commit()
    assert talk.see()[-3:] == ["input_audio_buffer.committed", "conversation.item.added", "conversation.item.done"]
    assert talk.last(e.AudioCommitted).item_id == talk.last(e.SpeechStarted).item_id


def test_late_frames_of_committed_audio_open_no_turn(talk: Talk) -> None:
    """A detector that runs behind told of speech that a commit had already taken: a ghost turn of no audio."""
    talk.auto_detect = False
    talk.speak_ms(320)
    for frame in talk._detected[:2]:
        talk.tell(frame)
    talk.commit()
    for frame in talk._detected[2:]:
        talk.tell(frame)
    assert len(talk.all(e.SpeechStarted)) == 1


def test_frames_that_are_repeated_reordered_or_impossible_are_dropped(talk: Talk) -> None:
    talk.quiet_ms(320)
    for end in (0, FRAME, -FRAME, 10 * FRAME, 10**9):
        talk.tell(f.SpeechProbability(0, end, 1.0))
    talk.tell(f.SpeechProbability(7, 11 * FRAME, 1.0))
    assert talk.see() == []


@pytest.mark.parametrize("after_a_turn", [False, True])
def test_a_stray_commit_is_an_error_and_no_item(talk: Talk, after_a_turn: bool) -> None:
    if after_a_turn:
        talk.turn()
    talk.quiet_ms(3000)
    talk.see()
    talk.send(e.AudioCommit(event_id="mine"))
    assert talk.see() == ["error"]
    assert (talk.error["code"], talk.error["event_id"]) == ("input_audio_buffer_commit_empty", "mine")


def test_clear_in_mid_speech_drops_the_turn_and_positions_keep_counting(talk: Talk) -> None:
    talk.speak_ms(640)
    talk.clear()
    talk.quiet_ms(1600)
    assert talk.see() == ["input_audio_buffer.speech_started", "input_audio_buffer.cleared"]
    dropped = talk.last(e.SpeechStarted).item_id
    talk.turn()
    assert talk.last(e.SpeechStarted).audio_start_ms == 640 + 1600 - 300
    assert talk.last(e.AudioCommitted).item_id != dropped


def test_speech_that_goes_on_after_a_clear_is_a_turn_from_the_clear_on(talk: Talk) -> None:
    talk.speak_ms(640)
    talk.clear()
    talk.speak_ms(320)
    assert talk.last(e.SpeechStarted).audio_start_ms == 640
    assert talk.order(o.TurnStarted).from_sample == 640 * 24


def test_by_hand_a_commit_takes_what_was_appended_since_the_last(talk: Talk) -> None:
    talk.detection(None)
    talk.speak_ms(500)
    talk.commit()
    talk.speak_ms(300)
    talk.commit()
    assert [(turn.from_sample // 24, turn.to_sample // 24) for turn in talk.all(o.EndTurn)] == [(0, 500), (500, 800)]
    assert not talk.all(e.SpeechStarted)
    assert not talk.all(e.ResponseCreated)


@pytest.mark.parametrize(("ms", "taken"), [(0, False), (99, False), (100, True)])
def test_by_hand_a_commit_takes_a_tenth_of_a_second_or_more(talk: Talk, ms: int, taken: bool) -> None:
    talk.detection(None)
    talk.speak_ms(ms)
    talk.commit()
    assert bool(talk.all(e.AudioCommitted)) is taken


class TestIdleTimeout:
    """OpenAI Realtime, server_vad.idle_timeout_ms: counts from the end of an answer's playback."""

    @pytest.fixture
    def idle(self) -> Talk:
        talk = Talk(audio={"input": {"turn_detection": {"type": "server_vad", "idle_timeout_ms": 6000}}})
        talk.turn()
        talk.reply(ms=2000)
        talk.wait(1.1)
        talk.see()
        return talk

    def test_the_engine_takes_the_turn(self, idle: Talk) -> None:
        assert idle.done["status"] == "completed"
        idle.quiet_ms(6800)
        assert idle.see() == []
        idle.quiet_ms(200)
        assert idle.see() == [
            "input_audio_buffer.timeout_triggered",
            "input_audio_buffer.committed",
            "conversation.item.added",
            "conversation.item.done",
            "response.created",
        ]

    def test_the_offsets_are_those_of_the_silence(self, idle: Talk) -> None:
        idle.quiet_ms(7000)
        timeout = idle.last(e.TimeoutTriggered)
        assert timeout.audio_end_ms - timeout.audio_start_ms == 6000
        assert timeout.item_id == idle.last(e.AudioCommitted).item_id

    def test_who_speaks_is_not_idle(self, idle: Talk) -> None:
        idle.quiet_ms(5000)
        idle.speak_ms(8000)
        assert not idle.all(e.TimeoutTriggered)

    def test_a_response_beside_the_conversation_does_not_stop_the_count(self, idle: Talk) -> None:
        """`conversation: none` switched the timeout off for good."""
        idle.create(conversation="none", output_modalities=["text"])
        idle.write("aside")
        idle.end()
        idle.wait(8)
        assert len(idle.all(e.TimeoutTriggered)) == 1
