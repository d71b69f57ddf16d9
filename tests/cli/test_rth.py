"""`rth`, as people run it: words, exit codes, and what is never shown."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog
from rich.console import Console
from tests.fakes.engine import ScriptedEngine, ScriptedSession, answer, conversational
from tests.fakes.server import KEY, running_server

from realtime_harness.audio.wav import read_wav, write_wav
from realtime_harness.cli import main
from realtime_harness.cli.dialogue import Script, hold
from realtime_harness.cli.transcript import Transcript
from realtime_harness.client import connect_websocket
from realtime_harness.clock import SystemClock
from realtime_harness.config import key_path, read_key, read_or_make_key, read_settings
from realtime_harness.errors import ConfigError, ConnectFailed
from realtime_harness.realtime import events as e

TONE = b"\x00\x20" * 12_000  # half a second


@pytest.fixture(autouse=True)
def empty_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in [name for name in os.environ if name.startswith("RTH_")]:
        monkeypatch.delenv(name)
    yield
    structlog.reset_defaults()


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    return int(ended.value.code or 0)


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--version") == 0
    assert re.fullmatch(r"rth \d+\.\d+\.\d+\n", capsys.readouterr().out)


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    run("--help")
    out = capsys.readouterr().out
    assert all(command in out for command in ("serve", "call", "models"))


def test_a_key_is_made_on_first_run_and_kept_for_this_user_only() -> None:
    key, where = read_or_make_key(read_settings())
    assert where == str(key_path())
    assert stat.S_IMODE(key_path().stat().st_mode) == 0o600
    assert stat.S_IMODE(key_path().parent.stat().st_mode) == 0o700
    assert read_or_make_key(read_settings()) == (key, where)
    assert len(key) > 30


def test_the_environments_key_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    read_or_make_key(read_settings())
    monkeypatch.setenv("RTH_API_KEY", "one-of-my-own")
    assert read_or_make_key(read_settings()) == ("one-of-my-own", "RTH_API_KEY")


@pytest.mark.parametrize("bad", ["short", "has a space in it", "schlüssel-mit-umlaut"])
def test_a_bad_key_is_refused_without_showing_it(monkeypatch: pytest.MonkeyPatch, bad: str) -> None:
    monkeypatch.setenv("RTH_API_KEY", bad)
    with pytest.raises(ConfigError) as refused:
        read_key(read_settings())
    assert bad not in str(refused.value) and "RTH_API_KEY" in str(refused.value)


@pytest.mark.parametrize(
    ("variable", "value"),
    [("RTH_MAX_CALLS", "many"), *(("RTH_LOCAL_CAPACITY", value) for value in ("0", "-1", "many", "", "1001"))],
)
def test_a_bad_setting_is_named_before_anything_is_loaded(
    variable: str, value: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(variable, value)
    assert run("serve", "--port", "0") == 2
    said = capsys.readouterr()
    assert variable in said.err and repr(value) in said.err and "Traceback" not in said.err
    assert said.out == ""


def test_the_key_of_a_minds_server_is_a_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RTH_MIND_API_KEY", "sk-secret")
    settings = read_settings()
    assert "sk-secret" not in repr(settings)
    assert settings.mind_api_key is not None and settings.mind_api_key.get_secret_value() == "sk-secret"


@pytest.mark.real
def test_a_port_that_is_taken_is_said_to_be(capsys: pytest.CaptureFixture[str]) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert run("serve", "--port", port) == 2
    assert port in capsys.readouterr().err


@pytest.mark.real
def test_an_address_that_is_not_here_is_said_to_be(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("serve", "--host", "192.0.2.1", "--port", "0") == 2
    assert "192.0.2.1" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["--say", "a", "--wav", "b"]])
def test_a_call_needs_words_or_a_file(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run("call", *arguments) == 2
    assert "--say TEXT or --wav FILE" in capsys.readouterr().err


@pytest.mark.real
def test_a_call_to_nobody_says_how_to_start_a_server(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_wav(tmp_path / "a.wav", TONE)
    assert run("call", "http://127.0.0.1:1", "--wav", str(tmp_path / "a.wav")) == 2
    assert "rth serve" in capsys.readouterr().err


@pytest.mark.parametrize("content", [None, b"", b"not a wav file"])
def test_a_file_that_is_no_wav_is_said_to_be_none(
    tmp_path: Path, content: bytes | None, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "speech.wav"
    if content is not None:
        path.write_bytes(content)
    assert run("call", "--wav", str(path)) == 2
    error = capsys.readouterr().err
    assert "speech.wav" in error and "Traceback" not in error


def test_no_local_voice_is_said_with_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "hibari", None)
    assert run("call", "--say", "Hello") == 2
    assert "realtime-harness[local]" in capsys.readouterr().err


def test_no_url_is_said_to_be_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("call", "ftp://somewhere", "--say", "Hello") == 2
    assert "ftp://somewhere" in capsys.readouterr().err


def test_another_machine_is_not_told_the_key_of_this_one(monkeypatch: pytest.MonkeyPatch) -> None:
    from realtime_harness.cli.people import key_for

    made, _ = read_or_make_key(read_settings())
    assert key_for("ws://127.0.0.1:8080/v1/realtime") == made
    assert key_for("wss://api.example.com/v1/realtime") is None
    monkeypatch.setenv("RTH_API_KEY", "for-that-server")
    assert key_for("wss://api.example.com/v1/realtime") == "for-that-server"


# --- calls over real sockets, to a scripted engine -----------------------------------------------------------------


async def talk(engine: ScriptedEngine, script: Script) -> tuple[str, object]:
    console = Console(record=True, width=100, quiet=False, file=open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115
    transcript = Transcript(console)
    try:
        async with running_server(engine) as running, await connect_websocket(running.ws_url, KEY) as transport:
            outcome = await hold(transport, SystemClock(), script, transcript.show)
    finally:
        console.file.close()
    return console.export_text(), outcome


@pytest.mark.real
@pytest.mark.anyio
async def test_a_call_shows_both_sides_words_and_times_them() -> None:
    text, outcome = await talk(ScriptedEngine(), Script(TONE))
    assert "you     What is the capital of France?" in text
    assert "agent   The capital of France is Paris." in text
    assert outcome.failures == []
    assert len(outcome.heard) == 48_000
    figures = {timing.name: timing.ms for timing in outcome.turn}
    assert 0 <= figures["end of last word to first audio"] < 500


@pytest.mark.real
@pytest.mark.anyio
async def test_a_tool_is_answered_and_the_reply_asked_for() -> None:
    def script(session: ScriptedSession, event: e.ClientEvent) -> None:
        from tests.fakes.engine import call_tool, hear, is_loud

        match event:
            case e.AudioAppend(audio=audio) if is_loud(audio) and session.speaking_from is None:
                session.speaking_from = 0
                hear(session, 0, 500, "How is the weather in Paris?")
                call_tool(session, "get_weather", '{"city":"Paris"}')
            case e.AudioAppend():
                pass
            case _:
                conversational(session, event)

    engine = ScriptedEngine(script)
    text, outcome = await talk(engine, Script(TONE, tool=True))
    assert 'get_weather({"city":"Paris"})' in text and "Paris." in text
    assert outcome.failures == []
    (output,) = [x for x in engine.sessions[0].sent if isinstance(x, e.ItemCreate)]
    assert output.item["type"] == "function_call_output"


@pytest.mark.real
@pytest.mark.anyio
async def test_an_interruption_truncates_at_what_was_heard() -> None:
    def script(session: ScriptedSession, event: e.ClientEvent) -> None:
        from tests.fakes.engine import hear, is_loud

        if isinstance(event, e.AudioAppend) and is_loud(event.audio):
            before = session.speaking_from
            session.speaking_from = len(session.sent)
            if before is None or session.speaking_from - before > 5:  # a new burst of sound
                hear(session, 0, 100, "Hello")
                answer(session, ms=5_000 if before is None else 200)
        elif not isinstance(event, e.AudioAppend):
            conversational(session, event)

    engine = ScriptedEngine(script)
    text, outcome = await talk(engine, Script(TONE, interrupt_at_ms=800, interruption=TONE))
    (cut,) = [x for x in engine.sessions[0].sent if isinstance(x, e.ItemTruncate)]
    assert 800 <= cut.audio_end_ms < 1_200
    assert "cut" in text and outcome.failures == []
    assert any(timing.name == "start of interruption to speech_started" for timing in outcome.interruption)


@pytest.mark.real
@pytest.mark.anyio
async def test_an_error_of_the_server_is_a_failure() -> None:
    def script(session: ScriptedSession, event: e.ClientEvent) -> None:
        conversational(session, event)
        if isinstance(event, e.SessionUpdate):
            session.say(e.ErrorEvent, error={"message": "No such voice.", "code": "invalid_value"})

    text, outcome = await talk(ScriptedEngine(script), Script(TONE))
    assert "No such voice." in text
    assert outcome.failures == ["The server sent an error: No such voice."]


@pytest.mark.real
@pytest.mark.anyio
async def test_a_wrong_key_is_said_to_be_wrong() -> None:
    async with running_server() as running:
        with pytest.raises(ConnectFailed, match="key is wrong") as refused:
            await connect_websocket(running.ws_url, "a-wrong-key")
    assert refused.value.status == 401 and "a-wrong-key" not in str(refused.value)


@pytest.mark.real
@pytest.mark.anyio
async def test_a_whole_rth_call_against_a_server(tmp_path: Path) -> None:
    write_wav(tmp_path / "in.wav", TONE)
    out = tmp_path / "out.wav"
    async with running_server() as running:
        command = [str(Path(sys.executable).with_name("rth")), "call", running.url, "--wav", str(tmp_path / "in.wav")]
        process = await asyncio.create_subprocess_exec(
            *command, "--out", str(out), env={**os.environ, "RTH_API_KEY": KEY}, stdout=subprocess.PIPE
        )
        text, _ = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == 0
    assert "Paris" in text.decode() and "end of last word to first audio" in text.decode()
    assert len(read_wav(out)) == 48_000


# --- rth serve, as a process ---------------------------------------------------------------------------------------


@pytest.fixture
def served(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """`rth serve` where there are no models."""
    environment = {**os.environ, "RTH_MODELS_DIR": str(tmp_path / "models"), "RTH_MODEL_SOURCES": "path"}
    command = [str(Path(sys.executable).with_name("rth")), "serve", "--port", "0"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        yield process
        process.kill()


@pytest.mark.real
def test_without_models_serve_ends_with_the_command_that_brings_them(served: subprocess.Popen[str]) -> None:
    out, err = served.communicate(timeout=60)
    assert served.returncode == 2
    assert "rth models fetch" in err and "Traceback" not in err
    assert str(key_path()) in out
    key = key_path().read_text().strip()
    assert key not in out + err, "stdout is no terminal: the key is not shown"


@pytest.mark.real
def test_sigterm_ends_serve_in_order(tmp_path: Path) -> None:
    program = (
        "import asyncio\n"
        "from realtime_harness import app\n"
        "from realtime_harness.config import Settings\n"
        "from realtime_harness.serve import listen\n"
        "from tests.fakes.engine import ScriptedEngine\n"
        "async def load(): return app.Loaded({'local': ScriptedEngine()})\n"
        "asyncio.run(app.serve(Settings(), 'a-key-of-the-tests', listen('127.0.0.1', 0), load=load,"
        " on_ready=lambda: print('ready', flush=True)))\n"
        "print('over', flush=True)\n"
    )
    root = Path(__file__).parents[2]
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, cwd=root) as process:
        assert process.stdout is not None
        while (line := process.stdout.readline()) and "ready" not in line:
            pass
        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        rest, _ = process.communicate(timeout=20)
    assert "over" in rest and process.returncode == 0
    assert time.monotonic() - began < 5
