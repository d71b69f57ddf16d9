"""The database: SQLite in WAL by default, or what RTH_DATABASE_URL names; migrated when it is opened."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from sqlalchemy import Engine, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from realtime_harness.errors import ConfigError

BUSY_S = 10.0  # how long a writer waits for another process's


def open_database(url: str) -> Engine:
    """The engine, with every migration run. Blocks. Raises ConfigError that never shows the URL's password."""
    try:
        parsed = make_url(url)
    except ArgumentError:
        raise ConfigError(
            "The database's URL is none: expected sqlite:///PATH or postgresql+psycopg://USER@HOST/NAME."
        ) from None
    shown = parsed.render_as_string(hide_password=True)
    sqlite = parsed.get_backend_name() == "sqlite"
    if sqlite and parsed.database and parsed.database != ":memory:":
        try:
            Path(parsed.database).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as problem:
            raise ConfigError(f"The record {shown} cannot be opened: {problem}.") from None
    try:
        engine = create_engine(parsed, connect_args={"timeout": BUSY_S} if sqlite else {}, pool_pre_ping=not sqlite)
        if sqlite:
            event.listen(engine, "connect", _as_we_need_it)
        _migrate(engine)
    except (SQLAlchemyError, ImportError) as problem:
        reason = str(getattr(problem, "orig", None) or type(problem).__name__).splitlines()[0]
        raise ConfigError(f"The record {shown} cannot be opened: {reason}.") from None
    return engine


def _as_we_need_it(connection: Any, _record: Any) -> None:
    cursor = connection.cursor()
    for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _migrate(engine: Engine) -> None:
    config = Config()
    config.set_main_option("script_location", str(files("realtime_harness.record") / "migrations"))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
