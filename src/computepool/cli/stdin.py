"""What is piped into `run`: kept in a file, which goes along as an input and is the command's standard input."""

import os
import select
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from computepool.cli.errors import tell

FIRST_BYTE_SECONDS = 0.2
"""So long a pipe may be silent. One that says nothing may stay open for ever, as those of many CI systems do."""
STILL_READING_SECONDS = 2.0
COPY_BYTES = 1024 * 1024


@contextmanager
def kept_stdin(wanted: bool | None) -> Iterator[Path | None]:
    """A file with all of standard input; None where there is none to send.

    `wanted`: True waits for a pipe however long it is silent, False sends nothing. None sends a file from its beginning
    and a pipe that has something to say; a terminal, a device and a silent pipe are left alone.
    """
    source = _source(wanted)
    if source is None:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="computepool-") as folder:
        kept = Path(folder) / "stdin"
        size = _copy(source, kept)
        yield kept if size or wanted else None


def _source(wanted: bool | None) -> int | None:
    """The descriptor to read."""
    if wanted is False:
        return None
    try:
        descriptor = sys.stdin.fileno()
        mode = os.fstat(descriptor).st_mode
    except (OSError, ValueError, AttributeError):
        return None
    if wanted:
        return descriptor
    if stat.S_ISREG(mode):
        # In `while read …; do computepool run …; done < list` the rest of the file belongs to the loop.
        return descriptor if os.lseek(descriptor, 0, os.SEEK_CUR) == 0 else None
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        return None
    ready, _, _ = select.select([descriptor], [], [], FIRST_BYTE_SECONDS)
    if not ready:
        tell("note: nothing came on standard input, so the job gets none. To wait for it: --stdin", dim=True)
        return None
    return descriptor


def _copy(source: int, target: Path) -> int:
    size, told = 0, False
    with target.open("wb") as file:
        while True:
            if not told and not select.select([source], [], [], STILL_READING_SECONDS)[0]:
                tell("waiting for the end of standard input …", dim=True)
                told = True
            data = os.read(source, COPY_BYTES)
            if not data:
                return size
            size += file.write(data)
