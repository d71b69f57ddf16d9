"""Marks: a note beside the weights that a file was hashed, so that a start need not hash a gigabyte again.

A mark holds for one size, one modification time and one hash. It saves work and proves nothing: `verify` ignores it.
"""

from __future__ import annotations

import contextlib
import os
import threading
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ValidationError

NAME = ".verified"


class _Mark(BaseModel):
    size_bytes: int
    mtime_ns: int
    sha256: str


class _Marks(BaseModel):
    files: dict[str, _Mark] = {}


@dataclass(frozen=True, slots=True)
class Marks:
    """The marks of one model, kept in `folder`. Files in it go by their name, others by their whole path."""

    folder: Path

    def sha256(self, path: Path) -> str | None:
        """The hash that was computed for the file as it is now, or None if it has changed or was never hashed."""
        mark = self._read().files.get(self._key(path))
        if mark is None:
            return None
        stat = path.stat()
        return mark.sha256 if (mark.size_bytes, mark.mtime_ns) == (stat.st_size, stat.st_mtime_ns) else None

    def put(self, path: Path, stat: os.stat_result, sha256: str) -> None:
        """Note the hash of the file as it was at `stat`. Where nothing may be written, nothing is noted."""
        marks = self._read()
        marks.files[self._key(path)] = _Mark(size_bytes=stat.st_size, mtime_ns=stat.st_mtime_ns, sha256=sha256)
        self._write(marks)

    def _key(self, path: Path) -> str:
        return path.name if path.parent == self.folder else str(path)

    def _read(self) -> _Marks:
        try:
            return _Marks.model_validate_json((self.folder / NAME).read_bytes())
        except (OSError, ValidationError):
            return _Marks()

    def _write(self, marks: _Marks) -> None:
        with contextlib.suppress(OSError):
            self.folder.mkdir(parents=True, exist_ok=True)
            draft = self.folder / f"{NAME}.{os.getpid()}.{threading.get_ident()}"
            draft.write_text(marks.model_dump_json())
            draft.replace(self.folder / NAME)
