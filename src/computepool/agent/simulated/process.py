"""A command that is not run: time passes, lines appear, an exit code comes."""

import asyncio
import contextlib
import signal
from collections.abc import Callable
from pathlib import Path

from computepool.agent.sandbox.interface import Command, Exit, UsageNow
from computepool.agent.simulated.machines import SimulatedMachine
from computepool.agent.simulated.plan import PREFIX, Plan, first_lines, last_line, progress_line

OUTPUT_VARIABLE, CHECKPOINT_VARIABLE, RESUMED_VARIABLE = (
    "COMPUTEPOOL_OUTPUT",
    "COMPUTEPOOL_CHECKPOINT",
    "COMPUTEPOOL_RESUMED",
)
OUTPUT_FILE = "simulated.txt"
CHECKPOINT_FILE = "simulated-progress.txt"
CHECKPOINT_EVERY_SECONDS = 60.0
"""Short jobs leave none: it would be a file for nothing."""
BUSY_CORES, PEAK_MEMORY = 0.7, 0.6
"""Of what it was given."""


class SimulatedProcess:
    """One timer is all that it takes. Frozen, it has none."""

    pid = 0
    output_fd = -1
    complaint = ""

    def __init__(self, command: Command, plan: Plan, machine: SimulatedMachine) -> None:
        self.command = command
        self.plan = plan
        self._machine = machine
        self._loop = asyncio.get_running_loop()
        self._exit: asyncio.Future[Exit] = self._loop.create_future()
        self._unread: list[bytes] = []
        self._on_data: Callable[[bytes], None] | None = None
        self._on_end: Callable[[], None] = lambda: None
        self._timer: asyncio.TimerHandle | None = None
        self._line = self._resumed_line()
        self._next_at = 0.0
        self._left = plan.line_seconds
        """Of the time until the next line, while it is frozen."""
        self._saved_at = self._loop.time()
        self.on_exit: Callable[[SimulatedProcess, Exit], None] = lambda process, exited: None

    def begin(self) -> None:
        for line in first_lines(self.plan, self._machine, len(self.command.gpus)):
            self._say(line)
        if self._line:
            self._say(f"goes on from its checkpoint, at {self._line / self.plan.lines:.0%}")
        self._run_on()

    # ── what the agent asks of it ──

    def sift(self, data: bytes) -> bytes:
        return data

    async def wait(self) -> Exit:
        return await asyncio.shield(self._exit)

    async def stop(self, grace_seconds: float) -> None:
        """It obeys at once; with a grace it saves its progress before."""
        if not self._exit.done():
            if grace_seconds > 0:
                self._save()
                self._say("was asked to stop, and does")
            killed = signal.SIGTERM if grace_seconds > 0 else signal.SIGKILL
            self._end(Exit(128 + killed, killed, "killed", self._cpu_seconds, self._peak_memory_bytes))

    def usage_now(self) -> UsageNow | None:
        """As steady as its plan: frozen, it uses no processor."""
        if self._exit.done():
            return None
        since = self.plan.line_seconds - max(0.0, self._next_at - self._loop.time()) if self._timer is not None else 0.0
        cores = self.command.limits.cpus * BUSY_CORES
        return UsageNow(self._cpu_seconds + max(0.0, since) * cores, self._peak_memory_bytes)

    async def freeze(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._left = max(0.0, self._next_at - self._loop.time())

    async def thaw(self) -> None:
        if self._timer is None and not self._exit.done():
            self._run_on()

    def vanish(self) -> None:
        """The machine was switched off: nobody hears of it again."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._on_data, self._on_end = None, lambda: None

    # ── its output ──

    def read(self, on_data: Callable[[bytes], None], on_end: Callable[[], None]) -> None:
        self._on_data, self._on_end = on_data, on_end
        unread, self._unread = self._unread, []
        if unread:
            on_data(b"".join(unread))
        if self._exit.done():
            on_end()

    def _say(self, line: str) -> None:
        data = f"{PREFIX}{line}\n".encode(errors="replace")
        if self._on_data is None:
            self._unread.append(data)
        else:
            self._on_data(data)

    # ── time passes ──

    def _run_on(self) -> None:
        self._next_at = self._loop.time() + self._left
        self._timer = self._loop.call_at(self._next_at, self._step)

    def _step(self) -> None:
        self._timer = None
        self._line += 1
        self._say(progress_line(self.plan, self._line))
        if self._line >= self.plan.lines:
            self._finish()
            return
        if self._loop.time() - self._saved_at >= CHECKPOINT_EVERY_SECONDS:
            self._saved_at = self._loop.time()
            self._save()
        self._left = self.plan.line_seconds
        self._run_on()

    def _finish(self) -> None:
        self._say(last_line(self.plan))
        if self.plan.exit_code == 0:
            text = (
                "This file is simulated: no command was run, and there is no result.\n"
                f"node: {self._machine.name}\ncommand: {self.plan.what}\npretended: {self.plan.seconds:.1f} s\n"
            )
            self._write(OUTPUT_VARIABLE, OUTPUT_FILE, text)
        self._end(Exit(self.plan.exit_code, None, "exited", self._cpu_seconds, self._peak_memory_bytes))

    def _end(self, exited: Exit) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._exit.set_result(exited)
        self._on_end()
        self.on_exit(self, exited)

    @property
    def _cpu_seconds(self) -> float:
        return self._line * self.plan.line_seconds * self.command.limits.cpus * BUSY_CORES

    @property
    def _peak_memory_bytes(self) -> int:
        return int(self.command.limits.memory_bytes * PEAK_MEMORY)

    # ── its files ──

    def _save(self) -> None:
        text = f"{self._line / self.plan.lines:.4f}\nof a job that was only simulated\n"
        self._write(CHECKPOINT_VARIABLE, CHECKPOINT_FILE, text)

    def _resumed_line(self) -> int:
        """The line from which a checkpoint lets it go on."""
        folder = self.command.env.get(CHECKPOINT_VARIABLE)
        if folder and self.command.env.get(RESUMED_VARIABLE) == "1":
            with contextlib.suppress(OSError, ValueError):
                done = float(Path(folder, CHECKPOINT_FILE).read_text().split()[0])
                return max(0, min(self.plan.lines - 1, int(done * self.plan.lines)))
        return 0

    def _write(self, variable: str, name: str, text: str) -> None:
        """A full disk costs a pretended file, not the agent."""
        if folder := self.command.env.get(variable):
            with contextlib.suppress(OSError):
                Path(folder, name).write_text(text)


class SimulatedOutput:
    """What such a process prints, given to the agent as it comes."""

    def __init__(self, process: SimulatedProcess) -> None:
        self._process = process
        self._kept: list[bytes] = []
        self._is_paused = False
        self._is_over = False
        self._on_data: Callable[[bytes], None] = lambda data: None
        self._on_end: Callable[[], None] = lambda: None

    def start(self, on_data: Callable[[bytes], None], on_end: Callable[[], None]) -> None:
        self._on_data, self._on_end = on_data, on_end
        self._process.read(self._take, self.close)

    def _take(self, data: bytes) -> None:
        if self._is_paused:
            self._kept.append(data)
        else:
            self._on_data(data)

    def pause(self) -> None:
        self._is_paused = True

    def resume(self) -> None:
        self._is_paused = False
        kept, self._kept = self._kept, []
        if kept:
            self._on_data(b"".join(kept))

    def close(self) -> None:
        if not self._is_over:
            self._is_over = True
            self.resume()
            self._on_end()
