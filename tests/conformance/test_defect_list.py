"""The published list of broken engines is the one in the code."""

from __future__ import annotations

import runpy
from pathlib import Path

from realtime_harness.conformance.broken.defects import DEFECTS

ROOT = Path(__file__).parents[2]


def test_the_page_lists_every_defect() -> None:
    page = runpy.run_path(str(ROOT / "scripts" / "list-defects"))["page"]

    assert (ROOT / "docs" / "defects.md").read_text() == page(), "run scripts/list-defects"
    assert f"[{len(DEFECTS)} broken ones]" in (ROOT / "docs" / "conformance.md").read_text()
