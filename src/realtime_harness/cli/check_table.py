"""The results of a suite in the terminal, as they come: a live table, or a line each where there is no terminal."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.table import Table

from realtime_harness.conformance.report import Report, Result

STYLES = {"passed": "green", "failed": "bold red", "unsupported": "yellow", "running": "cyan", "": "dim"}


class CheckTable:
    """A context: live while the suite runs."""

    def __init__(self, console: Console, names: Sequence[str]) -> None:
        self._console = console
        self._rows: dict[str, Result | str] = dict.fromkeys(names, "")
        self._live = Live(self._table(), console=console, refresh_per_second=4) if console.is_terminal else None

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, name: str, result: Result | None) -> None:
        """A check has begun (no result), or ended."""
        self._rows[name] = "running" if result is None else result
        if self._live is not None:
            self._live.update(self._table())
        elif result is not None:
            self._console.print(
                f"{result.status:<12}{escape(name):<42}{result.took_ms / 1000:6.1f} s  {escape(_remark(result))}",
                soft_wrap=True,
            )

    def conclude(self, report: Report) -> None:
        """The faults in full, the figures, and how many passed."""
        for result in report.results:
            for fault in result.faults:
                self._console.print(f"[red]{escape(result.name)}[/red]  {escape(str(fault))}", soft_wrap=True)
            for note in (*result.notes, *([result.spoilt] if result.spoilt else [])):
                self._console.print(f"[yellow]{escape(result.name)}[/yellow]  {escape(note)}", soft_wrap=True)
        for name, value in report.extras.items():
            self._console.print(f"{name}: {value}", style="dim", markup=False, soft_wrap=True)
        passed, of = report.count("passed"), len(report.results)
        style = "bold green" if passed == of else "bold red"
        others = f", {report.count('unsupported')} unsupported" if report.count("unsupported") else ""
        self._console.print(
            f"{passed} of {of} passed{others}: {report.model or 'no engine'}", style=style, markup=False
        )

    def _table(self) -> Table:
        table = Table(box=None, padding=(0, 2, 0, 0))
        for title in ("", "check", "s", ""):
            table.add_column(title, justify="right" if title == "s" else "left", overflow="fold")
        for name, row in self._rows.items():
            cells: tuple[str, str, str, str]
            if isinstance(row, Result):
                style = STYLES[row.status]
                cells = (
                    f"[{style}]{row.status}[/{style}]",
                    escape(name),
                    f"{row.took_ms / 1000:.1f}",
                    escape(_remark(row)),
                )
            else:
                cells = (f"[{STYLES[row]}]{row or 'waiting'}[/{STYLES[row]}]", escape(name), "", "")
            table.add_row(*cells)
        return table


def _remark(result: Result) -> str:
    """The first fault's rule, or a grade."""
    for fault in result.faults:
        more = f" (+{len(result.faults) - 1})" if len(result.faults) > 1 else ""
        return fault.rule + more
    return "truncate " + result.grades["truncate"] if "truncate" in result.grades else ""
