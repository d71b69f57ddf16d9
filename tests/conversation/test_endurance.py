"""Long and strange streams on the virtual clock."""

from __future__ import annotations

import tracemalloc

from realtime_harness.conversation import Conversation
from realtime_harness.realtime import events as e
from realtime_harness.realtime import facts as f
from realtime_harness.realtime import orders as o
from realtime_harness.realtime.session import Session

from .driver import Talk


def test_an_hour_of_silence() -> None:
    """Memory flat, and the numbers right at its end."""
    machine = Conversation(Session())
    machine.begin()
    machine.handle(f.Opened(1, "m"), 0.0)
    second, now = bytes(48_000), 0.0
    tracemalloc.start()
    sizes = []
    for number in range(3600):
        orders = machine.handle(e.AudioAppend(audio=second), now)
        assert [type(order) for order in orders] == [o.Audio]
        frame = (number + 1) * 24_000 // 768  # one of its thirty: enough to see what is kept of it
        assert machine.handle(f.SpeechProbability(0, frame * 768, 0.02), now) == []
        assert machine.wake_at() is None
        now += 1
        if number in (60, 3599):
            sizes.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    assert sizes[1] - sizes[0] < 20_000
    machine.handle(e.AudioAppend(audio=second), now)
    (started,) = [
        output
        for output in machine.handle(f.SpeechProbability(0, 3600 * 24_000 + 768, 1.0), now)
        if isinstance(output, e.SpeechStarted)
    ]
    assert started.audio_start_ms == 3600_000 - 300


def test_audio_at_ten_times_real_time_counts_its_samples(talk: Talk) -> None:
    for p, ms in ((0.0, 1600), (0.9, 640), (0.0, 640)):
        talk._loud = p
        talk.append(bytes(48 * ms))
        talk.wait(ms / 10_000)
    assert talk.last(e.SpeechStarted).audio_start_ms == 1300
    assert talk.last(e.SpeechStopped).audio_end_ms == 1600 + 640 + 32 + 512
    assert talk.see()[-1] == "response.created"


def test_audio_one_byte_at_a_time(talk: Talk) -> None:
    talk._loud = 0.9
    for byte in range(2 * 768):
        talk.append(bytes([byte % 256]))
    assert b"".join(order.pcm for order in talk.all(o.Audio)) == bytes(byte % 256 for byte in range(2 * 768))
    assert talk.last(e.SpeechStarted).audio_start_ms == 0


def test_audio_that_stops_in_mid_word_leaves_the_turn_open(talk: Talk) -> None:
    """HRP adds and drops nothing: silence that was never sent ends no turn (docs/design.md 4.4)."""
    talk.speak_ms(320)
    talk.wait(600)
    assert talk.see() == ["input_audio_buffer.speech_started"]
    talk.quiet_ms(640)
    assert talk.see()[-1] == "response.created"


def test_an_empty_append_is_nothing(talk: Talk) -> None:
    assert talk.append(b"") == []


def test_a_hundred_turns() -> None:
    talk = Talk()
    for number in range(100):
        talk.turn(320)
        talk.understood(f"question {number}")
        talk.reply(ms=300)
        talk.wait(0.5)
    assert len(talk.all(e.ResponseDone)) == 100
    assert {done.response["status"] for done in talk.all(e.ResponseDone)} == {"completed"}
    assert talk.last(e.SpeechStopped).audio_end_ms == 99 * 960 + 320 + 32 + 512
    talk.watch.at_rest()
