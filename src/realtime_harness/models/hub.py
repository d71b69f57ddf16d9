"""Source `hub`: the upstream's own repository on the Hugging Face hub."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from http import HTTPStatus
from pathlib import Path

import httpx2

from realtime_harness.models.manifest import Model, ModelFile
from realtime_harness.models.source import CHUNK_BYTES, SourceFailed

HUB_ENDPOINT = "https://huggingface.co"
FILE_URL = "{endpoint}/{repo}/resolve/{revision}/{path}"

# Short to connect, so that a machine with no way out goes on to the next source; patient once bytes flow.
CONNECT_TIMEOUT_S = 3.0
READ_TIMEOUT_S = 30.0


class Hub:
    """Downloads the official file at its pinned revision.

    `HF_ENDPOINT` (a mirror) and `HF_HUB_OFFLINE` mean what they mean to the hub's own tools.
    """

    name = "hub"

    def __init__(self, environ: Mapping[str, str], transport: httpx2.BaseTransport | None = None) -> None:
        self._endpoint = (environ.get("HF_ENDPOINT") or HUB_ENDPOINT).rstrip("/")
        self._offline = environ.get("HF_HUB_OFFLINE", "").lower() in {"1", "true", "yes", "on"}
        self._transport = transport

    def chunks(self, model: Model, file: ModelFile, work: Path) -> Generator[bytes]:  # noqa: ARG002 - Source's shape
        """Yield the file from the hub. Raises SourceFailed."""
        if self._offline:
            raise SourceFailed("HF_HUB_OFFLINE is set")
        url = FILE_URL.format(
            endpoint=self._endpoint, repo=model.hub_repo, revision=model.hub_revision, path=file.hub_path
        )
        timeout = httpx2.Timeout(READ_TIMEOUT_S, connect=CONNECT_TIMEOUT_S)
        headers = {"accept-encoding": "identity"}
        host = "the hub"
        try:
            host = httpx2.URL(self._endpoint).host or host
            with (
                httpx2.Client(transport=self._transport, timeout=timeout, follow_redirects=True) as client,
                client.stream("GET", url, headers=headers) as response,
            ):
                if response.status_code != HTTPStatus.OK:
                    raise SourceFailed(f"{host} answered {response.status_code} for {file.name}")
                yield from response.iter_bytes(CHUNK_BYTES)
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
            raise SourceFailed(f"{host} cannot be reached") from error
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise SourceFailed(f"{host} broke off: {type(error).__name__}") from error
