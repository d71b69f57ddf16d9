"""One response and its events: numbers without a gap, one terminal event, the same object in both."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime_harness.uhp.turn import Turn, new_response


def turn() -> Turn:
    return Turn(
        new_response(
            created_at=1,
            model="m",
            session_id="hsess1",
            harness_id="chrn_local",
            previous_response_id=None,
            store=True,
            metadata={},
            ignored_fields=("tools",),
        )
    )


@given(st.lists(st.text(max_size=5), max_size=8), st.sampled_from(["completed", "incomplete", "failed", "cancelled"]))
def test_events_are_numbered_without_a_gap_and_end_once_with_the_whole(pieces: list[str], status: str) -> None:
    one = turn()
    events = one.begin()
    for piece in pieces:
        events += one.text(piece)
    events += one.end(status)  # type: ignore[arg-type]
    events += one.text("late")
    events += one.end("completed")

    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    assert [event["type"] for event in events[:2]] == ["response.created", "response.in_progress"]
    terminal = [
        event for event in events if event["type"] in ("response.completed", "response.incomplete", "response.failed")
    ]
    assert terminal == [events[-1]]
    assert events[-1]["response"] == one.response
    assert one.response["status"] == status
    said = "".join(pieces)
    assert "".join(event["delta"] for event in events if event["type"] == "response.output_text.delta") == said
    assert bool(one.response["output"]) == bool(said)


def test_a_cancelled_turn_ends_its_stream_as_failed_without_an_error() -> None:
    one = turn()
    one.begin()
    one.text("Well")
    last = one.end("cancelled")[-1]

    assert last["type"] == "response.failed"
    assert (last["response"]["status"], last["response"]["error"]) == ("cancelled", None)
    assert last["response"]["output"][0]["content"][0]["text"] == "Well"


@pytest.mark.parametrize("said", ["", "Half an ans"])
def test_a_turn_goes_on_from_its_record(said: str) -> None:
    one = turn()
    events = one.begin() + one.text(said)

    again = Turn.resumed(one.response, events)
    end = again.end("failed", error={"type": "harness_error", "code": "harness_error", "message": "stopped"})

    assert end[0]["sequence_number"] == len(events)
    assert again.response["error"]["message"] == "stopped"
    assert bool(again.response["output"]) == bool(said)


def test_what_was_not_acted_on_is_named() -> None:
    assert turn().response["metadata"]["ignored_fields"] == ["tools"]
