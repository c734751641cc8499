"""Commands that are not run, in virtual time: how long they take, what they say, and what can be done to them."""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from simulation.virtual_time import VirtualLoop

from computepool.agent.environments import set_up_argv
from computepool.agent.sandbox.interface import Command, Limits
from computepool.agent.simulated.machines import make_machines
from computepool.agent.simulated.plan import make_plan
from computepool.agent.simulated.process import CHECKPOINT_FILE, OUTPUT_FILE, SimulatedOutput, SimulatedProcess
from computepool.agent.simulated.sandbox import Manner, SimulatedImages, SimulatedSandbox

MACHINE = make_machines("servers", 1, 1)[0]
LIMITS = Limits(cpus=2, memory_bytes=1024**3, pids=100, disk_bytes=1024**3)


def in_virtual_time(story: Callable[[], Coroutine[Any, Any, None]]) -> None:
    loop = VirtualLoop()
    try:
        loop.run_until_complete(story())
        assert not loop.errors
    finally:
        loop.close()


class Job:
    """One simulated command, its log and its folder."""

    def __init__(self, folder: Path, seed: int = 1, **env: str) -> None:
        self.ended: Counter[str] = Counter()
        self.sandbox = SimulatedSandbox(folder, MACHINE, Manner(seed, 20.0, self.ended))
        self.folder = folder
        for name in ("output", "checkpoint"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        self.env = {
            "COMPUTEPOOL_OUTPUT": self.sandbox.path_inside(folder, "output"),
            "COMPUTEPOOL_CHECKPOINT": self.sandbox.path_inside(folder, "checkpoint"),
            **env,
        }
        self.log = b""
        self.is_over = False

    async def start(self, *argv: str) -> SimulatedProcess:
        gpus = (MACHINE.capacity.gpus[0].id,)
        command = Command(argv=argv or ("train",), env=self.env, folder=self.folder, limits=LIMITS, gpus=gpus)
        process = await self.sandbox.start(command)
        SimulatedOutput(process).start(self._take, self._end)
        return process

    def _take(self, data: bytes) -> None:
        self.log += data

    def _end(self) -> None:
        self.is_over = True


def test_command_takes_its_time_tells_its_progress_and_leaves_a_labelled_output(tmp_path):
    async def story() -> None:
        job, began = Job(tmp_path, SIMULATED_SECONDS="12"), asyncio.get_running_loop().time()
        exited = await (await job.start("python", "train.py")).wait()
        assert asyncio.get_running_loop().time() - began == pytest.approx(12)
        assert (exited.code, exited.reason, exited.ran) == (0, "exited", True)
        assert 0 < exited.cpu_seconds <= 12 * LIMITS.cpus
        assert 0 < exited.peak_memory_bytes <= LIMITS.memory_bytes
        lines = job.log.decode().splitlines()
        assert lines[0] == f"[simulated] {MACHINE.name} pretends to run: python train.py"
        assert all(line.startswith("[simulated] ") for line in lines)
        assert "100%" in lines[-2]
        assert lines[-1] == "[simulated] done"
        assert "simulated: no command was run" in (tmp_path / "output" / OUTPUT_FILE).read_text()
        assert job.is_over
        assert job.ended == {"done": 1}

    in_virtual_time(story)


def test_command_that_fails_says_so_and_leaves_nothing(tmp_path):
    async def story() -> None:
        job = Job(tmp_path, SIMULATED_SECONDS="1", SIMULATED_EXIT_CODE="7")
        exited = await (await job.start()).wait()
        assert (exited.code, exited.reason) == (7, "exited")
        assert b"failed with exit code 7" in job.log
        assert not list((tmp_path / "output").iterdir())
        assert job.ended == {"failed": 1}

    in_virtual_time(story)


def test_frozen_command_stands_still_and_goes_on_where_it_was(tmp_path):
    async def story() -> None:
        loop = asyncio.get_running_loop()
        job, began = Job(tmp_path, SIMULATED_SECONDS="10"), loop.time()
        process = await job.start()
        await asyncio.sleep(4.2)
        await process.freeze()
        before = job.log
        await asyncio.sleep(500)
        assert job.log == before
        await process.thaw()
        await process.wait()
        assert loop.time() - began == pytest.approx(510)

    in_virtual_time(story)


@pytest.mark.parametrize(("grace", "code"), [(10.0, 143), (0.0, 137)])
def test_stopped_command_ends_at_once_even_if_frozen(tmp_path, grace, code):
    async def story() -> None:
        job = Job(tmp_path, SIMULATED_SECONDS="1000")
        process = await job.start()
        await process.freeze()
        await process.stop(grace)
        await process.stop(grace)
        exited = await process.wait()
        assert (exited.code, exited.reason) == (code, "killed")
        assert job.is_over
        assert job.sandbox.running == 0
        assert (tmp_path / "checkpoint" / CHECKPOINT_FILE).exists() == (grace > 0)
        assert job.ended == {"stopped": 1}

    in_virtual_time(story)


def test_stopped_command_goes_on_from_its_checkpoint_on_another_node(tmp_path):
    async def story() -> None:
        loop = asyncio.get_running_loop()
        first = Job(tmp_path, SIMULATED_SECONDS="100")
        process = await first.start()
        await asyncio.sleep(60)
        await process.stop(10)
        again, began = Job(tmp_path, SIMULATED_SECONDS="100", COMPUTEPOOL_RESUMED="1"), loop.time()
        await (await again.start()).wait()
        assert b"goes on from its checkpoint, at 6" in again.log
        assert 35 < loop.time() - began < 45

    in_virtual_time(story)


def test_machine_that_loses_its_power_is_never_heard_of_again(tmp_path):
    async def story() -> None:
        job = Job(tmp_path, SIMULATED_SECONDS="10")
        await job.start()
        job.sandbox.switch_off()
        before = job.log
        await asyncio.sleep(60)
        assert job.log == before
        assert not job.is_over
        assert job.ended == {}
        assert job.sandbox.busy_gpus == set()

    in_virtual_time(story)


def test_same_command_goes_the_same_way_with_the_same_seed():
    def plan(seed: int, **env: str) -> tuple[float, int]:
        made = make_plan(("train",), env, MACHINE, seed=seed, average_seconds=20)
        return made.seconds, made.exit_code

    assert plan(1) == plan(1)
    assert plan(1) != plan(2)
    assert plan(1, COMPUTEPOOL_SLICE="1") != plan(1, COMPUTEPOOL_SLICE="2")
    assert plan(1, COMPUTEPOOL_ATTEMPT="1") != plan(1, COMPUTEPOOL_ATTEMPT="2")


def test_most_commands_go_well_and_their_times_spread_around_the_average():
    # On a machine as quick as the measure, so that the card's speed changes nothing.
    machine = next(one for one in make_machines("gaming", 1, 200) if one.speed == 1.0)
    plans = [make_plan(("job", str(n)), {}, machine, seed=1, average_seconds=20) for n in range(2000)]
    failed = sum(plan.exit_code != 0 for plan in plans) / len(plans)
    assert 0.015 < failed < 0.05
    assert 17 < sum(plan.seconds for plan in plans) / len(plans) < 23
    assert min(plan.seconds for plan in plans) < 5
    assert max(plan.seconds for plan in plans) > 60


def test_value_that_is_no_number_is_left_aside_and_told():
    for value in ("soon", "nan", "inf"):
        plan = make_plan(("x",), {"SIMULATED_SECONDS": value}, MACHINE, seed=1, average_seconds=1)
        assert plan.seconds > 0
        assert plan.notes == (f"SIMULATED_SECONDS={value!r} is not a number, so it was left aside",)


def test_setup_is_short_and_never_fails_by_what_the_job_itself_asked_for():
    env = {"SIMULATED_SECONDS": "500", "SIMULATED_EXIT_CODE": "3"}
    plan = make_plan(set_up_argv(("pip", "install", "torch")), env, MACHINE, seed=1, average_seconds=500)
    assert plan.what == "pip install torch"
    assert plan.exit_code == 0
    assert plan.seconds <= 3


def test_image_with_a_digest_keeps_it_and_another_gets_one_that_is_made_up():
    async def story() -> None:
        said: list[str] = []
        pinned = "sha256:" + "a" * 64
        assert await SimulatedImages().ensure(f"python@{pinned}", None, said.append, own=False) == pinned
        made_up = await SimulatedImages().ensure("python:3.12", None, said.append, own=False)
        assert made_up.startswith("sha256:")
        assert all("simulated" in line for line in said)

    in_virtual_time(story)
