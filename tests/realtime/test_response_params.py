"""`responses`: what a `response.create` overrides, and the objects that describe a response."""

from __future__ import annotations

from typing import Any

import pytest

from realtime_harness.errors import InvalidEvent
from realtime_harness.realtime.responses import ResponseBody, ResponseParams, ResponsePlan, Usage, voice_name
from realtime_harness.realtime.session import Session

from .hrp_examples import START, TOOLS

STUDY = Session().updated(START["session"], Session())
FORCED = {"type": "function", "name": "answer_scale"}


def plan(session: Session = STUDY, **response: Any) -> ResponsePlan:
    return ResponsePlan.of(session, ResponseParams.read(response))


def test_without_overrides_it_is_the_sessions() -> None:
    bare = plan()
    assert (bare.instructions, bare.tools, bare.tool_choice) == (STUDY.instructions, STUDY.tools, "auto")
    assert (bare.modality, bare.voice, bare.speed, bare.max_output_tokens) == ("audio", "marin", 1.0, None)
    assert not bare.out_of_band


def test_null_is_absence() -> None:
    fields = (
        "instructions",
        "tools",
        "tool_choice",
        "output_modalities",
        "max_output_tokens",
        "audio",
        "metadata",
        "input",
        "conversation",
    )
    assert plan(**dict.fromkeys(fields)) == plan()


def test_empty_is_not_absence() -> None:
    bare = plan(instructions="", tools=[], metadata={})
    assert (bare.instructions, bare.tools, bare.metadata) == ("", (), {})


def test_a_silent_answer() -> None:
    silent = plan(output_modalities=["text"], tool_choice=FORCED)
    assert silent.modality == "text"
    assert silent.tool_choice.name == "answer_scale"  # type: ignore[union-attr]


def test_the_sessions_forced_tool_falls_away_with_the_sessions_tools() -> None:
    forced = STUDY.updated({"type": "realtime", "tool_choice": FORCED}, STUDY)
    assert plan(forced, tools=[]).tool_choice == "auto"
    assert plan(forced, tools=TOOLS).tool_choice == forced.tool_choice
    with pytest.raises(InvalidEvent):
        plan(forced, tools=[], tool_choice=FORCED)


@pytest.mark.parametrize(
    ("voice", "name"), [("alloy", "alloy"), ({"id": "voice_1"}, "voice_1"), ({}, ""), ({"id": 5}, "5")]
)
def test_a_voice_is_a_name_or_an_object_with_one(voice: Any, name: str) -> None:
    assert plan(audio={"output": {"voice": voice}}).voice == name == voice_name(voice)


def test_a_voice_too_long_to_be_echoed_is_cut() -> None:
    assert len(plan(audio={"output": {"voice": {"id": "x" * 2_000_000}}}).voice) <= 256


def test_the_input_is_kept_as_it_came() -> None:
    given = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "x"}]}]
    assert ResponseParams.read({"input": given}).input == tuple(given)


@pytest.mark.parametrize(
    "metadata", [{"k" * 65: "v"}, {"k": "v" * 513}, {"k": 5}, [], {str(n): "v" for n in range(17)}]
)
def test_metadata_has_its_bounds(metadata: Any) -> None:
    with pytest.raises(InvalidEvent) as caught:
        ResponseParams.read({"metadata": metadata})
    assert str(caught.value.param).startswith("response.metadata")
    assert len(caught.value.message) < 400


def test_a_huge_key_is_not_echoed() -> None:
    with pytest.raises(InvalidEvent) as caught:
        ResponseParams.read({"metadata": {"k" * 1_000_000: "v"}})
    assert len(caught.value.message) + len(str(caught.value.param)) < 500


def test_usage_leaves_out_what_is_not_known() -> None:
    assert Usage(7, 5).to_wire() == {"total_tokens": 12, "input_tokens": 7, "output_tokens": 5}
    full = Usage(7, 5, input_text_tokens=3, cached_tokens=0, output_audio_tokens=5).to_wire()
    assert full["input_token_details"] == {"text_tokens": 3, "cached_tokens": 0}
    assert full["output_token_details"] == {"audio_tokens": 5}


def test_the_response_object_of_the_wire() -> None:
    body = ResponseBody("resp_1", "in_progress", plan(max_output_tokens=50, metadata={"a": "b"}), "conv_1").to_wire()
    assert body == {
        "id": "resp_1",
        "object": "realtime.response",
        "status": "in_progress",
        "status_details": None,
        "output": [],
        "conversation_id": "conv_1",
        "output_modalities": ["audio"],
        "max_output_tokens": 50,
        "audio": {"output": {"format": {"type": "audio/pcm", "rate": 24000}, "voice": "marin"}},
        "metadata": {"a": "b"},
        "usage": None,
    }
