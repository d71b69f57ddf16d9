"""`rth serve`: all surfaces on one port."""

from __future__ import annotations

import asyncio
import sys
import time
from typing import Annotated

import typer


def serve(
    host: Annotated[str, typer.Option(help="The address to listen on; 0.0.0.0 for every one.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 takes a free one.")] = 8080,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log more.")] = False,
) -> None:
    """Serve the embedded voice agent: HRP at /v1/realtime, and a page to talk to it at /."""
    from realtime_harness import app
    from realtime_harness.cli import logs
    from realtime_harness.config import read_or_make_key, read_settings
    from realtime_harness.serve import listen

    logs.set_up(verbose=verbose)
    settings = read_settings()
    key, where = read_or_make_key(settings)
    listening = listen(host, port)
    url = f"http://{_named(host)}:{listening.getsockname()[1]}"
    started = time.monotonic()

    def say_ready() -> None:
        print(f"Ready after {time.monotonic() - started:.1f} s. Stop with Ctrl-C.", flush=True)

    print(f"Realtime Harness at {url} (loading)")
    print(f"  OpenAI Realtime clients: {url.replace('http', 'ws', 1)}/v1/realtime")
    print(f"  key: in {where}")
    if sys.stdout.isatty():  # never into a log
        print(f"  talk to it: {url}/#key={key}")
    else:
        print(f"  talk to it: {url}/")
    sys.stdout.flush()
    asyncio.run(app.serve(settings, key, listening, on_ready=say_ready))


def _named(host: str) -> str:
    if host in ("0.0.0.0", "::", ""):  # noqa: S104 - shown, not bound
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host
