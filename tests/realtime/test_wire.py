from __future__ import annotations

import pytest

from realtime_harness.errors import InvalidEvent
from realtime_harness.realtime.wire import MAX_ECHO_BYTES, check_echo, kind_of, load_object


@pytest.mark.parametrize(
    ("value", "kind"),
    [(None, "null"), (True, "boolean"), (1, "number"), (1.5, "number"), ("", "string"), ({}, "object"), ([], "array")],
)
def test_kinds_have_their_json_names(value: object, kind: str) -> None:
    assert kind_of(value) == kind


def test_of_two_equal_keys_the_last_counts() -> None:
    assert load_object('{"a": 1, "a": 2}') == {"a": 2}


def test_brackets_inside_text_are_not_depth() -> None:
    assert load_object('{"a": "' + "[{" * 5000 + '"}')


def test_what_would_not_fit_a_frame_is_refused() -> None:
    check_echo({"a": "x" * (MAX_ECHO_BYTES - 10)}, "item")
    with pytest.raises(InvalidEvent) as caught:
        check_echo({"a": "ä" * (MAX_ECHO_BYTES // 2)}, "item")
    assert caught.value.param == "item"
