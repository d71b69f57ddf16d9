"""Images described without a vision model."""

from __future__ import annotations

import contextlib
import io
import random
import struct
import zlib

import numpy as np
import pytest
from PIL import Image, ImageDraw

from realtime_harness.engines.local import sight
from realtime_harness.engines.local.sight import ImageUnreadable, describe, read_header

COLOURS = {
    "red": (220, 30, 30),
    "green": (40, 170, 60),
    "blue": (30, 70, 220),
    "yellow": (250, 225, 40),
    "orange": (255, 140, 0),
    "purple": (130, 40, 170),
    "black": (10, 10, 10),
    "white": (250, 250, 250),
    "grey": (128, 128, 128),
    "pink": (255, 130, 190),
    "brown": (120, 70, 30),
    "turquoise": (40, 200, 200),
}
FORMATS = ("PNG", "JPEG", "WEBP", "GIF")


@pytest.fixture(autouse=True)
def _no_ocr(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sight.shutil, "which", lambda name: None)


def encoded(image: Image.Image, kind: str = "PNG", **options: object) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def filled(colour: object = (220, 30, 30), size: tuple[int, int] = (60, 40), mode: str = "RGB") -> Image.Image:
    return Image.new(mode, size, colour)


@pytest.mark.parametrize("noise", [0, 18])
@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("name", COLOURS)
def test_the_colour_that_fills_an_image_is_said_plainly(name: str, kind: str, noise: int) -> None:
    grain = np.random.default_rng(1).normal(0, noise, (200, 300, 3))
    image = Image.fromarray(np.clip(np.array(COLOURS[name]) + grain, 0, 255).astype("uint8"))
    assert describe(encoded(image, kind)).startswith(f"The colour that fills the image is {name}.")


def test_several_colours_are_listed_by_area_and_place() -> None:
    image = filled((250, 250, 250), (300, 200))
    ImageDraw.Draw(image).ellipse((90, 40, 210, 160), fill=(220, 30, 30))
    text = describe(encoded(image))
    assert text.startswith("The main colour is white. Colours, by area: white (80%), red (19%).")
    assert "centre red" in text
    assert "border white" in text


def test_it_says_what_it_is_and_what_it_cannot_see() -> None:
    text = describe(encoded(filled(size=(64, 48)), "WEBP"))
    assert "A WebP image, 64 x 48 pixels." in text
    assert "objects, people, faces" in text
    assert "tesseract" in text


@pytest.mark.parametrize(
    ("image", "said"),
    [
        (filled((30, 70, 220, 255), mode="RGBA"), "fills the image is blue"),
        (filled((30, 70, 220, 0), mode="RGBA"), "fully transparent"),
        (filled(128, mode="L"), "fills the image is grey"),
        (filled(1, mode="1"), "fills the image is white"),
        (filled((128, 255), mode="LA"), "fills the image is grey"),
        (filled(33_000, mode="I;16"), "fills the image is grey"),
        (filled((40, 170, 60)).convert("P"), "fills the image is green"),
        (filled((0, 0, 0), (1, 1)), "fills the image is black"),
        (filled((0, 0, 0), (3_000, 1)), "fills the image is black"),
    ],
    ids=["rgba", "transparent", "grey", "bilevel", "grey-alpha", "16-bit", "palette", "one-pixel", "strip"],
)
def test_odd_modes_are_seen(image: Image.Image, said: str) -> None:
    assert said in describe(encoded(image))


def test_a_cmyk_jpeg_is_seen() -> None:
    assert "fills the image is red" in describe(encoded(filled((220, 30, 30)).convert("CMYK"), "JPEG"))


def test_a_part_that_is_transparent_is_said() -> None:
    image = filled((0, 0, 0, 0), (100, 100), "RGBA")
    ImageDraw.Draw(image).rectangle((0, 0, 99, 49), fill=(40, 170, 60, 255))
    text = describe(encoded(image))
    assert "fills the part that is not transparent is green. 50% of it is transparent." in text


@pytest.mark.parametrize("kind", ["GIF", "WEBP", "PNG"])
def test_of_an_animation_the_first_frame_is_described(kind: str) -> None:
    frames = [filled(COLOURS[name], (64, 64)) for name in ("green", "yellow", "red")]
    text = describe(encoded(frames[0], kind, save_all=True, append_images=frames[1:]))
    assert "is green" in text
    assert "of 3 frames" in text


@pytest.mark.parametrize("kind", FORMATS)
def test_a_header_tells_type_and_size(kind: str) -> None:
    data = encoded(filled(size=(37, 21)), kind)
    header = read_header(data)
    assert (header.media_type, header.width, header.height) == (f"image/{kind.lower()}", 37, 21)


def test_lossless_and_extended_webp_headers_are_read() -> None:
    assert read_header(encoded(filled(size=(37, 21)), "WEBP", lossless=True)).width == 37
    assert (
        read_header(encoded(filled((1, 2, 3, 4), (37, 21), "RGBA"), "WEBP", exif=b"Exif\0\0II*\0\x08\0\0\0\0\0")).height
        == 21
    )


@pytest.mark.parametrize("data", [b"", b"hello", b"%PDF-1.7", b"<svg/>", b"BM" + bytes(60), bytes(100)])
def test_bytes_that_are_no_image_are_refused_in_a_sentence(data: bytes) -> None:
    with pytest.raises(ImageUnreadable, match="Expected a PNG, JPEG, GIF or WebP image"):
        describe(data)


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("kept", [0.05, 0.3, 0.6])
def test_a_truncated_image_is_refused(kind: str, kept: float) -> None:
    grain = np.random.default_rng(1).integers(0, 255, (60, 60, 3)).astype("uint8")
    data = encoded(Image.fromarray(grain), kind)
    with pytest.raises(ImageUnreadable):
        describe(data[: int(len(data) * kept)])


@pytest.mark.parametrize("kind", FORMATS)
def test_damaged_bytes_never_escape_as_another_error(kind: str) -> None:
    whole = encoded(Image.fromarray(np.random.default_rng(1).integers(0, 255, (40, 40, 3)).astype("uint8")), kind)
    dice = random.Random(1)
    for _ in range(60):
        data = bytearray(whole)
        for _ in range(dice.randint(1, 20)):
            data[dice.randrange(len(data))] = dice.randrange(256)
        with contextlib.suppress(ImageUnreadable):
            assert "colour" in describe(bytes(data))


def png_claiming(width: int, height: int) -> bytes:
    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(bytes(100))) + chunk(b"IEND", b"")


@pytest.mark.parametrize("size", [(50_000, 50_000), (10_000, 5_000), (40_000, 1)])
def test_an_image_of_too_many_pixels_is_refused_before_it_is_decoded(size: tuple[int, int]) -> None:
    for look in (read_header, describe):
        with pytest.raises(ImageUnreadable, match="expected at most"):
            look(png_claiming(*size))


def test_an_image_of_no_size_is_refused() -> None:
    with pytest.raises(ImageUnreadable, match="0 x 5"):
        read_header(png_claiming(0, 5))


def test_text_is_read_when_tesseract_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    class Done:
        returncode = 0
        stdout = b"How warm\n is it?\n"

    monkeypatch.setattr(sight.shutil, "which", lambda name: "/usr/bin/tesseract")
    monkeypatch.setattr(sight.subprocess, "run", lambda *a, **k: Done())
    assert 'as read by a machine: "How warm is it?".' in describe(encoded(filled()))


def test_text_recognition_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def hang(*args: object, **options: object) -> None:
        raise sight.subprocess.TimeoutExpired("tesseract", 5)

    monkeypatch.setattr(sight.shutil, "which", lambda name: "/usr/bin/tesseract")
    monkeypatch.setattr(sight.subprocess, "run", hang)
    assert "took too long" in describe(encoded(filled()))
