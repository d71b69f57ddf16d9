"""Deep merge, null against absence, and what is refused. Sources: HRP 0.2.0; docs/design.md 5.2."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from realtime_harness.errors import InvalidEvent
from realtime_harness.realtime.session import SemanticVad, ServerVad, Session

from .hrp_examples import FORMAT, INSTRUCTIONS_ONLY, PAUSE, START, TOOLS

BASE = Session(id="sess_1", model="m")
STUDY = BASE.updated(START["session"], BASE)


def updated(session: Session = BASE, **patch: Any) -> Session:
    return session.updated({"type": "realtime", **patch}, BASE)


def detect(value: Any, session: Session = BASE) -> Session:
    return updated(session, audio={"input": {"turn_detection": value}})


# --- what HRP sends -------------------------------------------------------------------------------------------------


def test_the_start_is_echoed_as_asked() -> None:
    wire = STUDY.to_wire()
    asked = START["session"]
    assert wire["tools"] == asked["tools"]
    assert wire["instructions"] == asked["instructions"]
    assert wire["audio"]["input"]["format"] == wire["audio"]["output"]["format"] == FORMAT
    detection = wire["audio"]["input"]["turn_detection"]
    assert detection.items() >= asked["audio"]["input"]["turn_detection"].items()
    assert detection["threshold"] == 0.5
    assert detection["prefix_padding_ms"] == 300


def test_the_full_session_is_echoed_every_time() -> None:
    fields = {"id", "object", "type", "model", "output_modalities", "instructions", "tools", "tool_choice"}
    assert fields | {"max_output_tokens", "audio", "tracing", "truncation", "prompt", "expires_at"} <= set(
        STUDY.to_wire()
    )


def test_an_instructions_only_update_keeps_everything_else() -> None:
    after = STUDY.updated(INSTRUCTIONS_ONLY["session"], BASE)
    assert after.to_wire() == {**STUDY.to_wire(), "instructions": INSTRUCTIONS_ONLY["session"]["instructions"]}


def test_turn_detection_null_switches_it_off_and_keeps_everything_else() -> None:
    after = STUDY.updated(PAUSE["session"], BASE)
    assert after.turn_detection is None
    before = STUDY.to_wire()
    before["audio"]["input"]["turn_detection"] = None
    assert after.to_wire() == before


def test_and_back_on() -> None:
    off = STUDY.updated(PAUSE["session"], BASE)
    on = off.updated(START["session"], BASE)
    assert on == STUDY


# --- merging --------------------------------------------------------------------------------------------------------


def test_absent_is_not_null() -> None:
    off = detect(None)
    assert off.turn_detection is None
    assert updated(off, audio={"output": {"voice": "cedar"}}).turn_detection is None
    assert updated(off, audio={"input": {}}).turn_detection is None
    assert updated(BASE, audio={"input": {}}).turn_detection == ServerVad()


def test_a_partial_turn_detection_is_completed_from_the_current_one() -> None:
    session = detect({"type": "server_vad", "threshold": 0.7, "create_response": False})
    after = detect({"silence_duration_ms": 200}, session).turn_detection
    assert after == ServerVad(threshold=0.7, create_response=False, silence_duration_ms=200)


def test_another_kind_starts_from_its_own_defaults() -> None:
    after = detect({"type": "semantic_vad", "eagerness": "low"}).turn_detection
    assert after == SemanticVad(eagerness="low")
    assert "threshold" not in detect({"type": "semantic_vad"}).to_wire()["audio"]["input"]["turn_detection"]
    assert detect({"type": "server_vad"}, detect({"type": "semantic_vad"})).turn_detection == ServerVad()


@pytest.mark.parametrize("partial", [{}, {"type": None}, {"type": "server_vad"}, {"silence_duration_ms": 500}])
def test_a_partial_turn_detection_switches_it_on(partial: dict[str, Any]) -> None:
    assert detect(partial, detect(None)).turn_detection == ServerVad()


def test_null_inside_turn_detection_keeps_what_is_set_but_switches_the_idle_timeout_off() -> None:
    session = detect({"type": "server_vad", "threshold": 0.7, "idle_timeout_ms": 6000})
    after = detect({"threshold": None, "idle_timeout_ms": None}, session).turn_detection
    assert after == ServerVad(threshold=0.7, idle_timeout_ms=None)


def test_null_brings_other_fields_back_to_their_defaults() -> None:
    after = updated(STUDY, instructions=None, tools=None, tool_choice=None, max_output_tokens=None)
    assert (after.instructions, after.tools, after.tool_choice, after.max_output_tokens) == ("", (), "auto", "inf")


def test_arrays_are_replaced_whole() -> None:
    assert [tool.name for tool in updated(STUDY, tools=TOOLS[:1]).tools] == ["send_chat"]
    assert updated(STUDY, tools=[]).tools == ()


def test_transcription_is_kept_merged_and_switched_off() -> None:
    on = updated(audio={"input": {"transcription": {"model": "whisper-1", "language": "en"}}})
    more = updated(on, audio={"input": {"transcription": {"language": "de", "delay": "low"}}})
    assert more.to_wire()["audio"]["input"]["transcription"] == {
        "model": "whisper-1",
        "language": "de",
        "prompt": None,
        "delay": "low",
    }
    assert updated(on, audio={"input": {"transcription": None}}).audio.input.transcription is None


def test_unknown_fields_survive_at_every_level() -> None:
    after = updated(
        STUDY,
        reasoning={"effort": "low"},
        audio={"input": {"x": [1, {"y": None}]}, "output": {"z": 1}},
        tools=[{**TOOLS[0], "strict": True}],
    )
    wire = updated(after, instructions="still").to_wire()
    assert wire["reasoning"] == {"effort": "low"}
    assert wire["audio"]["input"]["x"] == [1, {"y": None}]
    assert wire["audio"]["output"]["z"] == 1
    assert wire["tools"][0]["strict"] is True


def test_a_client_may_send_back_what_it_was_sent() -> None:
    assert updated(STUDY, **STUDY.to_wire()) == STUDY


def test_what_identifies_a_session_is_not_the_clients() -> None:
    after = updated(id="sess_mine", object="x", expires_at=5)
    assert (after.id, after.object, after.expires_at) == ("sess_1", "realtime.session", None)


def test_the_patch_is_left_as_it_was() -> None:
    patch = json.loads(json.dumps(START["session"]))
    BASE.updated(patch, BASE)
    assert patch == START["session"]


def test_schemas_stay_as_they_came() -> None:
    schema = {"type": "object", "properties": {"a": {"enum": [1, [2], {"b": []}]}, "parameters": {"type": ["null"]}}}
    after = updated(tools=[{"type": "function", "name": "f", "parameters": schema}])
    assert after.to_wire()["tools"][0]["parameters"] == schema
    assert after.tools[0].parameters == schema


def test_foreign_voices_are_echoed() -> None:
    assert updated(audio={"output": {"voice": "alloy"}}).audio.output.voice == "alloy"
    custom = updated(audio={"output": {"voice": {"id": "voice_1"}}})
    assert custom.audio.output.voice == {"id": "voice_1"}
    assert updated(custom, audio={"output": {"voice": "cedar"}}).audio.output.voice == "cedar"


@pytest.mark.parametrize(
    "patch",
    [
        {"tracing": "auto"},
        {"prompt": {"id": "p"}},
        {"audio": {"input": {"noise_reduction": {"type": "near_field"}}}},
    ],
)
def test_what_no_engine_does_is_accepted_and_echoed_as_off(patch: dict[str, Any]) -> None:
    assert updated(STUDY, **patch) == STUDY


# --- refusals -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("patch", "param"),
    [
        ({"type": "transcription"}, "session.type"),
        ({"model": "another"}, "session.model"),
        ({"output_modalities": ["audio", "text"]}, "session.output_modalities"),
        ({"output_modalities": []}, "session.output_modalities"),
        ({"output_modalities": "audio"}, "session.output_modalities"),
        ({"output_modalities": ["video"]}, "session.output_modalities[0]"),
        ({"instructions": 5}, "session.instructions"),
        ({"instructions": "x" * 200_001}, "session.instructions"),
        ({"max_output_tokens": 0}, "session.max_output_tokens"),
        ({"max_output_tokens": "many"}, "session.max_output_tokens"),
        ({"max_output_tokens": True}, "session.max_output_tokens"),
        ({"tools": {}}, "session.tools"),
        ({"tools": "f"}, "session.tools"),
        ({"tools": [TOOLS[0], 5]}, "session.tools[1].type"),
        ({"tools": [{"type": "mcp", "server_url": "http://x"}]}, "session.tools[0].type"),
        ({"tools": [{"name": "f"}]}, "session.tools[0].type"),
        ({"tools": [{"type": "function"}]}, "session.tools[0].name"),
        ({"tools": [{"type": "function", "name": "no spaces"}]}, "session.tools[0].name"),
        ({"tools": [{"type": "function", "name": "f", "parameters": []}]}, "session.tools[0].parameters"),
        ({"tools": [TOOLS[0], TOOLS[0]]}, "session.tools"),
        ({"tools": TOOLS * 19}, "session.tools"),
        ({"tool_choice": {"type": "function", "name": "undeclared"}}, "session.tool_choice"),
        ({"tool_choice": "sometimes"}, "session.tool_choice"),
        ({"audio": 5}, "session.audio"),
        ({"audio": []}, "session.audio"),
        ({"audio": {"input": "mic"}}, "session.audio.input"),
        ({"audio": {"input": {"format": {"type": "audio/pcm", "rate": 16000}}}}, "session.audio.input.format.rate"),
        ({"audio": {"input": {"format": {"type": "audio/pcmu"}}}}, "session.audio.input.format.type"),
        ({"audio": {"output": {"speed": 9}}}, "session.audio.output.speed"),
        ({"audio": {"output": {"speed": "1.0"}}}, "session.audio.output.speed"),
        ({"audio": {"output": {"speed": True}}}, "session.audio.output.speed"),
        ({"audio": {"output": {"voice": 5}}}, "session.audio.output.voice"),
        ({"audio": {"input": {"transcription": "whisper"}}}, "session.audio.input.transcription"),
    ],
)
def test_a_bad_value_is_named(patch: dict[str, Any], param: str) -> None:
    with pytest.raises(InvalidEvent) as caught:
        updated(**patch)
    assert caught.value.param == param
    assert caught.value.code in ("invalid_value", "missing_required_parameter")
    assert len(caught.value.message) < 400


@pytest.mark.parametrize(
    ("value", "where"),
    [
        ("server_vad", ""),
        (False, ""),
        ([], ""),
        ({"type": "sonar"}, ""),
        ({"type": ["server_vad"]}, ""),
        ({"threshold": 1.1}, ".threshold"),
        ({"threshold": "0.5"}, ".threshold"),
        ({"threshold": True}, ".threshold"),
        ({"silence_duration_ms": -1}, ".silence_duration_ms"),
        ({"silence_duration_ms": 1.5}, ".silence_duration_ms"),
        ({"silence_duration_ms": "500"}, ".silence_duration_ms"),
        ({"prefix_padding_ms": 10**9}, ".prefix_padding_ms"),
        ({"idle_timeout_ms": 100}, ".idle_timeout_ms"),
        ({"create_response": "yes"}, ".create_response"),
        ({"create_response": 1}, ".create_response"),
        ({"type": "semantic_vad", "eagerness": "very"}, ".eagerness"),
    ],
)
def test_a_bad_turn_detection_is_named(value: Any, where: str) -> None:
    with pytest.raises(InvalidEvent) as caught:
        detect(value)
    assert caught.value.param == f"session.audio.input.turn_detection{where}"


def test_without_a_type_it_is_the_beta_shape() -> None:
    with pytest.raises(InvalidEvent) as caught:
        BASE.updated({"instructions": "x"}, BASE)
    assert (caught.value.code, caught.value.param) == ("missing_required_parameter", "session.type")


def test_a_forced_tool_may_not_lose_its_declaration() -> None:
    forced = updated(STUDY, tool_choice={"type": "function", "name": "answer_scale"})
    with pytest.raises(InvalidEvent):
        updated(forced, tools=[])
    assert updated(forced, tools=[], tool_choice="auto").tools == ()


@pytest.mark.parametrize("speed", [0.25, 1, 1.0, 1.5])
def test_a_whole_number_is_a_number(speed: float) -> None:
    assert updated(audio={"output": {"speed": speed}}).audio.output.speed == speed


def test_a_session_too_large_to_be_echoed_is_refused() -> None:
    """128 tools of 100 kB each came back as one frame of 13 MB."""
    tools = [{"type": "function", "name": f"f{n}", "description": "x" * 100_000} for n in range(20)]
    with pytest.raises(InvalidEvent) as caught:
        updated(tools=tools)
    assert caught.value.param == "session"


def test_a_refusal_never_shows_much_of_what_came() -> None:
    with pytest.raises(InvalidEvent) as caught:
        updated(audio={"input": {"transcription": {"model": {"x" * 100_000: 1}}}}, instructions=5)
    assert len(caught.value.message) < 400


VALUES = st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5) | st.just([]) | st.just({})
FIELDS = st.sampled_from(
    [
        "audio",
        "input",
        "output",
        "turn_detection",
        "type",
        "threshold",
        "tools",
        "voice",
        "format",
        "transcription",
        "x",
    ]
)
PATCHES = st.recursive(VALUES, lambda inner: st.dictionaries(FIELDS, inner, max_size=4), max_leaves=15)


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(patch=st.dictionaries(FIELDS, PATCHES, max_size=4))
def test_any_patch_gives_a_whole_session_or_a_refusal_with_its_field(patch: dict[str, Any]) -> None:
    before = STUDY.to_wire()
    try:
        after = STUDY.updated({**patch, "type": "realtime"}, BASE)
    except InvalidEvent as refusal:
        assert refusal.param is not None  # noqa: PT017 - either is right
    else:
        assert Session.model_validate_json(json.dumps(after.to_wire())).to_wire() == after.to_wire()
    assert STUDY.to_wire() == before
