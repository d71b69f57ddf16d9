"""A real `rth serve` on loopback with the small embedded mind, one for all tests here."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx2
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
