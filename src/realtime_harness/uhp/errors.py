"""UHP's errors: a closed list of codes, each with its HTTP status and type. Ours begin with `rth_`.

Source: UHP 2026-10-04, "Errors". A message is one sentence that a user may see: no path, host, key or trace.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal

from realtime_harness.errors import HarnessError

Code = Literal[
    "unsupported_protocol_version",
    "invalid_input",
    "harness_not_found",
    "response_not_found",
    "session_not_found",
    "session_expired",
    "harness_mismatch",
    "session_busy",
    "model_unavailable",
    "missing_credential",
    "invalid_credential",
    "rate_limited",
    "harness_unavailable",
    "rth_no_such_route",
    "rth_method_not_allowed",
    "rth_body_too_large",
    "rth_internal",
]
CODES: Mapping[Code, tuple[int, str]] = MappingProxyType(
    {
        "unsupported_protocol_version": (400, "invalid_request_error"),
        "invalid_input": (400, "invalid_request_error"),
        "harness_not_found": (404, "invalid_request_error"),
        "response_not_found": (404, "invalid_request_error"),
        "session_not_found": (404, "invalid_request_error"),
        "session_expired": (404, "invalid_request_error"),
        "harness_mismatch": (409, "invalid_request_error"),
        "session_busy": (409, "invalid_request_error"),
        "model_unavailable": (422, "invalid_request_error"),
        "missing_credential": (401, "authentication_error"),
        "invalid_credential": (401, "authentication_error"),
        "rate_limited": (429, "rate_limit_error"),
        "harness_unavailable": (503, "server_error"),
        "rth_no_such_route": (404, "invalid_request_error"),
        "rth_method_not_allowed": (405, "invalid_request_error"),
        "rth_body_too_large": (413, "invalid_request_error"),
        "rth_internal": (500, "server_error"),
    }
)


class UhpError(HarnessError):
    """A request that is answered by an error. `param` is the dotted path of the field at fault."""

    def __init__(
        self, code: Code, message: str, *, param: str | None = None, detail: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(message)
        self.code: Code = code
        self.param = param
        self.detail = detail

    @property
    def status(self) -> int:
        """The HTTP status."""
        return CODES[self.code][0]

    def to_json(self) -> dict[str, Any]:
        """The error envelope."""
        error = {
            "type": CODES[self.code][1],
            "code": self.code,
            "message": str(self),
            "param": self.param,
            "detail": dict(self.detail) if self.detail is not None else None,
        }
        return {"error": error}
