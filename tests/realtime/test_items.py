from __future__ import annotations

import json
from typing import Any

import pytest

from realtime_harness.errors import InvalidEvent
from realtime_harness.realtime.items import MAX_TEXT_CHARS, MessageItem, images_of, read_item

from .hrp_examples import EXAMPLES, PNG

TEXT = {"type": "input_text", "text": "hi"}


def message(*content: Any, role: str = "user", **more: Any) -> dict[str, Any]:
    return {"type": "message", "role": role, "content": list(content), **more}


@pytest.mark.parametrize("example", [example["item"] for example in EXAMPLES if "item" in example])
def test_the_items_that_hrp_shows(example: dict[str, Any]) -> None:
    wire = read_item(example).to_wire()
    assert wire["type"] == example["type"]
    assert json.dumps(wire)


@pytest.mark.parametrize(
    ("item", "param"),
    [
        ({}, "item.type"),
        ({"type": None}, "item.type"),
        ({"type": "item_reference", "id": "x"}, "item.type"),
        ({"type": ["message"]}, "item.type"),
        ({"type": "mcp_call"}, "item.type"),
        ({"type": "message", "content": [TEXT]}, "item.role"),
        (message(TEXT, role="developer"), "item.role"),
        (message(TEXT, id=7), "item.id"),
        (message(TEXT, status="finished"), "item.status"),
        ({"type": "message", "role": "user"}, "item.content"),
        ({"type": "message", "role": "user", "content": None}, "item.content"),
        ({"type": "message", "role": "user", "content": "hi"}, "item.content"),
        (message(), "item.content"),
        (message("hi"), "item.content[0]"),
        (message({"text": "hi"}), "item.content[0].type"),
        (message({"type": 3}), "item.content[0].type"),
        (message({"type": "input_text"}), "item.content[0].text"),
        (message({"type": "input_text", "text": None}), "item.content[0].text"),
        (message({"type": "input_text", "text": ["hi"]}), "item.content[0].text"),
        (message({"type": "input_text", "text": "x" * (MAX_TEXT_CHARS + 1)}), "item.content[0].text"),
        (message(TEXT, {"type": "input_image"}), "item.content[1].image_url"),
        (message({"type": "output_text", "text": "hi"}), "item.content[0].type"),
        (message({"type": "input_image", "image_url": "data:"}, role="system"), "item.content[0].type"),
        (message(TEXT, role="assistant"), "item.content[0].type"),
        ({"type": "function_call_output", "output": "x"}, "item.call_id"),
        ({"type": "function_call_output", "call_id": "c"}, "item.output"),
        ({"type": "function_call_output", "call_id": "c", "output": {"accepted": True}}, "item.output"),
        ({"type": "function_call", "call_id": "c"}, "item.name"),
        ({"type": "function_call", "call_id": "c", "name": "n", "arguments": {}}, "item.arguments"),
    ],
)
def test_a_bad_item_is_refused_and_the_field_named(item: dict[str, Any], param: str) -> None:
    with pytest.raises(InvalidEvent) as caught:
        read_item(item)
    assert caught.value.param == param
    assert len(caught.value.message) < 400


def test_an_item_too_large_to_be_echoed_is_refused() -> None:
    """Forty parts of 200,000 characters came back as one frame of 8 MB, which clients close the connection for."""
    with pytest.raises(InvalidEvent) as caught:
        read_item(message(*[{"type": "input_text", "text": "x" * MAX_TEXT_CHARS}] * 40))
    assert caught.value.param == "item"
    with pytest.raises(InvalidEvent):
        read_item(message(TEXT, note="x" * 2_000_000))


def test_an_image_does_not_count_for_it() -> None:
    part = {"type": "input_image", "image_url": "data:image/png;base64," + "A" * 2_000_000}
    assert "image_url" not in read_item(message(TEXT, part)).to_wire()["content"][1]


@pytest.mark.parametrize("absent", [{"id": None}, {"status": None}, {"id": None, "status": None}, {"id": ""}])
def test_null_is_absence(absent: dict[str, Any]) -> None:
    item = read_item(message(TEXT, **absent))
    assert isinstance(item, MessageItem)
    assert (item.id, item.status) == ("", "completed")


def test_unknown_fields_survive() -> None:
    item = read_item(message({**TEXT, "mood": "good"}, object="realtime.item", deep={"x": [1, None]}))
    wire = item.to_wire()
    assert wire["object"] == "realtime.item"
    assert wire["deep"] == {"x": [1, None]}
    assert wire["content"] == [{**TEXT, "mood": "good"}]


def test_the_beta_names_of_an_assistants_parts_become_todays() -> None:
    """Echoed as they came, they fail the strict types of the official SDK."""
    parts = [{"type": "text", "text": "hi"}, {"type": "audio", "transcript": "ho"}]
    item = read_item(message(*parts, role="assistant"))
    assert [part["type"] for part in item.to_wire()["content"]] == ["output_text", "output_audio"]


def test_an_output_has_no_status_on_the_wire() -> None:
    item = read_item({"type": "function_call_output", "call_id": "c", "output": "{}", "id": "i"})
    assert item.to_wire() == {"id": "i", "type": "function_call_output", "call_id": "c", "output": "{}"}


def test_the_text_of_a_message_is_all_its_words() -> None:
    item = read_item(
        message({"type": "output_audio", "transcript": "One"}, {"type": "output_text", "text": "two"}, role="assistant")
    )
    assert isinstance(item, MessageItem)
    assert item.text == "One two"


def test_images_are_read_in_order_and_audio_is_refused() -> None:
    image = {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}"}
    assert [picture.media_type for picture in images_of(read_item(message(TEXT, image, image)), "item")] == [
        "image/png"
    ] * 2
    with pytest.raises(InvalidEvent) as caught:
        images_of(read_item(message(TEXT, {"type": "input_audio", "audio": "AAAA"})), "item")
    assert caught.value.param == "item.content[1].type"
