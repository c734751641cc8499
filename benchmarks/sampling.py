"""A program of the pool with a watcher inside: what its threads spend processor time on, put into few drawers.

`python -m benchmarks.sampling FOLDER hub serve …` is `computepool hub serve …`. SIGUSR1 begins, SIGUSR2 ends; what was
seen is written to FOLDER when the program ends. It looks many times a second: what a thread used since the last look
is put down to where it is now. The watcher waits for the interpreter's lock like any thread, so what gives the lock
up, such as a commit or work on files, is seen somewhat more often than its due.
"""

import json
import os
import signal
import sys
import threading
import time
from collections import defaultdict
from pathlib import Path
from types import FrameType

INTERVAL_SECONDS = 0.002
SWITCH_SECONDS = 0.0002
"""So that the watcher gets its turn soon, not when the watched thread next waits for something."""

WAITING = (
    ("selectors.py", "select"),
    ("threading.py", "wait"),
    ("concurrent/futures/thread.py", "_worker"),
    ("hub/core/db.py", "_next_group"),
    ("asyncio/unix_events.py", "_do_waitpid"),
    ("cli/machine.py", "_end_with_parent"),
)
"""Where a thread has nothing to do: (end of the file's path, function). What it did just before is not known then."""

WHOLE = (
    ("protocol/spec", "reading the spec"),
    ("protocol/units.py", "reading the spec"),
    ("protocol/gpus.py", "reading the spec"),
    ("protocol/signing.py", "signatures"),
    ("hub/core/keyring.py", "signatures"),
)
"""Drawers that take everything that is called from there."""

DRAWERS = (
    ("do_commit", "commit"),
    ("/sqlalchemy/", "database statements"),
    ("hub/core/db.py", "database statements"),
    ("hub/core/records.py", "database statements"),
    ("/pydantic", "JSON and models"),
    ("/json/", "JSON and models"),
    ("protocol/model.py", "JSON and models"),
    ("protocol/messages.py", "JSON and models"),
    ("/websockets/", "WebSocket"),
    ("uvicorn/protocols/websockets", "WebSocket"),
    ("/uvicorn/", "HTTP server"),
    ("/starlette/", "HTTP routing and checks"),
    ("/fastapi/", "HTTP routing and checks"),
    ("/anyio/", "HTTP routing and checks"),
    ("hub/core/http", "HTTP routing and checks"),
    ("hub/accounts/", "HTTP routing and checks"),
    ("hub/artifacts/", "log store"),
    ("hub/scheduling/", "scheduling"),
    ("hub/jobs/", "jobs and gateway"),
    ("hub/gateway/", "jobs and gateway"),
    ("/structlog/", "logging"),
    ("/logging/", "logging"),
    ("agent/sandbox/", "sandbox: start, limits, end"),
    ("subprocess.py", "sandbox: start, limits, end"),
    ("agent/folders.py", "attempt folders"),
    ("agent/journal.py", "journal and spool"),
    ("agent/spool.py", "journal and spool"),
    ("computepool/agent/", "agent: supervisor and runner"),
    ("/asyncio/", "event loop and hand-over between threads"),
    ("concurrent/futures/", "event loop and hand-over between threads"),
)
"""Of the innermost frame that is known: (part of the path, or the function's name), drawer."""


class Watcher:
    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        """Of processor time, by drawer."""
        self._used: dict[int, float] = {}
        """Processor time of each thread when it was last looked at: who waits uses none."""
        self._watching = threading.Event()
        self._drawers: dict[tuple[str, str], str | None] = {}

    def begin(self, *_: object) -> None:
        self._watching.set()

    def end(self, *_: object) -> None:
        self._watching.clear()

    def watch(self) -> None:
        while True:
            self._watching.wait()
            self._look()
            self.seconds.clear()  # of what was used before
            while self._watching.is_set():
                time.sleep(INTERVAL_SECONDS)
                self._look()

    def _look(self) -> None:
        used: dict[int, float] = {}
        for thread, frame in sys._current_frames().items():
            if thread != threading.get_ident():
                used[thread] = time.clock_gettime(time.pthread_getcpuclockid(thread))
                if not _waits(frame):
                    self.seconds[self._drawer(frame)] += used[thread] - self._used.get(thread, 0.0)
        self._used = used

    def _drawer(self, innermost: FrameType) -> str:
        found: str | None = None
        frame: FrameType | None = innermost
        while frame is not None:
            path = frame.f_code.co_filename
            for part, drawer in WHOLE:
                if part in path:
                    return drawer
            found = found or self._known(path, frame.f_code.co_name)
            frame = frame.f_back
        return found or "other"

    def _known(self, path: str, function: str) -> str | None:
        key = (path, function)
        if key not in self._drawers:
            drawers = (drawer for part, drawer in DRAWERS if part in path or part == function)
            self._drawers[key] = next(drawers, None)
        return self._drawers[key]


def _waits(frame: FrameType) -> bool:
    path, function = frame.f_code.co_filename, frame.f_code.co_name
    return any(function == name and path.endswith(end) for end, name in WAITING)


def main() -> None:
    folder, words = Path(sys.argv[1]), sys.argv[2:]
    watcher = Watcher()
    signal.signal(signal.SIGUSR1, watcher.begin)
    signal.signal(signal.SIGUSR2, watcher.end)
    sys.setswitchinterval(SWITCH_SECONDS)
    threading.Thread(target=watcher.watch, daemon=True).start()
    sys.argv = ["computepool", *words]
    from computepool.cli import main as computepool

    try:
        computepool()
    finally:
        watcher.end()
        (folder / f"{os.getpid()}.json").write_text(json.dumps(dict(watcher.seconds)))


if __name__ == "__main__":
    main()
