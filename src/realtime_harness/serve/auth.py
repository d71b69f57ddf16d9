"""Who asks: a key in a header, or in a browser's subprotocol. Never in a query, never in a cookie, never in a log.

A browser sends cookies with any page's request, but the key only where the page knows it: so the key is also what keeps
other origins out.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping

from starlette.requests import HTTPConnection

SUBPROTOCOL = "realtime"
KEY_SUBPROTOCOL = "openai-insecure-api-key."
_MAX_KEY_CHARS = 4_096


class KeyRing:
    """The keys that are let in, each with the opaque name of its owner. Only digests are kept."""

    def __init__(self, owners: Mapping[str, str]) -> None:
        """`owners` maps a key to the name that it goes by inside."""
        self._owners = {_digest(key): owner for key, owner in owners.items()}

    def owner_of(self, connection: HTTPConnection) -> str | None:
        """The owner of the key that came, or None for a wrong or missing one. Takes as long for each."""
        key = key_of(connection)
        if key is None or len(key) > _MAX_KEY_CHARS:
            return None
        came = _digest(key)
        found: str | None = None
        for digest, owner in self._owners.items():
            if hmac.compare_digest(digest, came):
                found = owner
        return found


def key_of(connection: HTTPConnection) -> str | None:
    """The key that a request carries: `Authorization: Bearer`, `api-key`, or a browser's subprotocol."""
    scheme, _, value = connection.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and value.strip():
        return value.strip()
    if key := connection.headers.get("api-key", "").strip():
        return key
    for offered in subprotocols_of(connection):
        if offered.startswith(KEY_SUBPROTOCOL):
            return offered.removeprefix(KEY_SUBPROTOCOL)
    return None


def subprotocols_of(connection: HTTPConnection) -> list[str]:
    """What a WebSocket client offers to speak."""
    offered: list[str] = connection.scope.get("subprotocols") or []
    return offered


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode(errors="surrogateescape")).digest()
