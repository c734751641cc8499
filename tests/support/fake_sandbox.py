"""A sandbox that only pretends: for simulations, where commands are plans, and time is virtual.

A command's argv says what it does: `("sleep", "3")`, `("say", "text")`, `("exit", "1")`, and `("touch", "output/x")`,
several of them separated by `";"`. Processes outlive the agent that started them until they are swept, as real ones
may.
"""

import asyncio
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from computepool.agent.sandbox.interface import Command, Exit, UsageNow
from computepool.protocol.states import IsolationLevel

PIDS = itertools.count(1)


@dataclass(eq=False)
class FakeProcess:
    command: Command
    pid: int = field(default_factory=lambda: next(PIDS))
    output_fd: int = -1
    said: list[bytes] = field(default_factory=list)
    listener: "FakeOutput | None" = None
    over: bool = False
    complaint: str = ""
    usage: Callable[[], UsageNow | None] = lambda: None

    def __post_init__(self) -> None:
        self._exit: asyncio.Future[Exit] = asyncio.get_running_loop().create_future()
        self._thawed = asyncio.Event()
        self._thawed.set()
        self._life = asyncio.ensure_future(self._live())

    @property
    def alive(self) -> bool:
        return not self.over

    async def _live(self) -> None:
        code, peak_bytes = 0, 0
        for step in _steps(self.command.argv):
            await self._thawed.wait()
            match step:
                case ["sleep", seconds]:
                    await asyncio.sleep(float(seconds))
                case ["say", *words]:
                    self._say((" ".join(words) + "\n").encode())
                case ["touch", path]:
                    _make_file(self.command.folder / path)
                case ["peak", size]:
                    peak_bytes = int(size)
                case ["exit", number]:
                    code = int(number)
                    break
        self._end(Exit(code, None, "exited", 0.0, peak_bytes))

    def _say(self, data: bytes) -> None:
        self.said.append(data)
        if self.listener is not None:
            self.listener.flush()

    def _end(self, exited: Exit) -> None:
        if not self.over:
            self.over = True
            self._life.cancel()
            self._exit.set_result(exited)
            if self.listener is not None:
                self.listener.flush()

    def sift(self, data: bytes) -> bytes:
        return data

    def kill(self) -> None:
        self._end(Exit(137, 9, "killed", 0.0, 0))

    async def wait(self) -> Exit:
        return await asyncio.shield(self._exit)

    async def stop(self, grace_seconds: float) -> None:
        self.kill()

    async def freeze(self) -> None:
        self._thawed.clear()

    async def thaw(self) -> None:
        self._thawed.set()

    def usage_now(self) -> UsageNow | None:
        return self.usage() if not self.over else None


class FakeOutput:
    """The output of a fake process: `open_output=FakeOutput` in an agent's parts."""

    def __init__(self, process: FakeProcess) -> None:
        self._process = process
        self._taken = 0
        self._paused = False
        self._ended = False
        self._on_data: Callable[[bytes], None] = lambda _: None
        self._on_end: Callable[[], None] = lambda: None

    def start(self, on_data: Callable[[bytes], None], on_end: Callable[[], None]) -> None:
        self._on_data, self._on_end = on_data, on_end
        self._process.listener = self
        self.flush()

    def flush(self) -> None:
        while not self._paused and self._taken < len(self._process.said):
            data = self._process.said[self._taken]
            self._taken += 1
            self._on_data(data)
        if self._process.over and self._taken == len(self._process.said):
            self._end()

    def pause(self) -> None:
        self._paused = True

    def resume(self) -> None:
        self._paused = False
        self.flush()

    def close(self) -> None:
        self.resume()
        self._end()

    def _end(self) -> None:
        if not self._ended:
            self._ended = True
            self._on_end()


class FakeSandbox:
    """`processes` is the machine: give the same list to the sandbox of the agent's next life."""

    takes_images = False
    has_egress = True

    def __init__(
        self,
        folder: Path,
        *,
        level: IsolationLevel = IsolationLevel.BUBBLEWRAP,
        processes: list[FakeProcess] | None = None,
    ) -> None:
        self._level = level
        self.attempts_folder = folder
        self.processes = processes if processes is not None else []
        self.started: list[Command] = []
        folder.mkdir(parents=True, exist_ok=True)

    @property
    def level(self) -> IsolationLevel:
        return self._level

    @property
    def soft_limits(self) -> bool:
        return False

    def adopt(self, folder: Path) -> None:
        pass

    def path_inside(self, folder: Path, relative: str) -> str:
        return f"/job/{relative}"

    async def start(self, command: Command) -> FakeProcess:
        process = FakeProcess(command)
        self.processes.append(process)
        self.started.append(command)
        return process

    async def sweep(self) -> list[str]:
        left = [process for process in self.processes if process.alive]
        for process in left:
            process.kill()
        self.processes.clear()
        return [f"process {process.pid}" for process in left]

    async def close(self) -> None:
        pass


def _make_file(path: Path) -> None:
    path.write_bytes(b"made by a fake job\n")


def _steps(argv: Sequence[str]) -> list[list[str]]:
    steps: list[list[str]] = [[]]
    for word in argv:
        if word == ";":
            steps.append([])
        else:
            steps[-1].append(word)
    return steps
