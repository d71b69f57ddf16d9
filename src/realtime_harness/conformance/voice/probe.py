"""One session with the engine under test, as a study platform holds it: what the checks speak through."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

import orjson
import pybase64

from realtime_harness.client.line import Line
from realtime_harness.client.microphone import Microphone
from realtime_harness.client.transport import Transport
from realtime_harness.conformance.faults import CheckFailed, Fault
from realtime_harness.conformance.frames import Event, Frame, read_frame
from realtime_harness.conformance.speech import Clip
from realtime_harness.conformance.voice.platform import BYTES_PER_MS, PlatformRules, audio_bytes
from realtime_harness.errors import Disconnected
from realtime_harness.hyperstudy.contract import Thresholds
from realtime_harness.realtime.engine import Clock

CHUNK_MS = 40
AUDIO_FORMAT: Event = {"type": "audio/pcm", "rate": 24_000}
VOICE = "marin"
MAX_LOGGED_CHARS = 2_000  # of one event in the log that goes into a report


@dataclass(frozen=True, slots=True)
class Logged:
    """One line of the evidence: when, which way (`sent`, `came`), and the event with its audio left out."""

    at_ms: int
    way: str
    event: Event


@dataclass(frozen=True, slots=True)
class Span:
    """Audio on the timeline: what it is, and from when to when, in milliseconds of the session."""

    what: str
    start_ms: int
    end_ms: int


@dataclass(slots=True)
class Findings:
    """All that one check finds, and the evidence."""

    faults: list[Fault] = field(default_factory=list[Fault])
    notes: list[str] = field(default_factory=list[str])
    timings_ms: dict[str, int] = field(default_factory=dict[str, int])
    grades: dict[str, str] = field(default_factory=dict[str, str])
    log: list[Logged] = field(default_factory=list[Logged])
    spoken: list[Span] = field(default_factory=list[Span])
    heard: list[Span] = field(default_factory=list[Span])
    model: str | None = None
    late_ms: int = 0  # how far our own microphone fell behind real time, at worst


@dataclass(frozen=True, slots=True)
class Said:
    """A clip that was streamed: where it began and ended on the stream's clock, and when its ends were sent (seconds)."""

    onset_ms: int
    end_ms: int
    onset_at: float
    end_at: float


class Probe:
    """A session. An async context. Every wait ends: by what came, by its time, or by the connection's end."""

    def __init__(self, transport: Transport, clock: Clock, limits: Thresholds) -> None:
        self.limits = limits
        self.found = Findings()
        self._clock = clock
        self._began = clock.now()
        self._rules = PlatformRules(self._tell, self.found.notes.append)
        self.errors_are_answers = False  # while set, an `error` is an answer like another and no fault
        self._line: Line[Frame] = Line(transport, clock, read_frame, self._came)
        self._microphone = Microphone(self._append, clock, CHUNK_MS)
        self._origin_ms = 0

    async def __aenter__(self) -> Self:
        await self._line.__aenter__()
        await self._microphone.__aenter__()
        self._microphone.muted = True
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.found.late_ms = self._microphone.late_ms
        try:
            await self._microphone.__aexit__(kind, problem, trace)
        finally:
            await self._line.__aexit__(kind, problem, trace)

    # What is said to the engine.

    async def send(self, **event: Any) -> float:
        """Sends one event; the time it was sent (monotonic seconds). Raises CheckFailed when the connection is over."""
        now = self._clock.now()
        self.found.log.append(Logged(self.ms(now), "sent", shown(event)))
        try:
            await self._line.send_text(orjson.dumps(event).decode())
        except Disconnected as ended:
            raise CheckFailed(self._ended(ended, f"{event.get('type')} to be taken")) from None
        return now

    async def update(self, **session: Any) -> Frame:
        """Sends a `session.update` of those fields; the `session.updated` that answers it."""
        since = self.mark()
        await self.send(type="session.update", session={"type": "realtime", **session})
        return await self.wait("session.updated", "session.updated for each session.update", since=since)

    async def listen(self, *, on: bool, turn_detection: Event | None) -> Frame:
        """Switches turn detection, as a platform does when the video chat is left or shown again.

        Switched on, the stream goes on at once: the first audio after the switch is at 0 of the engine's clock.
        """
        since = self.mark()
        if not on:
            self._microphone.muted = True
        value = turn_detection if on else None
        audio = {"input": {"format": AUDIO_FORMAT, "transcription": None, "turn_detection": value}}
        await self.send(type="session.update", session={"type": "realtime", "audio": audio})
        if on:
            self._origin_ms = self._microphone.sent_ms
            self._rules.restart_clock()
            self._microphone.muted = False
        return await self.wait("session.updated", "session.updated for each session.update", since=since)

    async def tell(self, item: Event) -> None:
        """Creates a conversation item."""
        await self.send(type="conversation.item.create", item=item)

    def open_microphone(self) -> None:
        """From now on the engine hears the room: silence, and what is said."""
        self._microphone.muted = False

    def close_microphone(self) -> None:
        """No audio is appended from here on."""
        self._microphone.muted = True

    async def say(self, clip: Clip) -> Said:
        """Speaks in real time; returns when the last of it is sent."""
        start, end = await self._microphone.say(clip.pcm)
        end = start + clip.length_ms
        onset_at = self._microphone.sent_at(start + CHUNK_MS)
        end_at = self._microphone.sent_at(end)
        now = self._clock.now()
        said = Said(
            start - self._origin_ms, end - self._origin_ms, now if onset_at is None else onset_at, end_at or now
        )
        self.found.spoken.append(Span(clip.name, self.ms(said.onset_at), self.ms(said.end_at)))
        return said

    async def pause(self, ms: int) -> None:
        """Lets so much time pass."""
        await self._clock.sleep_until(self._clock.now() + ms / 1000)

    @property
    def appended_ms(self) -> int:
        """How much audio has been sent, by the engine's clock."""
        return self._microphone.sent_ms - self._origin_ms

    def append_at(self, ms: int) -> float | None:
        """When the sample at `ms` of the engine's clock had been sent."""
        return self._microphone.sent_at(self._origin_ms + ms)

    # What comes back.

    def mark(self) -> int:
        """The place in the session where the next frame will be."""
        return len(self._line.received)

    def frames(self, kind: str = "", since: int = 0, **fields: Any) -> list[Frame]:
        """What has come from that place on, of that type (or all), with those fields."""
        return [
            frame
            for frame in self._line.received[since:]
            if (not kind or frame.type == kind) and all(frame.get(name) == value for name, value in fields.items())
        ]

    async def first_of(
        self,
        kinds: Collection[str],
        expected: str,
        *,
        since: int,
        within_ms: int,
        where: Callable[[Frame], bool] = lambda _: True,
    ) -> Frame | None:
        """The first event of those types from that place on; None when the time is over.

        Raises CheckFailed where the connection ends before it.
        """
        deadline = self._clock.now() + within_ms / 1000
        index = since
        while True:
            for frame in self._line.received[index:]:
                if frame.type in kinds and where(frame):
                    return frame
            index = max(since, len(self._line.received))
            try:
                if not await self._line.more(index, deadline - self._clock.now()):
                    return None
            except Disconnected as ended:
                raise CheckFailed(self._ended(ended, expected)) from None

    async def wait(
        self,
        kind: str,
        expected: str,
        *,
        rule: str = "platform.event_timeout",
        within_ms: int | None = None,
        since: int = 0,
        where: Callable[[Frame], bool] = lambda _: True,
    ) -> Frame:
        """The first event of that type from that place on. Raises CheckFailed: it did not come in time, or at all."""
        limit_ms = self.limits.event_timeout_ms if within_ms is None else within_ms
        frame = await self.first_of((kind,), expected, since=since, within_ms=limit_ms, where=where)
        if frame is None:
            seen = f"no {kind} came within {limit_ms} ms{self._instead(since)}"
            raise CheckFailed(Fault(rule, expected, seen, self.ms(self._clock.now())))
        return frame

    async def seek(
        self,
        kind: str,
        expected: str,
        *,
        rule: str,
        since: int,
        within_ms: int,
        where: Callable[[Frame], bool] = lambda _: True,
    ) -> Frame | None:
        """As `wait`, but what does not come is a fault, and the check goes on: it must not hide what comes after."""
        frame = await self.first_of((kind,), expected, since=since, within_ms=within_ms, where=where)
        if frame is None:
            self.fault(rule, expected, f"no {kind} came within {within_ms} ms{self._instead(since)}", self._clock.now())
        return frame

    async def nothing(self, kinds: Collection[str], expected: str, *, rule: str, since: int, within_ms: int) -> bool:
        """Watches for so long; a fault if an event of those types has come from that place on. True if none has."""
        frame = await self.first_of(kinds, expected, since=since, within_ms=within_ms)
        if frame is not None:
            self.fault(rule, expected, f"{frame.type} came", frame.at)
        return frame is None

    # What is found.

    def ms(self, at: float) -> int:
        """Milliseconds of the session at that monotonic time."""
        return round((at - self._began) * 1000)

    def fault(self, rule: str, expected: str, seen: str, at: float | None = None) -> None:
        """Puts down a fault; the check goes on."""
        self.found.faults.append(Fault(rule, expected, seen, None if at is None else self.ms(at)))

    def expect(self, holds: bool, rule: str, expected: str, seen: str, at: float | None = None) -> bool:
        """A fault unless it holds."""
        if not holds:
            self.fault(rule, expected, seen, at)
        return holds

    def timing(self, name: str, since: float | None, until: float) -> int | None:
        """Puts down the milliseconds between two monotonic times."""
        if since is None:
            return None
        value = round((until - since) * 1000)
        self.found.timings_ms[name] = value
        return value

    async def _append(self, pcm: bytes) -> None:
        text = orjson.dumps({"type": "input_audio_buffer.append", "audio": pybase64.b64encode_as_string(pcm)}).decode()
        await self._line.send_text(text)

    def _came(self, frame: Frame) -> None:
        if frame.event is not None:
            self.found.log.append(Logged(self.ms(frame.at), "came", shown(frame.event)))
        else:
            self.found.log.append(Logged(self.ms(frame.at), "came", {"text": frame.text[:200]}))
        match frame.type:
            case "response.output_audio.delta":
                self._heard(frame)
            case "session.created" | "session.updated":
                model = frame.get("session", "model")
                self.found.model = model if isinstance(model, str) else self.found.model
            case "error":
                code = frame.get("error", "code")
                if not self.errors_are_answers:
                    seen = f"came {code or 'one without a code'}: {str(frame.get('error', 'message'))[:200]}"
                    self._tell("platform.error", "no error", seen, frame.at)
            case _:
                pass
        self._rules.take(frame)

    def _heard(self, frame: Frame) -> None:
        at, length_ms = self.ms(frame.at), (audio_bytes(frame) or 0) // BYTES_PER_MS
        item = str(frame.get("item_id"))
        last = self.found.heard[-1] if self.found.heard else None
        if last is not None and last.what == item:
            self.found.heard[-1] = Span(item, last.start_ms, max(last.end_ms, at) + length_ms)
        else:
            self.found.heard.append(Span(item, at, at + length_ms))

    def _tell(self, rule: str, expected: str, seen: str, at: float) -> None:
        self.fault(rule, expected, seen, at)

    def _instead(self, since: int) -> str:
        kinds = list(dict.fromkeys(frame.type or "no event" for frame in self._line.received[since:]))
        return f"; what came: {', '.join(kinds[:8])}" if kinds else ""

    def _ended(self, ended: Disconnected, expected: str) -> Fault:
        seen = f"the engine closed the connection with code {ended.code}: {ended.reason or 'no reason given'}"
        return Fault("platform.closed", expected, seen, self.ms(self._clock.now()))


def shown(event: Event) -> Event:
    """An event as the evidence keeps it: audio and images by their size, long texts cut."""
    return {key: _shown(key, value) for key, value in event.items()}


def _shown(key: str, value: Any) -> Any:
    if isinstance(value, dict):
        return {str(name): _shown(str(name), each) for name, each in value.items()}  # pyright: ignore[reportUnknownVariableType,reportUnknownArgumentType]
    if isinstance(value, list):
        return [_shown(key, each) for each in value]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, str):
        if key in ("audio", "delta", "image_url") and len(value) > 200:
            return f"<{len(value)} characters>"
        return value if len(value) <= MAX_LOGGED_CHARS else f"{value[:MAX_LOGGED_CHARS]}..."
    return value
