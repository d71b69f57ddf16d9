"""`rth`: one module for each command. Nothing heavy is imported before a command needs it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from realtime_harness import __version__
from realtime_harness.cli.call import call
from realtime_harness.cli.people import for_people
from realtime_harness.cli.serve import serve


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"rth {__version__}")
        raise typer.Exit


def _top(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Puts any realtime voice model behind a stable contract."""


def build(arguments: Sequence[str]) -> typer.Typer:
    """The whole command; of its parts that are slow to import only what `arguments` need."""
    app = typer.Typer(
        name="rth",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    app.callback()(_top)
    app.command()(serve)
    app.command()(call)
    if not arguments or arguments[0] not in ("serve", "call"):
        from realtime_harness.cli import check, models, spec
        from realtime_harness.cli.tunnel import tunnel

        app.command()(tunnel)
        app.add_typer(check.app, name="check")
        app.add_typer(models.app, name="models")
        app.add_typer(spec.app, name="spec")
    return app


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs `rth`. Ends the process: 0 done, 1 failed, 2 could not run."""
    with for_people():
        given = list(sys.argv[1:] if arguments is None else arguments)
        build(given)(args=given)
