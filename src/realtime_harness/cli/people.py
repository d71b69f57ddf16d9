"""Errors for people: one line on stderr and an exit code, in place of a traceback."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager

from realtime_harness.errors import ConfigError, ConnectFailed, HarnessError, ModelFileError

FAILED = 1
COULD_NOT_RUN = 2
INTERRUPTED = 130


@contextmanager
def for_people() -> Generator[None]:
    """Turns our own errors into a line and an exit code: 2 where nothing could be tried, 1 where it failed."""
    try:
        yield
    except (ConfigError, ConnectFailed, ModelFileError) as problem:
        _end(problem, COULD_NOT_RUN)
    except HarnessError as problem:
        _end(problem, FAILED)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def _end(problem: HarnessError, code: int) -> None:
    print(f"error: {problem}", file=sys.stderr)
    sys.exit(code)
