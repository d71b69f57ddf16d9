"""Which models a start needs, and which mind this machine can hold."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from realtime_harness.errors import ModelFileError
from realtime_harness.models.manifest import QWEN_CODER_0_5B, QWEN_CODER_1_5B, SMART_TURN, WHISPER_TINY_EN
from realtime_harness.models.shelf import State
from realtime_harness.models.store import ModelStore, ProgressCallback

SPEECH_MODELS = (WHISPER_TINY_EN.name, SMART_TURN.name)
DEFAULT_MIND = QWEN_CODER_1_5B.name
SMALL_MIND = QWEN_CODER_0_5B.name

# What the rest of the process takes beside the mind: recognition, speech, calls.
HEADROOM_BYTES = 800_000_000


@dataclass(frozen=True, slots=True)
class MindChoice:
    """The mind to use and its checked file. `reason` says why it is not the default one, and is empty if it is."""

    name: str
    path: Path
    reason: str = ""


def fetch_mind(
    store: ModelStore, progress: ProgressCallback | None = None, *, available_bytes: int | None = None
) -> MindChoice:
    """Fetch the default mind; where memory or every source of it fails, the small one.

    `available_bytes` is the memory that is free, if known. Raises ModelFileError if neither can be had.
    """
    reason = _too_large(store, available_bytes)
    if not reason:
        try:
            return MindChoice(DEFAULT_MIND, store.fetch(DEFAULT_MIND, progress))
        except ModelFileError as error:
            reason = str(error)
    return MindChoice(SMALL_MIND, store.fetch(SMALL_MIND, progress), reason)


def choose_mind(store: ModelStore) -> str:
    """The mind to start with, of those that are here: the default one where memory allows it, else the small one."""
    here = store.status(DEFAULT_MIND).state is not State.MISSING
    return DEFAULT_MIND if here and not _too_large(store, available_memory_bytes()) else SMALL_MIND


def _too_large(store: ModelStore, available_bytes: int | None) -> str:
    """Why the default mind does not fit into that much memory; empty if it does, or if nobody knows."""
    needed = store.manifest[DEFAULT_MIND].memory_bytes + HEADROOM_BYTES
    if available_bytes is None or available_bytes >= needed:
        return ""
    return f"{DEFAULT_MIND} needs {needed / 1e9:.1f} GB of memory; {available_bytes / 1e9:.1f} GB is free"


def available_memory_bytes(root: Path = Path("/")) -> int | None:
    """Memory that can be used without swapping: the kernel's figure, or what a container's limit leaves if less.

    None where neither is told (macOS, Windows). `root` is where /proc and /sys are looked for.
    """
    figures = [figure for figure in (_mem_available(root), _cgroup_left(root)) if figure is not None]
    return min(figures, default=None)


def _mem_available(root: Path) -> int | None:
    for line in _lines(root / "proc/meminfo"):
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return None


def _cgroup_left(root: Path) -> int | None:
    group = root / "sys/fs/cgroup"
    limit, used = _lines(group / "memory.max"), _lines(group / "memory.current")
    if not limit or not used or limit[0] == "max":
        return None
    return max(0, int(limit[0]) - int(used[0]))


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="ascii").splitlines()
    except OSError:
        return []
