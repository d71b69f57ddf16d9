"""What every command does for people: errors as one line and an exit code; their own key, where it may be used."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager

from realtime_harness.errors import ConfigError, ConnectFailed, HarnessError, ModelFileError, Unreadable

FAILED = 1
COULD_NOT_RUN = 2
INTERRUPTED = 130
_LOCAL = ("127.0.0.1", "localhost", "::1")


@contextmanager
def for_people() -> Generator[None]:
    """Turns our own errors into a line and an exit code: 2 where nothing could be tried, 1 where it failed."""
    try:
        yield
    except (ConfigError, ConnectFailed, ModelFileError, Unreadable) as problem:
        _end(problem, COULD_NOT_RUN)
    except HarnessError as problem:
        _end(problem, FAILED)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def _end(problem: HarnessError, code: int) -> None:
    print(f"error: {problem}", file=sys.stderr)
    sys.exit(code)


def key_for(url: str) -> str | None:
    """This user's own key, for a server on this machine only: no other is told it."""
    from urllib.parse import urlsplit

    from realtime_harness.config import read_key, read_settings

    settings = read_settings()
    if (urlsplit(url).hostname or "") in _LOCAL or settings.api_key is not None:
        return read_key(settings)
    return None
