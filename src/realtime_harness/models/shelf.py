"""A shelf: where one model's files lie, and what each is worth."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import Enum, StrEnum, auto
from pathlib import Path

from realtime_harness.errors import ModelFileError
from realtime_harness.models.manifest import Model, ModelFile
from realtime_harness.models.marks import Marks
from realtime_harness.models.settings import path_variable


class State(StrEnum):
    """What a file is, or the worst of a model's files. In order, best first."""

    READY = "ready"
    """The official bytes."""
    OWN = "own"
    """The user's own copy, with other bytes than the official ones. Used as it is."""
    UNCHECKED = "unchecked"
    """The right size, not hashed yet."""
    MISSING = "missing"
    SHORT = "short"
    WRONG = "wrong"

    @property
    def usable(self) -> bool:
        """Whether nothing is known against it."""
        return self in {State.READY, State.OWN, State.UNCHECKED}


class Hashing(Enum):
    """When to hash a file of the right size."""

    NEVER = auto()
    UNLESS_MARKED = auto()
    ALWAYS = auto()


@dataclass(frozen=True, slots=True)
class Status:
    """A model as the disk has it. `path` is where it is, or would be; `present_bytes` counts what is usable."""

    model: Model
    state: State
    path: Path
    present_bytes: int


@dataclass(frozen=True, slots=True)
class Shelf:
    """One model's place: `folder` in the store, or the user's `own` copy (a file, or a directory), which wins."""

    model: Model
    folder: Path
    own: Path | None = None

    @property
    def location(self) -> Path:
        """What a user of the model opens: its only file, or the directory of its files."""
        if len(self.model.files) == 1:
            return self.place(self.model.files[0])
        return self.own or self.folder

    @property
    def marks(self) -> Marks:
        """The marks of this shelf. They lie in the store even for the user's own copy, which is not ours to touch."""
        return Marks(self.folder)

    def place(self, file: ModelFile) -> Path:
        """Where a file is, or would be."""
        if self.own is None:
            return self.folder / file.name
        return self.own if len(self.model.files) == 1 and not self.own.is_dir() else self.own / file.name

    def judge(self, file: ModelFile, hashing: Hashing) -> State:
        """Say what a file is. UNCHECKED only if hashing was not allowed. Raises OSError if it cannot be read."""
        path = self.place(file)
        if not path.is_file():
            return State.MISSING
        stat = path.stat()
        if self.own and (stat.st_size == 0 or (path.suffix == ".gguf" and not _is_gguf(path))):
            return State.WRONG
        other = State.OWN if self.own else State.WRONG
        if stat.st_size != file.size_bytes:
            return State.SHORT if stat.st_size < file.size_bytes and not self.own else other
        sha256 = None if hashing is Hashing.ALWAYS else self.marks.sha256(path)
        if sha256 is None:
            if hashing is Hashing.NEVER:
                return State.UNCHECKED
            with path.open("rb") as stream:
                sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
            self.marks.put(path, stat, sha256)
        return State.READY if sha256 == file.sha256 else other

    def bad_files(self) -> list[ModelFile]:
        """The files that a fetch has to bring. Raises OSError."""
        return [file for file in self.model.files if self.judge(file, Hashing.UNLESS_MARKED) is not State.READY]

    def glance(self) -> Status:
        """Judge all files by sizes and marks alone; what cannot be read counts as missing."""
        states: list[State] = []
        present = 0
        for file in self.model.files:
            try:
                state = self.judge(file, Hashing.NEVER)
                present += self.place(file).stat().st_size if state.usable else 0
            except OSError:
                state = State.MISSING
            states.append(state)
        return Status(self.model, _worst(states), self.location, present)

    def check(self, hashing: Hashing) -> Status:
        """Judge all files. Raises ModelFileError for the first that cannot be used."""
        states: list[State] = []
        present = 0
        for file in self.model.files:
            path = self.place(file)
            try:
                state = self.judge(file, hashing)
                size = path.stat().st_size if state is not State.MISSING else 0
            except OSError as error:
                raise ModelFileError(
                    f"{self.model.name}: {path} cannot be read: {error.strerror or error}. {self._remedy()}"
                ) from error
            if not state.usable:
                raise ModelFileError(f"{self.model.name}: {self._complaint(file, state, size)}. {self._remedy()}")
            states.append(state)
            present += size
        return Status(self.model, _worst(states), self.location, present)

    def _complaint(self, file: ModelFile, state: State, size: int) -> str:
        path = self.place(file)
        if state is State.MISSING:
            return f"{path} is missing"
        if self.own:
            return f"{path} is empty or not a GGUF file"
        if size != file.size_bytes:
            how = "short" if state is State.SHORT else "too long"
            return f"{path} is {how}: {size:,} bytes, where the official file has {file.size_bytes:,}"
        return f"{path} is wrong: its SHA-256 is not the official file's {file.sha256[:12]}…"

    def _remedy(self) -> str:
        if self.own:
            return f"Correct {path_variable(self.model.name)}, or unset it and run: {mend_command(self.model.name)}"
        return f"To mend it, run: {mend_command(self.model.name)}"


def mend_command(name: str) -> str:
    """The command that brings a model, for the end of an error."""
    return f"rth models fetch {name}"


def _worst(states: list[State]) -> State:
    return max(states, key=list(State).index)


def _is_gguf(path: Path) -> bool:
    with path.open("rb") as stream:
        return stream.read(4) == b"GGUF"
