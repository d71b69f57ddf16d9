"""Naming colours: each pixel gets the everyday English name of the nearest prototype in CIE Lab."""

from __future__ import annotations

from functools import cache
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Pixels: TypeAlias = NDArray[np.uint8]
Float64: TypeAlias = NDArray[np.float64]

PROTOTYPES: Final[dict[str, tuple[tuple[int, int, int], ...]]] = {
    "black": ((0, 0, 0), (25, 25, 25)),
    "white": ((255, 255, 255), (240, 240, 240)),
    "grey": ((128, 128, 128), (90, 90, 90), (170, 170, 170), (205, 205, 205), (55, 55, 55)),
    "red": ((255, 0, 0), (200, 20, 30), (150, 0, 10), (230, 60, 60)),
    "orange": ((255, 140, 0), (255, 165, 0), (240, 110, 20)),
    "yellow": ((255, 255, 0), (250, 220, 40), (240, 240, 120)),
    "green": ((0, 128, 0), (0, 255, 0), (60, 180, 75), (30, 90, 40), (150, 220, 120), (107, 142, 35)),
    "blue": ((0, 0, 255), (30, 60, 200), (0, 0, 128), (65, 105, 225), (100, 149, 237), (30, 144, 255)),
    "light blue": ((135, 206, 250), (173, 216, 230)),
    "turquoise": ((0, 255, 255), (64, 224, 208), (0, 128, 128)),
    "purple": ((128, 0, 128), (150, 60, 200), (75, 0, 130), (138, 43, 226)),
    "pink": ((255, 192, 203), (255, 105, 180), (255, 20, 147)),
    "magenta": ((255, 0, 255),),
    "brown": ((139, 69, 19), (101, 67, 33), (160, 82, 45)),
    "beige": ((245, 222, 179), (210, 180, 140), (245, 245, 220)),
}

_TO_XYZ: Final = np.array([[0.4124, 0.2126, 0.0193], [0.3576, 0.7152, 0.1192], [0.1805, 0.0722, 0.9505]])
_WHITE: Final = np.array([0.9505, 1.0, 1.089])


def shares(rgb: Pixels) -> list[tuple[str, float]]:
    """The colours of pixels (n, 3), most frequent first, each with its share, 0..1."""
    if len(rgb) == 0:
        return []
    names, prototypes = _prototypes()
    distances = np.square(lab(rgb)[:, None] - prototypes[None]).sum(axis=2)
    counts: dict[str, int] = {}
    for index, count in enumerate(np.bincount(distances.argmin(axis=1), minlength=len(names))):
        counts[names[index]] = counts.get(names[index], 0) + int(count)
    ordered = sorted(counts.items(), key=lambda pair: -pair[1])
    return [(name, count / len(rgb)) for name, count in ordered if count]


def lab(rgb: Pixels) -> Float64:
    """sRGB pixels (n, 3) in CIE Lab, white point D65."""
    unit = rgb.astype(np.float64) / 255.0
    linear = np.where(unit > 0.04045, ((unit + 0.055) / 1.055) ** 2.4, unit / 12.92)
    xyz = linear @ _TO_XYZ / _WHITE
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    x, y, z = f[:, 0], f[:, 1], f[:, 2]
    return np.stack((116 * y - 16, 500 * (x - y), 200 * (y - z)), axis=1)


@cache
def _prototypes() -> tuple[list[str], Float64]:
    pairs = [(name, colour) for name, colours in PROTOTYPES.items() for colour in colours]
    return [name for name, _ in pairs], lab(np.array([colour for _, colour in pairs], np.uint8))
