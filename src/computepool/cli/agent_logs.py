"""The agent's own log on this machine: what it kept, and what it writes now."""

import contextlib
import os
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import click

from computepool.cli.errors import CliError, clean
from computepool.cli.machine import agent_home
from computepool.cli.options import home_option

LOOK_SECONDS = 0.25


@click.command(epilog="Example: computepool agent logs -f --tail 50")
@click.option("-f", "--follow", is_flag=True, help="Print new lines as they are written; Ctrl-C ends it.")
@click.option("--tail", type=click.IntRange(min=0), metavar="N", help="Only the last N lines.")
@home_option
def logs(follow: bool, tail: int | None) -> None:
    """Print the log of the agent on this machine. A job's log is `computepool logs JOB`."""
    from computepool.agent.logsetup import log_files, log_folder

    root = agent_home().root
    if not log_files(root) and not follow:
        raise CliError(f"There is no log in {log_folder(root)} yet.", "The agent makes it: computepool agent start")
    with contextlib.closing(_Reader(lambda: log_files(root))) as reader:
        lines = reader.lines()
        for line in lines if tail is None else deque(lines, tail):
            click.echo(clean(line))
        while follow:
            time.sleep(LOOK_SECONDS)
            for line in reader.lines():
                click.echo(clean(line))


class _Reader:
    """One file after the other, from the oldest, and whatever is added later. Whole lines only."""

    def __init__(self, files: Callable[[], list[Path]]) -> None:
        self._files = files
        """Oldest first. Each moves one place towards the beginning when the newest is full."""
        self._file: IO[bytes] | None = None
        self._rest = b""

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def lines(self) -> Iterator[str]:
        """Those that came since the last look."""
        yield from self._new_lines()
        while (following := self._next()) is not None:
            # It was full before there was a next one: what came since we looked is still to be read.
            yield from self._new_lines()
            self.close()
            self._file, self._rest = following.open("rb"), b""
            yield from self._new_lines()

    def _new_lines(self) -> Iterator[str]:
        while self._file is not None and (piece := self._file.read(1 << 16)):
            *lines, self._rest = (self._rest + piece).split(b"\n")
            yield from (line.decode(errors="replace") for line in lines)

    def _next(self) -> Path | None:
        """The file after ours; the oldest that is left, if ours is gone or there was none."""
        found = self._files()
        if self._file is not None:
            ours = os.fstat(self._file.fileno())
            for place, path in enumerate(found):
                with contextlib.suppress(FileNotFoundError):
                    if os.path.samestat(ours, path.stat()):
                        return found[place + 1] if place + 1 < len(found) else None
        return found[0] if found else None
