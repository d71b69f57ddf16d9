"""Which mind a start gets."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from realtime_harness.errors import ModelFileError
from realtime_harness.models import ModelStore, defaults
from realtime_harness.models.defaults import (
    DEFAULT_MIND,
    SMALL_MIND,
    available_memory_bytes,
    choose_mind,
    fetch_mind,
)

GB = 1_000_000_000


@pytest.fixture
def minds(world: Any) -> Any:
    """A store with both minds under their real names, each of a few bytes; and the source it asks."""
    large = replace(world.brain, name=DEFAULT_MIND, memory_bytes=2 * GB)
    small = replace(world.brain, name=SMALL_MIND, files=(replace(world.brain.files[0], name="small.gguf"),))
    source = world.source("hub", small__gguf=world.official["brain.gguf"])
    store = ModelStore(world.root, manifest={m.name: m for m in (large, small)}, sources=[source], environ={})
    return store, source


@pytest.mark.parametrize("available", [None, 3 * GB])
def test_the_default_mind_where_it_fits(minds: Any, available: int | None) -> None:
    choice = fetch_mind(minds[0], available_bytes=available)
    assert (choice.name, choice.reason) == (DEFAULT_MIND, "")
    assert choice.path.is_file()


def test_the_small_mind_where_memory_is_short(minds: Any) -> None:
    store, source = minds
    choice = fetch_mind(store, available_bytes=2 * GB)
    assert choice.name == SMALL_MIND
    assert choice.reason == f"{DEFAULT_MIND} needs 2.8 GB of memory; 2.0 GB is free"
    assert source.asked == ["small.gguf"]


def test_the_small_mind_where_every_source_of_the_default_fails(minds: Any) -> None:
    store, source = minds
    del source.content["brain.gguf"]
    choice = fetch_mind(store)
    assert choice.name == SMALL_MIND
    assert "no source gave brain.gguf" in choice.reason


def test_no_mind_at_all_is_an_error_that_can_be_mended(minds: Any) -> None:
    store, source = minds
    source.content.clear()
    with pytest.raises(ModelFileError, match=f"rth models fetch {SMALL_MIND}$"):
        fetch_mind(store)


@pytest.mark.parametrize(
    ("here", "available", "chosen"),
    [
        ([DEFAULT_MIND, SMALL_MIND], None, DEFAULT_MIND),
        ([DEFAULT_MIND, SMALL_MIND], 3 * GB, DEFAULT_MIND),
        ([DEFAULT_MIND, SMALL_MIND], 2 * GB, SMALL_MIND),
        ([DEFAULT_MIND], 2 * GB, SMALL_MIND),
        ([SMALL_MIND], 3 * GB, SMALL_MIND),
        ([], 3 * GB, SMALL_MIND),
    ],
)
def test_a_start_takes_the_largest_mind_that_is_here_and_fits(
    minds: Any, monkeypatch: pytest.MonkeyPatch, here: list[str], available: int | None, chosen: str
) -> None:
    store, _ = minds
    for name in here:
        store.fetch(name)
    monkeypatch.setattr(defaults, "available_memory_bytes", lambda: available)
    assert choose_mind(store) == chosen


def fake_machine(root: Path, mem_available_kb: int | None, limit: str | None, used: int = 0) -> Path:
    (root / "proc").mkdir()
    (root / "sys/fs/cgroup").mkdir(parents=True)
    if mem_available_kb is not None:
        (root / "proc/meminfo").write_text(f"MemTotal: 99999 kB\nMemAvailable:    {mem_available_kb} kB\n")
    if limit is not None:
        (root / "sys/fs/cgroup/memory.max").write_text(f"{limit}\n")
        (root / "sys/fs/cgroup/memory.current").write_text(f"{used}\n")
    return root


@pytest.mark.parametrize(
    ("kb", "limit", "used", "expected"),
    [
        (1000, None, 0, 1_024_000),
        (1000, "max", 5, 1_024_000),
        (1000, "500000", 200_000, 300_000),
        (1000, "500000", 600_000, 0),
        (1000, "9000000", 0, 1_024_000),
        (None, None, 0, None),
    ],
)
def test_memory_is_what_the_kernel_or_the_container_leaves(
    tmp_path: Path, kb: int | None, limit: str | None, used: int, expected: int | None
) -> None:
    assert available_memory_bytes(fake_machine(tmp_path, kb, limit, used)) == expected
