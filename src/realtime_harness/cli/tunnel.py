"""`rth tunnel`: a public https URL for this machine's server, by a tunnel program that is installed, and checked through it."""

from __future__ import annotations

import asyncio
import contextlib
import re
import shutil
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated

import typer

from realtime_harness.cli.people import FAILED, key_for
from realtime_harness.errors import ConfigError, ConnectFailed

URL_S = 60.0  # how long a program may take to say its URL
PUBLIC_S = 60.0  # how long a new name may take to be known
AGAIN_S = 2.0
END_S = 5.0
MAX_LINE_BYTES = 65_536


@dataclass(frozen=True, slots=True)
class Program:
    """A tunnel program: its arguments before the port's URL, and how it says its public URL."""

    name: str
    arguments: tuple[str, ...]
    url: re.Pattern[str]


PROGRAMS = (
    Program(
        "cloudflared", ("tunnel", "--no-autoupdate", "--url"), re.compile(r"https://[a-z0-9-]+\.trycloudflare\.com")
    ),
    Program("tailscale", ("funnel",), re.compile(r"https://[a-z0-9.-]+\.ts\.net")),
)


def tunnel(
    port: Annotated[int, typer.Option(min=1, max=65_535, help="Where `rth serve` listens on this machine.")] = 8080,
    program: Annotated[
        str | None, typer.Option(help="cloudflared or tailscale; without it, whichever is there.")
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="End when the check is done.")] = False,
) -> None:
    """Open a tunnel to this machine's server and check its model endpoint through the public URL. Ends with Ctrl-C."""
    if not asyncio.run(_tunnel(port, _found(program), once=once)):
        raise typer.Exit(FAILED)


def _found(wanted: str | None) -> tuple[Program, str]:
    """The program to use and where it is. Raises ConfigError where there is none."""
    chosen = [each for each in PROGRAMS if wanted in (None, each.name)]
    names = " or ".join(each.name for each in chosen) or " or ".join(each.name for each in PROGRAMS)
    for each in chosen:
        if path := shutil.which(each.name):
            return each, path
    raise ConfigError(
        f"A tunnel needs {names}, and it is not installed (not on PATH). Install it, or use a proxy of your own."
    )


async def _tunnel(port: int, found: tuple[Program, str], *, once: bool) -> bool:
    program, path = found
    target = f"http://127.0.0.1:{port}"
    async with _running([path, *program.arguments, target]) as process:
        url = await _url_of(program, process)
        print(
            f"public URL: {url}\n  model endpoint: {url}/v1\n  voice engine: {url.replace('https', 'wss', 1)}/v1/realtime"
        )
        draining = asyncio.create_task(_drained(process), name="tunnel program")  # so that it is never held up
        try:
            passed = await _check(f"{url}/v1/", key_for(target) or "")
            if once or not passed:
                return passed
            print("The tunnel is open. Stop with Ctrl-C.", flush=True)
            await draining
        finally:
            draining.cancel()
    return True


@asynccontextmanager
async def _running(command: Sequence[str]) -> AsyncGenerator[asyncio.subprocess.Process]:
    """The program, which is ended with us."""
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        limit=MAX_LINE_BYTES,
    )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        try:
            async with asyncio.timeout(END_S):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()


async def _lines(process: asyncio.subprocess.Process) -> AsyncGenerator[str]:
    assert process.stdout is not None  # noqa: S101 - asked for above
    while True:
        try:
            line = await process.stdout.readline()
        except ValueError:  # a line that is too long: what was read of it is dropped
            continue
        if not line:
            return
        yield line.decode(errors="replace").rstrip()


async def _url_of(program: Program, process: asyncio.subprocess.Process) -> str:
    """The public URL, once the program says it. Raises ConnectFailed."""
    last = "it said nothing"
    try:
        async with asyncio.timeout(URL_S):
            async for line in _lines(process):
                if match := program.url.search(line):
                    return match[0]
                last = line or last
    except TimeoutError:
        raise ConnectFailed(
            f"{program.name} named no public URL within {URL_S:g} s; the last it said: {last[:200]}"
        ) from None
    raise ConnectFailed(f"{program.name} ended without a public URL; the last it said: {last[:200]}")


async def _drained(process: asyncio.subprocess.Process) -> None:
    """Reads what the program says, until it ends."""
    async for _ in _lines(process):
        pass


async def _check(root: str, key: str) -> bool:
    """The connection test and the keys, through the public URL; a new name may take a while to be known."""
    import httpx2
    from rich.console import Console

    from realtime_harness.cli.check_table import CheckTable
    from realtime_harness.conformance.endpoint.suite import EndpointOptions, run_suite

    options = EndpointOptions(only=("models", "connection", "auth"))
    give_up = asyncio.get_running_loop().time() + PUBLIC_S
    async with httpx2.AsyncClient(base_url=root, follow_redirects=False) as http:
        while True:
            table = CheckTable(Console(highlight=False), options.only)
            try:
                report = await run_suite(http, key, options)
            except ConnectFailed as problem:
                if asyncio.get_running_loop().time() >= give_up:
                    raise ConnectFailed(f"The tunnel is open, but nothing answers through it: {problem}") from None
                await asyncio.sleep(AGAIN_S)
                continue
            table.conclude(report)
            return report.passed()
