"""Whether the process lives, and whether it takes calls."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from realtime_harness.call import Calls

_NO_STORE = {"cache-control": "no-store"}


class HealthEndpoint:
    """/healthz and /readyz."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    def routes(self) -> list[BaseRoute]:
        """Both."""
        return [Route("/healthz", self.healthz), Route("/readyz", self.readyz)]

    async def healthz(self, _: Request) -> Response:
        """200 while the process lives."""
        return JSONResponse({"status": "ok"}, headers=_NO_STORE)

    async def readyz(self, _: Request) -> Response:
        """200 while calls may start; 503 while starting or draining."""
        state = self._calls.state
        return JSONResponse({"status": state}, status_code=200 if state == "ready" else 503, headers=_NO_STORE)
