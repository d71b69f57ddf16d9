"""One door to native libraries that carry no types: what comes through it is cast to a Protocol at once."""

from __future__ import annotations

import importlib
from types import ModuleType

from realtime_harness.errors import ConfigError


def native(module: str) -> ModuleType:
    """The library called `module`. Raises ConfigError, with the command that installs it, if it is not there."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ConfigError(
            f"The local engine needs the library {module!r}, which is not usable here ({error}). "
            "Run: pip install 'realtime-harness[local]'"
        ) from error
