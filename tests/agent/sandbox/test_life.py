"""How a command lives and ends, in every kind of sandbox."""

import asyncio
import hashlib
import os
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from support.sandboxes import come_to_rest, processes_with, read_all
from support.waiting import async_eventually, patience

from computepool.agent.sandbox import SandboxError
from computepool.agent.sandbox.cgroup_tree import read_mounts
from computepool.agent.sandbox.identity import instance_of


def test_exit_codes_are_the_commands(every):
    for code in (0, 1, 42, 255):
        ended, _ = every.shell(f"exit {code}")
        assert (ended.code, ended.signal, ended.reason) == (code, None, "exited")


def test_death_by_signal_is_told_as_a_shell_would(every):
    ended, _ = every.shell("kill -SEGV $$")
    assert (ended.code, ended.signal, ended.reason) == (128 + signal.SIGSEGV, signal.SIGSEGV, "exited")


def test_output_and_errors_come_through_one_pipe_in_order(every):
    ended, output = every.shell("echo one; echo two >&2; echo three")
    assert ended.code == 0
    assert output == "one\ntwo\nthree\n"


def test_big_binary_output_arrives_whole(every):
    folder = every.folder()

    async def story():
        script = "head -c 8000000 /dev/urandom > it; cat it; sha256sum it > sum"
        process = await every.start("/bin/sh", "-c", script, folder=folder)
        output = await read_all(process)
        assert (await process.wait()).code == 0
        return output

    output = asyncio.run(story())
    assert len(output) == 8_000_000
    assert hashlib.sha256(output).hexdigest() == (folder / "work" / "sum").read_text().split()[0]


def test_unread_output_holds_the_job_back_and_loses_nothing(every):
    async def story():
        folder = every.folder()
        process = await every.start("/bin/sh", "-c", "head -c 3000000 /dev/zero; echo > done", folder=folder)
        await asyncio.sleep(0.3)
        assert not (folder / "work" / "done").exists()
        assert len(await read_all(process)) == 3_000_000
        assert (await process.wait()).code == 0
        assert (folder / "work" / "done").exists()

    asyncio.run(story())


def test_input_is_empty(every):
    ended, output = every.shell("cat; echo read $?")
    assert (ended.code, output) == (0, "read 0\n")


def test_missing_command_is_127_and_says_so(every):
    ended, output = every.run("no-such-command", "x")
    assert (ended.code, ended.reason) == (127, "not_runnable")
    assert ended.detail == "command not found: no-such-command"
    assert "no-such-command" in output
    assert "not found" in output


def test_command_that_is_not_executable_is_126(every):
    folder = every.folder()
    (folder / "work" / "notes.txt").write_text("hello")
    ended, output = every.run("./notes.txt", folder=folder)
    assert (ended.code, ended.reason) == (126, "not_runnable")
    assert ended.detail == "not an executable file: ./notes.txt"
    assert "notes.txt" in output


@pytest.mark.parametrize("code", [126, 127])
def test_command_that_ran_and_ended_like_a_missing_one_has_exited(every, code):
    ended, _ = every.shell(f"exit {code}")
    assert (ended.code, ended.reason, ended.detail) == (code, "exited", "")
    ended, _ = every.shell("no-such-command")
    assert (ended.code, ended.reason) == (127, "exited")


def test_job_works_in_its_folder_and_the_agent_reads_what_it_made(every):
    folder = every.folder()
    (folder / "work" / "input").write_text("41")
    (folder / "output").mkdir()
    ended, _ = every.shell("echo $(($(cat input) + 1)) > ../output/answer", folder=folder)
    assert ended.code == 0
    assert (folder / "output" / "answer").read_text() == "42\n"


def test_path_inside_is_where_the_job_sees_its_folder(every):
    folder = every.folder()
    ended, output = every.shell("pwd; echo $HOME", folder=folder)
    assert ended.code == 0
    sandbox = every.sandbox
    assert output.split() == [sandbox.path_inside(folder, "work"), sandbox.path_inside(folder, "").rstrip("/")]


def test_environment_holds_nothing_of_the_agents(every, monkeypatch):
    monkeypatch.setenv("AGENT_SECRET", "hunter2")
    given = {"SEED": "7", "LD_PRELOAD": "/nonexistent.so", "NVIDIA_VISIBLE_DEVICES": "all", "MULTI": "a\nb 'c' \"d\""}
    ended, output = every.run("/usr/bin/env", "-0", env=given)
    assert ended.code == 0
    seen = dict(entry.split("=", 1) for entry in output.split("\0") if entry)
    assert seen["SEED"] == "7"
    assert seen["MULTI"] == given["MULTI"]
    assert "AGENT_SECRET" not in seen
    assert not {name for name in seen if name.startswith(("LD_", "NVIDIA_"))}
    assert set(seen) <= {
        "SEED",
        "MULTI",
        "PATH",
        "HOME",
        "TMPDIR",
        "LANG",
        "PWD",
        "COMPUTEPOOL_RUN",
        "SHLVL",
        "_",
        "OLDPWD",
    }


def test_no_descriptor_of_the_agents_leaks(every):
    with Path("/etc/passwd").open() as leak:
        os.set_inheritable(leak.fileno(), True)
        ended, output = every.shell("ls /proc/self/fd | wc -l")
    assert ended.code == 0
    assert int(output) == 4  # 0, 1, 2 and the folder that ls reads


def test_stop_lets_the_job_end_by_itself(every):
    async def story():
        process = await every.start(
            "/bin/sh", "-c", 'trap "echo saved; exit 3" TERM; echo up; while :; do sleep 0.02; done'
        )
        os.set_blocking(process.output_fd, True)
        assert os.read(process.output_fd, 100) == b"up\n"
        os.set_blocking(process.output_fd, False)
        await process.stop(600)
        assert b"saved\n" in await read_all(process)  # a shell may also say that its child was terminated
        ended = await process.wait()
        assert (ended.code, ended.reason) == (3, "killed")

    asyncio.run(story())


def test_job_that_ignores_sigterm_is_killed_after_the_grace(every):
    async def story():
        mark = f"31{time.time_ns() % 10**7}"
        process = await every.start("/bin/sh", "-c", f'trap "" TERM; echo up; while :; do sleep {mark}; done')
        os.set_blocking(process.output_fd, True)
        assert os.read(process.output_fd, 100) == b"up\n"
        os.set_blocking(process.output_fd, False)
        await async_eventually(lambda: processes_with(mark), "the job sleeps")
        began = time.monotonic()
        await process.stop(0.3)
        assert time.monotonic() - began >= 0.3
        ended = await process.wait()
        assert (ended.code, ended.signal, ended.reason) == (137, 9, "killed")
        assert not processes_with(mark)
        await read_all(process)

    asyncio.run(story())


def test_job_that_ends_together_with_its_grace_is_not_killed_once_more(every, monkeypatch):
    """Its descriptors are closed by then. A new one with the same number may belong to somebody else's job."""
    strangers = []

    async def both_at_once(ending, seconds):
        await ending
        stranger = subprocess.Popen(["sleep", "3600"])  # noqa: ASYNC220 (it does not wait)
        strangers.append((stranger, [os.pidfd_open(stranger.pid) for _ in range(20)]))
        raise TimeoutError

    async def story():
        process = await every.start("/bin/sh", "-c", "exit 3")
        with monkeypatch.context() as plant:
            plant.setattr(asyncio, "wait_for", both_at_once)
            await process.stop(600)
        await read_all(process)

    try:
        asyncio.run(story())
        ((stranger, _),) = strangers
        assert stranger.poll() is None
    finally:
        for stranger, pidfds in strangers:
            stranger.kill()
            stranger.wait()
            for pidfd in pidfds:
                os.close(pidfd)


DAEMON = "(setsid sh -c 'trap \"\" TERM HUP; sleep {mark} & sleep {mark}' > /dev/null 2>&1 &) ; "


def test_daemons_die_with_their_job(every):
    async def story():
        mark = f"32{time.time_ns() % 10**7}"
        folder = every.folder()
        script = DAEMON.format(mark=mark) + "while [ ! -e go ]; do sleep 0.02; done; exit 5"
        process = await every.start("/bin/sh", "-c", script, folder=folder)
        await async_eventually(lambda: len(processes_with(mark)) >= 3, "the daemons run")
        (folder / "work" / "go").touch()
        assert await read_all(process) == b""
        assert (await process.wait()).code == 5
        assert processes_with(mark) == []

    asyncio.run(story())


def test_daemons_die_when_their_job_is_stopped(every):
    async def story():
        mark = f"33{time.time_ns() % 10**7}"
        process = await every.start("/bin/sh", "-c", DAEMON.format(mark=mark) + "sleep 3600")
        await async_eventually(lambda: len(processes_with(mark)) >= 3, "the daemons run")
        await process.stop(0.1)
        assert processes_with(mark) == []
        await read_all(process)

    asyncio.run(story())


COUNT = "i=0; while :; do i=$((i+1)); echo $i > count.new; mv count.new count; sleep 0.01; done"


def test_frozen_job_stands_still_until_it_is_thawed(every):
    async def story():
        folder = every.folder()
        process = await every.start("/bin/sh", "-c", COUNT, folder=folder)
        count = folder / "work" / "count"
        await async_eventually(count.exists, "the job counts")
        before = count.read_text()
        await async_eventually(lambda: count.read_text() != before, "the job goes on counting")  # the control
        await process.freeze()
        await come_to_rest(count.read_text)
        before = count.read_text()
        await process.thaw()
        await async_eventually(lambda: count.read_text() != before, "the job counts again")
        await process.stop(0)
        await read_all(process)

    asyncio.run(story())


def test_frozen_job_is_killed_without_running_another_step(every):
    async def story():
        folder = every.folder()
        process = await every.start("/bin/sh", "-c", COUNT, folder=folder)
        count = folder / "work" / "count"
        await async_eventually(count.exists, "the job counts")
        await process.freeze()
        await come_to_rest(count.read_text)
        before = count.read_text()
        await process.stop(0)
        assert count.read_text() == before
        assert (await process.wait()).reason == "killed"
        await read_all(process)

    asyncio.run(story())


def test_use_of_processor_and_memory_is_measured(every):
    script = (
        "x=$(head -c 30000000 /dev/zero | tr '\\0' a); i=0; while [ $i -lt 150000 ]; do i=$((i+1)); done; "
        "touch held; while [ ! -e go ]; do sleep 0.05; done"
    )

    async def story():
        work = (folder := every.folder()) / "work"
        process = await every.start("/bin/sh", "-c", script, folder=folder)
        await async_eventually((work / "held").exists, "the job holds its memory")
        # A watchdog looks every quarter of a second, in this event loop: it does so before this sleep ends.
        await asyncio.sleep(0.6)
        (work / "go").touch()
        output = await read_all(process)
        return await process.wait(), output

    ended, output = asyncio.run(story())
    assert ended.code == 0, output
    assert 0.05 < ended.cpu_seconds < 20
    assert 25_000_000 < ended.peak_memory_bytes < 512 << 20


def groups_left(state: Path) -> list[str]:
    places = {place for mount in read_mounts() for place in (mount.own, mount.top)}
    return [str(group) for place in places for group in place.glob(f"computepool-{instance_of(state)}-*")]


def test_nothing_is_left_behind(every, state):
    async def story():
        await every.finish("/bin/true")  # what is made once is made now
        descriptors, dead = open_descriptors(), set(zombies())  # engines of other tests may be among them
        groups = len(groups_left(state))
        for _ in range(5):
            await every.finish("/bin/sh", "-c", "sleep 0.01 & exit 1")
        await asyncio.sleep(0)
        assert open_descriptors() == descriptors
        assert len(groups_left(state)) == groups
        assert set(zombies()) <= dead

    asyncio.run(story())


def open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def zombies() -> list[int]:
    """Children of this process that ended and were not reaped."""
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return [int(pid) for pid in children if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"]


def test_many_commands_run_side_by_side(every):
    async def story():
        folder = every.folder()
        meet = "touch {n}; while [ $(ls | wc -l) -lt 8 ]; do sleep 0.05; done; exit {n}"
        async with asyncio.timeout(patience()):
            ended = await asyncio.gather(
                *(every.finish("/bin/sh", "-c", meet.format(n=n), folder=folder) for n in range(8))
            )
        assert [done.code for done, _ in ended] == list(range(8))

    asyncio.run(story())


def test_start_that_is_canceled_leaves_nothing(every):
    async def story():
        mark = f"34{time.time_ns() % 10**7}"
        for delay in (0, 0.0005, 0.002):
            task = asyncio.create_task(every.start("/bin/sleep", mark))
            await asyncio.sleep(delay)
            task.cancel()
            try:
                process = await task
            except asyncio.CancelledError:
                continue
            await process.stop(0)  # it was quicker
            os.close(process.output_fd)
        await every.sandbox.close()  # waits for what is being cleared away
        assert processes_with(mark) == []

    asyncio.run(story())


def test_folder_that_is_not_there_is_a_sandbox_error(every, state):
    with pytest.raises(SandboxError):
        every.run("/bin/true", folder=every.sandbox.attempts_folder / "nothing")


def test_broken_sandbox_is_not_the_jobs_fault(bench, state):
    """A folder that vanishes between the making and the start of a sandbox stands for whatever may break in it."""
    isolated = bench("bubblewrap-soft")
    etc = next(state.glob("etc-*"))
    etc.rename(state / "gone")

    async def story():
        try:
            process = await isolated.start("/bin/true")
        except SandboxError as error:
            return str(error)
        output = await read_all(process)
        ended = await process.wait()
        assert ended.reason == "start_failed"
        assert not ended.ran
        assert process.sift(output) == b""  # not a word of it is the command's
        return process.complaint

    assert "etc" in asyncio.run(story())
    (state / "gone").rename(etc)
    assert isolated.run("/bin/true")[0].reason == "exited"  # the control


def test_everything_the_command_says_is_its_own(every):
    async def story():
        process = await every.start("/bin/sh", "-c", "echo one; exec sleep 0.05")
        output = await read_all(process)
        before = process.sift(output)
        ended = await process.wait()
        assert (before, process.sift(output), process.complaint) == (b"one\n", b"one\n", "")
        assert ended.ran

    asyncio.run(story())


STUCK = """#!/bin/bash
info=$(tr '\\0' '\\n' < /proc/self/fd/$2 | grep -A1 -x -e --info-fd | tail -n 1)
echo no end of mounting >&2
sleep 3600 &
echo "{\\"child-pid\\": $!}" >&"$info"
wait
"""


def test_command_that_is_stopped_before_it_ran_did_not_run(bench, tmp_path):
    """A bubblewrap that never comes to the door."""
    isolated = bench("bubblewrap-soft")
    isolated.sandbox._bwrap = str(stand_in(tmp_path, STUCK))

    async def story():
        process = await isolated.start("/bin/true")
        await process.stop(0)
        assert process.sift(await read_all(process)) == b""
        ended = await process.wait()
        assert (ended.reason, ended.ran, process.complaint) == ("killed", False, "no end of mounting")

    asyncio.run(story())


def stand_in(place: Path, script: str) -> Path:
    """A bubblewrap of our own, where the user that jobs run as finds it."""
    program = place / "bwrap"
    program.write_text(script)
    program.chmod(0o755)
    for folder in (place, *place.parents):
        if folder == Path(tempfile.gettempdir()):
            break
        folder.chmod(0o755)
    return program


def test_bubblewrap_that_cannot_start_says_why(bench, tmp_path):
    isolated = bench("bubblewrap-soft")
    isolated.sandbox._bwrap = str(stand_in(tmp_path, "#!/bin/sh\necho no namespaces for you >&2\nexit 1\n"))
    with pytest.raises(SandboxError, match="no namespaces for you"):
        isolated.run("/bin/true")


def test_command_keeps_its_secrets_from_the_hosts_process_list(bench):
    isolated = bench("bubblewrap-soft")

    async def story():
        folder = isolated.folder()
        secret = f"hunter{time.time_ns()}"
        process = await isolated.start("/bin/sleep", "3600", env={"TOKEN": secret}, folder=folder)
        assert processes_with(str(folder.name)) == []
        assert processes_with(secret) == []
        await process.stop(0)
        await read_all(process)

    asyncio.run(story())


def test_running_command_tells_what_it_uses_until_it_is_over(every):
    async def story():
        process = await every.start("/bin/sh", "-c", "while :; do :; done")
        reading = asyncio.ensure_future(read_all(process))

        def busy():
            now = process.usage_now()
            return now is not None and (now.cpu_seconds or 0) > 0.1 and (now.memory_bytes or 0) > 0

        await async_eventually(busy, "a busy command uses the processor and memory")
        await process.stop(0)
        await reading
        assert process.usage_now() is None

    asyncio.run(story())
