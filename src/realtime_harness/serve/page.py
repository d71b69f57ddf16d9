"""The page at /: tap to talk. Plain files of this package; nothing is loaded from anywhere else."""

from __future__ import annotations

from importlib import resources

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "permissions-policy": "microphone=(self), camera=(), geolocation=()",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cache-control": "no-cache",
}


class PageEndpoint:
    """/ and the files it is made of."""

    def __init__(self) -> None:
        self._files = {
            file.name: file.read_bytes()
            for file in (resources.files("realtime_harness.serve") / "static").iterdir()
            if file.is_file() and file.name[file.name.rfind(".") :] in _TYPES
        }

    def routes(self) -> list[BaseRoute]:
        """The page, and its files under /page/."""
        return [Route("/", self.page), Route("/page/{name}", self.file)]

    async def page(self, _: Request) -> Response:
        """The page. It takes its key from the URL's fragment, which no browser sends."""
        return self._answer("index.html")

    async def file(self, request: Request) -> Response:
        """A file of the page."""
        return self._answer(str(request.path_params["name"]))

    def _answer(self, name: str) -> Response:
        body = self._files.get(name)
        if body is None:
            return Response("There is no such file.\n", status_code=404, media_type="text/plain", headers=_HEADERS)
        return Response(body, media_type=_TYPES[name[name.rfind(".") :]], headers=_HEADERS)
