"""HRP: the WebSocket at /v1/realtime. The client owns session and tools (the open grant)."""

from __future__ import annotations

import time
from collections.abc import Callable

import structlog
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.websockets import WebSocket

from realtime_harness.call import CallLimits, CallPlan, Calls, Grant
from realtime_harness.errors import Refused
from realtime_harness.realtime.engine import Clock
from realtime_harness.realtime.ids import IdMint
from realtime_harness.realtime.session import Session
from realtime_harness.serve.auth import SUBPROTOCOL, KeyRing, subprotocols_of
from realtime_harness.serve.hrp_surface import HrpSurface, refuse_in_band
from realtime_harness.serve.limits import Buckets, ServeLimits
from realtime_harness.serve.refusals import BAD_KEY, TOO_MANY_ATTEMPTS, as_response

PATHS = ("/v1/realtime", "/realtime")
MAX_MODEL_CHARS = 256
UPGRADE = Refused("upgrade_required", "This is a WebSocket: connect to it with ws:// or wss://.")
_log = structlog.get_logger(__name__)


class HrpEndpoint:
    """Lets clients in and joins each to a call of its own."""

    def __init__(
        self,
        calls: Calls,
        keys: KeyRing,
        clock: Clock,
        limits: ServeLimits,
        call_limits: CallLimits,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self._calls = calls
        self._keys = keys
        self._clock = clock
        self._limits = limits
        self._call_limits = call_limits
        self._wall_clock = wall_clock
        self._attempts = Buckets(limits.attempts)
        self._ids = IdMint()

    def routes(self) -> list[BaseRoute]:
        """The WebSocket at each of its paths, and what plain HTTP is told there."""
        sockets: list[BaseRoute] = [WebSocketRoute(path, self.connect) for path in PATHS]
        return [*sockets, *(Route(path, self.plain) for path in PATHS)]

    async def plain(self, request: Request) -> Response:
        """What a client that cannot read a failed upgrade (a browser) asks to learn why: 401, 503, or 426 for nothing wrong."""
        refusal = self._not_let_in(request)
        if refusal is None and self._calls.state != "ready":
            refusal = Refused(self._calls.state, f"The server is {self._calls.state}.")
        response = as_response(refusal or UPGRADE)
        if refusal is None:
            response.headers["upgrade"] = "websocket"
        return response

    async def connect(self, socket: WebSocket) -> None:
        """One client, from its request to its close."""
        refusal = self._not_let_in(socket)
        if refusal is not None:
            _log.info("refused", reason=refusal.reason)
            await socket.send_denial_response(as_response(refusal))
            return
        spoken = SUBPROTOCOL if SUBPROTOCOL in subprotocols_of(socket) else None
        try:
            call_id = await self._calls.start(self._plan(socket), Grant.OPEN)
        except Refused as refused:
            _log.info("refused", reason=refused.reason)
            if spoken is None:
                await socket.send_denial_response(as_response(refused))
            else:  # a browser, which cannot read the status of a failed upgrade
                await refuse_in_band(socket, refused, self._ids.mint("event"), spoken)
            return
        try:
            await socket.accept(subprotocol=spoken)
            async with HrpSurface(socket, self._clock, self._limits) as surface:
                await self._calls.attach(call_id, surface)
        finally:
            await self._calls.close(call_id, "the client has gone")

    def _not_let_in(self, connection: HTTPConnection) -> Refused | None:
        address = connection.client.host if connection.client else ""
        if not self._attempts.try_take(address, self._clock.now()):
            return TOO_MANY_ATTEMPTS
        return None if self._keys.owner_of(connection) is not None else BAD_KEY

    def _plan(self, socket: WebSocket) -> CallPlan:
        asked = socket.query_params.get("model", "").strip()[:MAX_MODEL_CHARS]
        engine = self._calls.engine_for(asked)
        lasts_s = self._call_limits.max_duration_s
        if engine is not None and engine.profile.max_session_s is not None:
            lasts_s = min(lasts_s, engine.profile.max_session_s)
        session = Session(
            model=asked or (engine.profile.model if engine else ""), expires_at=int(self._wall_clock() + lasts_s)
        )
        return CallPlan(
            session=session,
            engine=asked,
            limits=self._call_limits,
            owner=self._keys.owner_of(socket) or "",
        )
