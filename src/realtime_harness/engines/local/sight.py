"""Looking at an image without a vision model: size, colours, where they are, and its text; and what cannot be seen.

The description is for a chat model that reads only text, so it says plainly what was measured and what was not.
"""

from __future__ import annotations

import io
import shutil
import struct
import subprocess
import zlib
from typing import Any, Protocol, cast

import numpy as np

from realtime_harness.audio.native import native
from realtime_harness.engines.local.colours import Pixels, shares
from realtime_harness.engines.local.image_header import ImageUnreadable, read_header

FORMATS = ("PNG", "JPEG", "WEBP", "GIF")
SAMPLE_SIDE = 96  # pixels: enough for colours, and cheap
FILLED_SHARE = 0.88
NAMED_SHARE = 0.04
MAX_NAMED = 5
OPAQUE_ALPHA = 128
OCR_TIMEOUT_S = 5.0
OCR_MAX_SIDE = 2_000
OCR_MIN_SIDE = 600  # small text is enlarged to this
MAX_TEXT_CHARACTERS = 600
_BOX = 4  # Pillow's number for the mean of the pixels covered
_NO_ALPHA = frozenset({"CMYK", "YCbCr", "LAB", "HSV"})
BROKEN = (
    OSError,
    ValueError,
    SyntaxError,
    EOFError,
    TypeError,
    LookupError,
    ArithmeticError,
    MemoryError,
    NotImplementedError,
    struct.error,
    zlib.error,
)

_BLIND = (
    "This was measured by colour and text analysis only: objects, people, faces, shapes and scenes are not recognised, "
    "so nothing can be said about them."
)


class _Image(Protocol):
    size: tuple[int, int]

    def convert(self, mode: str) -> _Image: ...
    def resize(self, size: tuple[int, int], resample: int = ...) -> _Image: ...
    def save(self, file: io.BytesIO, format: str) -> None: ...  # noqa: A002 - the library's name


def describe(image: bytes) -> str:
    """What can be told of an image, in plain sentences; the colours first. Blocks up to a few seconds.

    Raises ImageUnreadable, whose message is a sentence, for anything that is not a whole PNG, JPEG, WebP or GIF.
    """
    header = read_header(image)
    picture, frames = _opened(image)
    small = _rgba(picture, SAMPLE_SIDE)
    kind = header.media_type.removeprefix("image/").upper().replace("WEBP", "WebP")
    moving = f" of {frames} frames, of which the first is described" if frames > 1 else ""
    article = "An animated" if frames > 1 else "A"
    sentences = [
        _colours(small),
        _layout(small),
        f"{article} {kind} image{moving}, {header.width} x {header.height} pixels.",
        _text(picture),
        _BLIND,
    ]
    return " ".join(sentence for sentence in sentences if sentence)


def _opened(image: bytes) -> tuple[_Image, int]:
    """The first frame as decoded RGBA, and how many frames there are."""
    pillow: Any = native("PIL.Image")
    try:
        picture: Any = pillow.open(io.BytesIO(image), formats=FORMATS)
        frames = int(getattr(picture, "n_frames", 1))
        if frames > 1:
            picture.seek(0)
        picture.load()
        return cast("_Image", _eight_bit(picture)), frames
    except (*BROKEN, pillow.DecompressionBombError, pillow.DecompressionBombWarning) as error:
        raise ImageUnreadable(f"The image is broken or cut off and could not be decoded ({_reason(error)}).") from error


def _eight_bit(picture: Any) -> Any:
    """Any mode as RGBA; 16-bit grey, which Pillow would clip to white, is scaled."""
    if str(picture.mode).startswith("I"):
        grey = np.asarray(picture).astype(np.float64)
        top = 65_535.0 if grey.max(initial=0) > 255 else 255.0
        pillow: Any = native("PIL.Image")
        picture = pillow.fromarray(np.clip(grey / top * 255, 0, 255).astype(np.uint8))
    if str(picture.mode) in _NO_ALPHA:
        picture = picture.convert("RGB")
    return picture.convert("RGBA")


def _reason(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return text[:120] or type(error).__name__


def _rgba(picture: _Image, side: int) -> Pixels:
    """The picture in at most side x side pixels, each the mean of what it covers (noise goes), as (h, w, 4)."""
    width, height = picture.size
    small = picture.resize((min(width, side), min(height, side)), _BOX)
    return cast("Pixels", np.asarray(small))


def _visible(pixels: Pixels) -> Pixels:
    flat = pixels.reshape(-1, 4)
    return flat[flat[:, 3] >= OPAQUE_ALPHA][:, :3]


def _colours(pixels: Pixels) -> str:
    """The colours in words, the one that fills the image made plain."""
    visible = _visible(pixels)
    clear = 1 - len(visible) / max(1, pixels.shape[0] * pixels.shape[1])
    found = shares(visible)
    if not found:
        return "The image is fully transparent: it has no colour."
    (name, share), *_ = found
    see_through = f" {_percent(clear)} of it is transparent." if clear >= NAMED_SHARE else ""
    if share >= FILLED_SHARE:
        fills = "fills the image" if clear < NAMED_SHARE else "fills the part that is not transparent"
        return f"The colour that {fills} is {name}.{see_through}"
    listed = [f"{name} ({_percent(share)})" for name, share in found if share >= NAMED_SHARE][:MAX_NAMED]
    if not listed:
        listed = [name for name, _ in found[:MAX_NAMED]]
    return f"The main colour is {name}. Colours, by area: {', '.join(listed)}.{see_through}"


def _layout(pixels: Pixels) -> str:
    """Which colour is where, unless it is the same everywhere."""
    height, width = pixels.shape[:2]
    if height < 3 or width < 3:
        return ""
    third_h, third_w = height // 3, width // 3
    centre = pixels[third_h : height - third_h, third_w : width - third_w]
    border = np.concatenate((pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1]))
    places = {
        "top": _main(pixels[: height // 2]),
        "bottom": _main(pixels[height // 2 :]),
        "left": _main(pixels[:, : width // 2]),
        "right": _main(pixels[:, width // 2 :]),
        "centre": _main(centre),
        "border": _main(border),
    }
    if len(set(places.values())) == 1:
        return ""
    return "Main colour by place: " + ", ".join(f"{place} {name}" for place, name in places.items()) + "."


def _main(pixels: Pixels) -> str:
    found = shares(_visible(pixels))
    return found[0][0] if found else "transparent"


def _percent(share: float) -> str:
    return f"{round(share * 100)}%"


def _text(picture: _Image) -> str:
    """The text in the picture, if the tesseract program is there to read it."""
    program = shutil.which("tesseract")
    if program is None:
        return "Text in it was not looked for: text recognition (tesseract) is not installed."
    width, height = picture.size
    scale = min(OCR_MAX_SIDE / max(width, height), max(1.0, OCR_MIN_SIDE / max(width, height)))
    page = picture.convert("RGB")
    if scale != 1.0:
        page = page.resize((max(1, round(width * scale)), max(1, round(height * scale))))
    out = io.BytesIO()
    page.save(out, format="PNG")
    try:
        done = subprocess.run(  # noqa: S603 - a fixed program and fixed arguments; the image goes by stdin
            [program, "stdin", "stdout", "--psm", "6"],
            input=out.getvalue(),
            capture_output=True,
            timeout=OCR_TIMEOUT_S,
            check=False,
            env={"OMP_THREAD_LIMIT": "1"},
        )
    except (subprocess.TimeoutExpired, OSError):
        return "Text in it could not be read: text recognition failed or took too long."
    words = " ".join(done.stdout.decode("utf-8", "replace").split())
    if done.returncode != 0 or sum(character.isalnum() for character in words) < 2:
        return "No text was found in it."
    return f'Text in it, as read by a machine: "{words[:MAX_TEXT_CHARACTERS]}".'
