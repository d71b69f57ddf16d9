"""RTH_MIND: one line to a mind, and clear words where it names none."""

from __future__ import annotations

import asyncio

import pytest

from realtime_harness.errors import ConfigError
from realtime_harness.minds.factory import make_mind


def test_a_url_with_a_model_is_a_chat_completions_server() -> None:
    async def run() -> None:
        mind = await make_mind("http://127.0.0.1:11434/v1#qwen3:14b")
        assert mind.name == "qwen3:14b"
        await mind.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    "spec",
    ["", "gpt", "embedded:7b", "http://127.0.0.1/v1", "http://#model", "https://user:secret@host/v1#m", "ftp://host#m"],
)
def test_what_names_no_mind_is_refused_with_what_was_expected(spec: str) -> None:
    with pytest.raises(ConfigError, match="RTH_MIND: expected") as caught:
        asyncio.run(make_mind(spec))
    assert "secret" not in str(caught.value)
