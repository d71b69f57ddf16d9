"""What a study platform enforces on every event of a session, whatever is being checked.

Source: HRP 0.2.0, "Audio", "Turn-taking and interruptions" and "Events HyperStudy reads". A core event that lacks a
required field, or a delta of more than 2000 ms, ends a study's session; so each is a fault in whichever check it comes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import orjson
import pybase64

from realtime_harness.conformance.frames import Frame
from realtime_harness.hyperstudy.contract import MAX_AUDIO_DELTA_MS, REQUIRED_FIELDS

BYTES_PER_MS = 48  # PCM16 mono 24 kHz
_BETA = {
    "response.audio.delta": "response.output_audio.delta",
    "response.audio_transcript.delta": "response.output_audio_transcript.delta",
    "response.text.delta": "response.output_text.delta",
    "conversation.item.created": "conversation.item.added",
}

Tell = Callable[[str, str, str, float], None]  # rule, expected, seen, at


class PlatformRules:
    """Takes every frame of one session, in order, and tells each rule that it breaks."""

    def __init__(self, tell: Tell, note: Callable[[str], None] = lambda _note: None) -> None:
        """`tell` is told each broken rule, `note` what breaks none and explains much."""
        self._tell = tell
        self._note = note
        self._opened = False
        self._active: str | None = None
        self._created: set[str] = set()
        self._done: set[str] = set()
        self._closed_audio: set[tuple[str, str]] = set()
        self._turn: str | None = None
        self._turn_start_ms = 0.0
        self._calls: set[str] = set()
        self._beta: set[str] = set()

    def restart_clock(self) -> None:
        """Turn detection was switched on again: offsets count from here."""
        self._turn = None
        self._turn_start_ms = 0.0

    def take(self, frame: Frame) -> None:
        """One more frame."""
        if frame.event is None:
            self._fault(
                frame, "platform.json", "one JSON object a frame", f"{frame.fault} It began {frame.text[:60]!r}"
            )
            return
        kind = frame.type
        if not kind:
            self._fault(frame, "platform.json", "an event with a `type`", f"came {frame.text[:60]!r}")
            return
        if not self._opened:
            self._opened = True
            if kind in REQUIRED_FIELDS and kind != "session.created":
                self._fault(frame, "platform.first_event", "session.created as the first event", f"came {kind}")
        if kind in _BETA and kind not in self._beta:
            self._beta.add(kind)
            self._note(f"The beta event {kind} came, which a platform does not know; its GA name is {_BETA[kind]}.")
        missing = [field for field in REQUIRED_FIELDS.get(kind, ()) if frame.get(field) is None]
        if missing:
            self._fault(frame, "platform.required_field", f"{kind} with {', '.join(missing)}", "it has none")
            return
        self._response(frame, kind)
        match kind:
            case "response.output_audio.delta":
                self._audio(frame)
            case "response.output_audio.done":
                self._closed_audio.add((str(frame.get("response_id")), str(frame.get("item_id"))))
            case "response.function_call_arguments.done":
                self._call(frame)
            case "input_audio_buffer.committed":
                if str(frame.get("item_id")) == self._turn:
                    self._turn = None  # committed in the middle of it, by the client
            case "input_audio_buffer.speech_started":
                if self._turn is not None:
                    seen = f"{frame.get('item_id')} began while {self._turn} was open"
                    self._fault(frame, "platform.turn_order", "one turn at a time", seen)
                self._turn, self._turn_start_ms = str(frame.get("item_id")), _number(frame.get("audio_start_ms"))
                if self._turn_start_ms < 0:
                    self._fault(
                        frame, "platform.offset", "audio_start_ms of 0 or more", f"came {self._turn_start_ms:g}"
                    )
            case "input_audio_buffer.speech_stopped":
                self._stopped(frame)
            case _:
                pass

    def _response(self, frame: Frame, kind: str) -> None:
        """The life of a response: created, its events, one `response.done`, and nothing after it."""
        if kind == "response.created":
            response_id = str(frame.get("response", "id"))
            if response_id in self._created:
                self._fault(frame, "platform.response_id", "a new id for each response", f"{response_id} came twice")
            if self._active is not None:
                seen = f"{response_id} was created while {self._active} was open"
                self._fault(frame, "platform.one_response", "one response at a time", seen)
            self._created.add(response_id)
            self._active = response_id
        elif kind == "response.done":
            response_id = str(frame.get("response", "id"))
            if response_id not in self._created:
                seen = f"response.done came for {response_id}"
                self._fault(frame, "platform.created_first", "response.created before anything of a response", seen)
            if response_id in self._done:
                self._fault(frame, "platform.one_done", "one response.done a response", f"{response_id} was done twice")
            self._done.add(response_id)
            if self._active == response_id:
                self._active = None
        elif kind.startswith("response.") and kind in REQUIRED_FIELDS:  # what a platform ignores may come when it likes
            response_id = str(frame.get("response_id"))
            if response_id in self._done:
                seen = f"{kind} came for {response_id} after it"
                self._fault(frame, "platform.after_done", "nothing of a response after its response.done", seen)
            elif response_id not in self._created:
                seen = f"{kind} came for {response_id}, which was not"
                self._fault(frame, "platform.created_first", "response.created before anything of a response", seen)

    def _audio(self, frame: Frame) -> None:
        size = audio_bytes(frame)
        if size is None:
            self._fault(frame, "platform.audio_base64", "a delta of base64", f"came {str(frame.get('delta'))[:40]!r}")
            return
        if size % 2:
            self._fault(frame, "platform.whole_samples", "deltas of whole 16-bit samples", f"one has {size} bytes")
        if size > MAX_AUDIO_DELTA_MS * BYTES_PER_MS:
            seen = f"one has {size / BYTES_PER_MS:.2f} ms"
            self._fault(frame, "platform.delta_too_long", f"deltas of at most {MAX_AUDIO_DELTA_MS} ms", seen)
        if (str(frame.get("response_id")), str(frame.get("item_id"))) in self._closed_audio:
            self._fault(frame, "platform.audio_order", "no delta after response.output_audio.done", "one came")

    def _call(self, frame: Frame) -> None:
        call_id, arguments = frame.get("call_id"), frame.get("arguments")
        if not isinstance(call_id, str) or not call_id or call_id in self._calls:
            self._fault(frame, "platform.call_id", "a call_id of its own for each call", f"came {call_id!r}")
        self._calls.add(str(call_id))
        if call_arguments(frame) is None:
            seen = f"came {str(arguments)[:80]!r}"
            self._fault(frame, "platform.arguments", "arguments that are the text of a JSON object", seen)

    def _stopped(self, frame: Frame) -> None:
        item_id, end_ms = frame.get("item_id"), _number(frame.get("audio_end_ms"))
        if self._turn is None:
            self._fault(frame, "platform.turn_order", "speech_started before speech_stopped", "none was open")
            return
        if item_id != self._turn:
            seen = f"speech_stopped has {item_id!r}"
            self._fault(frame, "platform.turn_id", f"the item_id that speech_started gave ({self._turn})", seen)
        if end_ms < self._turn_start_ms:
            seen = f"{end_ms:g} is before {self._turn_start_ms:g}"
            self._fault(frame, "platform.offset", "audio_end_ms after audio_start_ms", seen)
        self._turn = None

    def _fault(self, frame: Frame, rule: str, expected: str, seen: str) -> None:
        self._tell(rule, expected, seen, frame.at)


def delta_pcm(frame: Frame) -> bytes | None:
    """The audio of a delta; None where it is no base64."""
    delta = frame.get("delta")
    try:
        return pybase64.b64decode(delta, validate=True) if isinstance(delta, str) else None
    except ValueError:
        return None


def audio_bytes(frame: Frame) -> int | None:
    """How many bytes of audio a delta carries; None where it is no base64."""
    pcm = delta_pcm(frame)
    return None if pcm is None else len(pcm)


def call_arguments(frame: Frame) -> dict[str, Any] | None:
    """The arguments of a call, if they are what they must be: the text of one JSON object."""
    try:
        value: object = orjson.loads(frame.get("arguments") or "")
    except (orjson.JSONDecodeError, TypeError):
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else -1.0
