"""What reaches a log when something breaks: where it broke, and none of what was in the variables there."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator

import pytest
import structlog

from realtime_harness.cli import logs


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _logging_as_before() -> Iterator[None]:
    yield
    structlog.reset_defaults()


@pytest.mark.parametrize("stream", [Terminal(), io.StringIO()], ids=["terminal", "file"])
def test_a_traceback_shows_no_local_variables(stream: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", stream)
    logs.set_up()
    words = "what the participant" + " said"
    try:
        raise RuntimeError("it broke")
    except RuntimeError:
        structlog.get_logger("test").exception("a task failed")
    assert "it broke" in stream.getvalue()
    assert words not in stream.getvalue()
