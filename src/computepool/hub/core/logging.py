"""Logs are an event plus ids: lines for a person at a terminal, JSON for a collector."""

import logging
import sys
from typing import TextIO, cast

import structlog


class _Stderr:
    """Whatever standard error is when something is written: it may be exchanged, and the old one closed."""

    def write(self, text: str) -> int:
        return sys.stderr.write(text)

    def flush(self) -> None:
        sys.stderr.flush()


def configure_logging(*, level: int = logging.INFO, json: bool | None = None, file: TextIO | None = None) -> None:
    """`json` unset: JSON unless a person is looking. `file` unset: standard error."""
    stream = file or cast(TextIO, _Stderr())
    as_json = not (file or sys.stderr).isatty() if json is None else json
    # Not the default of a console, which prints the variables of every function too: passwords are among them.
    for_a_person = structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
    renderer: structlog.typing.Processor = structlog.processors.JSONRenderer() if as_json else for_a_person
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.StackInfoRenderer(),
            *([structlog.processors.format_exc_info] if as_json else []),
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(stream),
    )
    logging.basicConfig(
        level=logging.WARNING, stream=cast(TextIO, _Stderr()), format="%(levelname)s %(name)s %(message)s"
    )
