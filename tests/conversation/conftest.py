from __future__ import annotations

import pytest

from .driver import Talk, tool


@pytest.fixture
def talk() -> Talk:
    """A session with the default turn detection (server_vad, 500 ms) and two tools."""
    return Talk(tools=[tool("answer_scale"), tool("send_chat")])
