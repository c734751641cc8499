"""The machine that signals look at: where its files, tools and clocks are. Tests make their own."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from computepool.agent.owner.readings import Unknown

TOOL_SECONDS = 3.0
ANSWER_LIMIT_BYTES = 1024 * 1024
FILE_LIMIT_BYTES = 256 * 1024


@dataclass(frozen=True)
class Machine:
    root: Path = Path("/")
    path: str | None = None
    """Where tools are looked for; None for PATH."""
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    platform: str = sys.platform
    uid: int = field(default_factory=lambda: os.getuid() if hasattr(os, "getuid") else 0)
    wall: Callable[[], float] = time.time
    monotonic: Callable[[], float] = time.monotonic

    def file(self, path: str) -> Path:
        return self.root / path.lstrip("/")

    def text(self, path: str | Path) -> str | None:
        """A small file's text, stripped; None if it cannot be read."""
        try:
            with (self.file(path) if isinstance(path, str) else path).open("rb") as file:
                return file.read(FILE_LIMIT_BYTES).decode(errors="replace").strip()
        except OSError:
            return None

    def number(self, path: str | Path) -> float | None:
        try:
            return float(self.text(path) or "")
        except ValueError:
            return None

    def tool(self, name: str) -> str | None:
        return shutil.which(name, path=self.path)

    def ask(self, name: str, *arguments: str) -> str | Unknown:
        """What a tool prints. Bounded in time and size; whatever it started ends with it."""
        program = self.tool(name)
        if program is None:
            return Unknown(f"{name} is not installed")
        # Into a file: through a pipe, a grandchild that lives on would be waited for.
        with tempfile.TemporaryFile() as answer:
            try:
                process = subprocess.Popen(
                    [program, *arguments],
                    stdin=subprocess.DEVNULL,
                    stdout=answer,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                )
            except OSError as error:
                return Unknown(f"{name} cannot be started: {error.strerror}")
            try:
                code = process.wait(TOOL_SECONDS)
            except subprocess.TimeoutExpired:
                end_group(process)
                return Unknown(f"{name} does not answer")
            if code:
                return Unknown(f"{name} failed with exit code {code}")
            answer.seek(0)
            return answer.read(ANSWER_LIMIT_BYTES).decode(errors="replace")

    @property
    def is_wsl(self) -> bool:
        return self.platform == "linux" and "microsoft" in (self.text("/proc/sys/kernel/osrelease") or "").lower()


def end_group(process: "subprocess.Popen[bytes]") -> None:
    """End a program that was started in a session of its own, and all that it started."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait()
