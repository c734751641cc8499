"""The agent's own log on this machine: what it kept, and what it writes now."""

import os
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import click

from computepool.cli.errors import CliError, clean
from computepool.cli.machine import agent_home
from computepool.cli.options import home_option

LOOK_SECONDS = 0.25


@click.command(epilog="Example: computepool agent logs -f --tail 50")
@click.option("-f", "--follow", is_flag=True, help="Go on with what is written from now; Ctrl-C ends it.")
@click.option("--tail", type=click.IntRange(min=0), metavar="N", help="Only the last N lines.")
@home_option
def logs(follow: bool, tail: int | None) -> None:
    """Print the log of the agent on this machine. A job's log is `computepool logs JOB`."""
    from computepool.agent.logsetup import LOG_NAME, log_files, log_folder

    root = agent_home().root
    newest = log_folder(root) / LOG_NAME
    if not log_files(root) and not follow:
        raise CliError(f"There is no log in {newest.parent} yet.", "The agent makes it: computepool agent start")
    reader = _Reader(newest)
    lines: Iterator[str] | deque[str] = _stored(log_files(root)[:-1], reader)
    for line in lines if tail is None else deque(lines, tail):
        click.echo(clean(line))
    while follow:
        for line in reader.lines():
            click.echo(clean(line))
        time.sleep(LOOK_SECONDS)


def _stored(older: list[Path], reader: "_Reader") -> Iterator[str]:
    for path in older:
        with path.open(encoding="utf-8", errors="replace") as file:
            yield from (line.rstrip("\n") for line in file)
    yield from reader.lines()


class _Reader:
    """The newest file, and the one that takes its place when it is full. Whole lines only."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[bytes] | None = None
        self._rest = b""

    def lines(self) -> Iterator[str]:
        """Those that came since the last look."""
        yield from self._new_lines()
        while self._is_replaced():
            # It was renamed after its last line: what came since we looked is still to be read.
            yield from self._new_lines()
            if self._file is not None:
                self._file.close()
            self._file, self._rest = self._path.open("rb"), b""
            yield from self._new_lines()

    def _new_lines(self) -> Iterator[str]:
        while self._file is not None and (piece := self._file.read(1 << 16)):
            *lines, self._rest = (self._rest + piece).split(b"\n")
            yield from (line.decode(errors="replace") for line in lines)

    def _is_replaced(self) -> bool:
        try:
            current = self._path.stat()
        except FileNotFoundError:
            return False
        return self._file is None or not os.path.samestat(os.fstat(self._file.fileno()), current)
