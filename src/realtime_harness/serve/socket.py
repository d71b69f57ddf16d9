"""uvicorn's WebSocket connection, with what a live call needs beyond it.

* Who vanishes is gone once its ping is not answered, though bytes for it still wait in a buffer.
* Who does not read can be hung up on: the close frame goes out behind what is waiting, and then the line is cut.
* Nothing of a request's URL and headers is logged.
"""

from __future__ import annotations

import asyncio
import logging
from asyncio.transports import BaseTransport
from typing import cast

from uvicorn._types import ASGISendEvent
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.http11 import Request

HANG_UP = "rth.hang_up"  # in scope["extensions"]: (code, reason) -> None
LINGER_S = 5.0
_quiet = logging.getLogger("realtime_harness.serve.socket")
_quiet.setLevel(logging.WARNING)


class LiveSocket(WebSocketsSansIOProtocol):
    """One WebSocket connection."""

    def connection_made(self, transport: BaseTransport) -> None:
        """Begins, and keeps the headers, the key among them, out of every log, whatever its level."""
        self.logger = self.conn.logger = _quiet
        self.conn.debug = False
        super().connection_made(transport)

    def handle_connect(self, event: Request) -> None:
        """Hands the request to the application, with a way to hang up."""
        super().handle_connect(event)
        if self.handshake_initiated and not self.close_sent:
            # uvicorn's type for extensions knows no callables; ASGI asks only for a dict.
            cast("dict[str, object]", self.scope.get("extensions"))[HANG_UP] = self.hang_up

    async def send(self, message: ASGISendEvent) -> None:
        """As uvicorn does. A refusal before the upgrade is complete once its body is (uvicorn logs it as a fault)."""
        await super().send(message)
        if message["type"] == "websocket.http.response.body" and not message.get("more_body", False):
            self.handshake_complete = True

    def keepalive_timeout(self) -> None:
        """No answer to a ping: cuts the line, however much waits to be sent."""
        super().keepalive_timeout()
        self.transport.abort()

    def hang_up(self, code: int, reason: str) -> None:
        """Closes without waiting for a client that does not read."""
        if self.close_sent or self.transport.is_closing():
            self.transport.abort()
            return
        self.conn.send_close(code, reason)
        self.transport.write(b"".join(self.conn.data_to_send()))
        self.close_sent = True
        self.transport.close()  # once what waits is written
        asyncio.get_running_loop().call_later(LINGER_S, self.transport.abort)
