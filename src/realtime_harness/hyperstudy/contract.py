"""The voice contract as frozen constants: server events, tools, and what the conformance suite grades.

Source: agent-spec 0.2.0, `voiceEngine` and `conformance`. Nothing here reads our own event models, so that a suite that
judges by it cannot share their mistakes; tests hold the two together.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

from realtime_harness.realtime.wire import Json

SPEC_VERSION = "0.2.0"
SUITE_VERSION = 6
SUPPORTED_PROVIDERS = ("openai",)
MAX_AUDIO_DELTA_MS = 2_000

VoiceTool = Literal[
    "send_chat", "answer_choice", "answer_choices", "answer_scale", "answer_ranking", "answer_text", "answer_dimensions"
]

REQUIRED_FIELDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "session.created": ("session",),
        "session.updated": ("session",),
        "input_audio_buffer.speech_started": ("audio_start_ms", "item_id"),
        "input_audio_buffer.speech_stopped": ("audio_end_ms", "item_id"),
        "input_audio_buffer.committed": ("item_id",),
        "conversation.item.added": ("item",),
        "conversation.item.done": ("item",),
        "conversation.item.truncated": ("item_id", "audio_end_ms"),
        "response.created": ("response",),
        "response.done": ("response",),
        "response.output_audio.delta": ("response_id", "item_id", "delta"),
        "response.output_audio.done": ("response_id", "item_id"),
        "response.output_audio_transcript.delta": ("response_id", "item_id", "delta"),
        "response.output_audio_transcript.done": ("response_id", "item_id", "transcript"),
        "response.function_call_arguments.done": ("response_id", "call_id", "name", "arguments"),
        "conversation.item.input_audio_transcription.completed": ("item_id", "transcript"),
        "conversation.item.input_audio_transcription.failed": ("item_id", "error"),
        "error": ("error",),
    }
)
"""Server events that the platform acts on, with the fields each must carry; one that lacks a field ends the session.

Source: HRP 0.2.0, "Events HyperStudy reads".
"""

IGNORED_EVENTS: tuple[str, ...] = (
    "rate_limits.updated",
    "response.output_item.added",
    "response.output_item.done",
    "response.content_part.added",
    "response.content_part.done",
    "response.function_call_arguments.delta",
    "response.output_text.delta",
    "response.output_text.done",
    "conversation.item.input_audio_transcription.delta",
    "conversation.item.input_audio_transcription.segment",
    "input_audio_buffer.cleared",
    "input_audio_buffer.timeout_triggered",
    "output_audio_buffer.started",
    "output_audio_buffer.stopped",
    "output_audio_buffer.cleared",
)
"""Server events that the platform takes and does nothing with. Source: HRP 0.2.0, "Events HyperStudy reads"."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A function of the voice catalogue; each takes one argument. Source: HRP 0.2.0, "Tools"."""

    name: VoiceTool
    description: str
    argument: str
    _schema: Mapping[str, Any]

    @property
    def parameters(self) -> Json:
        """The JSON schema of its arguments; a new object each time."""
        return {
            "type": "object",
            "properties": {self.argument: deepcopy(dict(self._schema))},
            "required": [self.argument],
            "additionalProperties": False,
        }

    def as_catalogued(self) -> Json:
        """As agent-spec lists it."""
        return {"name": self.name, "description": self.description, "parameters": self.parameters}

    def as_declared(self) -> Json:
        """As `session.update` declares it to an engine."""
        return {"type": "function", **self.as_catalogued()}


TOOLS: tuple[Tool, ...] = (
    Tool(
        "send_chat",
        "Type a message in the text chat that the other participant can see.",
        "message",
        {"type": "string", "description": "The message to type."},
    ),
    Tool(
        "answer_choice",
        "Answer the on-screen multiple-choice question with one choice, using its exact text.",
        "choice",
        {"type": "string"},
    ),
    Tool(
        "answer_choices",
        "Answer the on-screen multiple-choice question that allows several choices, using their exact texts.",
        "choices",
        {"type": "array", "items": {"type": "string"}},
    ),
    Tool(
        "answer_scale",
        "Answer the on-screen rating scale with a number in its range.",
        "value",
        {"type": "number"},
    ),
    Tool(
        "answer_ranking",
        "Answer the on-screen ranking with every item text, in your order.",
        "order",
        {"type": "array", "items": {"type": "string"}},
    ),
    Tool(
        "answer_text",
        "Answer the on-screen question that asks for text (or for words you would say aloud).",
        "text",
        {"type": "string"},
    ),
    Tool(
        "answer_dimensions",
        "Answer the on-screen multi-dimension rating with a score for every dimension, keyed by its label.",
        "scores",
        {"type": "object", "additionalProperties": {"type": "number"}},
    ),
)
"""The whole catalogue, declared once a session; `send_chat` only where the study has text chat."""

TOOLS_BY_NAME: Mapping[str, Tool] = MappingProxyType({tool.name: tool for tool in TOOLS})


@dataclass(frozen=True, slots=True)
class Thresholds:
    """What the conformance suite allows an engine, in milliseconds. Source: agent-spec 0.2.0, `conformance.thresholds`."""

    max_onset_delay_ms: int = 1_000
    max_response_start_ms: int = 5_000
    max_cancel_to_done_ms: int = 1_500
    event_timeout_ms: int = 15_000
    no_reply_window_ms: int = 1_500
    truncate_ack_timeout_ms: int = 3_000


THRESHOLDS = Thresholds()

TURN_DETECTIONS: tuple[Mapping[str, str | int], ...] = (
    MappingProxyType({"type": "server_vad", "silence_duration_ms": 500}),
    MappingProxyType({"type": "semantic_vad", "eagerness": "auto"}),
)
"""The settings under which the suite repeats its per-turn-detection checks; `dict(...)` one to send it."""


@dataclass(frozen=True, slots=True)
class Check:
    """A check of the suite; one that is `per_turn_detection` is run once for each of TURN_DETECTIONS."""

    id: str
    description: str
    per_turn_detection: bool


CHECKS: tuple[Check, ...] = (
    Check(
        "handshake",
        "The engine acknowledges the session update with PCM16 at 24 kHz in both directions.",
        per_turn_detection=False,
    ),
    Check(
        "engine_turn",
        "With engine turn detection, speech fires speech_started at its onset, the turn is committed, and the engine "
        "gives a complete spoken answer with a transcript and usage.",
        per_turn_detection=True,
    ),
    Check(
        "barge_in",
        "Speech while the engine is talking fires speech_started, the engine cancels its own response on that edge, and "
        "no audio follows. A truncate at the position the platform reports is then acknowledged and graded.",
        per_turn_detection=True,
    ),
    Check(
        "listening_pause",
        "Switching turn detection off mid-speech and committing keeps what was said as that same turn, with no reply. "
        "With turn detection back on, the next speech starts a new turn, timed from the moment turn detection was "
        "switched back on.",
        per_turn_detection=True,
    ),
    Check(
        "listening_pause_silent",
        "Switching turn detection off while no one is speaking and back on again: the next speech is timed from the "
        "moment turn detection was switched back on.",
        per_turn_detection=True,
    ),
    Check(
        "cancel",
        "response.cancel ends the response promptly, and no audio for it arrives afterwards.",
        per_turn_detection=False,
    ),
    Check(
        "function_call",
        "The engine calls a declared tool, accepts the function output, and finishes a follow-up response.",
        per_turn_detection=False,
    ),
    Check(
        "silent_tool",
        "A response requested with text output only and a forced tool calls exactly that tool once and produces no "
        "audio.",
        per_turn_detection=False,
    ),
    Check(
        "image_context",
        "An image attached to a context item as an input_image data URL is accepted and seen: asked silently which "
        "colour fills it, the engine answers red.",
        per_turn_detection=False,
    ),
    Check(
        "turn_detection_fields",
        "Every requested turn-detection setting comes back unchanged in session.updated.",
        per_turn_detection=True,
    ),
)
"""The suite of SUITE_VERSION, in its order. Source: agent-spec 0.2.0, `conformance.checks`."""
