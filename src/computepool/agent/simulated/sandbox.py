"""The sandbox of a simulated machine: starts nothing, and keeps nothing from anybody."""

import hashlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from computepool.agent.sandbox.interface import Command, Exit
from computepool.agent.simulated.machines import SimulatedMachine
from computepool.agent.simulated.plan import make_plan
from computepool.agent.simulated.process import SimulatedProcess
from computepool.protocol.states import TAKES_IMAGES, IsolationLevel


@dataclass(frozen=True)
class Manner:
    """How all of them pretend."""

    seed: int
    average_seconds: float
    ended: Counter[str]
    """How many commands ended in which way: done, failed, stopped."""


class SimulatedSandbox:
    soft_limits = False
    has_egress = True

    def __init__(self, folder: Path, machine: SimulatedMachine, manner: Manner) -> None:
        self.attempts_folder = folder
        self.level: IsolationLevel = max(machine.capacity.isolation, key=lambda level: level.rank)
        self.takes_images = self.level in TAKES_IMAGES
        self._machine = machine
        self._manner = manner
        self._running: set[SimulatedProcess] = set()

    @property
    def running(self) -> int:
        return len(self._running)

    @property
    def busy_gpus(self) -> set[str]:
        return {gpu for process in self._running for gpu in process.command.gpus}

    def adopt(self, folder: Path) -> None:
        """There is no user of its own to give it to."""

    def path_inside(self, folder: Path, relative: str) -> str:
        return str(folder / relative)

    async def start(self, command: Command) -> SimulatedProcess:
        manner = self._manner
        plan = make_plan(
            command.argv, command.env, self._machine, seed=manner.seed, average_seconds=manner.average_seconds
        )
        process = SimulatedProcess(command, plan, self._machine)
        process.on_exit = self._ended
        self._running.add(process)
        process.begin()
        return process

    def _ended(self, process: SimulatedProcess, exited: Exit) -> None:
        self._running.discard(process)
        kind = "stopped" if exited.reason == "killed" else "done" if exited.code == 0 else "failed"
        self._manner.ended[kind] += 1

    def switch_off(self) -> None:
        """As if the machine had lost its power."""
        for process in self._running:
            process.vanish()
        self._running.clear()

    async def sweep(self) -> list[str]:
        self.switch_off()
        return []

    async def close(self) -> None:
        self.switch_off()


class SimulatedImages:
    """Has every image, and none. Where a job pins a digest, it is that one; else one that is made up."""

    async def ensure(self, name: str, digest: str | None, progress: Callable[[str], None], *, own: bool) -> str:
        del own
        progress(f"simulated: {name} is not really fetched")
        pinned = digest or name.partition("@")[2]
        return pinned or "sha256:" + hashlib.sha256(f"simulated image {name}".encode()).hexdigest()
