"""Commands that run in virtual time, and a ledger of what they really did, by the world's own clock."""

import asyncio
import hashlib
from collections import Counter
from collections.abc import Callable, Mapping
from contextvars import copy_context
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from simulation.virtual_time import CURRENT
from simulation.virtual_time import Process as Machine

from computepool.agent.sandbox.interface import Command, Exit
from computepool.protocol.receipt import CONTINUE_LATER
from computepool.protocol.states import IsolationLevel

SAVE_SECONDS = 10.0
"""Of work, between two writes of a checkpoint."""
KNOCK_SECONDS = 1.5
"""How often a job with a way out uses it."""
HURRIED_SECONDS = 3.0
"""Of work that are left of a command when the troubles are over: what is still to come true does not wait for it."""
PARTS = 3
"""Attempts that a job needs which leaves with exit code 85 after each part of its work."""
KINDS = ("plain", "saves", "later", "saves", "lazy", "plain")
"""Without checkpoints; with; leaves to be continued, after saving; leaves so having saved nothing but its beginning."""
STEPS = {"plain": None, "saves": SAVE_SECONDS, "later": SAVE_SECONDS, "lazy": None, "answers": None}
"""One that answers leaves a file behind: the same one, wherever it is run honestly."""
ANSWER = "output/answer"
CHECKPOINT = "ckpt"
PROGRESS = f"work/{CHECKPOINT}/progress"


@dataclass(eq=False)
class Run:
    """One command, seen from outside."""

    attempt_id: str
    job_id: str
    slice_index: int
    machine: Machine
    began: float
    network: bool = False
    frozen_since: float | None = None
    frozen_seconds: float = 0.0
    over_at: float | None = None
    knock: Callable[[], None] = lambda: None
    """Lets it use its way out."""
    hurry: Callable[[], None] = lambda: None
    left: Callable[[], float] = lambda: 0.0
    """Seconds of work, if nothing comes in between."""

    @property
    def place(self) -> tuple[str, int]:
        return self.job_id, self.slice_index

    def runs(self, now: float) -> bool:
        awake = self.machine.alive and self.machine.asleep_until <= now
        return awake and self.over_at is None and self.frozen_since is None

    def unfrozen_seconds(self, now: float) -> float:
        """How long it ran, with the time in which its machine slept."""
        end = now if self.over_at is None else self.over_at
        frozen = end - self.frozen_since if self.frozen_since is not None and end > self.frozen_since else 0.0
        return end - self.began - self.frozen_seconds - frozen


class Ledger:
    """What really ran: which attempt, where, how often, and what it saved. Nobody else writes here."""

    def __init__(self) -> None:
        self.started: Counter[str] = Counter()
        self.completed: list[str] = []
        self.runs: dict[str, Run] = {}
        self.written: dict[str, tuple[str, int, float]] = {}
        """By digest of a checkpoint's file: of which job and slice it is, and how much work is in it."""
        self.seen: Counter[str] = Counter()
        """What happened beside the faults: a run in which it did not proves nothing about it."""
        self.forged: set[str] = set()
        """Attempts whose answers their machines made up."""
        self.hurried = False
        self.on_start: Callable[[Run, tuple[str, int, float] | None], None] = lambda run, found: None
        self.on_run: Callable[[Run], None] = lambda run: None
        self.on_sent: Callable[[Run], None] = lambda run: None

    def woke_up(self, machine: Machine, now: float) -> None:
        """What its jobs were about to send is sent before anybody has looked at a lease."""
        for run in self.runs.values():
            if run.machine is machine and run.runs(now):
                run.knock()

    def hurry_up(self) -> None:
        """From now on all work is nearly done."""
        self.hurried = True
        for run in list(self.runs.values()):
            if run.over_at is None and run.frozen_since is None:
                run.hurry()


class SimulatedProcess:
    """`argv = (sim, seconds of work, exit code, log bytes, kind)`. Frozen, or on a sleeping machine, it stays."""

    pid = 1
    output_fd = -1
    complaint = ""

    def __init__(self, command: Command, ledger: Ledger) -> None:
        _, seconds, code, log_bytes, kind = command.argv
        self._loop = asyncio.get_running_loop()
        machine = CURRENT.get()
        assert machine is not None
        env = command.env
        self.run = Run(
            command.folder.name,
            env["COMPUTEPOOL_JOB_ID"],
            int(env["COMPUTEPOOL_SLICE"]),
            machine,
            self._loop.time(),
            network=command.egress is not None,
        )
        self.attempt_id = self.run.attempt_id
        self.log = log_of(self.attempt_id, int(log_bytes))
        self.way_out: WayOut | None = None
        self._kind = kind
        self._work = float(seconds)
        self._code = int(code)
        self._folder = command.folder
        self._file = command.folder / PROGRESS
        self._ledger = ledger
        self._writes = 0
        found = self._read()
        self._done = found[2] if found is not None else 0.0
        if kind == "lazy" and found is None and self._code:
            self._save()
        self._leaves_at = min(self._work, self._done + self._work / PARTS) if kind == "later" else self._work
        self._saved = self._done
        self._step_began = 0.0
        self._slept = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._context = copy_context()  # of its machine
        self._exit: asyncio.Future[Exit] = self._loop.create_future()
        self.ended = asyncio.Event()
        if command.egress is not None:
            command.egress(self)  # type: ignore[arg-type]  # in place of a socket that listens
        self.run.knock, self.run.hurry, self.run.left = self._knock, self._hurry, self._left
        ledger.runs[self.attempt_id] = self.run
        ledger.started[self.attempt_id] += 1
        ledger.on_start(self.run, found)
        self._go_on()

    def sift(self, data: bytes) -> bytes:
        return data

    def usage_now(self) -> None:
        """Nobody measures it."""

    async def wait(self) -> Exit:
        return await asyncio.shield(self._exit)

    async def stop(self, grace_seconds: float) -> None:
        """With a grace it saves what it has done; a frozen one is thawed for that, as a real one is."""
        self._stand_still()
        if grace_seconds > 0 and STEPS[self._kind] and not self._exit.done():
            self._save()
        await asyncio.sleep(min(grace_seconds, 0.2))
        self._leave(Exit(143, 15, "killed", 0.1, 1024))

    async def freeze(self) -> None:
        await asyncio.sleep(0.002)
        if self.run.frozen_since is None and not self._exit.done():
            self._stand_still()
            self.run.frozen_since = self._loop.time()
            if self.way_out is not None and not self.way_out.is_open:
                self._ledger.seen["frozen_for_its_lease"] += 1

    async def thaw(self) -> None:
        await asyncio.sleep(0.002)
        run = self.run
        if run.frozen_since is not None and not self._exit.done():
            run.frozen_seconds += self._loop.time() - run.frozen_since
            run.frozen_since = None
            self._ledger.on_run(run)
            self._go_on()

    # ── its work ──

    def _left(self) -> float:
        return self._leaves_at - self._done

    def _hurry(self) -> None:
        if self._timer is not None:
            self._stand_still()
            self._context.run(self._go_on)

    def _go_on(self) -> None:
        if self._ledger.hurried:
            self._done = max(self._done, self._leaves_at - HURRIED_SECONDS)
        step = self._leaves_at - self._done
        pace = STEPS[self._kind]
        if pace is not None:
            step = min(step, max(0.0, self._saved + pace - self._done))
        if self.way_out is not None:
            step = min(step, KNOCK_SECONDS)
        self._step_began, self._slept = self._loop.time(), self.run.machine.slept
        self._timer = self._loop.call_later(step, self._step)

    def _stand_still(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._count()

    def _count(self) -> None:
        slept = self.run.machine.slept - self._slept
        self._done = min(self._leaves_at, self._done + self._loop.time() - self._step_began - slept)

    def _step(self) -> None:
        self._timer = None
        self._count()
        pace = STEPS[self._kind]
        over = self._leaves_at - self._done < 1e-6
        if pace is not None and (over or self._done - self._saved >= pace - 1e-6):
            self._save()
        self._knock()
        if not over:
            self._go_on()
        elif self._kind == "lazy" or (self._kind == "later" and self._work - self._done > 1e-6):
            self._ledger.seen["exit_85"] += 1
            self._leave(Exit(CONTINUE_LATER, None, "exited", 0.1, 1024))
        else:
            self._ledger.completed.append(self.attempt_id)
            if self._kind == "answers":
                self._answer()
            self._leave(Exit(self._code, None, "exited", 0.1, 1024))

    def _knock(self) -> None:
        if self.way_out is not None and self.way_out.send():
            self._ledger.on_sent(self.run)

    def _leave(self, exited: Exit) -> None:
        self._stand_still()
        if not self._exit.done():
            self.run.over_at = self._loop.time()
            self._exit.set_result(exited)
            self.ended.set()

    def _answer(self) -> None:
        text = f"{self.run.slice_index} {self._work}"
        if self.run.machine.cheats:
            self._ledger.forged.add(self.attempt_id)
            text = f"whatever {self.attempt_id}"
        place = self._folder / ANSWER
        place.parent.mkdir(exist_ok=True)
        place.write_text(text)

    # ── its checkpoint ──

    def _save(self) -> None:
        """Never twice of the same size: the host's clock is too coarse to tell two writes of this world apart."""
        self._saved = self._done
        self._writes += 1
        run = self.run
        text = f"{run.job_id} {run.slice_index} {self._done!r} {run.attempt_id} {'.' * self._writes}".encode()
        self._ledger.written["sha256:" + hashlib.sha256(text).hexdigest()] = (*run.place, self._done)
        self._file.parent.mkdir(exist_ok=True)
        self._file.write_bytes(text)

    def _read(self) -> tuple[str, int, float] | None:
        try:
            text = self._file.read_bytes()
        except FileNotFoundError:
            return None
        return self._ledger.written["sha256:" + hashlib.sha256(text).hexdigest()]


def log_of(attempt_id: str, size: int) -> bytes:
    """What an attempt of this id prints, to the byte."""
    line = f"{attempt_id} says so\n".encode()
    return (line * (size // len(line) + 1))[:size]


class SimulatedOutput:
    """The command's output, in a few pieces spread over its life."""

    def __init__(self, process: SimulatedProcess) -> None:
        self._process = process
        self._told = 0
        self._on_data: Callable[[bytes], None] = lambda _data: None
        self._on_end: Callable[[], None] = lambda: None
        self._ended = False

    def start(self, on_data: Callable[[bytes], None], on_end: Callable[[], None]) -> None:
        self._on_data, self._on_end = on_data, on_end
        self._task = asyncio.create_task(self._tell())

    async def _tell(self) -> None:
        step = len(self._process.log) // 4 + 1
        while self._told < len(self._process.log) and not self._process.ended.is_set():
            self._say(step)
            await asyncio.sleep(0.5)
        await self._process.ended.wait()
        self.close()

    def _say(self, size: int) -> None:
        piece = self._process.log[self._told : self._told + size]
        self._told += len(piece)
        if piece:
            self._on_data(piece)

    def pause(self) -> None:
        pass

    def resume(self) -> None:
        pass

    def close(self) -> None:
        if not self._ended:
            self._ended = True
            self._say(len(self._process.log))
            self._on_end()


class SimulatedSandbox:
    level = IsolationLevel.BUBBLEWRAP
    soft_limits = False
    takes_images = False
    has_egress = True

    def __init__(self, folder: Path, ledger: Ledger) -> None:
        self.attempts_folder = folder
        self._ledger = ledger

    def adopt(self, folder: Path) -> None:
        pass

    def path_inside(self, folder: Path, relative: str) -> str:
        return f"/job/{relative}"

    async def start(self, command: Command) -> SimulatedProcess:
        await asyncio.sleep(0.003)
        return SimulatedProcess(command, self._ledger)

    async def sweep(self) -> list[str]:
        return []

    async def close(self) -> None:
        pass


class WayOut:
    """A job's way out, without what is behind it: only whether something passes."""

    bytes_in = 0
    bytes_out = 0

    def __init__(self, ledger: Ledger, may_pass: Callable[[], bool]) -> None:
        self._ledger = ledger
        self._may_pass = may_pass

    def serve(self, process: Any) -> None:
        process.way_out = self

    @property
    def is_open(self) -> bool:
        return self._may_pass()

    def send(self) -> bool:
        passes = self.is_open
        self.bytes_out += passes
        self._ledger.seen["sent" if passes else "not_sent"] += 1
        return passes

    async def close(self) -> None:
        pass


class Outdoors:
    """In place of `agent.outside.Outside`."""

    allowance = None
    mirrors: ClassVar[Mapping[str, str]] = {}

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def open(self, *, may_pass: Callable[[], bool], **_what_else_counts: object) -> WayOut:
        return WayOut(self._ledger, may_pass)

    def variables(self, given: Mapping[str, str], **_what_else_counts: object) -> dict[str, str]:
        return dict(given)
