from __future__ import annotations

import base64

import pytest

from realtime_harness.errors import InvalidEvent
from realtime_harness.realtime.images import MAX_IMAGE_BYTES, ImageData, media_type_of, read_data_url

HEADS = {
    "image/png": b"\x89PNG\r\n\x1a\n....",
    "image/jpeg": b"\xff\xd8\xff\xe0....",
    "image/gif": b"GIF89a......",
    "image/webp": b"RIFF....WEBPVP8 ",
}


def url(data: bytes, media_type: str = "image/png") -> str:
    return f"data:{media_type};base64,{base64.b64encode(data).decode()}"


@pytest.mark.parametrize("media_type", HEADS)
@pytest.mark.parametrize("claimed", ["image/png", "application/octet-stream", ""])
def test_the_first_bytes_say_what_it_is(media_type: str, claimed: str) -> None:
    data = HEADS[media_type]
    assert read_data_url(url(data, claimed), "p") == ImageData(media_type, data)


@pytest.mark.parametrize("data", [b"", b"RIFF....WAVE", b"<svg/>", b"%PDF-1.7", b"\x89PN"])
def test_what_is_no_image(data: bytes) -> None:
    assert media_type_of(data) is None
    with pytest.raises(InvalidEvent) as caught:
        read_data_url(url(data), "item.content[0].image_url")
    assert caught.value.param == "item.content[0].image_url"


@pytest.mark.parametrize(
    "bad",
    [
        "",
        "data:",
        "data:image/png,plain",
        "data:image/png;base64",
        "data:image/png;base64,*",
        "http://169.254.169.254/latest",
        "file:///etc/passwd",
        "iVBORw0KGgo=",
    ],
)
def test_only_base64_data_urls(bad: str) -> None:
    with pytest.raises(InvalidEvent) as caught:
        read_data_url(bad, "p")
    assert caught.value.code == "invalid_value"


def test_a_huge_image_is_refused_before_it_is_decoded() -> None:
    with pytest.raises(InvalidEvent, match="at most"):
        read_data_url("data:image/png;base64," + "A" * (MAX_IMAGE_BYTES * 4 // 3 + 8), "p")


def test_a_refusal_shows_little_of_what_came() -> None:
    with pytest.raises(InvalidEvent) as caught:
        read_data_url("x" * 100_000, "p")
    assert len(caught.value.message) < 200
