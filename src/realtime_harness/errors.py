"""Every error that crosses a room's border.

HarnessError
+-- Refused            the thing asked for cannot be had now (capacity, limits, draining)
+-- InvalidEvent       a client's event cannot be carried out; becomes an `error` event
+-- ConfigError        a setting is wrong
+-- ModelFileError     a weights file is missing, short or wrong
+-- MindError          a chat model could not answer
+-- EngineError        an engine failed in a way that ends its session
+-- TooSlow            a client does not read what it is sent
+-- ConnectFailed      a server that cannot be reached, or lets nobody in (seen by our client)
+-- Disconnected       a connection that is over (seen by our client)
+-- NotHeard           something that was waited for did not come in time (seen by our client)
+-- Unreadable         a file or an image that cannot be read (WavUnreadable, ImageUnreadable)

Each says what was expected, what came, and what to do. None carries a secret.
"""

from __future__ import annotations


class HarnessError(Exception):
    """The root: catch it to catch all of ours."""


class Refused(HarnessError):
    """A session, call or request that cannot be had now.

    `reason` is a short code for machines (`capacity`, `draining`, `limit`); the message is for people.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class InvalidEvent(HarnessError):
    """A client event that is refused; the session goes on (HRP: an `error` event with the client's `event_id`).

    `type`, `code`, `message`, `param` are the fields of the wire's error object.
    """

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        param: str | None = None,
        event_id: str | None = None,
        type: str = "invalid_request_error",  # noqa: A002 - the wire's name
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.param = param
        self.event_id = event_id
        self.type = type


class ConfigError(HarnessError):
    """A setting that is missing or wrong: names the setting, what was expected and what came."""


class ModelFileError(HarnessError):
    """A weights file that is missing, short or wrong. The message ends with the command that mends it."""


class MindError(HarnessError):
    """A chat model that could not answer. `code` is short and stable; `retryable` says whether asking again may help."""

    def __init__(self, message: str, *, code: str = "mind_failed", retryable: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.retryable = retryable


class EngineError(HarnessError):
    """An engine's session that cannot go on."""


class TooSlow(HarnessError):
    """A client that does not read what it is sent, past the transport's bound."""


class ConnectFailed(HarnessError):
    """A server that cannot be reached or does not let us in. `status` is the HTTP status of its answer, if it gave one."""

    def __init__(self, message: str, *, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class Disconnected(HarnessError):
    """A connection that is over: the close code (RFC 6455) and reason that came, 1006 where none did."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(f"The connection was closed with code {code}: {reason or 'no reason given'}.")
        self.code = code
        self.reason = reason


class NotHeard(HarnessError):
    """Something that was waited for did not come in time."""


class Unreadable(HarnessError):
    """A file, or what a client sent as one, that cannot be read: says what was expected and what came."""
