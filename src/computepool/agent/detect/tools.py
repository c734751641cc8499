"""Asking other programs and libraries, so that none of them can hold the agent up or bring it down."""

import contextlib
import json
import logging
import os
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")

log = logging.getLogger(__name__)

ROOT = Path("/")
TOOL_SECONDS = 10.0
LONGEST_ANSWER_BYTES = 4 * 1024**2
_MORE_PLACES = ("/usr/local/sbin", "/usr/sbin", "/sbin", "/opt/rocm/bin", "/usr/lib/wsl/lib")
"""Where tools are that an ordinary user's PATH may not name."""


def find_tool(name: str, root: Path = ROOT) -> str | None:
    more = [str(root / place.lstrip("/")) for place in _MORE_PLACES]
    return shutil.which(name) or shutil.which(name, path=os.pathsep.join(more))


def run_tool(command: Sequence[str], *, root: Path = ROOT, seconds: float = TOOL_SECONDS) -> str | None:
    """What the tool writes; None where it is missing, fails, or takes too long."""
    program = find_tool(command[0], root)
    if program is None:
        return None
    # Into a file: with a pipe, a grandchild that keeps it open would be waited for after its parent was killed.
    with tempfile.TemporaryFile() as answer:
        try:
            process = subprocess.Popen(
                [program, *command[1:]],
                stdin=subprocess.DEVNULL,
                stdout=answer,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "LC_ALL": "C"},
                start_new_session=True,
            )
        except OSError as error:
            log.debug("tool.failed", extra={"tool": command[0], "why": str(error)})
            return None
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            _end(process)
            log.warning("tool.slow", extra={"tool": command[0], "seconds": seconds})
            return None
        if code != 0:
            log.debug("tool.failed", extra={"tool": command[0], "why": f"exit code {code}"})
            return None
        answer.seek(0)
        return answer.read(LONGEST_ANSWER_BYTES).decode(errors="replace")


def run_json_tool(command: Sequence[str], *, root: Path = ROOT, seconds: float = TOOL_SECONDS) -> Any:
    """What the tool answers, read as JSON; None where there is no answer that can be read."""
    answer = run_tool(command, root=root, seconds=seconds)
    if answer is None:
        return None
    # Some tools write warnings before their answer.
    start = min((place for place in (answer.find("{"), answer.find("[")) if place >= 0), default=0)
    with contextlib.suppress(ValueError, RecursionError):
        return json.loads(answer[start:])
    return None


def _end(process: "subprocess.Popen[bytes]") -> None:
    with contextlib.suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    with contextlib.suppress(subprocess.TimeoutExpired):
        # A process inside a sick driver dies only when the driver lets it.
        process.wait(1)


class TookTooLong(Exception):
    pass


class Patience:
    """Runs calls into libraries, one at a time. One that hangs in a sick driver is left behind in its thread, and until
    it returns the next ones fail at once."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._stuck: threading.Thread | None = None

    def call(self, function: Callable[[], T], seconds: float) -> T:
        """Raises TookTooLong, and whatever the function raises."""
        if not self._turn.acquire(timeout=seconds):
            raise TookTooLong("others are still asking")
        try:
            return self._call(function, seconds)
        finally:
            self._turn.release()

    def _call(self, function: Callable[[], T], seconds: float) -> T:
        if self._stuck is not None and self._stuck.is_alive():
            raise TookTooLong("an earlier call has not returned")
        self._stuck = None
        results: list[T] = []
        errors: list[Exception] = []

        def work() -> None:
            try:
                results.append(function())
            except Exception as error:
                errors.append(error)

        thread = threading.Thread(target=work, name="driver", daemon=True)
        thread.start()
        thread.join(seconds)
        if thread.is_alive():
            self._stuck = thread
            raise TookTooLong(f"no answer within {seconds:g} s")
        if errors:
            raise errors[0]
        return results[0]
