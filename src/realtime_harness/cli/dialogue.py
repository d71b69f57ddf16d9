"""One call by `rth call`: speaks, listens, interrupts, answers a tool, and times the other side."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from realtime_harness.client import HrpClient, Microphone, Playback, Received, Transport
from realtime_harness.client.timings import Spoken, Timing, loud_span, timings_of_interruption, timings_of_turn
from realtime_harness.errors import NotHeard
from realtime_harness.realtime import events as e
from realtime_harness.realtime.engine import Clock
from realtime_harness.realtime.pcm import silence
from realtime_harness.realtime.wire import Json

LEAD_MS = 300  # of silence before the first word, as in a room
ANSWER_S = 60.0
WORDS_S = 5.0
TRUNCATED_S = 3.0
WEATHER_TOOL: Json = {
    "type": "function",
    "name": "get_weather",
    "description": "Tells the weather in a city now.",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string", "description": "The city's name."}},
        "required": ["city"],
    },
}
WEATHER = '{"temperature_celsius": 18, "sky": "sunny"}'


@dataclass(frozen=True, slots=True)
class Script:
    """What is said. Audio is PCM16 mono 24 kHz; `interrupt_at_ms` counts the answer's audio as it is heard."""

    speech: bytes
    tool: bool = False
    interrupt_at_ms: int | None = None
    interruption: bytes = b""


@dataclass(slots=True)
class Outcome:
    """How it went. `failures` are sentences; none means that all went well."""

    heard: bytes = b""
    turn: list[Timing] = field(default_factory=list[Timing])
    interruption: list[Timing] = field(default_factory=list[Timing])
    failures: list[str] = field(default_factory=list[str])


async def hold(transport: Transport, clock: Clock, script: Script, show: Callable[[Received], None]) -> Outcome:
    """Holds the call. Raises Disconnected when the other side hangs up, and NotHeard when it does not answer."""
    playback = Playback()

    def take(received: Received) -> None:
        if isinstance(received.event, e.OutputAudioDelta):
            playback.take(received.event, received.at)
        show(received)

    async with HrpClient(transport, clock, take) as client:
        await client.wait(e.SessionCreated)
        await client.send(e.SessionUpdate(session=_settings(script)))
        session = (await client.wait(e.SessionUpdated)).session
        async with Microphone(client.append, clock) as microphone:
            call = _Call(client, microphone, playback, clock, _prefix_padding_ms(session))
            await call.hold(script)
        outcome = call.outcome
    outcome.heard = playback.pcm()
    outcome.failures += [
        f"The server sent an error: {one.event.error.get('message')}"
        for one in client.received
        if isinstance(one.event, e.ErrorEvent)
    ]
    return outcome


class _Call:
    def __init__(
        self, client: HrpClient, microphone: Microphone, playback: Playback, clock: Clock, prefix_padding_ms: int
    ) -> None:
        self._client = client
        self._microphone = microphone
        self._playback = playback
        self._clock = clock
        self._prefix_padding_ms = prefix_padding_ms
        self._answered_calls: set[str] = set()
        self.outcome = Outcome()

    async def hold(self, script: Script) -> None:
        start = len(self._client.received)
        spoken = await self._say(silence(LEAD_MS) + script.speech)
        if script.interrupt_at_ms is not None:
            await self._interrupt(start, script.interrupt_at_ms, script.interruption)
        await self._settle(start, script.tool)
        await self._words(start)
        mine = self._client.received[start:]
        if script.interrupt_at_ms is not None:  # the first turn's figures end where the interruption begins
            starts = [at for at, one in enumerate(mine) if isinstance(one.event, e.SpeechStarted)]
            mine = mine[: starts[-1]] if len(starts) > 1 else mine
        self.outcome.turn = timings_of_turn(mine, self._microphone, spoken, self._prefix_padding_ms)

    async def _say(self, pcm: bytes) -> Spoken:
        first_ms, last_ms = loud_span(pcm)
        start_ms, _ = await self._microphone.say(pcm)
        return Spoken(start_ms + first_ms, start_ms + last_ms)

    async def _interrupt(self, since: int, at_ms: int, pcm: bytes) -> None:
        """Speaks into the answer, and tells the server how much of it was heard."""
        try:
            await self._client.wait(e.OutputAudioDelta, since=since, timeout_s=ANSWER_S)
        except NotHeard as silent:
            raise self._why_silent(since, silent) from None
        start = len(self._client.received)
        await self._clock.sleep_until((self._playback.began_at or self._clock.now()) + at_ms / 1000)
        # A voice that fell behind is waited for: it is still its turn until the response is done.
        give_up_at = self._clock.now() + ANSWER_S
        while (
            self._playback.playing(now := self._clock.now()) is None and now < give_up_at and not self._is_done(since)
        ):
            await self._clock.sleep_until(now + 0.05)
        if self._playback.playing(self._clock.now()) is None:
            self.outcome.failures.append(f"The answer was over before {at_ms} ms: nothing to interrupt.")
            return
        start = len(self._client.received)
        saying = asyncio.create_task(self._say(pcm), name="interruption")
        try:
            received, _ = await self._client.wait_received(e.SpeechStarted, since=start)
            cut = self._playback.stop(received.at)
            if cut is not None:
                item_id, heard_ms = cut
                await self._client.send(e.ItemTruncate(item_id=item_id, content_index=0, audio_end_ms=heard_ms))
                try:
                    await self._client.wait(e.ItemTruncated, since=start, timeout_s=TRUNCATED_S)
                except NotHeard:
                    self.outcome.failures.append(f"The truncation was not acknowledged within {TRUNCATED_S:g} s.")
            spoken = await saying
        finally:
            saying.cancel()
            await asyncio.gather(saying, return_exceptions=True)
        await self._settle(start, tool=False)
        self.outcome.interruption = timings_of_interruption(self._client.received[start:], self._microphone, spoken)

    def _is_done(self, since: int) -> bool:
        return any(isinstance(one.event, e.ResponseDone) for one in self._client.received[since:])

    async def _settle(self, since: int, tool: bool) -> None:
        """Waits until what was said is answered and nothing more is under way; answers calls of the tool."""
        deadline = self._clock.now() + ANSWER_S
        while True:
            seen = len(self._client.received)
            events = [one.event for one in self._client.received[since:]]
            if tool and await self._answer_tool(events):
                continue
            if _settled(events):
                return
            if not await self._client.more(seen, deadline - self._clock.now()):
                raise self._why_silent(since, NotHeard(f"The answer was not over within {ANSWER_S:g} s."))

    async def _answer_tool(self, events: Sequence[object]) -> bool:
        done = {event.response.get("id") for event in events if isinstance(event, e.ResponseDone)}
        calls = [
            event
            for event in events
            if isinstance(event, e.FunctionArgumentsDone)
            and event.response_id in done
            and event.call_id not in self._answered_calls
        ]
        for call in calls:
            self._answered_calls.add(call.call_id)
            item: Json = {"type": "function_call_output", "call_id": call.call_id, "output": WEATHER}
            await self._client.send(e.ItemCreate(item=item))
        if calls:
            start = len(self._client.received)
            await self._client.send(e.ResponseCreate())
            await self._client.wait(e.ResponseCreated, since=start)
        return bool(calls)

    async def _words(self, since: int) -> None:
        """The participant's words may come after the answer."""
        committed = {
            one.event.item_id for one in self._client.received[since:] if isinstance(one.event, e.AudioCommitted)
        }
        deadline = self._clock.now() + WORDS_S
        while True:
            seen = len(self._client.received)
            known = {
                one.event.item_id
                for one in self._client.received[since:]
                if isinstance(one.event, e.TranscriptionCompleted | e.TranscriptionFailed)
            }
            if committed <= known or not await self._client.more(seen, deadline - self._clock.now()):
                return

    def _why_silent(self, since: int, silent: NotHeard) -> NotHeard:
        events = [one.event for one in self._client.received[since:]]
        if not any(isinstance(event, e.SpeechStarted) for event in events):
            return NotHeard("The server heard no speech. Is there a voice in what was sent, loud enough?")
        if not any(isinstance(event, e.SpeechStopped) for event in events):
            return NotHeard("The server heard speech that never ended.")
        return silent


def _settled(events: Sequence[object]) -> bool:
    turns = 0
    active = 0
    replied = False
    for event in events:
        match event:
            case e.SpeechStarted():
                turns += 1
                replied = False
            case e.AudioCommitted():
                turns = 0
                replied = False
            case e.ResponseCreated():
                active += 1
                replied = True
            case e.ResponseDone():
                active -= 1
            case _:
                pass
    return replied and turns == 0 and active == 0


def _settings(script: Script) -> Json:
    settings: Json = {"type": "realtime", "audio": {"input": {"transcription": {"model": "whisper-1"}}}}
    if script.tool:
        settings |= {"tools": [WEATHER_TOOL], "tool_choice": "auto"}
    return settings


def _prefix_padding_ms(session: Json) -> int:
    here: object = session
    for step in ("audio", "input", "turn_detection", "prefix_padding_ms"):
        here = here.get(step) if isinstance(here, dict) else None  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType]
    return here if isinstance(here, int) else 300
