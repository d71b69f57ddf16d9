"""Every client event that HRP 0.2.0 shows ("Events HyperStudy sends", "Answering questions"), as it stands there."""

from __future__ import annotations

from typing import Any

FORMAT = {"type": "audio/pcm", "rate": 24000}
TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "name": name,
        "description": f"Answer with {field}.",
        "parameters": {
            "type": "object",
            "properties": {field: schema},
            "required": [field],
            "additionalProperties": False,
        },
    }
    for name, field, schema in (
        ("send_chat", "message", {"type": "string", "description": "The message to type."}),
        ("answer_choice", "choice", {"type": "string"}),
        ("answer_choices", "choices", {"type": "array", "items": {"type": "string"}}),
        ("answer_scale", "value", {"type": "number"}),
        ("answer_ranking", "order", {"type": "array", "items": {"type": "string"}}),
        ("answer_text", "text", {"type": "string"}),
        ("answer_dimensions", "scores", {"type": "object", "additionalProperties": {"type": "number"}}),
    )
]
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

START: dict[str, Any] = {
    "type": "session.update",
    "session": {
        "type": "realtime",
        "output_modalities": ["audio"],
        "instructions": "<the persona and study instructions>",
        "tools": TOOLS,
        "tool_choice": "auto",
        "audio": {
            "input": {
                "format": FORMAT,
                "transcription": None,
                "turn_detection": {
                    "type": "server_vad",
                    "silence_duration_ms": 500,
                    "create_response": True,
                    "interrupt_response": True,
                },
            },
            "output": {"format": FORMAT, "voice": "marin", "speed": 1},
        },
    },
}
INSTRUCTIONS_ONLY: dict[str, Any] = {
    "type": "session.update",
    "session": {
        "type": "realtime",
        "instructions": "<the persona and study instructions, with guidance for this part>",
    },
}
PAUSE: dict[str, Any] = {
    "type": "session.update",
    "session": {
        "type": "realtime",
        "audio": {"input": {"format": FORMAT, "transcription": None, "turn_detection": None}},
    },
}


def message(*content: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "conversation.item.create",
        "item": {"type": "message", "role": "user", "content": list(content)},
    }


EXAMPLES: list[dict[str, Any]] = [
    START,
    INSTRUCTIONS_ONLY,
    PAUSE,
    {"type": "input_audio_buffer.commit"},
    {"type": "input_audio_buffer.append", "audio": "AAABAAIA"},
    message(
        {
            "type": "input_text",
            "text": '[context] {"event":"screen","type":"showtext","text":"Please introduce yourselves."}',
        }
    ),
    message(
        {
            "type": "input_text",
            "text": '[context] {"event":"screen","type":"showimage","text":"Look at this face.",'
            '"images":["attached: the image (a smiling face)"]}',
        },
        {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}"},
    ),
    {
        "type": "conversation.item.create",
        "item": {"type": "function_call_output", "call_id": "call_x", "output": '{"accepted":true}'},
    },
    {"type": "conversation.item.truncate", "item_id": "item_x", "content_index": 0, "audio_end_ms": 1840},
    {"type": "response.create", "response": {"output_modalities": ["audio"]}},
    {
        "type": "response.create",
        "response": {
            "output_modalities": ["text"],
            "tool_choice": {"type": "function", "name": "answer_scale"},
        },
    },
    {"type": "response.cancel", "response_id": "resp_x"},
]
