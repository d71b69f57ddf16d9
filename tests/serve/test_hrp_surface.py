"""The surface of one client, without a socket."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.websockets import WebSocket

from realtime_harness.errors import Refused
from realtime_harness.serve.hrp_surface import refuse_in_band

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.parametrize("letter", ["a", "ü", "\u6f22", "\U0001f600"])
async def test_a_refusal_in_band_closes_with_a_reason_that_fits_a_close_frame(letter: str) -> None:
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "websocket.connect"}

    async def send(message: Any) -> None:
        sent.append(message)

    socket = WebSocket({"type": "websocket", "headers": [], "subprotocols": []}, receive, send)
    await refuse_in_band(socket, Refused("capacity", letter * 200), "event_1", "realtime")

    assert [message["type"] for message in sent] == ["websocket.accept", "websocket.send", "websocket.close"]
    assert sent[-1]["code"] == 1013
    reason = sent[-1]["reason"]
    assert set(reason) == {letter}
    assert 117 <= len(reason.encode()) <= 123
