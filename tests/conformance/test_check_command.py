"""`rth check voice` against what is no engine: one line each, an exit code, and never a trace or a hang."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from websockets.asyncio.server import ServerConnection

from realtime_harness.conformance.broken.engine import ScriptedEngine
from tests.conformance.line import listening, scripted
from tests.fakes.server import running_server

pytestmark = pytest.mark.real


async def check(url: str, *more: str, key: str = "some-key-of-a-test") -> tuple[int, str]:
    environment = {**os.environ, "RTH_API_KEY": key, "COLUMNS": "200"}
    command = [str(Path(sys.executable).with_name("rth")), "check", "voice", url, "--timeout", "1", *more]
    process = await asyncio.create_subprocess_exec(
        *command, env=environment, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    out, _ = await asyncio.wait_for(process.communicate(), 60)
    text = out.decode()
    assert "Traceback" not in text
    assert key not in text
    return process.returncode or 0, text


def run(work: Awaitable[None]) -> None:
    async def whole() -> None:
        await work

    asyncio.run(whole())


def test_a_closed_port_could_not_be_run() -> None:
    async def play() -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
        code, text = await check(f"http://127.0.0.1:{port}")
        assert code == 2
        assert len(text.strip().splitlines()) == 1
        assert "Nothing answers" in text

    run(play())


def test_a_plain_http_server_could_not_be_run() -> None:
    async def play() -> None:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
            writer.close()

        async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            code, text = await check(f"http://127.0.0.1:{port}")
        assert code == 2
        assert len(text.strip().splitlines()) == 1
        assert "HTTP 200" in text

    run(play())


def test_a_wrong_key_could_not_be_run() -> None:
    async def play() -> None:
        async with running_server() as server:
            code, text = await check(server.url, key="another-key-than-theirs")
        assert code == 2
        assert "key is wrong or missing" in text

    run(play())


async def _silent(connection: ServerConnection) -> None:
    await connection.wait_closed()


async def _garbage(connection: ServerConnection) -> None:
    await connection.send("]]] garbage")
    await connection.send(b"\xff\xfe\x00")
    await connection.wait_closed()


async def _closes(connection: ServerConnection) -> None:
    await connection.send('{"type":"session.created","session":{}}')
    await connection.recv()
    await connection.close(4000, "no more")


@pytest.mark.parametrize(
    ("handle", "said"),
    [
        (_silent, "no session.created came within 1000 ms"),
        (_garbage, "text that is not JSON"),
        (_closes, "closed the connection with code 4000: no more"),
    ],
)
def test_what_is_no_engine_fails_with_what_came(
    handle: Callable[[ServerConnection], Awaitable[None]], said: str
) -> None:
    async def play() -> None:
        async with listening(handle) as url:
            code, text = await check(url, "--only", "handshake")
        assert code == 1
        assert said in text
        assert "0 of 1 passed" in text

    run(play())


def test_a_correct_engine_passes_over_a_socket_in_real_time_and_its_reports_are_written(tmp_path: Path) -> None:
    async def play() -> None:
        async with listening(scripted(ScriptedEngine)) as url:
            code, text = await check(
                url,
                "--strict",
                "--at-once",
                "15",
                "--json",
                str(tmp_path / "r.json"),
                "--html",
                str(tmp_path / "r.html"),
            )
        assert code == 0, text
        assert "15 of 15 passed" in text

    run(play())
    assert json.loads((tmp_path / "r.json").read_text())["counts"]["passed"] == 15
    assert (tmp_path / "r.html").read_text().startswith("<!doctype html>")


def test_a_report_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    async def play() -> None:
        async with listening(scripted(ScriptedEngine)) as url:
            code, text = await check(url, "--only", "handshake", "--json", str(tmp_path / "none" / "r.json"))
        assert code == 2
        assert "cannot be written" in text

    run(play())
