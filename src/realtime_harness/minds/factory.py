"""One line of setting to a mind: `RTH_MIND`.

embedded                 the larger embedded model where memory and the files allow it, else the smaller
embedded:1.5b            that one; likewise embedded:0.5b
http://HOST/v1#MODEL     any Chat Completions server; its key is in RTH_MIND_API_KEY
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from realtime_harness.config import MIND_KEY_VARIABLE, MIND_VARIABLE
from realtime_harness.errors import ConfigError
from realtime_harness.minds.chat_completions import ChatCompletionsMind
from realtime_harness.minds.mind import Mind
from realtime_harness.models import ModelStore
from realtime_harness.models.defaults import DEFAULT_MIND, SMALL_MIND, choose_mind

_SIZES: Mapping[str, str] = {"1.5b": DEFAULT_MIND, "0.5b": SMALL_MIND}


async def make_mind(spec: str, api_key: str | None = None) -> Mind:
    """The mind that `spec` names; `api_key` is its server's, not ours. Raises ConfigError, ModelFileError or MindError."""
    if spec.startswith(("http://", "https://")):
        return _remote(spec, api_key)
    kind, _, size = spec.partition(":")
    if kind != "embedded" or (size and size not in _SIZES):
        raise ConfigError(
            f"{MIND_VARIABLE}: expected 'embedded', 'embedded:1.5b', 'embedded:0.5b' or the URL of a Chat Completions server "
            f"with its model (http://127.0.0.1:11434/v1#qwen3:14b); got {spec[:80]!r}."
        )
    # Imported when it is needed: a mind on a server needs no embedded runtime.
    from realtime_harness.minds.embedded import EmbeddedMind

    def find() -> Path:
        store = ModelStore()
        return store.file(_SIZES[size] if size else choose_mind(store))

    return await EmbeddedMind.load(await asyncio.to_thread(find))


def _remote(spec: str, api_key: str | None) -> Mind:
    url, _, model = spec.partition("#")
    parts = urlsplit(url)
    if not parts.hostname or not model or parts.username or parts.password:
        raise ConfigError(
            f"{MIND_VARIABLE}: expected http(s)://HOST[:PORT]/PATH#MODEL, with the server's key in {MIND_KEY_VARIABLE} and "
            "not in the URL."
        )
    return ChatCompletionsMind(url, model, api_key or None)
