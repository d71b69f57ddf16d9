"""Where logs go: stderr, for people on a terminal and as JSON lines elsewhere. Never a secret, audio or words."""

from __future__ import annotations

import logging
import sys

import structlog


def set_up(*, verbose: bool = False) -> None:
    """Sets up structlog and the standard library's logging, which uvicorn uses."""
    # A plain traceback: the pretty one prints local variables, which hold words, audio and keys.
    renderer = (
        structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
        if sys.stderr.isatty()
        else structlog.processors.JSONRenderer(sort_keys=True)
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            *([] if sys.stderr.isatty() else [structlog.processors.format_exc_info]),
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.DEBUG if verbose else logging.INFO),
        logger_factory=structlog.PrintLoggerFactory(file=sys.stderr),
    )
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
