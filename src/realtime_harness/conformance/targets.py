"""How a report names what was tested."""

from __future__ import annotations

from urllib.parse import urlsplit


def public_target(url: str) -> str:
    """The URL without what may be secret in it: user, password, query and fragment."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{host}{port}{parts.path}"
