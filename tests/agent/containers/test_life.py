"""A command in a container lives and ends as a command does: exit codes, output, signals, freezing, and no remains."""

import asyncio
import hashlib
import os
import subprocess
import time

import pytest
from support.containers import until_no_container
from support.sandboxes import ROOMY, come_to_rest, processes_with, read_all
from support.waiting import async_eventually

from computepool.agent.sandbox import Command, Exit, FolderUnreachable, SandboxError
from computepool.agent.sandbox.containers.process import USAGE_SECONDS
from computepool.agent.sandbox.running import readable
from computepool.protocol.versions import version_text


def test_exit_code_and_output_are_the_commands(every):
    assert every.run("true")[0].code == 0
    ended, output = every.shell("echo one; echo two >&2; echo three; echo four >&2; exit 3")
    assert (ended.code, ended.reason, ended.signal) == (3, "exited", None)
    assert output.split() == ["one", "two", "three", "four"], "in the order in which they were written"
    assert ended.ran


def test_engine_tells_its_own_version_and_its_runtimes(shared_kernel):
    facts = shared_kernel.facts
    assert facts.parts[facts.kind] == facts.version
    runtime = subprocess.run(["runc", "--version"], capture_output=True, text=True, check=True).stdout
    assert version_text(facts.parts["runc"]) == version_text(runtime)
    if facts.kind == "docker":
        daemon = subprocess.run(["dockerd", "--version"], capture_output=True, text=True, check=True).stdout
        assert facts.version in daemon


def test_job_sees_what_a_bubblewrap_job_sees(every):
    script = "id -un; pwd; echo $HOME $TMPDIR; hostname; touch /tmp/a /var/tmp/b /dev/shm/c here && echo written"
    ended, output = every.shell(script)
    assert output.splitlines() == ["job", "/job/work", "/job /tmp", "job", "written"], ended


def test_work_folder_is_kept_and_belongs_to_a_user_of_its_own(every):
    folder, other = every.folder(), every.folder()
    every.shell("echo result > out.txt", folder=folder)
    every.shell("echo result > out.txt", folder=other)
    made = folder / "work" / "out.txt"
    assert made.read_text() == "result\n"
    owners = {made.stat().st_uid, (other / "work" / "out.txt").stat().st_uid}
    assert len(owners) == 2
    assert 0 not in owners


@pytest.mark.engine("system-python")
def test_long_output_arrives_whole_and_in_order(every):
    size = 10_000_000 if not every.is_gvisor else 2_000_000
    script = f"import sys\nfor n in range({size} // 10): sys.stdout.write('%09d\\n' % n)"

    async def story() -> tuple[str, int]:
        process = await every.start("/usr/bin/python3", "-c", script)
        digest, count = hashlib.sha256(), 0
        while True:
            await readable(process.output_fd)
            piece = os.read(process.output_fd, 1 << 16)
            if not piece:
                break
            digest.update(piece)
            count += len(piece)
        os.close(process.output_fd)
        assert (await process.wait()).code == 0
        return digest.hexdigest(), count

    found, count = asyncio.run(story())
    expected = "".join(f"{n:09d}\n" for n in range(size // 10)).encode()
    assert count == size
    assert found == hashlib.sha256(expected).hexdigest()


def test_slow_reader_holds_the_job_back_and_loses_nothing(every):
    async def story() -> None:
        process = await every.start("/bin/sh", "-c", "head -c 3000000 /dev/zero; echo end >> /job/work/done")
        await asyncio.sleep(0.5)
        output = await read_all(process)
        assert len(output) == 3_000_000
        assert (await process.wait()).code == 0

    asyncio.run(story())


def test_stop_lets_the_job_say_goodbye(every):
    script = "trap 'echo goodbye; exit 7' TERM; echo ready; while :; do sleep 0.05; done"

    async def story() -> None:
        process = await every.start("/bin/sh", "-c", script)
        await readable(process.output_fd)
        await process.stop(600)
        output = await read_all(process)
        ended = await process.wait()
        # The shell may also say that its `sleep` was terminated.
        assert [line for line in output.split() if line != b"Terminated"] == [b"ready", b"goodbye"]
        assert (ended.code, ended.reason) == (7, "killed")

    asyncio.run(story())


def test_command_without_a_handler_ends_on_sigterm(every):
    """The first process of a container is deaf to signals that it does not handle; a job must not be it."""

    async def story() -> None:
        process = await every.start("/bin/sh", "-c", "echo ready; exec sleep 3600")
        await readable(process.output_fd)
        await process.stop(600)
        await read_all(process)
        assert (await process.wait()).reason == "killed"

    asyncio.run(story())


def test_deaf_job_is_killed_after_the_grace_with_all_it_started(every):
    mark = f"36{time.time_ns() % 10**7}"
    script = f"trap '' TERM; sleep {mark} & sleep {mark} & echo ready; while :; do sleep {mark}; done"

    async def story() -> None:
        process = await every.start("/bin/sh", "-c", script)
        await readable(process.output_fd)
        began = time.monotonic()
        await process.stop(0.5)
        assert time.monotonic() - began > 0.4
        await read_all(process)
        ended = await process.wait()
        assert (ended.code, ended.signal, ended.reason) == (137, 9, "killed")

    asyncio.run(story())
    assert processes_with(mark) == []


TICKS = "i=0; while :; do i=$((i+1)); echo $i > ticks; sleep 0.02; done"


def test_frozen_job_stands_still_and_goes_on(every):
    async def story() -> None:
        folder = every.folder()
        process = await every.start("/bin/sh", "-c", TICKS, folder=folder)
        ticks = folder / "work" / "ticks"
        await async_eventually(ticks.exists, "the job counts")
        await process.freeze()
        await process.freeze()
        await come_to_rest(ticks.read_text)
        seen = ticks.read_text()
        await process.thaw()
        await async_eventually(lambda: ticks.read_text() not in {seen, ""}, "the job counts again")
        await process.stop(0)
        await read_all(process)

    asyncio.run(story())


def test_frozen_job_can_be_stopped(every):
    async def story(grace: float) -> None:
        process = await every.start("/bin/sh", "-c", "echo ready; exec sleep 3600")
        await readable(process.output_fd)
        await process.freeze()
        await process.stop(grace)
        await read_all(process)
        assert (await process.wait()).reason == "killed"

    asyncio.run(story(0))
    asyncio.run(story(600))


def test_command_that_is_not_there_is_said_to_be(every):
    ended, output = every.run("no-such-program")
    assert (ended.code, ended.reason) == (127, "not_runnable")
    assert ended.detail == "command not found: no-such-program"
    assert "command not found" in output


def test_containers_are_gone_afterwards_and_labelled_before(every):
    async def story() -> None:
        engine = every.engine()
        process = await every.start("/bin/sh", "-c", "echo ready; exec sleep 3600", folder=(folder := every.folder()))
        await readable(process.output_fd)
        labels = {"computepool.attempt": folder.name}
        found = await engine.list_containers(labels)
        assert len(found) == 1
        assert {"computepool.instance", "computepool.mark"} <= found[0]["Labels"].keys()
        await process.stop(0)
        await read_all(process)
        await until_no_container(engine, labels)

    asyncio.run(story())


def test_usage_is_told(every):
    script = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; touch used; while [ ! -e go ]; do sleep 0.05; done"

    async def story() -> Exit:
        work = (folder := every.folder()) / "work"
        process = await every.start("/bin/sh", "-c", script, folder=folder)
        await async_eventually((work / "used").exists, "the job has used the processor")
        await asyncio.sleep(USAGE_SECONDS * 1.2)  # the agent looks before this ends: it shares the event loop
        (work / "go").touch()
        await read_all(process)
        return await process.wait()

    ended = asyncio.run(story())
    assert 0.05 < ended.cpu_seconds < 30
    assert 1 << 20 < ended.peak_memory_bytes <= ROOMY.memory_bytes


def test_folder_that_the_jobs_user_cannot_reach_is_refused(every, tmp_path):
    closed = tmp_path / "closed" / "attempt"
    (closed / "work").mkdir(parents=True)
    closed.parent.chmod(0o700)
    command = Command(argv=["true"], env={}, folder=closed, limits=ROOMY)
    with pytest.raises(FolderUnreachable):
        asyncio.run(every.sandbox.start(command))


def test_image_that_is_not_here_is_refused(every):
    with pytest.raises(SandboxError, match="not on this node"):
        every.run("true", image="sha256:" + "0" * 64)
