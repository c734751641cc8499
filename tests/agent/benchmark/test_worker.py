"""The process that measures: answers, leaves nothing behind, and ends with whoever started it."""

import asyncio
import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from support.waiting import patience

from computepool.agent.benchmark.desk import COMMAND, WorkerGone, WorkerProcess
from computepool.agent.benchmark.devices import PythonDevice
from computepool.agent.benchmark.disk import KEPT_FREE_BYTES, measure_disk
from computepool.agent.benchmark.worker import Worker

MIB = 1024**2
TASK = {"do": "fill", "seed": "c2VlZHNlZWRzZWVkc2VlZA==", "size": 16, "rounds": 2, "segments": 2}


@contextlib.asynccontextmanager
async def started(command=COMMAND):
    worker = WorkerProcess(command)
    await worker.start(os.environ)
    try:
        yield worker
    finally:
        await worker.close()


def ask(questions):
    async def story():
        async with started() as worker:
            return [await worker.ask(question) for question in questions]

    return asyncio.run(story())


def test_whole_examination_in_a_process_of_its_own(tmp_path):
    ready, filled, digests, reveal = ask(
        [
            {"do": "begin", "device": "cpu", "folder": str(tmp_path)},
            TASK,
            {"do": "digest", "nonce": "bm9uY2Vub25jZW5vbmNl"},
            {"do": "open", "places": [[1, 1, 3], [0, 0, 0]]},
        ]
    )
    assert (ready["is"], filled["is"], digests["is"], reveal["is"]) == ("ready", "filled", "digests", "reveal")
    assert ready["backend"] in {"python", "numpy"}
    assert ready["gflops"] > 0
    assert ready["figures"]["host_copy_bytes_per_second"] > 0
    assert ready["figures"]["disk_write_bytes_per_second"] > 0
    assert [len(one["rows"]) for one in reveal["openings"]] == [2, 1]
    assert list(tmp_path.iterdir()) == []


def test_question_out_of_turn_is_answered_with_a_failure():
    (answer,) = ask([TASK])
    assert answer == {"is": "failed", "reason": "RuntimeError: nothing was begun", "retry": True}


def test_nobody_can_make_the_machine_swap(tmp_path):
    huge = TASK | {"size": 2048, "rounds": 64, "segments": 2048}
    begin = {"do": "begin", "device": "cpu", "folder": str(tmp_path), "figures": False}
    _, refused, filled = ask([begin, huge, TASK])
    assert (refused["is"], filled["is"]) == ("failed", "filled")
    assert "more memory" in refused["reason"]


def test_it_is_modest_and_loads_nothing_large():
    async def story():
        async with started() as worker:
            await worker.ask({"do": "nothing"})
            assert worker._process is not None
            found = psutil.Process(worker._process.pid)
            return found.nice(), {Path(file.path).name for file in found.memory_maps()}

    nice, libraries = asyncio.run(story())
    assert nice == 19
    assert not any("torch" in name or "numpy" in name for name in libraries)


def test_it_ends_in_the_middle_of_its_work_when_its_input_ends():
    with subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            begin = {"do": "begin", "device": "cpu", "folder": "/", "figures": False}
            process.stdin.write(json.dumps(begin).encode() + b"\n")
            process.stdin.flush()
            assert b"ready" in process.stdout.readline()
            process.stdin.write(json.dumps(TASK | {"size": 512, "rounds": 16, "segments": 16}).encode() + b"\n")
            process.stdin.close()
            assert process.wait(patience()) == 0
        finally:
            process.kill()


NOISY = """
from computepool.agent.benchmark import worker
quiet = worker.open_cpu
def noisy():
    print("a library says hello", flush=True)
    return quiet()
worker.open_cpu = noisy
import computepool.agent.benchmark.__main__
"""


def test_what_a_library_prints_is_no_answer(tmp_path):
    async def story():
        async with started([sys.executable, "-c", NOISY]) as worker:
            return await worker.ask({"do": "begin", "device": "cpu", "folder": str(tmp_path), "figures": False})

    assert asyncio.run(story())["is"] == "ready"


def test_process_that_dies_is_noticed():
    async def story():
        async with started([sys.executable, "-c", "raise SystemExit(3)"]) as worker:
            with pytest.raises(WorkerGone):
                await worker.ask({"do": "begin"})

    asyncio.run(story())


class Breaking(PythonDevice):
    def fill(self, rounds, segments):
        raise MemoryError


def test_device_that_runs_out_of_memory_is_an_answer(tmp_path):
    worker = Worker(lambda kind: PythonDevice())
    worker.answer({"do": "begin", "device": "cpu", "folder": str(tmp_path), "figures": False})
    assert worker._prover is not None
    worker._prover._device = Breaking()
    assert worker.answer(TASK) == {"is": "failed", "reason": "there was not enough memory", "retry": True}


# ── the disk ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_disk_is_measured_and_left_as_it_was(tmp_path):
    found = measure_disk(tmp_path, 4 * MIB)
    assert found is not None
    assert min(found) > 0
    assert list(tmp_path.iterdir()) == []


def test_disk_that_is_nearly_full_or_closed_is_not_measured(tmp_path):
    free = os.statvfs(tmp_path).f_bavail * os.statvfs(tmp_path).f_frsize
    assert measure_disk(tmp_path, free - KEPT_FREE_BYTES + 64 * MIB) is None
    assert measure_disk(tmp_path / "nowhere") is None
