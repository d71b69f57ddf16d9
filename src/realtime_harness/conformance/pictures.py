"""A picture of one colour, made without any library."""

from __future__ import annotations

import base64
import struct
import zlib

SIDE = 64


def png(rgb: tuple[int, int, int], side: int = SIDE) -> str:
    """A square PNG of one colour, as a data URL."""
    rows = (b"\x00" + bytes(rgb) * side) * side
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")]
    body = b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )
    return "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n" + body).decode()
