"""The client, its microphone and its loudspeaker, in memory and on a virtual clock."""

from __future__ import annotations

import asyncio
import base64

import pytest
from tests.fakes.clock import VirtualClock, settle
from tests.fakes.transport import MemoryTransport

from realtime_harness.client import HrpClient, Microphone, Playback, hrp_url
from realtime_harness.client.timings import Spoken, loud_span, timings_of_interruption, timings_of_turn
from realtime_harness.errors import ConfigError, Disconnected, NotHeard
from realtime_harness.realtime import events as e
from realtime_harness.realtime.pcm import bytes_of_ms, silence

pytestmark = pytest.mark.anyio
LOUD = b"\x00\x20"


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


def tone(ms: int) -> bytes:
    return LOUD * (bytes_of_ms(ms) // 2)


def delta(item: str, ms: int) -> e.OutputAudioDelta:
    return e.OutputAudioDelta(
        event_id="e", response_id="r", item_id=item, output_index=0, content_index=0, delta=tone(ms)
    )


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("http://127.0.0.1:8080", "ws://127.0.0.1:8080/v1/realtime"),
        ("127.0.0.1:8080", "ws://127.0.0.1:8080/v1/realtime"),
        ("http://h:1/", "ws://h:1/v1/realtime"),
        ("https://api.example.com/v1", "wss://api.example.com/v1/realtime"),
        ("ws://h/v1/realtime?model=x", "ws://h/v1/realtime?model=x"),
        ("http://[::1]:8080", "ws://[::1]:8080/v1/realtime"),
    ],
)
async def test_known_forms_of_a_url_lead_to_the_websocket(given: str, url: str) -> None:
    assert hrp_url(given) == url


async def test_a_model_is_asked_for_in_the_query() -> None:
    assert hrp_url("http://h", "a b/c") == "ws://h/v1/realtime?model=a%20b%2Fc"


@pytest.mark.parametrize("given", ["", "ftp://h", "http://", "http://h:port"])
async def test_what_is_no_url_is_said_to_be_none(given: str) -> None:
    with pytest.raises(ConfigError):
        hrp_url(given)


async def test_everything_that_comes_is_kept_with_its_text_and_time() -> None:
    transport, clock = MemoryTransport(), VirtualClock(10.0)
    async with HrpClient(transport, clock) as client:
        raw = '{"type":"session.created","event_id":"e1","session":{"new_field":1}}'
        transport.come(raw)
        await settle()
        await clock.advance(1.5)
        transport.come('{"type":"rate_limits.updated"}')
        transport.come("no JSON")
        await settle()
        first, unknown, broken = client.received
        assert (first.at, first.raw) == (10.0, raw)
        assert isinstance(unknown.event, e.UnknownServerEvent) and unknown.at == 11.5
        assert broken.event is None and "JSON" in (broken.fault or "")


async def test_waiting_finds_what_has_come_and_what_comes() -> None:
    transport, clock = MemoryTransport(), VirtualClock()
    async with HrpClient(transport, clock) as client:
        transport.come(e.AudioCleared(event_id="e1"))
        await client.wait(e.AudioCleared)
        waiting = asyncio.create_task(client.wait(e.AudioCleared, since=1))
        await clock.advance(5)
        assert not waiting.done()
        transport.come(e.AudioCleared(event_id="e2"))
        assert (await waiting).event_id == "e2"


async def test_what_does_not_come_in_time_was_not_heard() -> None:
    transport, clock = MemoryTransport(), VirtualClock()
    async with HrpClient(transport, clock) as client:
        waiting = asyncio.create_task(client.wait(e.SessionCreated, timeout_s=20))
        await clock.advance(19.9)
        assert not waiting.done()
        await clock.advance(0.2)
        with pytest.raises(NotHeard, match=r"session\.created"):
            await waiting


async def test_a_hang_up_ends_every_wait_with_its_code_and_reason() -> None:
    transport = MemoryTransport()
    async with HrpClient(transport, VirtualClock()) as client:
        waiting = asyncio.create_task(client.wait(e.SessionCreated))
        await settle()
        transport.hang_up(1013, "All places are taken.")
        with pytest.raises(Disconnected) as ended:
            await waiting
        assert (ended.value.code, ended.value.reason) == (1013, "All places are taken.")


async def test_a_fault_in_a_listener_is_raised_at_the_end_and_not_lost() -> None:
    def fail(_: object) -> None:
        raise ZeroDivisionError

    transport = MemoryTransport()
    client = HrpClient(transport, VirtualClock(), fail)
    await client.__aenter__()
    transport.come(e.AudioCleared(event_id="e"))
    await settle()
    with pytest.raises(ZeroDivisionError):
        await client.__aexit__(None, None, None)
    assert transport.closed


async def test_a_microphone_streams_in_real_time_and_silence_between() -> None:
    transport, clock = MemoryTransport(), VirtualClock()
    async with HrpClient(transport, clock) as client, Microphone(client.append, clock, chunk_ms=40) as microphone:
        await clock.advance(0.199)
        assert microphone.sent_ms == 200
        saying = asyncio.create_task(microphone.say(tone(100)))
        await clock.advance(0.2)
        assert await saying == (200, 300)
        audio = b"".join(base64.b64decode(sent["audio"]) for sent in transport.sent)
        assert audio[: bytes_of_ms(200)] == silence(200)
        assert audio[bytes_of_ms(200) : bytes_of_ms(300)] == tone(100)
        assert not any(audio[bytes_of_ms(300) :])
        assert {len(base64.b64decode(sent["audio"])) for sent in transport.sent} == {bytes_of_ms(40)}


async def test_a_muted_microphone_sends_nothing() -> None:
    transport, clock = MemoryTransport(), VirtualClock()
    async with HrpClient(transport, clock) as client, Microphone(client.append, clock) as microphone:
        microphone.muted = True
        await clock.advance(1)
        assert transport.sent == []


async def test_a_microphone_knows_when_it_sent_what() -> None:
    transport, clock = MemoryTransport(), VirtualClock(0.0)
    async with HrpClient(transport, clock) as client, Microphone(client.append, clock, chunk_ms=40) as microphone:
        await clock.advance(0.41)
        assert microphone.sent_at(1) == 0.0
        assert microphone.sent_at(40) == 0.0
        assert microphone.sent_at(41) == pytest.approx(0.04)
        assert microphone.sent_at(440) == pytest.approx(0.40)
        assert microphone.sent_at(441) is None


async def test_a_microphone_falls_silent_when_the_line_is_cut() -> None:
    transport, clock = MemoryTransport(), VirtualClock()
    async with HrpClient(transport, clock) as client, Microphone(client.append, clock) as microphone:
        saying = asyncio.create_task(microphone.say(tone(1_000)))
        await clock.advance(0.1)
        transport.hang_up(1001, "")
        await clock.advance(0.1)
        assert saying.done()


async def test_playback_is_heard_in_real_time_though_it_comes_in_bursts() -> None:
    playback = Playback()
    for _ in range(10):
        playback.take(delta("item_1", 100), at=5.0)
    assert playback.playing(5.9) == "item_1"
    assert playback.playing(6.1) is None
    assert playback.left_s(5.4) == pytest.approx(0.6)


async def test_stopping_tells_what_was_heard_and_no_more_is_heard_of_that_item() -> None:
    playback = Playback()
    for _ in range(10):
        playback.take(delta("item_1", 100), at=5.0)
    assert playback.stop(5.25) == ("item_1", 250)
    playback.take(delta("item_1", 100), at=5.3)
    assert playback.playing(5.31) is None
    playback.take(delta("item_2", 100), at=7.0)
    assert playback.playing(7.05) == "item_2"
    assert playback.stop(8.0) is None
    assert playback.pcm() == tone(250) + tone(100)


async def test_a_gap_in_what_comes_is_not_counted_as_heard() -> None:
    playback = Playback()
    playback.take(delta("item_1", 100), at=5.0)
    playback.take(delta("item_1", 100), at=6.0)
    assert playback.stop(6.05) == ("item_1", 150)


async def test_the_loud_span_of_speech_leaves_out_its_silence() -> None:
    assert loud_span(silence(300) + tone(500) + silence(200)) == (300, 800)
    assert loud_span(silence(300)) == (0, 0)
    assert loud_span(b"") == (0, 0)
    assert loud_span(b"\x00") == (0, 0)


async def test_the_figures_of_a_turn_count_from_the_last_word() -> None:
    transport, clock = MemoryTransport(), VirtualClock(0.0)
    async with HrpClient(transport, clock) as client, Microphone(client.append, clock, chunk_ms=20) as microphone:
        await clock.advance(0.35)  # speech from 100 to 300 ms
        transport.come(e.SpeechStarted(event_id="e", audio_start_ms=0, item_id="i"))
        await clock.advance(0.55)
        transport.come(e.SpeechStopped(event_id="e", audio_end_ms=800, item_id="i"))
        await settle()
        await clock.advance(0.3)
        transport.come(delta("item_2", 100))
        await settle()
        figures = {x.name: x.ms for x in timings_of_turn(client.received, microphone, Spoken(100, 300), 300)}
    assert figures == {
        "speech_started behind its audio": 350 - 280,
        "speech_stopped behind its audio": 900 - 780,
        "end of last word to speech_stopped": 900 - 280,
        "end of last word to first audio": 1_200 - 280,
    }


async def test_the_figures_of_an_interruption_count_from_its_first_word() -> None:
    transport, clock = MemoryTransport(), VirtualClock(0.0)
    async with HrpClient(transport, clock) as client, Microphone(client.append, clock, chunk_ms=20) as microphone:
        await clock.advance(0.25)
        transport.come(delta("item_1", 100))
        await settle()
        await clock.advance(0.05)
        transport.come(e.SpeechStarted(event_id="e", audio_start_ms=0, item_id="i"))
        await settle()
        await clock.advance(0.02)
        transport.come(e.ResponseDone(event_id="e", response={"status": "cancelled"}))
        await settle()
        figures = {x.name: x.ms for x in timings_of_interruption(client.received, microphone, Spoken(120, 900))}
    assert figures == {
        "start of interruption to speech_started": 300 - 100,
        "start of interruption to last audio received": 250 - 100,
        "speech_started to response.done": 20,
    }
