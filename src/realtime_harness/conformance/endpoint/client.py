"""What the endpoint suite asks with: one HTTP client whose requests and answers are kept as evidence."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any, cast

import httpx2
import orjson

from realtime_harness.conformance.faults import CheckFailed, Fault
from realtime_harness.realtime.wire import Json

MAX_SHOWN_CHARS = 400
CONNECT_S = 10.0


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP answer: its status, its JSON (None where it is none), its text, and how long it took."""

    status: int
    value: Json | None
    text: str
    took_ms: int

    @property
    def message(self) -> Json:
        """The message of the first choice; empty where there is none."""
        choices: Any = (self.value or {}).get("choices")
        first: Any = cast("list[Any]", choices)[0] if isinstance(choices, list) and choices else {}
        message: Any = cast("Json", first).get("message") if isinstance(first, dict) else None
        return cast("Json", message) if isinstance(message, dict) else {}

    @property
    def finish_reason(self) -> Any:
        """The finish reason of the first choice."""
        choices: Any = (self.value or {}).get("choices")
        first: Any = cast("list[Any]", choices)[0] if isinstance(choices, list) and choices else {}
        return cast("Json", first).get("finish_reason") if isinstance(first, dict) else None

    @property
    def shown(self) -> str:
        """Its beginning, for people."""
        return f"HTTP {self.status}: {' '.join(self.text.split())[:MAX_SHOWN_CHARS]}"


@dataclass(slots=True)
class EndpointClient:
    """Asks one endpoint. `log` keeps what was asked and what came, without keys and images."""

    http: httpx2.AsyncClient
    key: str
    model: str | None = None
    log: list[Json] = field(default_factory=list[Json])

    async def models(self, timeout_ms: int) -> Answer:
        """GET /models."""
        return await self._ask("GET", "models", None, timeout_ms, self.key)

    async def complete(self, body: Json, timeout_ms: int, *, key: str | None = None) -> Answer:
        """POST /chat/completions, with the model's name as a platform sends it."""
        named = {"model": self.model or "default", **body}
        return await self._ask("POST", "chat/completions", named, timeout_ms, self.key if key is None else key)

    async def _ask(self, method: str, path: str, body: Json | None, timeout_ms: int, key: str) -> Answer:
        start = time.monotonic()
        timeout = httpx2.Timeout(timeout_ms / 1000, connect=min(CONNECT_S, timeout_ms / 1000))
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        try:
            response = await self.http.request(method, path, json=body, headers=headers, timeout=timeout)
        except httpx2.TimeoutException:
            raise CheckFailed(Fault("endpoint.timeout", f"an answer within {timeout_ms} ms", "none came")) from None
        except httpx2.HTTPError as problem:
            seen = f"{type(problem).__name__}: {problem}"
            raise CheckFailed(Fault("endpoint.connection", "an answer over HTTP", seen)) from None
        took_ms = round((time.monotonic() - start) * 1000)
        text = (
            response.text.replace(self.key, "***") if self.key else response.text
        )  # a page may repeat what it was sent
        answer = Answer(response.status_code, _object(response.content), text, took_ms)
        self.log.append(
            {
                "asked": f"{method} /{path}",
                "body": _shown(body),
                "status": answer.status,
                "came": answer.shown,
                "tookMs": took_ms,
            }
        )
        return answer


def _object(content: bytes) -> Json | None:
    try:
        value: object = orjson.loads(content)
    except orjson.JSONDecodeError:
        return None
    return cast("Json", value) if isinstance(value, dict) else None


def _shown(body: Json | None) -> str:
    """The last thing said in a request."""
    messages: Any = (body or {}).get("messages") or []
    last: Any = messages[-1] if messages else {}
    return str(last.get("content"))[:MAX_SHOWN_CHARS].split("data:image")[0] if last else ""
