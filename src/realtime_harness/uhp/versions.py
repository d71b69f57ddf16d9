"""The published versions that are served, and what this server can do. Source: UHP 2026-10-04, "Discovery"."""

from __future__ import annotations

from typing import Any

from realtime_harness.uhp.errors import UhpError

DEFAULT_VERSION = "2026-10-04"
VERSIONS = (DEFAULT_VERSION, "2026-08-11")  # the client on PyPI asks for the older one
HEADER = "UHP-Version"
CAPABILITIES: dict[str, bool] = {
    "streaming": True,
    "sessions": True,
    "cancellation": True,
    "idempotency": True,
    "session_listing": True,
    "files_input": False,
    "files_output": False,
    "harness_management": False,
    "session_sharing": False,
    "plugins": False,
    "environments": False,
    "memories": False,
    "realtime": False,
}


def negotiated(asked: str | None) -> str:
    """The version that a request is served by. Raises UhpError for one that is not served: none is put in its place."""
    if asked is None:
        return DEFAULT_VERSION
    if asked not in VERSIONS:
        raise UhpError(
            "unsupported_protocol_version",
            f"This server speaks {', '.join(VERSIONS)}.",
            param=HEADER,
            detail={"supported": list(VERSIONS)},
        )
    return asked


def discovery(name: str, version: str) -> dict[str, Any]:
    """The discovery document: the same for everybody."""
    return {
        "object": "uhp.discovery",
        "protocol": "uhp",
        "versions": list(VERSIONS),
        "default_version": DEFAULT_VERSION,
        "conformance_class": "core",
        "capabilities": dict(CAPABILITIES),
        "implementation": {"name": name, "version": version},
    }
