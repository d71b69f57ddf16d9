"""A lock between processes, held as long as the file is open: a killed holder lets go of it."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

if sys.platform == "win32":
    import msvcrt
    import time

    @contextmanager
    def hold(path: Path) -> Generator[None]:
        """Wait for the lock, then hold it for the length of the block."""
        with path.open("ab") as file:
            file.seek(0)
            while True:
                try:
                    msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
                    break
                except OSError:
                    time.sleep(0.2)
            try:
                yield
            finally:
                file.seek(0)
                msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    @contextmanager
    def hold(path: Path) -> Generator[None]:
        """Wait for the lock, then hold it for the length of the block."""
        with path.open("ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
