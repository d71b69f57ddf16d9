"""Refusals as HTTP: one status and one JSON error object for each reason."""

from __future__ import annotations

from starlette.responses import JSONResponse, Response

from realtime_harness.errors import Refused

_STATUS = {
    "capacity": 503,
    "draining": 503,
    "starting": 503,
    "engine": 502,
    "limit": 429,
    "attempts": 429,
    "invalid_api_key": 401,
    "upgrade_required": 426,
}
_RETRY_AFTER_S = {"capacity": "10", "draining": "10", "starting": "3", "limit": "10", "attempts": "2"}
BAD_KEY = Refused(
    "invalid_api_key",
    "Missing or wrong key: send it as 'Authorization: Bearer KEY'. `rth serve` says where the key is.",
)
TOO_MANY_ATTEMPTS = Refused("attempts", "Too many connections in a short time. Wait a moment.")


def as_response(refusal: Refused) -> Response:
    """The answer to a request that is refused, in the shape OpenAI's clients read."""
    status = _STATUS.get(refusal.reason, 503)
    headers = {"cache-control": "no-store"}
    if refusal.reason in _RETRY_AFTER_S:
        headers["retry-after"] = _RETRY_AFTER_S[refusal.reason]
    if status == 401:
        headers["www-authenticate"] = "Bearer"
    return JSONResponse({"error": error_object(refusal)}, status_code=status, headers=headers)


def error_object(refusal: Refused) -> dict[str, str | None]:
    """The error object of a refusal."""
    kind = "server_error" if _STATUS.get(refusal.reason, 503) >= 500 else "invalid_request_error"
    return {"type": kind, "code": refusal.reason, "message": str(refusal), "param": None, "event_id": None}
