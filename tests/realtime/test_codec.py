"""Events to text and back. Sources: HRP 0.2.0 (both event lists); reference wire sections 1.1, 1.2 and 1.11."""

from __future__ import annotations

import base64
import dataclasses
import json
from typing import Any, get_args

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from realtime_harness.errors import InvalidEvent
from realtime_harness.realtime import events as e
from realtime_harness.realtime.codec import (
    MAX_APPEND_BYTES,
    decode_client,
    decode_server,
    encode_client,
    encode_server,
    error_body,
)
from realtime_harness.realtime.wire import MAX_DEPTH

from .hrp_examples import EXAMPLES

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=10,
)
OBJECT = st.dictionaries(st.text(max_size=8), JSON, max_size=4)
BY_ANNOTATION: dict[str, st.SearchStrategy[Any]] = {
    "str": st.text(max_size=30),
    "str | None": st.none() | st.text(max_size=30),
    "int": st.integers(-(2**53), 2**53),
    "bytes": st.binary(max_size=100),
    "Json": OBJECT,
}


def instances(kind: type[Any]) -> st.SearchStrategy[Any]:
    """Any event of that kind, with fields that we do not know."""
    fields = {
        field.name: BY_ANNOTATION[str(field.type)]
        for field in dataclasses.fields(kind)
        if field.name not in ("extra", "event_id")
    }
    event_id = st.text(min_size=1, max_size=40)
    optional = event_id if issubclass(kind, e.ServerEventBase) else st.none() | event_id
    extra = st.dictionaries(st.text(min_size=1, max_size=8).map("x_".__add__), JSON, max_size=2)
    return st.builds(kind, event_id=optional, extra=extra, **fields)


@settings(max_examples=5, deadline=None, derandomize=True, database=None)
@given(data=st.data())
@pytest.mark.parametrize("kind", get_args(e.ClientEvent), ids=lambda kind: kind.type)
def test_a_client_event_survives_the_round_trip(kind: type[e.ClientEvent], data: st.DataObject) -> None:
    event = data.draw(instances(kind))
    assert decode_client(encode_client(event)) == event


@settings(max_examples=5, deadline=None, derandomize=True, database=None)
@given(data=st.data())
@pytest.mark.parametrize("kind", get_args(e.ServerEvent), ids=lambda kind: kind.type)
def test_a_server_event_survives_the_round_trip(kind: type[e.ServerEvent], data: st.DataObject) -> None:
    event = data.draw(instances(kind))
    assert decode_server(encode_server(event)) == event


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(raw=st.binary(max_size=60) | JSON.map(orjson.dumps))
def test_whatever_comes_is_an_event_or_refused(raw: bytes) -> None:
    for decode in (decode_client, decode_server):
        try:
            decode(raw)
        except InvalidEvent as refusal:
            assert refusal.message  # noqa: PT017 - either is right


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(kind=st.sampled_from([kind.type for kind in get_args(e.ClientEvent) + get_args(e.ServerEvent)]), data=st.data())
def test_wrong_fields_of_known_types_are_refused_too(kind: str, data: st.DataObject) -> None:
    names = st.sampled_from(
        ["audio", "session", "item", "item_id", "content_index", "audio_end_ms", "delta", "event_id"]
    )
    text = orjson.dumps({**data.draw(st.dictionaries(names, JSON, max_size=8)), "type": kind})
    for decode in (decode_client, decode_server):
        try:
            decode(text)
        except InvalidEvent as refusal:
            assert refusal.message  # noqa: PT017 - either is right


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example["type"])
def test_every_client_event_that_hrp_shows(example: dict[str, Any]) -> None:
    event = decode_client(json.dumps(example))
    assert event.type == example["type"]
    assert event.extra == {}
    sent = json.loads(encode_client(event))
    assert {key: value for key, value in sent.items() if value is not None} == example


def refusal_of(text: str | bytes) -> InvalidEvent:
    with pytest.raises(InvalidEvent) as caught:
        decode_client(text)
    return caught.value


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "hello",
        "{",
        '{"type": "input_audio_buffer.commit",}',
        "\x00\x01",
        b"\xff\xfe",
        b"",
        "null",
        "5",
        '"text"',
        "[]",
        '[{"type": "input_audio_buffer.commit"}]',
        '{"type": "session.update", "session": {"x": NaN}}',
        '{"type": "session.update", "session": {"x": Infinity}}',
        '{"type": "session.update", "session": {"x": "\\ud800"}}',
        "[" * 20_000 + "]" * 20_000,
        '{"type":"session.update","session":' + '{"a":' * 20_000 + "1" + "}" * 20_002,
    ],
    ids=range(18),
)
def test_what_is_no_json_object(text: str | bytes) -> None:
    refusal = refusal_of(text)
    assert refusal.type == "invalid_request_error"
    assert refusal.event_id is None
    assert len(refusal.message) < 300


@pytest.mark.parametrize("levels", [MAX_DEPTH - 1, MAX_DEPTH, 240, 260, 900, 1020])
@pytest.mark.parametrize(("head", "tail"), [('{"a":', "}"), ("[", "]")])
def test_json_that_is_nested_deep(levels: int, head: str, tail: str) -> None:
    """Between 255 and 1,024 levels the reader let it in, and whoever walked or wrote it broke."""
    text = f'{{"type":"session.update","session":{head * levels}1{tail * levels}}}'
    if levels >= MAX_DEPTH:
        assert refusal_of(text).code == "invalid_event"
    elif head == "[":
        assert refusal_of(text).param == "session"
    else:
        assert isinstance(decode_client(text), e.SessionUpdate)


def test_wide_json_is_not_deep() -> None:
    assert isinstance(
        decode_client(json.dumps({"type": "session.update", "session": {"a": [[]] * 500}})), e.SessionUpdate
    )


@pytest.mark.parametrize(
    ("fields", "code", "param"),
    [
        ({}, "invalid_event", "type"),
        ({"type": None}, "invalid_event", "type"),
        ({"type": 7}, "invalid_event", "type"),
        ({"type": ["session.update"]}, "invalid_event", "type"),
        ({"type": "conversation.item.destroy"}, "invalid_event", "type"),
        ({"type": "session.created", "session": {}}, "invalid_event", "type"),
        ({"type": "x" * 100_000}, "invalid_event", "type"),
        ({"type": "session.update"}, "missing_required_parameter", "session"),
        ({"type": "session.update", "session": None}, "invalid_value", "session"),
        ({"type": "session.update", "session": []}, "invalid_value", "session"),
        ({"type": "input_audio_buffer.append"}, "missing_required_parameter", "audio"),
        ({"type": "input_audio_buffer.append", "audio": None}, "invalid_value", "audio"),
        ({"type": "input_audio_buffer.append", "audio": 5}, "invalid_value", "audio"),
        ({"type": "input_audio_buffer.append", "audio": "%%%"}, "invalid_value", "audio"),
        ({"type": "input_audio_buffer.append", "audio": "AAA"}, "invalid_value", "audio"),
        ({"type": "input_audio_buffer.append", "audio": "AAAA AAAA"}, "invalid_value", "audio"),
        ({"type": "input_audio_buffer.append", "audio": "\u00e4\u00e4\u00e4\u00e4"}, "invalid_value", "audio"),
        ({"type": "conversation.item.create"}, "missing_required_parameter", "item"),
        ({"type": "conversation.item.create", "item": "x"}, "invalid_value", "item"),
        ({"type": "conversation.item.create", "item": {}, "previous_item_id": 3}, "invalid_value", "previous_item_id"),
        ({"type": "conversation.item.delete"}, "missing_required_parameter", "item_id"),
        ({"type": "conversation.item.truncate", "item_id": "a"}, "missing_required_parameter", "content_index"),
        ({"type": "conversation.item.truncate", "item_id": "a", "content_index": True, "audio_end_ms": 1}, "invalid_value", "content_index"),
        ({"type": "conversation.item.truncate", "item_id": "a", "content_index": 0, "audio_end_ms": 1.5}, "invalid_value", "audio_end_ms"),
        ({"type": "conversation.item.truncate", "item_id": "a", "content_index": 0, "audio_end_ms": "1"}, "invalid_value", "audio_end_ms"),
        ({"type": "conversation.item.truncate", "item_id": None, "content_index": 0, "audio_end_ms": 1}, "invalid_value", "item_id"),
        ({"type": "response.create", "response": "hello"}, "invalid_value", "response"),
        ({"type": "response.cancel", "response_id": 9}, "invalid_value", "response_id"),
    ],
)  # fmt: skip
def test_a_bad_event_is_refused_with_the_clients_event_id(fields: dict[str, Any], code: str, param: str) -> None:
    refusal = refusal_of(json.dumps({"event_id": "mine", **fields}))
    assert (refusal.code, refusal.param, refusal.event_id) == (code, param, "mine")
    assert error_body(refusal)["event_id"] == "mine"
    assert len(refusal.message) < 1000


@pytest.mark.parametrize("event_id", [7, [], {}, True, "x" * 513, "x" * 1_000_000])
def test_an_event_id_that_is_none(event_id: object) -> None:
    refusal = refusal_of(json.dumps({"event_id": event_id, "type": "input_audio_buffer.commit"}))
    assert (refusal.param, refusal.event_id) == ("event_id", None)
    assert len(refusal.message) < 200


@pytest.mark.parametrize("event_id", [None, "", "x" * 512, "ä\n\0"])
def test_an_event_id_that_is_one(event_id: str | None) -> None:
    event = decode_client(json.dumps({"event_id": event_id, "type": "input_audio_buffer.commit"}))
    assert event == e.AudioCommit(event_id=event_id)


@pytest.mark.parametrize(
    ("text", "event"),
    [
        ('{"type": "response.create"}', e.ResponseCreate()),
        ('{"type": "response.create", "response": null}', e.ResponseCreate()),
        ('{"type": "response.cancel", "response_id": null}', e.ResponseCancel()),
        (
            '{"type": "conversation.item.create", "item": {}, "previous_item_id": null}',
            e.ItemCreate(item={}),
        ),
        ('{"type": "input_audio_buffer.append", "audio": ""}', e.AudioAppend(audio=b"")),
        ('{"type": "input_audio_buffer.append", "audio": "AA=="}', e.AudioAppend(audio=b"\0")),
    ],
)
def test_null_is_absence_where_a_field_is_optional(text: str, event: e.ClientEvent) -> None:
    assert decode_client(text) == event


@pytest.mark.parametrize(("extra_bytes", "taken"), [(0, True), (3, False)])
def test_an_append_has_at_most_15_mib(extra_bytes: int, taken: bool) -> None:
    audio = base64.b64encode(bytes(MAX_APPEND_BYTES + extra_bytes)).decode()
    text = f'{{"type":"input_audio_buffer.append","audio":"{audio}"}}'
    if taken:
        assert isinstance(decode_client(text), e.AudioAppend)
    else:
        assert refusal_of(text).param == "audio"


def test_unknown_fields_survive() -> None:
    text = '{"type": "response.cancel", "x_reason": {"why": [1, null]}}'
    assert json.loads(encode_client(decode_client(text))) == json.loads(text)


def test_a_server_event_of_an_unknown_type_is_known_as_such() -> None:
    raw = {"type": "rate_limits.updated", "event_id": "event_1", "rate_limits": []}
    assert decode_server(json.dumps(raw)) == e.UnknownServerEvent(type="rate_limits.updated", raw=raw)


@pytest.mark.parametrize(
    ("raw", "param"),
    [
        ({"type": "session.created", "event_id": "a"}, "session"),
        ({"type": "input_audio_buffer.speech_started", "item_id": "a"}, "audio_start_ms"),
        ({"type": "response.function_call_arguments.done", "response_id": "a", "item_id": "b", "call_id": "c", "arguments": ""}, "name"),
        ({"type": "error"}, "error"),
    ],
)  # fmt: skip
def test_a_server_event_without_a_field_that_hrp_requires_is_refused(raw: dict[str, Any], param: str) -> None:
    with pytest.raises(InvalidEvent) as caught:
        decode_server(json.dumps(raw))
    assert caught.value.param == param


@pytest.mark.parametrize(
    "raw",
    [
        {"type": "response.output_audio_transcript.delta", "response_id": "a", "item_id": "b", "delta": "hi"},
        {"type": "response.output_audio_transcript.done", "response_id": "a", "item_id": "b", "transcript": ""},
        {"type": "response.output_audio.delta", "response_id": "a", "item_id": "b", "delta": "AAAA"},
        {"type": "conversation.item.input_audio_transcription.completed", "item_id": "a", "transcript": "hi"},
        {"type": "conversation.item.truncated", "item_id": "a", "audio_end_ms": 5},
        {"type": "conversation.item.added", "item": {}},
        {"type": "input_audio_buffer.committed", "item_id": "a"},
    ],
)
def test_a_server_event_with_only_what_hrp_requires_is_taken(raw: dict[str, Any]) -> None:
    """Indices and usage were demanded too: engines that leave them out could not be read."""
    assert decode_server(json.dumps(raw)).type == raw["type"]


@pytest.mark.parametrize("delta", [5, None, [], "%%"])
def test_a_server_audio_delta_that_is_no_base64_is_refused(delta: object) -> None:
    """A number broke the reader with a TypeError."""
    raw = {"type": "response.output_audio.delta", "response_id": "a", "item_id": "b", "delta": delta}
    with pytest.raises(InvalidEvent):
        decode_server(json.dumps(raw))
