"""`rth models`, run in process on the small world."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

import pytest

from realtime_harness.cli import main
from realtime_harness.cli import models as cli
from realtime_harness.models import ModelStore
from realtime_harness.models.defaults import DEFAULT_MIND, SMALL_MIND, SPEECH_MODELS


@dataclass(frozen=True)
class Result:
    """How a command ended, and what it said."""

    exit_code: int
    stdout: str
    stderr: str


@pytest.fixture
def rth(capsys: pytest.CaptureFixture[str]) -> Any:
    """Run `rth ...`."""

    def invoke(*arguments: str) -> Result:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        return Result(int(ended.value.code or 0), *capsys.readouterr())

    return invoke


@pytest.fixture
def run(world: Any, rth: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run `rth models ...` on a manifest with the real names and tiny files; `run.source` is what it asks."""
    hearing, turn = SPEECH_MODELS
    named = (
        replace(world.ears, name=hearing),
        replace(world.ears, name=turn, role="turn"),
        replace(world.brain, name=SMALL_MIND),
        replace(world.brain, name=DEFAULT_MIND),
    )
    source = world.source("hub")

    def store() -> ModelStore:
        return ModelStore(world.root, manifest={model.name: model for model in named}, sources=[source], environ={})

    monkeypatch.setattr(cli, "ModelStore", store)
    monkeypatch.setattr(cli, "available_memory_bytes", lambda: None)

    def invoke(*arguments: str) -> Result:
        return rth("models", *arguments)

    invoke.source = source  # type: ignore[attr-defined]
    return invoke


def test_list_shows_every_model_and_its_state(run: Any, world: Any) -> None:
    run("fetch", SMALL_MIND)
    result = run("list")
    assert result.exit_code == 0
    lines = {line.split()[0]: line.split() for line in result.stdout.splitlines()}
    assert lines[SMALL_MIND][1] == "ready"
    assert lines[DEFAULT_MIND][1] == "missing"
    assert "Apache-2.0" in lines[SMALL_MIND]
    assert result.stdout.endswith(f"kept in {world.root}\n")


def test_list_for_programs_is_json(run: Any, world: Any) -> None:
    models = json.loads(run("list", "--json").stdout)
    assert [model["state"] for model in models] == ["missing"] * 4
    assert models[0]["files"][0] == {
        "name": "config.json",
        "size_bytes": len(world.official["config.json"]),
        "sha256": world.ears.files[0].sha256,
    }


def test_fetch_without_a_name_brings_what_a_start_needs(run: Any, world: Any) -> None:
    result = run("fetch")
    assert result.exit_code == 0
    assert [line.split(":")[0] for line in result.stdout.splitlines()] == [*SPEECH_MODELS, DEFAULT_MIND]
    assert not (world.root / SMALL_MIND).exists()


def test_fetch_says_when_it_takes_the_small_mind(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "available_memory_bytes", lambda: 1)
    result = run("fetch")
    assert result.exit_code == 0
    assert f"{SMALL_MIND} in place of {DEFAULT_MIND}: {DEFAULT_MIND} needs" in result.stderr
    assert result.stdout.splitlines()[-1].startswith(f"{SMALL_MIND}: ready, ")


def test_fetch_all_brings_every_model(run: Any) -> None:
    assert len(run("fetch", "--all").stdout.splitlines()) == 4


def test_without_a_terminal_progress_is_a_few_lines(run: Any) -> None:
    lines = [line for line in run("fetch", SMALL_MIND).stderr.splitlines() if "% of" in line]
    assert [line.split(": ")[1].split(" %")[0] for line in lines] == ["0", "25", "50", "75", "100"]
    assert lines[0].endswith("from hub")


@pytest.mark.parametrize(("command", "code"), [("fetch", 2), ("verify", 1)])
def test_a_failure_is_one_line_and_an_exit_code(run: Any, command: str, code: int) -> None:
    run.source.content.clear()
    result = run(command, SMALL_MIND)
    assert result.exit_code == code
    errors = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1
    assert errors[0].endswith(f"rth models fetch {SMALL_MIND}")
    assert "Traceback" not in result.stdout + result.stderr


def test_verify_without_a_name_checks_what_is_here(run: Any) -> None:
    run("fetch", SMALL_MIND)
    result = run("verify")
    assert result.exit_code == 0
    assert result.stdout.startswith(f"{SMALL_MIND}: the official files, ")
    assert len(result.stdout.splitlines()) == 1


def test_verify_goes_on_after_a_bad_model_and_exits_1(run: Any, world: Any) -> None:
    run("fetch", "--all")
    world.place(SPEECH_MODELS[0], "model.bin", b"short")
    result = run("verify")
    assert result.exit_code == 1
    assert len(result.stdout.splitlines()) == 3
    assert result.stderr.startswith(f"error: {SPEECH_MODELS[0]}: ")


def test_verify_of_nothing_is_not_success(run: Any) -> None:
    result = run("verify")
    assert result.exit_code == 2
    assert result.stderr.rstrip().endswith("rth models fetch")


def test_a_wrong_setting_is_one_line_and_exit_2(rth: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RTH_MODEL_SOURCES", "carrier-pigeon")
    result = rth("models", "list")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("error: RTH_MODEL_SOURCES is 'carrier-pigeon'")
