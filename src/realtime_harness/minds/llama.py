"""The one place that touches `xllamacpp`: llama.cpp's server inside this process, behind a small typed face.

It listens even though nobody should call it: `xllamacpp` cannot be told not to, and offers the tokenizer nowhere else.
So it listens on a Unix socket in a directory that only this user may enter (loopback TCP where there are none), with a
random key.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import secrets
import shutil
import socket
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import httpx2

from realtime_harness.errors import MindError
from realtime_harness.minds.threads import wait_without_spinning

# The longest path of a Unix socket on every system is 103 bytes.
_SOCKET_PATH_BYTES = 103
_KV_Q8_0 = 8
_FLASH_ATTENTION_ON = 1
_NOTHING: Mapping[str, Any] = {}


@dataclass(frozen=True, slots=True)
class LlamaChunk:
    """What the server says as it goes. `text` is whole characters. The last chunk has `finish` and the counts."""

    text: str
    finish: str | None = None
    prompt_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0


OnChunk = Callable[[LlamaChunk], bool]


class LlamaServer(Protocol):
    """The model's runtime. Every method blocks and may be called from any thread; slots work at the same time."""

    @property
    def context_tokens(self) -> int:
        """The window of one slot."""
        ...

    def tokenize(self, text: str, *, control: bool) -> list[int]: ...

    def complete(self, body: Mapping[str, Any], on_chunk: OnChunk) -> None:
        """Run one request of llama.cpp's completion endpoint. `on_chunk` returns True to stop it. Raises MindError."""
        ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class LlamaSettings:
    """How the runtime is laid out. `slots` windows of `context_tokens` each; `batch_tokens` bounds one step's work."""

    slots: int
    context_tokens: int
    threads: int
    batch_tokens: int = 64


class XllamaServer:
    """llama.cpp in this process, by `xllamacpp`. Loading blocks for a second or more.

    Raises MindError (`model_load_failed`, `runtime_missing`).
    """

    def __init__(self, path: Path, settings: LlamaSettings) -> None:
        wait_without_spinning()
        try:
            xllamacpp: Any = importlib.import_module("xllamacpp")
        except ImportError as error:
            raise MindError(
                "the embedded mind needs the package xllamacpp and the system library libgomp1: "
                f"install realtime-harness[local] ({error})",
                code="runtime_missing",
            ) from error
        self.context_tokens = settings.context_tokens
        self._folder = tempfile.mkdtemp(prefix="rth-")
        socket_path = str(Path(self._folder, "mind.sock"))
        by_socket = hasattr(socket, "AF_UNIX") and len(socket_path.encode()) <= _SOCKET_PATH_BYTES
        self.key = secrets.token_urlsafe(32)
        params = xllamacpp.CommonParams()
        params.model.path = str(path)
        params.n_parallel = settings.slots
        params.n_ctx = settings.slots * settings.context_tokens
        params.n_batch = params.n_ubatch = settings.batch_tokens
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = settings.threads
        params.cache_type_k = params.cache_type_v = _KV_Q8_0
        params.flash_attn_type = _FLASH_ATTENTION_ON
        params.cache_ram_mib = 0
        params.cache_idle_slots = False
        params.verbosity = -1
        params.api_keys = [self.key]
        params.hostnames = [socket_path if by_socket else "127.0.0.1"]
        params.cors_origins = "null"
        params.n_threads_http = 2
        params.ui = params.endpoint_slots = params.endpoint_props = False
        try:
            self._server: Any = xllamacpp.Server(params)
        except (RuntimeError, ValueError) as error:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise MindError(
                f"the mind's weights {path.name} could not be loaded: is it a whole GGUF file, and is there memory?",
                code="model_load_failed",
            ) from error
        self.address = str(self._server.listening_address)
        self._http = httpx2.Client(
            transport=httpx2.HTTPTransport(uds=socket_path) if by_socket else httpx2.HTTPTransport(),
            base_url="http://mind" if by_socket else self.address,
            headers={"Authorization": f"Bearer {self.key}"},
            timeout=30.0,
        )

    def tokenize(self, text: str, *, control: bool) -> list[int]:
        """The tokens of `text`. Only with `control` are special tokens recognised in it."""
        body = {"content": text, "add_special": False, "parse_special": control}
        try:
            answer = self._http.post("/tokenize", json=body).raise_for_status().json()
        except httpx2.HTTPError as error:
            raise MindError(f"the mind's tokenizer failed: {type(error).__name__}", retryable=True) from error
        return list(answer["tokens"])

    def complete(self, body: Mapping[str, Any], on_chunk: OnChunk) -> None:
        """Run one completion; errors, which the runtime sends as chunks, are raised."""
        failed: list[MindError] = []

        def receive(chunk: Any) -> bool:
            if "error" in chunk:
                failed.append(_error(chunk["error"]))
                return True
            return on_chunk(_chunk(chunk))

        try:
            self._server.handle_completions({**body, "stream": True, "return_progress": True}, receive)
        except (RuntimeError, ValueError) as error:
            raise MindError(f"the embedded mind failed: {error}") from error
        if failed:
            raise failed[0]

    def close(self) -> None:
        """Stop the runtime and remove its socket. May be called twice."""
        self._http.close()
        self._server = None
        gc.collect()  # the runtime ends in its destructor only
        with contextlib.suppress(OSError):
            shutil.rmtree(self._folder)


def special_token(server: LlamaServer, text: str) -> int | None:
    """The one token that `text` is to this model, or None if it is not a special token of its vocabulary."""
    tokens: Sequence[int] = server.tokenize(text, control=True)
    return tokens[0] if len(tokens) == 1 else None


def _chunk(chunk: Any) -> LlamaChunk:
    choice: Any = chunk["choices"][0]
    usage: Any = chunk.get("usage") or _NOTHING
    details: Any = usage.get("prompt_tokens_details") or _NOTHING
    return LlamaChunk(
        text=choice.get("text") or "",
        finish=choice.get("finish_reason"),
        prompt_tokens=usage.get("prompt_tokens", 0),
        output_tokens=usage.get("completion_tokens", 0),
        cached_tokens=details.get("cached_tokens", 0),
    )


def _error(error: Mapping[str, Any]) -> MindError:
    message = str(error.get("message", error))
    if "context size" in message:
        return MindError(message, code="context_length_exceeded")
    return MindError(f"the embedded mind failed: {message}")
