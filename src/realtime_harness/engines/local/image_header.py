"""What the first bytes of an image say, without decoding it: the media type and the size."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from realtime_harness.errors import Unreadable

MAX_PIXELS = 40_000_000
MAX_SIDE = 30_000

_FRAME_MARKERS = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_BARE_MARKERS = frozenset(range(0xD0, 0xDA)) | {0x01}


class ImageUnreadable(Unreadable):
    """An image that cannot be looked at: not an image, broken, or too large. The message is a sentence for people."""


@dataclass(frozen=True, slots=True)
class ImageHeader:
    """Media type, width and height in pixels, as the image's first bytes claim them."""

    media_type: str
    width: int
    height: int


def read_header(image: bytes) -> ImageHeader:
    """Media type and size. Raises ImageUnreadable for other bytes, and for a cut or senseless header."""
    try:
        if image.startswith(b"\x89PNG\r\n\x1a\n"):
            header = ImageHeader("image/png", *struct.unpack_from(">II", image, 16))
        elif image.startswith(b"\xff\xd8\xff"):
            header = ImageHeader("image/jpeg", *_jpeg_size(image))
        elif image.startswith((b"GIF87a", b"GIF89a")):
            header = ImageHeader("image/gif", *struct.unpack_from("<HH", image, 6))
        elif image.startswith(b"RIFF") and image[8:12] == b"WEBP":
            header = ImageHeader("image/webp", *_webp_size(image))
        else:
            raise ImageUnreadable(
                f"Expected a PNG, JPEG, GIF or WebP image; got {len(image):,} bytes that are none of these."
            )
    except (struct.error, IndexError) as error:
        raise ImageUnreadable(f"The image ends within its header, after {len(image):,} bytes.") from error
    if header.width < 1 or header.height < 1:
        raise ImageUnreadable(f"The image claims a size of {header.width} x {header.height} pixels.")
    if header.width * header.height > MAX_PIXELS or max(header.width, header.height) > MAX_SIDE:
        raise ImageUnreadable(
            f"The image has {header.width:,} x {header.height:,} pixels; expected at most {MAX_PIXELS:,} in all and "
            f"{MAX_SIDE:,} on a side."
        )
    return header


def _jpeg_size(image: bytes) -> tuple[int, int]:
    """The size in the first frame header; segments before it are stepped over."""
    position = 2
    while True:
        while image[position] == 0xFF and image[position + 1] == 0xFF:
            position += 1
        if image[position] != 0xFF:
            raise ImageUnreadable(f"The JPEG is broken at byte {position:,}.")
        marker = image[position + 1]
        if marker in _BARE_MARKERS:
            position += 2
            continue
        if marker in _FRAME_MARKERS:
            height, width = struct.unpack_from(">HH", image, position + 5)
            return width, height
        (length,) = struct.unpack_from(">H", image, position + 2)
        position += 2 + max(2, length)


def _webp_size(image: bytes) -> tuple[int, int]:
    kind = image[12:16]
    if kind == b"VP8X":
        wide, high = image[24:27], image[27:30]
        if len(high) < 3:
            raise IndexError
        return int.from_bytes(wide, "little") + 1, int.from_bytes(high, "little") + 1
    if kind == b"VP8L":
        (bits,) = struct.unpack_from("<I", image, 21)
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8 ":
        width, height = struct.unpack_from("<HH", image, 26)
        return width & 0x3FFF, height & 0x3FFF
    raise ImageUnreadable(f"The WebP image begins with an unknown chunk, {kind!r}.")
