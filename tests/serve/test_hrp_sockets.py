"""HRP over real sockets on loopback: strangers' clients, bad input, and clients that misbehave."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import logging
import socket
import time
from dataclasses import replace
from typing import Any

import httpx2
import pytest
from openai import AsyncOpenAI, OpenAI
from tests.fakes.engine import WORDS, ScriptedEngine, ScriptedSession, answer, conversational
from tests.fakes.server import KEY, Running, running_server
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from realtime_harness.call import CallsLimits
from realtime_harness.realtime import events as e
from realtime_harness.serve.limits import Rate, ServeLimits

pytestmark = [pytest.mark.real, pytest.mark.anyio]
TONE = base64.b64encode(b"\x00\x40" * 2_400).decode()
SILENCE = base64.b64encode(bytes(4_800)).decode()
BEARER = {"Authorization": f"Bearer {KEY}"}


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


def line(running: Running, **options: Any) -> connect:
    options = {"additional_headers": BEARER, "compression": None, **options}
    return connect(running.ws_url + options.pop("query", ""), **options)


async def receive(socket: ClientConnection) -> dict[str, Any]:
    return json.loads(await asyncio.wait_for(socket.recv(), 5))


async def until(socket: ClientConnection, kind: str) -> dict[str, Any]:
    while (event := await receive(socket))["type"] != kind:
        pass
    return event


async def closed(socket: ClientConnection) -> tuple[int, str]:
    await asyncio.wait_for(drained(socket), 10)
    assert socket.protocol.close_rcvd is not None, "a close frame came"
    return socket.protocol.close_rcvd.code, socket.protocol.close_rcvd.reason


async def drained(socket: ClientConnection) -> None:
    with contextlib.suppress(ConnectionClosed):
        while True:
            await socket.recv()


async def eventually(condition: Any, within_s: float = 5.0) -> None:
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline, "it did not come about"
        await asyncio.sleep(0.01)


# --- those who behave ----------------------------------------------------------------------------------------------


async def test_the_official_async_sdk_has_a_spoken_turn() -> None:
    async with running_server() as running:
        client = AsyncOpenAI(api_key=KEY, base_url=running.url + "/v1")
        async with client.realtime.connect(model="gpt-realtime") as sdk:
            assert (await sdk.recv()).type == "session.created"
            await sdk.input_audio_buffer.append(audio=TONE)
            await sdk.input_audio_buffer.append(audio=SILENCE)
            seen = []
            while not seen or seen[-1].type != "response.done":
                seen.append(await sdk.recv())
        said = next(event.transcript for event in seen if event.type == "response.output_audio_transcript.done")
        assert said == WORDS
        await client.close()


async def test_the_official_sync_sdk_has_a_spoken_turn() -> None:
    def turn(url: str) -> list[str]:
        types: list[str] = []
        client = OpenAI(api_key=KEY, base_url=url + "/v1")
        with client.realtime.connect(model="gpt-realtime") as sdk:
            sdk.input_audio_buffer.append(audio=TONE)
            sdk.input_audio_buffer.append(audio=SILENCE)
            while not types or types[-1] != "response.done":
                types.append(sdk.recv().type)
        client.close()
        return types

    async with running_server() as running:
        assert "response.output_audio.delta" in await asyncio.to_thread(turn, running.url)


@pytest.mark.parametrize("path", ["/v1/realtime", "/realtime"])
async def test_both_paths_lead_to_the_engine(path: str) -> None:
    async with running_server() as running:
        url = running.url.replace("http", "ws") + path
        async with connect(url, additional_headers=BEARER) as socket:
            assert (await receive(socket))["type"] == "session.created"


async def test_the_session_echoes_the_model_that_was_asked_for() -> None:
    async with running_server() as running:
        async with line(running, query="?model=gpt-realtime") as socket:
            assert (await receive(socket))["session"]["model"] == "gpt-realtime"
        async with line(running) as socket:
            session = (await receive(socket))["session"]
            assert session["model"] == "scripted-voice"
            assert 3_500 < session["expires_at"] - time.time() <= 3_600


async def test_a_session_expires_with_its_engines_limit_where_that_is_less_than_the_servers() -> None:
    engine = ScriptedEngine()
    engine.profile = replace(engine.profile, max_session_s=900.0)
    async with running_server(engine) as running, line(running) as socket:
        assert 850 < (await receive(socket))["session"]["expires_at"] - time.time() <= 900


async def test_a_beta_header_is_ignored() -> None:
    headers = {**BEARER, "OpenAI-Beta": "realtime=v1"}
    async with running_server() as running, line(running, additional_headers=headers) as socket:
        assert (await receive(socket))["type"] == "session.created"


async def test_a_browser_brings_its_key_as_a_subprotocol() -> None:
    async with running_server() as running:
        offered = ["realtime", f"openai-insecure-api-key.{KEY}"]
        async with line(running, additional_headers={}, subprotocols=offered) as socket:
            assert socket.subprotocol == "realtime"
            assert (await receive(socket))["type"] == "session.created"


# --- those who may not come in -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {"additional_headers": {}},
        {"additional_headers": {"Authorization": "Bearer wrong"}},
        {"additional_headers": {"Cookie": f"key={KEY}"}, "origin": "https://elsewhere.example"},
        {"additional_headers": {}, "query": f"?key={KEY}"},
        {"additional_headers": {}, "subprotocols": ["realtime", "openai-insecure-api-key.wrong"]},
    ],
)
async def test_without_the_key_the_upgrade_is_401_with_a_json_error(options: dict[str, Any]) -> None:
    async with running_server() as running:
        with pytest.raises(InvalidStatus) as refused:
            async with line(running, **options):
                pass
        assert refused.value.response.status_code == 401
        error = json.loads(refused.value.response.body)["error"]
        assert error["code"] == "invalid_api_key"
        assert running.engine.sessions == []


async def test_a_key_is_never_logged(capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "uvicorn.error")
    async with running_server() as running:
        with pytest.raises(InvalidStatus):
            async with line(running, additional_headers={"Authorization": "Bearer a-wrong-secret"}):
                pass
        async with line(running, query=f"?model=m&key={KEY}") as socket:
            await receive(socket)
    out, err = capfd.readouterr()
    for text in (out, err, caplog.text):
        assert KEY not in text and "a-wrong-secret" not in text


async def test_one_session_more_than_capacity_is_503_and_the_place_is_free_afterwards() -> None:
    async with running_server(ScriptedEngine(capacity=1)) as running:
        async with line(running) as socket:
            await receive(socket)
            with pytest.raises(InvalidStatus) as refused:
                async with line(running):
                    pass
            assert refused.value.response.status_code == 503
            assert refused.value.response.headers["retry-after"]
            assert json.loads(refused.value.response.body)["error"]["code"] == "capacity"
        async with line(running) as socket:  # at once: the one that is just ending is waited for
            await receive(socket)


async def test_a_browser_is_told_of_capacity_in_the_session_that_it_does_not_get() -> None:
    async with running_server(ScriptedEngine(capacity=0)) as running:
        offered = ["realtime", f"openai-insecure-api-key.{KEY}"]
        async with line(running, additional_headers={}, subprotocols=offered) as socket:
            assert (await receive(socket))["error"]["code"] == "capacity"
            code, reason = await closed(socket)
        assert code == 1013 and "places" in reason


async def test_a_key_has_a_limit_of_sessions() -> None:
    async with running_server(calls_limits=CallsLimits(max_calls_per_owner=1)) as running, line(running) as socket:
        await receive(socket)
        with pytest.raises(InvalidStatus) as refused:
            async with line(running):
                pass
        assert refused.value.response.status_code == 429


# --- bad input -----------------------------------------------------------------------------------------------------

BAD = [
    pytest.param(b"\x00\x01\x02", "binary frame", id="binary"),
    pytest.param("", "empty", id="empty"),
    pytest.param("hello", "not JSON", id="not JSON"),
    pytest.param("[1]", "JSON object", id="array"),
    pytest.param('{"type":"response.create","response":{"x":NaN}}', "not JSON", id="NaN"),
    pytest.param('{"a":' * 20_000 + "1" + "}" * 20_000, "", id="deep"),
    pytest.param('{"event_id":"mine"}', "'type'", id="no type"),
    pytest.param('{"type":"session.destroy"}', "Unknown event type", id="unknown type"),
    pytest.param('{"type":"input_audio_buffer.append","audio":"*"}', "base64", id="bad base64"),
    pytest.param('{"type":"input_audio_buffer.append"}', "'audio'", id="no audio"),
]


@pytest.mark.parametrize(("frame", "says"), BAD)
async def test_bad_input_is_an_error_and_the_session_goes_on(frame: str | bytes, says: str) -> None:
    async with running_server() as running, line(running) as other, line(running) as socket:
        await receive(other)
        await receive(socket)
        await socket.send(frame)
        error = (await receive(socket))["error"]
        assert error["type"] == "invalid_request_error" and says in error["message"]
        assert len(error["message"]) < 1_000
        await socket.send('{"type":"response.create"}')
        await until(socket, "response.done")
        await other.send('{"type":"response.create"}')
        assert (await receive(other))["type"] == "response.created", "the other session heard nothing of it"
        await until(other, "response.done")


async def test_an_error_carries_the_clients_event_id() -> None:
    async with running_server() as running, line(running) as socket:
        await receive(socket)
        await socket.send('{"type":"nonsense","event_id":"mine"}')
        assert (await receive(socket))["error"]["event_id"] == "mine"


async def test_a_frame_over_the_limit_closes_with_1009() -> None:
    async with running_server() as running, line(running) as socket:
        await receive(socket)
        with contextlib.suppress(ConnectionClosed):  # the close may come while we still send
            await socket.send("x" * (16 * 1024 * 1024 + 1))
        await eventually(lambda: socket.close_code is not None)
        assert socket.close_code == 1009
        assert "exceeds limit" in (socket.close_reason or "")
        await eventually(lambda: running.calls.count == 0)


async def test_invalid_utf8_closes_with_1007() -> None:
    async with running_server() as running, line(running) as socket:
        await receive(socket)
        await socket.send(b"\xff\xfe", text=True)
        assert (await closed(socket))[0] == 1007
        await eventually(lambda: running.calls.count == 0)


async def test_audio_at_ten_times_real_time_all_arrives() -> None:
    async with running_server() as running, line(running) as socket:
        await receive(socket)
        chunk = json.dumps({"type": "input_audio_buffer.append", "audio": base64.b64encode(bytes(960)).decode()})
        began = time.monotonic()
        for step in range(1_500):  # thirty seconds in chunks of 20 ms
            await socket.send(chunk)
            if step % 50 == 49:
                await asyncio.sleep(max(0.0, began + step * 0.002 - time.monotonic()))
        (session,) = running.engine.sessions
        await eventually(lambda: session.appended == 1_500 * 960)


async def test_beyond_the_rate_the_socket_is_not_read_and_nothing_is_lost() -> None:
    limits = ServeLimits(events_in=Rate(per_s=200, burst=10))
    async with running_server(limits=limits) as running, line(running) as socket:
        await receive(socket)
        began = time.monotonic()
        for _ in range(110):
            await socket.send('{"type":"input_audio_buffer.clear"}')
        (session,) = running.engine.sessions
        await eventually(lambda: len(session.sent) == 110)
        assert time.monotonic() - began > 0.45, "a hundred beyond the burst, at two hundred a second"


# --- those who do not read, and those who vanish -------------------------------------------------------------------


async def raw_client(running: Running) -> socket.socket:
    """A WebSocket client that reads nothing after the upgrade, with a small buffer of its own."""
    raw = socket.socket()
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    raw.setblocking(False)
    loop = asyncio.get_running_loop()
    host, port = running.url.removeprefix("http://").split(":")
    await loop.sock_connect(raw, (host, int(port)))
    request = (
        f"GET /v1/realtime HTTP/1.1\r\nHost: {host}:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Key: {base64.b64encode(bytes(16)).decode()}\r\nSec-WebSocket-Version: 13\r\n"
        f"Authorization: Bearer {KEY}\r\n\r\n"
    )
    await loop.sock_sendall(raw, request.encode())
    await eventually(lambda: running.engine.sessions)
    return raw


async def test_a_client_that_stops_reading_is_closed_with_a_reason_and_frees_its_place() -> None:
    limits = ServeLimits(max_behind_bytes=200_000, send_buffer_bytes=32 * 1024)
    async with running_server(limits=limits) as running, line(running) as fine:
        await receive(fine)
        raw = await raw_client(running)
        with raw:
            await eventually(lambda: len(running.engine.sessions) == 2)
            stuck = running.engine.sessions[1]
            answer(stuck, ms=20_000)
            await eventually(lambda: bool(stuck.closed), 10)
            assert "do not read" in stuck.closed[0]
            await eventually(lambda: running.calls.count == 1, 10)
            came = await read_all(raw)
            assert b"You do not read what you are sent" in came, "who reads again is told why"
        await fine.send('{"type":"response.create"}')
        await until(fine, "response.done")


async def read_all(raw: socket.socket) -> bytes:
    came = b""
    loop = asyncio.get_running_loop()
    while True:
        try:
            piece = await asyncio.wait_for(loop.sock_recv(raw, 65_536), 3)
        except (TimeoutError, ConnectionError):
            return came
        if not piece:
            return came
        came += piece


async def test_a_client_that_is_seconds_behind_is_closed() -> None:
    limits = ServeLimits(max_behind_s=0.2, send_buffer_bytes=32 * 1024)
    async with running_server(limits=limits) as running:
        raw = await raw_client(running)
        with raw:
            (stuck,) = running.engine.sessions
            answer(stuck, ms=20_000)
            await asyncio.sleep(0.4)
            answer(stuck, ms=100)
            await eventually(lambda: running.calls.count == 0, 10)
            assert "do not read" in stuck.closed[0]
            await eventually(lambda: not running.server.server_state.connections, 10)


async def test_a_client_that_vanishes_frees_its_place_though_audio_waits_for_it() -> None:
    limits = ServeLimits(ping_interval_s=0.2, ping_timeout_s=0.3, send_buffer_bytes=32 * 1024)
    async with running_server(limits=limits) as running:
        raw = await raw_client(running)  # it answers no ping
        with raw:
            (session,) = running.engine.sessions
            answer(session, ms=8_000)
            await eventually(lambda: running.calls.count == 0, 3)
            assert session.closed


async def test_a_client_that_is_killed_frees_its_place_at_once() -> None:
    async with running_server() as running:
        socket = await line(running)
        await receive(socket)
        socket.transport.abort()
        await eventually(lambda: running.calls.count == 0, 2)


# --- the end -------------------------------------------------------------------------------------------------------


async def test_a_drain_says_so_on_readyz_and_lets_a_call_finish_before_it_is_closed() -> None:
    async with running_server(drain_s=1.0) as running, line(running) as socket:
        await receive(socket)
        running.server.should_exit = True
        async with httpx2.AsyncClient() as http:
            await eventually(lambda: running.calls.state == "draining")
            assert (await http.get(running.url + "/readyz")).status_code == 503
        with pytest.raises(InvalidStatus) as refused:
            async with line(running):
                pass
        assert refused.value.response.status_code == 503
        await socket.send('{"type":"response.create"}')
        await until(socket, "response.done")
        assert await closed(socket) == (1001, "The server is going away.")


async def test_an_engine_that_fails_is_an_error_and_a_close_with_the_reason() -> None:
    def script(session: ScriptedSession, event: e.ClientEvent) -> None:
        if isinstance(event, e.AudioClear):
            session.put(e.EngineEnded("engine_failed", "The engine is out of memory."))
        else:
            conversational(session, event)

    async with running_server(ScriptedEngine(script)) as running, line(running) as socket:
        await receive(socket)
        await socket.send('{"type":"input_audio_buffer.clear"}')
        assert (await receive(socket))["error"]["type"] == "server_error"
        assert await closed(socket) == (1011, "The engine is out of memory.")


async def test_two_hundred_short_calls_leave_no_task_and_no_socket() -> None:
    import psutil

    async with running_server() as running:

        async def short_call() -> None:
            async with line(running) as socket:
                await receive(socket)

        await short_call()
        await eventually(lambda: running.calls.count == 0)
        tasks, files = len(asyncio.all_tasks()), psutil.Process().num_fds()
        for _ in range(10):
            await asyncio.gather(*(short_call() for _ in range(15)))
        await eventually(lambda: running.calls.count == 0 and not running.server.server_state.connections)
        await eventually(lambda: len(asyncio.all_tasks()) <= tasks)
        assert psutil.Process().num_fds() <= files
