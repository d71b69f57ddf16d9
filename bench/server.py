"""A real `rth serve` as a process of its own, measured from outside."""

from __future__ import annotations

import contextlib
import os
import platform
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil


@dataclass
class Server:
    """A running server. `ready_s`: from its start to the first 200 of /readyz. `log` is there as long as it runs."""

    url: str
    key: str
    ready_s: float
    process: psutil.Process
    log: Path

    def memory_mib(self) -> float:
        """Resident memory, MiB."""
        return self.process.memory_info().rss / 2**20

    def threads(self) -> int:
        return self.process.num_threads()

    def files(self) -> int:
        """Open files and sockets."""
        return self.process.num_fds()


def machine() -> str:
    """What the server ran on, for a report."""
    memory_gib = psutil.virtual_memory().total / 2**30
    cores, python = os.cpu_count(), platform.python_version()
    return f"{cores} cores, {memory_gib:.0f} GiB, {platform.system()} {platform.machine()}, Python {python}"


@contextlib.contextmanager
def serve(mind: str, **settings: str) -> Iterator[Server]:
    """Starts the server with that mind on a free port of loopback, and ends it."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    key = secrets.token_hex(16)
    environment = {**os.environ, "RTH_API_KEY": key, "RTH_MIND": mind, **settings}
    command = [str(Path(sys.executable).with_name("rth")), "serve", "--port", str(port)]
    start = time.monotonic()
    with (
        tempfile.TemporaryDirectory(prefix="rth-bench-") as folder,
        (log := Path(folder, "log.txt")).open("wb") as out,
        subprocess.Popen(command, stdout=out, stderr=out, env=environment) as process,
    ):
        try:
            while not _ready(f"http://127.0.0.1:{port}/readyz"):
                if process.poll() is not None or time.monotonic() - start > 120:
                    raise SystemExit(f"the server did not start:\n{log.read_text()}")
                time.sleep(0.05)
            ready_s = time.monotonic() - start
            yield Server(f"ws://127.0.0.1:{port}/v1/realtime", key, ready_s, psutil.Process(process.pid), log)
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()


def _ready(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=1) as answer:
            return answer.status == 200
    except (urllib.error.URLError, OSError):
        return False
