"""A command on a terminal of its own, and a person who types."""

import fcntl
import os
import pty
import select
import signal
import subprocess
import sys
import termios
from collections.abc import Mapping, Sequence
from pathlib import Path

from support.waiting import patience

COMPUTEPOOL = [sys.executable, "-P", "-m", "computepool"]


class Terminal:
    """`stdout` can be kept apart in a file, as in `computepool run … > file`."""

    def __init__(self, words: Sequence[str], env: Mapping[str, str], cwd: Path, stdout: Path | None = None) -> None:
        self._master, slave = pty.openpty()
        self.seen = b""
        out = stdout.open("wb") if stdout is not None else None
        self.process = subprocess.Popen(
            [*COMPUTEPOOL, *words],
            stdin=slave,
            stdout=out or slave,
            stderr=slave,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "120", **env},
            cwd=cwd,
            start_new_session=True,
            # The session's terminal, so that Ctrl-C becomes a signal. It calls nothing that a thread could hold locked.
            preexec_fn=lambda: _take_terminal(slave),  # noqa: PLW1509
        )
        os.close(slave)
        if out is not None:
            out.close()

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._master)

    def wait_for(self, text: bytes) -> None:
        """Until it was shown, after what was waited for before."""
        while text not in self.seen:
            assert self._read(), f"{text!r} never came; this did: {self.seen!r}"
        self.seen = self.seen.partition(text)[2]

    def type(self, keys: bytes) -> None:
        os.write(self._master, keys)

    def end(self) -> int:
        while self._read():
            pass
        return self.process.wait(patience())

    def _read(self) -> bool:
        ready, _, _ = select.select([self._master], [], [], patience())
        if not ready:
            return False
        try:
            data = os.read(self._master, 65536)
        except OSError:
            return False
        self.seen += data
        return bool(data)


def _take_terminal(slave: int) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
