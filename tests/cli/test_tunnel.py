"""`rth tunnel` with a stand-in for the tunnel program: what is said, what is checked, and that nothing is left running."""

from __future__ import annotations

import os
import stat
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from realtime_harness.cli import main, tunnel

pytestmark = pytest.mark.real


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty PATH of our own."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    yield folder
    left = [each for each in psutil.Process().children() if each.status() != psutil.STATUS_ZOMBIE]
    assert left == []


def stand_in(folder: Path, name: str, body: str) -> None:
    path = folder / name
    path.write_text(f"#!{sys.executable}\nimport sys, time\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as ended:
        main(["tunnel", *arguments])
    said = capsys.readouterr()
    return int(ended.value.code or 0), said.out + said.err


def test_without_a_program_it_says_which(programs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, text = run(capsys)

    assert code == 2
    assert "cloudflared or tailscale" in text


def test_a_program_that_names_no_url_is_quoted(programs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stand_in(programs, "cloudflared", "print('failed to reach the edge', file=sys.stderr)")

    code, text = run(capsys)

    assert code == 2
    assert "failed to reach the edge" in text


def test_a_program_that_hangs_is_ended(
    programs: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(programs, "cloudflared", "print('connecting', flush=True)\ntime.sleep(600)")
    monkeypatch.setattr(tunnel, "URL_S", 1.0)
    began = time.monotonic()

    code, text = run(capsys)

    assert code == 2
    assert "connecting" in text
    assert time.monotonic() - began < 30


def test_the_url_is_shown_and_checked_through(
    programs: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    told = programs / "told"
    stand_in(
        programs,
        "cloudflared",
        f"open({str(told)!r}, 'w').write(' '.join(sys.argv[1:]))\n"
        "print('INF |  https://a-b-c.trycloudflare.com  |', file=sys.stderr, flush=True)\ntime.sleep(600)",
    )
    monkeypatch.setenv("RTH_API_KEY", "a-key-of-the-tests")
    asked: list[tuple[str, str]] = []

    async def check(root: str, key: str) -> bool:
        asked.append((root, key))
        return True

    monkeypatch.setattr(tunnel, "_check", check)

    code, text = run(capsys, "--port", "9000", "--once")

    assert code == 0
    assert "https://a-b-c.trycloudflare.com/v1" in text
    assert asked == [("https://a-b-c.trycloudflare.com/v1/", "a-key-of-the-tests")]
    assert told.read_text() == "tunnel --no-autoupdate --url http://127.0.0.1:9000"
    assert "a-key-of-the-tests" not in text + os.environ["PATH"]


def test_a_tunnel_through_which_nothing_answers_is_said(
    programs: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(
        programs, "cloudflared", "print('https://no-such-name-here.trycloudflare.com', flush=True)\ntime.sleep(600)"
    )
    monkeypatch.setenv("RTH_API_KEY", "a-key-of-the-tests")
    monkeypatch.setattr(tunnel, "PUBLIC_S", 0.0)

    code, text = run(capsys)

    assert code == 2
    assert "nothing answers through it" in text
