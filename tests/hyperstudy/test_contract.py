"""The contract's constants, and the engine's own code, say the same."""

from __future__ import annotations

import dataclasses
import json
from typing import Any, get_args

import pytest

from realtime_harness.hyperstudy.client_events import client_events, silent_answer
from realtime_harness.hyperstudy.contract import (
    CHECKS,
    IGNORED_EVENTS,
    MAX_AUDIO_DELTA_MS,
    REQUIRED_FIELDS,
    SUITE_VERSION,
    THRESHOLDS,
    TOOLS,
    TOOLS_BY_NAME,
    TURN_DETECTIONS,
)
from realtime_harness.hyperstudy.endpoint import offered_tools
from realtime_harness.hyperstudy.questions import read_question
from realtime_harness.realtime import events as e
from realtime_harness.realtime.codec import decode_client
from realtime_harness.realtime.pcm import bytes_of_ms

SERVER_EVENTS = {kind.type: kind for kind in get_args(e.ServerEvent)}
ROWS = client_events()


@pytest.mark.parametrize("event", REQUIRED_FIELDS)
def test_the_engine_has_every_required_event_and_always_sends_its_fields(event: str) -> None:
    fields = {field.name for field in dataclasses.fields(SERVER_EVENTS[event])}
    assert set(REQUIRED_FIELDS[event]) <= fields


def test_no_event_is_both_required_and_ignored() -> None:
    assert not set(REQUIRED_FIELDS) & set(IGNORED_EVENTS)
    assert (len(REQUIRED_FIELDS), len(IGNORED_EVENTS), len(set(IGNORED_EVENTS))) == (18, 15, 15)


def test_the_engine_sends_few_events_that_the_platform_has_not_heard_of() -> None:
    beyond = set(SERVER_EVENTS) - set(REQUIRED_FIELDS) - set(IGNORED_EVENTS)
    assert beyond <= {"conversation.item.deleted", "conversation.item.retrieved"}, "logged and ignored by the platform"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["purpose"][:30])
def test_the_engine_reads_every_event_that_the_platform_sends(row: dict[str, Any]) -> None:
    example = row["example"]
    if "audio" in example:
        example = {**example, "audio": ""}
    assert decode_client(json.dumps(example)).type == row["type"] == example["type"]


def test_examples_are_made_anew_so_that_none_can_spoil_another() -> None:
    client_events()[0]["example"]["session"]["tools"].clear()
    TOOLS[0].parameters["properties"]["message"].clear()
    assert client_events() == ROWS
    assert TOOLS[0].parameters["properties"]["message"]["type"] == "string"


def test_the_constants_cannot_be_changed() -> None:
    for mapping in (REQUIRED_FIELDS, TOOLS_BY_NAME, *TURN_DETECTIONS):
        with pytest.raises(TypeError):
            mapping["x"] = 1  # type: ignore[index]
    with pytest.raises(dataclasses.FrozenInstanceError):
        THRESHOLDS.event_timeout_ms = 1  # type: ignore[misc]


def test_the_suite_has_fifteen_results() -> None:
    assert SUITE_VERSION == 6
    assert sum(len(TURN_DETECTIONS) if check.per_turn_detection else 1 for check in CHECKS) == 15
    assert len({check.id for check in CHECKS}) == len(CHECKS) == 10


def test_the_longest_audio_delta_in_bytes() -> None:
    assert bytes_of_ms(MAX_AUDIO_DELTA_MS) == 96_000


def test_a_silent_answer_forces_its_tool_and_asks_for_text_only() -> None:
    assert silent_answer("answer_text")["response"] == {
        "output_modalities": ["text"],
        "tool_choice": {"type": "function", "name": "answer_text"},
    }


def test_an_endpoint_is_offered_what_it_can_use_now() -> None:
    likert = read_question("likertscale", {"question": "?", "scale": 9})

    def names(*given: Any, **more: Any) -> list[str]:
        return [tool["function"]["name"] for tool in offered_tools(*given, **more)]

    assert names(None, text_chat=False) == ["wait"]
    assert names(None, text_chat=True) == ["send_chat", "wait"]
    assert names(likert, text_chat=True) == ["send_chat", "wait", "submit_response"]
    submit = offered_tools(likert, text_chat=False)[-1]["function"]
    assert submit["parameters"]["properties"]["value"]["maximum"] == 9
    assert '"likertscale"' in submit["description"]
