"""`rth models`: list, fetch and verify the weights."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars

from realtime_harness.cli.people import FAILED
from realtime_harness.errors import ModelFileError
from realtime_harness.models import ModelStore, Progress, ProgressCallback, State, Status
from realtime_harness.models.defaults import (
    DEFAULT_MIND,
    SMALL_MIND,
    SPEECH_MODELS,
    available_memory_bytes,
    fetch_mind,
)

app = typer.Typer(help="The weights of the local engine: list, fetch, verify.", no_args_is_help=True)

Names = Annotated[
    list[str] | None, typer.Argument(metavar="[NAME]...", help="Models, as `rth models list` names them.")
]


@app.command("list")
def list_models(as_json: Annotated[bool, typer.Option("--json", help="One JSON array, for programs.")] = False) -> None:
    """Show every model: state, size, licence, and where it is."""
    store = ModelStore()
    statuses = [store.status(name) for name in store.manifest]
    if as_json:
        print(json.dumps([_as_dict(status) for status in statuses], indent=2))
    else:
        print(*_lines_of(statuses), f"kept in {store.root}", sep="\n")


@app.command()
def fetch(
    names: Names = None,
    everything: Annotated[bool, typer.Option("--all", help="Every model of the manifest.")] = False,
) -> None:
    """Bring models and check them. With no name: what `rth serve` needs, with the largest mind that fits."""
    store = ModelStore()
    with _progress() as progress:
        for name in names or (store.manifest if everything else SPEECH_MODELS):
            _say_ready(name, str(store.fetch(name, progress)))
        if not names and not everything:
            mind = fetch_mind(store, progress, available_bytes=available_memory_bytes())
            if mind.reason:
                typer.echo(f"{SMALL_MIND} in place of {DEFAULT_MIND}: {mind.reason}", err=True)
            _say_ready(mind.name, str(mind.path))


@app.command()
def verify(names: Names = None) -> None:
    """Hash every file of these models, or of all that are here. Exit 1 if one is missing, short or wrong."""
    store = ModelStore()
    present = [name for name in store.manifest if store.status(name).state is not State.MISSING]
    if not names and not present:
        raise ModelFileError(f"there is no model in {store.root}. To bring what is needed, run: rth models fetch")
    failed = False
    for name in names or present:
        try:
            status = store.verify(name)
        except ModelFileError as error:
            failed = True
            typer.echo(f"error: {error}", err=True)
        else:
            what = "the official files" if status.state is State.READY else "your own copy, not the official file"
            typer.echo(f"{name}: {what}, {_size(status.present_bytes)}, {status.path}")
    if failed:
        raise typer.Exit(FAILED)


def _say_ready(name: str, path: str) -> None:
    typer.echo(f"{name}: ready, {path}")


def _lines_of(statuses: list[Status]) -> list[str]:
    """Aligned columns, the last one only for copies of the user's own."""
    rows = [("MODEL", "STATE", "SIZE", "LICENCE", "FOR")]
    for status in statuses:
        model = status.model
        where = f"{model.role}, {status.path}" if status.state is State.OWN else model.role
        rows.append((model.name, status.state, _size(model.size_bytes), model.licence, where))
    name, state, size, licence, _ = (max(len(row[column]) for row in rows) for column in range(5))
    return [f"{a:<{name}}  {b:<{state}}  {c:>{size}}  {d:<{licence}}  {e}" for a, b, c, d, e in rows]


def _as_dict(status: Status) -> dict[str, object]:
    model = status.model
    return {
        "name": model.name,
        "title": model.title,
        "role": model.role,
        "state": status.state,
        "size_bytes": model.size_bytes,
        "present_bytes": status.present_bytes,
        "licence": model.licence,
        "upstream": model.hub_repo,
        "path": str(status.path),
        "files": [{"name": file.name, "size_bytes": file.size_bytes, "sha256": file.sha256} for file in model.files],
    }


def _size(count: int) -> str:
    return f"{count / 1e6:,.1f} MB"


@contextmanager
def _progress() -> Generator[ProgressCallback]:
    """A bar on a terminal; a line per model and source, and per quarter, anywhere else."""
    console = Console(stderr=True, highlight=False)
    if not console.is_terminal:
        yield _quarters(lambda line: typer.echo(line, err=True))
        return
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeElapsedColumn())
    with Bars(*columns, console=console, transient=True) as bars:
        tasks: dict[str, TaskID] = {}

        def show(progress: Progress) -> None:
            task = tasks.get(progress.model)
            if task is None:
                task = tasks[progress.model] = bars.add_task(progress.model, total=progress.total_bytes)
            bars.update(task, completed=progress.done_bytes, description=f"{progress.model} ({progress.source})")

        yield show


def _quarters(write: Callable[[str], None]) -> ProgressCallback:
    said: set[tuple[str, str, int]] = set()

    def show(progress: Progress) -> None:
        quarter = 4 * progress.done_bytes // progress.total_bytes
        key = (progress.model, progress.source, quarter)
        if key not in said:
            said.add(key)
            write(f"{progress.model}: {25 * quarter} % of {_size(progress.total_bytes)}, from {progress.source}")

    return show
