"""The journal of decisions: one line of JSON each, for whoever runs the study. No words of anybody are in it."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import IO

import orjson

from realtime_harness.errors import ConfigError
from realtime_harness.realtime.wire import Json

MAX_BYTES = 64 * 1024 * 1024  # then the file becomes NAME.1, over an older one


class Journal:
    """Appends to a file that only this user may read. Used from one event loop: a line is written at once."""

    def __init__(self, path: Path) -> None:
        """Raises ConfigError where the file cannot be written."""
        self._path = path
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._file = self._opened()
        except OSError as problem:
            raise ConfigError(f"The journal {path} cannot be written: {problem}.") from None

    def write(self, entry: Json) -> None:
        """One more line. A full disk loses lines, never a decision."""
        with contextlib.suppress(OSError, ValueError):  # ValueError: it could not be opened again
            self._file.write(orjson.dumps(entry, option=orjson.OPT_APPEND_NEWLINE))
            self._file.flush()
            if self._file.tell() > MAX_BYTES:
                self._file.close()
                self._path.replace(self._path.with_name(self._path.name + ".1"))
                self._file = self._opened()

    def close(self) -> None:
        """May be called twice."""
        with contextlib.suppress(OSError):
            self._file.close()

    def _opened(self) -> IO[bytes]:
        if self._path.exists():
            self._path.chmod(0o600)
        return open(os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab")  # noqa: PTH123
