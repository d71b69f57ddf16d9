"""Events to JSON text and back. Both directions, so that a server and a client share one table.

A client's text becomes a ClientEvent or an InvalidEvent (which carries its `event_id`); a server's text becomes a
ServerEvent, or an UnknownServerEvent where the type is not known.
"""

from __future__ import annotations

import binascii
import dataclasses
from collections.abc import Mapping
from copy import copy
from typing import Any, get_args

import orjson
import pybase64

from realtime_harness.errors import InvalidEvent
from realtime_harness.realtime import events as e
from realtime_harness.realtime.wire import Json, kind_of, load_object

MAX_EVENT_ID_CHARS = 512
MAX_APPEND_BYTES = 15 * 1024 * 1024  # OpenAI Realtime: per append

_CLIENT: Mapping[str, type[e.ClientEvent]] = {kind.type: kind for kind in get_args(e.ClientEvent)}
_SERVER: Mapping[str, type[e.ServerEvent]] = {kind.type: kind for kind in get_args(e.ServerEvent)}
_FIELDS: Mapping[type[Any], tuple[str, ...]] = {
    kind: tuple(field.name for field in dataclasses.fields(kind) if field.name != "extra")
    for kind in (*_CLIENT.values(), *_SERVER.values())
}
_REQUIRED: Mapping[type[Any], frozenset[str]] = {
    kind: frozenset(
        field.name
        for field in dataclasses.fields(kind)
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    )
    for kind in _CLIENT.values()
}
_JSON_KINDS: Mapping[str, tuple[type, str]] = {
    "session": (dict, "object"),
    "item": (dict, "object"),
    "response": (dict, "object"),
    "item_id": (str, "string"),
    "previous_item_id": (str, "string"),
    "response_id": (str, "string"),
    "audio": (str, "string"),
    "content_index": (int, "integer"),
    "audio_end_ms": (int, "integer"),
}
# Fields that HRP does not require of an engine, and that some leave out, with what they then are.
_LEFT_OUT: Mapping[str, Any] = {"previous_item_id": None, "content_index": 0, "output_index": 0, "usage": {}}


def decode_client(text: str | bytes) -> e.ClientEvent:
    """One client event. Raises InvalidEvent: it says what was expected, what came, and the client's `event_id`."""
    raw = load_object(text)
    event_id = raw.pop("event_id", None)
    if event_id is not None and (not isinstance(event_id, str) or len(event_id) > MAX_EVENT_ID_CHARS):
        raise InvalidEvent(
            f"Invalid 'event_id': expected a string of at most {MAX_EVENT_ID_CHARS} characters.",
            code="invalid_value",
            param="event_id",
        )
    try:
        return _client_event(raw, event_id)
    except InvalidEvent as refusal:
        refusal.event_id = event_id
        raise


def _client_event(raw: Json, event_id: str | None) -> e.ClientEvent:
    kind = raw.pop("type", None)
    if kind is None:
        raise InvalidEvent("The 'type' field is missing.", code="invalid_event", param="type")
    known = _CLIENT.get(kind) if isinstance(kind, str) else None
    if known is None:
        raise InvalidEvent(
            f"Unknown event type {str(kind)[:80]!r}; expected one of: {', '.join(_CLIENT)}.",
            code="invalid_event",
            param="type",
        )
    values: Json = {"event_id": event_id}
    for name in _FIELDS[known]:
        if name == "event_id":
            continue
        required = name in _REQUIRED[known]
        if required and name not in raw:
            raise InvalidEvent(f"Missing required parameter: '{name}'.", code="missing_required_parameter", param=name)
        value = raw.pop(name, None)
        if value is None and not required:
            continue
        wanted, called = _JSON_KINDS[name]
        if not isinstance(value, wanted) or isinstance(value, bool):
            raise InvalidEvent(
                f"Invalid '{name}': expected {called}; got {kind_of(value)}.", code="invalid_value", param=name
            )
        values[name] = _audio(value) if name == "audio" else value
    return known(**values, extra=raw)


def _audio(text: Any) -> bytes:
    if not isinstance(text, str):
        raise InvalidEvent(f"Invalid audio: expected a base64 string; got {kind_of(text)}.", code="invalid_value")
    if len(text) > MAX_APPEND_BYTES * 4 // 3:
        raise InvalidEvent(
            f"Invalid 'audio'. An append may carry at most {MAX_APPEND_BYTES} bytes; got about {len(text) * 3 // 4}.",
            code="invalid_value",
            param="audio",
        )
    try:
        return pybase64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise InvalidEvent(
            "Invalid 'audio'. Expected base64-encoded audio bytes (mono PCM16 at 24kHz) but got an invalid value.",
            code="invalid_value",
            param="audio",
        ) from None


def encode_client(event: e.ClientEvent) -> str:
    """A client event as text."""
    return _encode(event)


def encode_server(event: e.ServerEvent) -> str:
    """A server event as text."""
    return _encode(event)


def _encode(event: e.ClientEvent | e.ServerEvent) -> str:
    wire: Json = {"type": event.type}
    for name in _FIELDS[type(event)]:
        value = getattr(event, name)
        if isinstance(value, bytes):
            value = pybase64.b64encode_as_string(value)
        elif value is None and name in ("event_id", "response_id"):
            continue
        wire[name] = value
    if event.extra:
        wire.update(event.extra)
    return orjson.dumps(wire).decode()


def decode_server(text: str | bytes) -> e.ServerEvent | e.UnknownServerEvent:
    """One server event. Raises InvalidEvent where a field that the type must carry is missing."""
    raw = load_object(text)
    kind = raw.get("type")
    known = _SERVER.get(kind) if isinstance(kind, str) else None
    if known is None:
        return e.UnknownServerEvent(type=str(kind), raw=raw)
    del raw["type"]
    values: Json = {}
    for name in _FIELDS[known]:
        if name == "event_id":
            values[name] = str(raw.pop(name, ""))
            continue
        if name not in raw and name in _LEFT_OUT:
            values[name] = copy(_LEFT_OUT[name])
            continue
        if name not in raw:
            raise InvalidEvent(f"Event {kind!r} lacks its field '{name}'.", code="invalid_event", param=name)
        value = raw.pop(name)
        values[name] = _audio(value) if known is e.OutputAudioDelta and name == "delta" else value
    return known(**values, extra=raw)


def error_body(refusal: InvalidEvent) -> Json:
    """The `error` object of an `error` event."""
    return {
        "type": refusal.type,
        "code": refusal.code,
        "message": refusal.message,
        "param": refusal.param,
        "event_id": refusal.event_id,
    }
