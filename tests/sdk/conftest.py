"""A real `rth serve` on loopback with the small embedded mind, one for all tests here."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import pytest

KEY = "test-key-of-the-sdk-tests"


@pytest.fixture(scope="session")
def key() -> str:
    return KEY


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def engine_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    log = tmp_path_factory.mktemp("serve") / "log.txt"
    environment = {**os.environ, "RTH_API_KEY": KEY, "RTH_MIND": "embedded:0.5b"}
    command = [str(Path(sys.executable).with_name("rth")), "serve", "--port", str(port)]
    with log.open("wb") as out, subprocess.Popen(command, stdout=out, stderr=out, env=environment) as server:
        try:
            deadline = time.monotonic() + 90
            while True:
                try:
                    if httpx2.get(f"http://127.0.0.1:{port}/readyz", timeout=2).status_code == 200:
                        break
                except httpx2.HTTPError:
                    pass
                assert server.poll() is None, log.read_text()
                assert time.monotonic() < deadline, log.read_text()
                time.sleep(0.1)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            server.terminate()
            try:
                server.wait(15)
            except subprocess.TimeoutExpired:
                server.kill()
        assert "Traceback" not in log.read_text(), log.read_text()
        assert KEY not in log.read_text()


@pytest.fixture(scope="session")
def speech() -> Callable[[str], bytes]:
    """PCM16 24 kHz of a sentence, spoken by the engine's own voice."""
    from realtime_harness.engines.local.voice import Voice

    voice = Voice()

    @lru_cache
    def say(text: str) -> bytes:
        return b"".join(chunk.pcm for chunk in voice.speak(text, 1.0))

    return say


@pytest.fixture(scope="session")
def hear() -> Callable[[bytes], str]:
    """The words in PCM16 24 kHz, by the engine's own ears: what a person would hear."""
    import soxr

    from realtime_harness.engines.local.hearing import Hearing
    from realtime_harness.models import ModelStore

    hearing = Hearing(ModelStore().path("whisper-tiny.en"), 1)

    def words(pcm: bytes) -> str:
        samples: Any = np.frombuffer(pcm, "<i2").astype(np.float32) / 32768
        return hearing.transcribe(soxr.resample(samples, 24_000, 16_000).astype(np.float32), None).text

    return words
