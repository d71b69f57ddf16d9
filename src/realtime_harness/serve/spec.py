"""agent-spec.json, one file a version and the latest, as it was published. Anybody may read it."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from realtime_harness.hyperstudy import spec

_HEADERS = {"cache-control": "no-cache", "x-content-type-options": "nosniff"}


class SpecEndpoint:
    """/agent-spec/{version}/agent-spec.json, where the version may be `latest`, and /agent-spec/CHANGELOG.md."""

    def __init__(self) -> None:
        self._documents = {version: spec.published(version) for version in (*spec.versions(), spec.LATEST)}
        self._changelog = spec.changelog()

    def routes(self) -> list[BaseRoute]:
        """Both."""
        return [
            Route("/agent-spec/{version}/agent-spec.json", self.document),
            Route("/agent-spec/CHANGELOG.md", self.changelog),
        ]

    async def document(self, request: Request) -> Response:
        """The document of that version; 404 names the versions that there are."""
        text = self._documents.get(str(request.path_params["version"]))
        if text is None:
            error = f"There is no such version of agent-spec; expected one of: {', '.join(self._documents)}."
            return JSONResponse({"error": error}, status_code=404, headers=_HEADERS)
        return Response(text, media_type="application/json", headers=_HEADERS)

    async def changelog(self, _: Request) -> Response:
        """What changed from version to version."""
        return Response(self._changelog, media_type="text/markdown", headers=_HEADERS)
