"""Images as the wire carries them: `data:` URLs, checked in line for type and size, decoded elsewhere.

Remote URLs are refused: fetching what a client names would let it reach our network.
"""

from __future__ import annotations

import binascii
from dataclasses import dataclass

import pybase64

from realtime_harness.errors import InvalidEvent

MAX_IMAGE_BYTES = 10 * 1024 * 1024
_MAGIC = ((b"\x89PNG\r\n\x1a\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"GIF8", "image/gif"))


@dataclass(frozen=True, slots=True)
class ImageData:
    """An image's bytes and the media type that its first bytes show (not the one it claims)."""

    media_type: str
    data: bytes


def media_type_of(data: bytes) -> str | None:
    """The media type by the first bytes: PNG, JPEG, GIF or WebP; None for anything else."""
    for magic, media_type in _MAGIC:
        if data.startswith(magic):
            return media_type
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return None


def read_data_url(url: str, param: str) -> ImageData:
    """The image in a `data:` URL, or InvalidEvent naming `param`."""
    head, comma, body = url.partition(",")
    if not head.startswith("data:") or not comma or not head.endswith(";base64"):
        shown = url[:40]
        raise InvalidEvent(
            f"Invalid '{param}': expected a base64 data: URL of a PNG, JPEG, GIF or WebP image; got {shown!r}.",
            code="invalid_value",
            param=param,
        )
    if len(body) > MAX_IMAGE_BYTES * 4 // 3 + 4:
        raise InvalidEvent(
            f"Invalid '{param}': an image may have at most {MAX_IMAGE_BYTES} bytes; got about {len(body) * 3 // 4}.",
            code="invalid_value",
            param=param,
        )
    try:
        data = pybase64.b64decode(body, validate=True)
    except (binascii.Error, ValueError):
        raise InvalidEvent(f"Invalid '{param}': not valid base64.", code="invalid_value", param=param) from None
    media_type = media_type_of(data)
    if media_type is None:
        raise InvalidEvent(
            f"Invalid '{param}': expected a PNG, JPEG, GIF or WebP image; got {len(data)} bytes of something else.",
            code="invalid_value",
            param=param,
        )
    return ImageData(media_type, data)
