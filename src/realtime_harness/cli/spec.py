"""`rth spec`: the study contract as a document, its changelog, and what changed between two versions of it."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from realtime_harness.cli.people import FAILED
from realtime_harness.errors import ConfigError, InvalidEvent
from realtime_harness.hyperstudy import spec
from realtime_harness.hyperstudy.spec_diff import Change, diff
from realtime_harness.realtime.wire import Json, load_object

app = typer.Typer(help="agent-spec.json, the contract between a study and an agent.", invoke_without_command=True)
MAX_SHOWN_CHARS = 60


@app.callback()
def print_spec(
    context: typer.Context,
    version: Annotated[
        str | None, typer.Option(help="A published version, or latest; without it, what this program is built to.")
    ] = None,
) -> None:
    """Print agent-spec.json, the contract between a study and an agent."""
    if context.invoked_subcommand is None:
        print(spec.to_text(spec.document()) if version is None else spec.published(version), end="")


@app.command("versions")
def list_versions() -> None:
    """List the published versions, oldest first."""
    print(*spec.versions(), sep="\n")


@app.command("changelog")
def print_changelog() -> None:
    """Print what changed from version to version."""
    print(spec.changelog(), end="")


@app.command("diff")
def print_diff(
    before: Annotated[str, typer.Argument(metavar="A", help="A version, latest, or a file.")],
    after: Annotated[str, typer.Argument(metavar="B", help="A version, latest, or a file.")],
    as_json: Annotated[bool, typer.Option("--json", help="One JSON array, for programs.")] = False,
) -> None:
    """Say what changed from A to B, and what of it breaks an adapter built to A. Exit 1 if something does."""
    changes = diff(_read(before), _read(after))
    breaking = sum(change.breaks for change in changes)
    if as_json:
        print(json.dumps([asdict(change) for change in changes], indent=2, ensure_ascii=False))
    else:
        print(*(_line(change) for change in sorted(changes, key=lambda change: not change.breaks)), sep="\n", end="")
        print(f"{chr(10) if changes else ''}{len(changes)} changes, {breaking} of which break an adapter.")
    if breaking:
        raise typer.Exit(FAILED)


def _read(name: str) -> Json:
    """The document of a version, or of a file. Raises ConfigError that says what was expected and what came."""
    if name == spec.LATEST or name in spec.versions():
        return load_object(spec.published(name))
    try:
        text = Path(name).read_bytes()
    except OSError as problem:
        known = ", ".join(spec.versions())
        raise ConfigError(
            f"{name}: expected a version ({known}, {spec.LATEST}) or a file; got neither ({problem.strerror})."
        ) from None
    try:
        document = load_object(text)
    except InvalidEvent as problem:
        raise ConfigError(f"{name}: expected an agent-spec.json. {problem.message}") from None
    if not isinstance(document.get("specVersion"), str):
        raise ConfigError(f"{name}: expected an agent-spec.json, which has a specVersion; got other JSON.")
    return document


def _line(change: Change) -> str:
    values = {
        "added": "" if change.after is None else f": {_shown(change.after)}",
        "removed": "" if change.before is None else f": {_shown(change.before)}",
        "changed": f": {_shown(change.before)} -> {_shown(change.after)}",
    }[change.kind]
    return f"{'BREAKS' if change.breaks else 'ok    '}  {change.kind} {change.path}{values} ({change.why})"


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MAX_SHOWN_CHARS else f"{text[: MAX_SHOWN_CHARS - 4]} ..."
