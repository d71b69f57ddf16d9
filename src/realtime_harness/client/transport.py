"""What carries text frames: a WebSocket for real, a pair of queues in tests."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType, TracebackType
from typing import Protocol, Self, cast
from urllib.parse import quote, urlsplit

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus, InvalidURI

from realtime_harness.errors import ConfigError, ConnectFailed, Disconnected, InvalidEvent
from realtime_harness.realtime.wire import load_object

OPEN_TIMEOUT_S = 20.0
MAX_SHOWN_CHARS = 300
_SCHEMES = {"http": "ws", "https": "wss", "ws": "ws", "wss": "wss"}


class Transport(Protocol):
    """Both directions of one connection. `receive` and `send` raise Disconnected once it is over."""

    async def send(self, text: str) -> None: ...
    async def receive(self) -> str: ...
    async def close(self) -> None: ...


def hrp_url(url: str, model: str | None = None) -> str:
    """The WebSocket's URL for a server's root, its /v1, or the full path. Raises ConfigError for what is no URL."""
    if "://" not in url:
        url = f"http://{url}"
    try:
        parts = urlsplit(url)
        scheme = _SCHEMES.get(parts.scheme)
        _ = parts.port  # raises for what is no port
    except ValueError as problem:
        raise ConfigError(f"{url!r} is no URL: {problem}.") from None
    if scheme is None or not parts.hostname:
        raise ConfigError(f"Expected a URL such as http://127.0.0.1:8080; got {url!r}.")
    path = parts.path.rstrip("/")
    if not path.endswith("/realtime"):
        path += "/realtime" if path.endswith("/v1") else "/v1/realtime"
    query = parts.query or (f"model={quote(model, safe='')}" if model else "")
    return f"{scheme}://{parts.netloc}{path}" + (f"?{query}" if query else "")


def api_root(url: str) -> str:
    """The root of an HTTP API, for a server's root or longer forms of it. Raises ConfigError for what is no URL."""
    if "://" not in url:
        url = f"http://{url}"
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(f"Expected a URL such as http://127.0.0.1:8080/v1; got {url!r}.")
    path = parts.path.rstrip("/").removesuffix("/chat/completions").removesuffix("/models") or "/v1"
    return f"{parts.scheme}://{parts.netloc}{path}/"


class WebSocketTransport:
    """A live WebSocket. An async context, which closes it."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection

    async def send(self, text: str) -> None:
        """Waits while the server does not read."""
        try:
            await self._connection.send(text)
        except ConnectionClosed as closed:
            raise _ended(closed) from None

    async def receive(self) -> str:
        """The next frame, as text; what is no UTF-8 in it is replaced."""
        try:
            frame = await self._connection.recv(decode=False)
        except ConnectionClosed as closed:
            raise _ended(closed) from None
        return frame.decode(errors="replace")

    async def close(self) -> None:
        """Says goodbye and waits for the other side's, for a while."""
        await self._connection.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


async def connect_websocket(
    url: str,
    key: str | None,
    *,
    headers: Mapping[str, str] = MappingProxyType({}),
    open_timeout_s: float = OPEN_TIMEOUT_S,
) -> WebSocketTransport:
    """Connects, with `headers` beside the key's. Raises ConnectFailed that says what is wrong: nobody there, a wrong key, no room."""
    bearer = {"Authorization": f"Bearer {key}"} if key else {}
    try:
        connection = await connect(
            url,
            additional_headers={**headers, **bearer},
            open_timeout=open_timeout_s,
            max_size=None,
            compression=None,
            proxy=None if _is_loopback(url) else True,
        )
    except InvalidStatus as answer:
        raise _refused(_shown(url), answer) from None
    except TimeoutError:
        raise ConnectFailed(f"{_shown(url)} did not answer within {open_timeout_s:g} s.") from None
    except OSError as problem:
        raise ConnectFailed(
            f"Nothing answers at {_shown(url)} ({problem}). Is it running? Start it with: rth serve"
        ) from None
    except (InvalidHandshake, InvalidURI, ValueError) as problem:
        raise ConnectFailed(f"{_shown(url)} is no realtime WebSocket: {problem}.") from None
    return WebSocketTransport(connection)


def _refused(url: str, answer: InvalidStatus) -> ConnectFailed:
    status = answer.response.status_code
    said = _message(bytes(answer.response.body))
    if status == 401:
        said = f"The key is wrong or missing. {said}"
    elif status == 404:
        said = f"There is no realtime endpoint here. {said}"
    return ConnectFailed(f"{url} answered HTTP {status}. {said[:MAX_SHOWN_CHARS]}".strip(), status=status)


def _shown(url: str) -> str:
    """The URL without what may be secret in it: user, password, query."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _message(page: bytes) -> str:
    """What a stranger's error page says: the message of our own shape, or its text on one line."""
    try:
        error: object = load_object(page).get("error")
    except InvalidEvent:
        error = None
    if isinstance(error, dict):
        return str(cast("dict[str, object]", error).get("message", ""))
    return " ".join(page.decode(errors="replace").split())


def _ended(closed: ConnectionClosed) -> Disconnected:
    if closed.rcvd is not None:
        return Disconnected(closed.rcvd.code, closed.rcvd.reason)
    return Disconnected(1006, "the line was cut")


def _is_loopback(url: str) -> bool:
    return (urlsplit(url).hostname or "") in ("localhost", "127.0.0.1", "::1")
