"""What `POST /v1/responses` may ask, and how each wrong field is named."""

from __future__ import annotations

from typing import Any

import pytest

from realtime_harness.uhp.errors import CODES, UhpError
from realtime_harness.uhp.request import read_request
from realtime_harness.uhp.versions import negotiated


def test_text_and_items_are_the_same() -> None:
    item = {"role": "user", "content": [{"type": "input_text", "text": "Hello"}]}

    assert read_request({"input": "Hello"}).input == read_request({"input": [item]}).input
    assert read_request({"input": [item]}).text == "Hello"


def test_reserved_and_unknown_fields_are_named_and_nothing_else() -> None:
    asked = read_request({"input": "x", "tools": [], "include": [], "novel": 1, "store": False, "max_step": 3})

    assert asked.ignored_fields == ("include", "max_step", "novel", "tools")
    assert not asked.store
    assert read_request({"input": "x"}).ignored_fields == ()


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({}, "input"),
        ({"input": []}, "input"),
        ({"input": "  "}, "input"),
        ({"input": 7}, "input"),
        ({"input": ["x"]}, "input[0]"),
        ({"input": [{"role": "robot", "content": "x"}]}, "input[0].role"),
        ({"input": [{"content": [{"type": "input_image"}]}]}, "input[0].content[0].type"),
        ({"input": "x", "stream": "yes"}, "stream"),
        ({"input": "x", "timeout_seconds": 0}, "timeout_seconds"),
        ({"input": "x", "max_output_tokens": True}, "max_output_tokens"),
        ({"input": "x", "metadata": []}, "metadata"),
        ({"input": "x", "metadata": {"harness_id": 7}}, "metadata.harness_id"),
        ({"input": "x", "previous_response_id": 7}, "previous_response_id"),
    ],
)
def test_a_wrong_field_is_named(body: dict[str, Any], param: str) -> None:
    with pytest.raises(UhpError) as refused:
        read_request(body)

    assert (refused.value.code, refused.value.param) == ("invalid_input", param)
    assert "xpected" in str(refused.value)


def test_a_version_is_never_put_in_anothers_place() -> None:
    assert negotiated(None) == "2026-10-04"
    assert negotiated("2026-08-11") == "2026-08-11"
    with pytest.raises(UhpError) as refused:
        negotiated("1999-01-01")
    assert refused.value.to_json()["error"]["detail"] == {"supported": ["2026-10-04", "2026-08-11"]}


def test_codes_that_are_not_the_protocols_have_our_prefix() -> None:
    types = {
        "invalid_request_error",
        "authentication_error",
        "permission_error",
        "rate_limit_error",
        "harness_error",
        "server_error",
    }

    assert {kind for _, kind in CODES.values()} <= types
    assert all(status >= 400 for status, _ in CODES.values())
