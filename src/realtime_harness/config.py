"""Settings: read from the environment (`RTH_...`), and the key that protects the server.

RTH_API_KEY              the key; without it, the one in ~/.config/realtime-harness/key, made on first run
RTH_MIND                 what the local engine thinks with: embedded, embedded:1.5b, embedded:0.5b or http://HOST/v1#MODEL
RTH_MIND_API_KEY         the key of that server, if it needs one
RTH_LOCAL_CAPACITY       calls at once of the local engine; without it, as many as were measured to fit this machine
RTH_MAX_CALLS            calls at once, of all engines together
RTH_MAX_CALLS_PER_KEY    calls at once of one key
RTH_MAX_DURATION_S       how long one call may last
RTH_IDLE_S               how long a call may last in which nothing happens
RTH_DRAIN_S              what running calls still get when the server is told to stop
RTH_DATABASE_URL         where the record is: sqlite:///PATH or postgresql+psycopg://...; without it, in this user's state directory
RTH_DECISION_TIMEOUT_S   how long one answer of the model endpoint may take
RTH_DECISION_JOURNAL     where its decisions are put down, or "off"; without it, in this user's state directory
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import Annotated

from platformdirs import user_state_path
from pydantic import Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from realtime_harness.errors import ConfigError

KEY_VARIABLE = "RTH_API_KEY"
MIND_VARIABLE = "RTH_MIND"
MIND_KEY_VARIABLE = "RTH_MIND_API_KEY"
CAPACITY_VARIABLE = "RTH_LOCAL_CAPACITY"
DATABASE_VARIABLE = "RTH_DATABASE_URL"
MIN_KEY_CHARS = 8
_Seconds = Annotated[float, Field(gt=0, le=7 * 24 * 3600)]


class Settings(BaseSettings):
    """What the environment says. Make it by `read_settings`."""

    model_config = SettingsConfigDict(env_prefix="RTH_", extra="ignore", frozen=True)

    api_key: SecretStr | None = None
    mind: str = "embedded"
    mind_api_key: SecretStr | None = None
    local_capacity: Annotated[int, Field(ge=1, le=1_000)] | None = None
    max_calls: Annotated[int, Field(ge=1)] = 1_000
    max_calls_per_key: Annotated[int, Field(ge=1)] = 100
    max_duration_s: _Seconds = 3600.0
    idle_s: _Seconds = 900.0
    drain_s: Annotated[float, Field(ge=0, le=3600)] = 10.0
    database_url: SecretStr | None = None
    decision_timeout_s: Annotated[float, Field(ge=10, le=300)] = 55.0
    decision_journal: str | None = None


def read_settings() -> Settings:
    """The settings of this process. Raises ConfigError that names the variable, what was expected and what came."""
    try:
        return Settings()
    except ValidationError as problem:
        first = problem.errors(include_url=False, include_context=False)[0]
        variable = "RTH_" + "_".join(str(step) for step in first["loc"]).upper()
        secret = (KEY_VARIABLE, MIND_KEY_VARIABLE, DATABASE_VARIABLE)
        shown = "" if variable in secret else f"; got {str(first['input'])[:60]!r}"
        raise ConfigError(f"{variable}: {first['msg']}{shown}.") from None


def key_path() -> Path:
    """Where the key of this user's server is kept."""
    return Path.home() / ".config" / "realtime-harness" / "key"


def journal_path(settings: Settings) -> Path | None:
    """Where decisions are put down; None where they are not."""
    if settings.decision_journal == "off":
        return None
    if settings.decision_journal:
        return Path(settings.decision_journal)
    return user_state_path("realtime-harness", appauthor=False) / "decisions.jsonl"


def database_url(settings: Settings) -> str:
    """Where the record is. It may hold a password: never shown."""
    if settings.database_url is not None and settings.database_url.get_secret_value():
        return settings.database_url.get_secret_value()
    return f"sqlite:///{user_state_path('realtime-harness', appauthor=False) / 'record.sqlite3'}"


def read_key(settings: Settings) -> str | None:
    """The key in use: RTH_API_KEY, or the key file's; None where there is neither. Raises ConfigError for a bad one."""
    if settings.api_key is not None and settings.api_key.get_secret_value().strip():
        return _checked(settings.api_key.get_secret_value(), KEY_VARIABLE)
    path = key_path()
    try:
        return _checked(path.read_text(encoding="utf-8"), str(path))
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as problem:
        raise ConfigError(f"The key file {path} cannot be read: {problem}.") from None


def read_or_make_key(settings: Settings) -> tuple[str, str]:
    """The key, and where it is, in words. Made on first run: the file is 0600 in a directory of 0700."""
    key = read_key(settings)
    if key is not None:
        from_environment = settings.api_key is not None and settings.api_key.get_secret_value().strip()
        return key, KEY_VARIABLE if from_environment else str(key_path())
    path = key_path()
    made = f"rth-{secrets.token_urlsafe(32)}"
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.parent.chmod(0o700)
        # Exclusive, so that of two servers that start at once one makes it and the other reads it.
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:  # noqa: PTH123
            file.write(made + "\n")
    except FileExistsError:
        return read_or_make_key(settings)
    except OSError as problem:
        raise ConfigError(
            f"A key cannot be kept in {path}: {problem}. Set {KEY_VARIABLE} to one of your own."
        ) from None
    return made, str(path)


def _checked(key: str, where: str) -> str:
    key = key.strip()
    if len(key) < MIN_KEY_CHARS or not key.isascii() or not key.isprintable() or " " in key:
        raise ConfigError(
            f"The key in {where} is no key: expected at least {MIN_KEY_CHARS} printable ASCII characters without spaces; "
            f"got {len(key)} characters."
        )
    return key
