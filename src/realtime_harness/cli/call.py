"""`rth call`: plays speech into a live agent; both sides' words as they come, and how fast it was."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from realtime_harness.cli.people import FAILED, key_for

if TYPE_CHECKING:
    from rich.console import Console

    from realtime_harness.cli.dialogue import Outcome, Script

DEFAULT_URL = "http://127.0.0.1:8080"
INTERRUPTION = "Wait, stop there please. What is two plus two?"


def call(
    url: Annotated[str, typer.Argument(help="The server's root, or the WebSocket's own URL.")] = DEFAULT_URL,
    wav: Annotated[Path | None, typer.Option(help="Speech to send: a 16-bit PCM WAV file.")] = None,
    say: Annotated[str | None, typer.Option(help="Words to send, spoken by the local voice.")] = None,
    out: Annotated[Path | None, typer.Option(help="Where the answer's audio goes, as far as it was heard.")] = None,
    tool: Annotated[bool, typer.Option("--tool", help="Offer a get_weather tool, and answer its calls.")] = False,
    interrupt_at: Annotated[
        int | None, typer.Option(min=0, metavar="MS", help="Speak into the answer after so much of it was heard.")
    ] = None,
    api_key: Annotated[
        str | None, typer.Option(help="The server's key. Without it: RTH_API_KEY, or this user's key file.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="Which engine or model to ask for.")] = None,
) -> None:
    """Call an agent: --say TEXT or --wav FILE goes in, its answer comes back. Exit 0 went well, 1 failed, 2 could not run."""
    from rich.console import Console

    from realtime_harness.cli.dialogue import Script
    from realtime_harness.client import hrp_url

    if (wav is None) == (say is None):
        raise typer.BadParameter("give --say TEXT or --wav FILE, one of them")
    console = Console(highlight=False)
    where = hrp_url(url, model)
    speak = _speaker(needed=say is not None) if wav is None or interrupt_at is not None else None
    speech = _speech(wav, say, speak)
    interruption = speech if speak is None else b""
    if interrupt_at is not None and speak is not None:
        interruption = speak(INTERRUPTION)
    script = Script(speech, tool, interrupt_at, interruption)
    outcome = asyncio.run(_call(where, api_key or key_for(where), script, console))
    if out is not None:
        from realtime_harness.audio.wav import write_wav

        write_wav(out, outcome.heard)
        console.print(f"{len(outcome.heard) / 48_000:.1f} s of the answer in {out}", style="dim")
    _report(outcome, console)
    if outcome.failures:
        raise typer.Exit(FAILED)


async def _call(url: str, key: str | None, script: Script, console: Console) -> Outcome:
    from realtime_harness.cli.dialogue import hold
    from realtime_harness.cli.transcript import Transcript
    from realtime_harness.client import connect_websocket
    from realtime_harness.clock import SystemClock

    transcript = Transcript(console)
    async with await connect_websocket(url, key) as transport:
        try:
            return await hold(transport, SystemClock(), script, transcript.show)
        finally:
            transcript.end_line()


def _speech(wav: Path | None, say: str | None, speak: Callable[[str], bytes] | None) -> bytes:
    if wav is not None:
        from realtime_harness.audio.wav import read_wav

        return read_wav(wav)
    return speak(say or "") if speak is not None else b""


def _speaker(*, needed: bool) -> Callable[[str], bytes] | None:
    """The local voice; None where it is not needed and not installed."""
    from realtime_harness.app import local_speech
    from realtime_harness.errors import ConfigError

    try:
        return local_speech()
    except ConfigError:
        if needed:
            raise
        return None


def _report(outcome: Outcome, console: Console) -> None:
    from rich.table import Table

    table = Table(title="Timings", title_justify="left", box=None, padding=(0, 2, 0, 0))
    table.add_column("from / to")
    table.add_column("ms", justify="right")
    for timing in (*outcome.turn, *outcome.interruption):
        table.add_row(timing.name, f"{timing.ms}")
    if table.row_count:
        console.print()
        console.print(table)
    for failure in outcome.failures:
        console.print(failure, style="bold red")
