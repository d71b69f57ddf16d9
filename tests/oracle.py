"""A recorded clip and what OpenAI's server said of it. It is not part of the project: where it is absent, its tests skip.

RTH_TEST_ORACLE names its folder, which holds `m24.pcm` (PCM16 mono 24 kHz) and `oracle.json`.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

_BESIDE = Path(__file__).parents[2] / "shared" / "reference" / "oracle"


@dataclass(frozen=True)
class Oracle:
    """The clip, and by name the turns that were recorded of it, in ms: it was heard three times, each before 2 s of silence."""

    clip: bytes
    recorded: dict[str, Any]


def read_oracle() -> Oracle:
    """The oracle; skips the test that asks where it is absent."""
    folder = Path(os.environ.get("RTH_TEST_ORACLE", _BESIDE))
    if not folder.is_dir():
        pytest.skip("the recorded clip is not here; RTH_TEST_ORACLE may name its folder")
    return Oracle((folder / "m24.pcm").read_bytes(), json.loads((folder / "oracle.json").read_text()))
