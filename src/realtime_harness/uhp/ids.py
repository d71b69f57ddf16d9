"""Ids: each object's prefix is part of the protocol (UHP 2026-10-04, "Objects")."""

from __future__ import annotations

import secrets
from typing import Literal

Kind = Literal["response", "session", "message", "reasoning"]
_PREFIXES: dict[Kind, str] = {"response": "resp_", "session": "hsess", "message": "msg_", "reasoning": "rs_"}


def new_id(kind: Kind) -> str:
    """An id that was never given before, and cannot be guessed."""
    return _PREFIXES[kind] + secrets.token_hex(16)
