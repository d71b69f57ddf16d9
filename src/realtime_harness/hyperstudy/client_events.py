"""The events that the platform sends a voice engine, each with an example. Source: HRP 0.2.0, "Events HyperStudy sends".

What stands between angle brackets in an example is a placeholder for something of a running session.
"""

from __future__ import annotations

import json
from typing import Any

from realtime_harness.hyperstudy.context import EXAMPLES as CONTEXT_EXAMPLES
from realtime_harness.hyperstudy.context import ImageNote, Screen, to_item
from realtime_harness.hyperstudy.contract import TOOLS_BY_NAME, TURN_DETECTIONS, VoiceTool
from realtime_harness.hyperstudy.validate import Accepted
from realtime_harness.realtime import events as e
from realtime_harness.realtime.session import AudioFormat
from realtime_harness.realtime.wire import Json

_ACCEPTED = json.dumps(Accepted(None).as_output(), separators=(",", ":"))


def audio_format() -> Json:
    """The one audio format, as `session.update` names it."""
    return AudioFormat().model_dump()


def silent_answer(tool: VoiceTool) -> Json:
    """The event that asks for an answer nobody hears, by `tool`. Source: HRP 0.2.0, "Answering questions"."""
    return {
        "type": e.ResponseCreate.type,
        "response": {"output_modalities": ["text"], "tool_choice": {"type": "function", "name": tool}},
    }


def client_events() -> list[Json]:
    """Each `type` with its `purpose` and an `example`, in the order of agent-spec 0.2.0."""
    return [
        _row(
            "Configure the session at start: instructions, voice, the declared tools, audio format and turn detection.",
            e.SessionUpdate.type,
            session={
                "type": "realtime",
                "output_modalities": ["audio"],
                "instructions": "<the persona and study instructions>",
                "tools": [TOOLS_BY_NAME["answer_choice"].as_declared()],
                "tool_choice": "auto",
                "audio": {
                    "input": _listening({**TURN_DETECTIONS[0], "create_response": True, "interrupt_response": True}),
                    "output": {"format": audio_format(), "voice": "marin", "speed": 1},
                },
            },
        ),
        _row(
            "Change only the instructions when the study enters a part with its own agent guidance. Every other session "
            "setting is kept.",
            e.SessionUpdate.type,
            session={
                "type": "realtime",
                "instructions": "<the persona and study instructions, with guidance for this part>",
            },
        ),
        _row(
            "Switch turn detection off when the participant can no longer be heard (the screen stops showing the video "
            "chat), and back on when they can. Switching it off must end the engine's turn in progress, so their next "
            "speech is a new turn.",
            e.SessionUpdate.type,
            session={"type": "realtime", "audio": {"input": _listening(None)}},
        ),
        _row(
            "Keep what the participant said before they were cut off as their turn: sent with turn detection off, it "
            "commits that same turn and must not start a reply.",
            e.AudioCommit.type,
        ),
        _row(
            "Stream the participant's microphone audio, only while the study shows the video chat.",
            e.AudioAppend.type,
            audio="<base64 PCM16>",
        ),
        _row(
            "Tell the engine what is happening in the study: a [context] item (see Context items).",
            e.ItemCreate.type,
            item=to_item(CONTEXT_EXAMPLES[1]),
        ),
        _row(
            "A screen with images: each image the participant sees is attached to the screen's [context] item as an "
            "input_image data URL, once per session.",
            e.ItemCreate.type,
            item=to_item(
                Screen("showimage", "Look at this face.", (ImageNote("attached", "the image (a smiling face)"),)),
                ["data:image/png;base64,<base64 bytes>"],
            ),
        ),
        _row(
            'Answer a function call: a JSON result, or {"error": "<reason>"} when the call was refused.',
            e.ItemCreate.type,
            item={"type": "function_call_output", "call_id": "<call_id>", "output": _ACCEPTED},
        ),
        _row(
            "Cut the agent's reply at what the participant actually heard, after an interruption.",
            e.ItemTruncate.type,
            item_id="<item_id>",
            content_index=0,
            audio_end_ms=1840,
        ),
        _row(
            "Ask for a reply without a spoken turn (for example to typed chat), or a silent answer to an on-screen "
            "question (see Answering questions).",
            e.ResponseCreate.type,
            response={"output_modalities": ["audio"]},
        ),
        _row("Stop the reply in progress.", e.ResponseCancel.type, response_id="<response_id>"),
    ]


def _row(purpose: str, kind: str, **fields: Any) -> Json:
    return {"type": kind, "purpose": purpose, "example": {"type": kind, **fields}}


def _listening(turn_detection: Json | None) -> Json:
    return {"format": audio_format(), "transcription": None, "turn_detection": turn_detection}
