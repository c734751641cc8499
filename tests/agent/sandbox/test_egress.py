"""The one way out: a listening socket inside the job's own network, which only the agent answers."""

import asyncio
import json
import socket
import subprocess
from pathlib import Path

import pytest
from support import engines
from support.ordinary_user import run_as_ordinary_user
from support.waiting import eventually, patience

from computepool.agent.sandbox import SandboxError
from computepool.agent.sandbox.interface import EGRESS_PORT
from computepool.agent.sandbox.netns import _listen_by_process, listen_in

PYTHON = "/usr/bin/python3"
ASK = f"import socket; s = socket.create_connection(('127.0.0.1', {EGRESS_PORT}), 300); print(s.recv(99).decode())"


class Answering:
    """Serves what a sandbox hands out: everybody who connects gets a line."""

    def __init__(self) -> None:
        self.server: asyncio.Server | None = None
        self.names: list[tuple[str, int]] = []

    def __call__(self, listener: socket.socket) -> None:
        self.names.append(listener.getsockname())
        listener.setblocking(False)
        asyncio.get_running_loop().create_task(self._serve(listener))

    async def _serve(self, listener: socket.socket) -> None:
        async def answer(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"from the agent")
            writer.close()

        self.server = await asyncio.start_server(answer, sock=listener)

    def close(self) -> None:
        if self.server:
            self.server.close()


@pytest.mark.engine("system-python")
def test_job_with_egress_reaches_the_agent_and_nobody_else(isolated):
    async def story() -> None:
        assert isolated.sandbox.has_egress
        egress = Answering()
        with socket.create_server(("127.0.0.1", 0)) as host:
            script = (
                f"{ASK}\n"
                f"print(socket.socket().connect_ex(('127.0.0.1', {host.getsockname()[1]})) != 0)\n"
                "print(sorted(l.split(':')[0].strip() for l in open('/proc/net/dev') if ':' in l))"
            )
            ended, output = await isolated.finish(PYTHON, "-c", script, egress=egress)
        egress.close()
        assert (ended.code, output) == (0, "from the agent\nTrue\n['lo']\n")
        assert egress.names == [("127.0.0.1", EGRESS_PORT)]

    asyncio.run(story())


@pytest.mark.engine("system-python")
def test_job_without_egress_finds_nobody_there(isolated):
    script = f"import socket; print(socket.socket().connect_ex(('127.0.0.1', {EGRESS_PORT})))"
    assert isolated.run(PYTHON, "-c", script)[1] == "111\n"  # refused


@pytest.mark.engine("system-python")
def test_two_jobs_have_the_same_port_each_in_its_own_network(isolated):
    async def story() -> None:
        first, second = Answering(), Answering()
        hold = f"{ASK}; import time; time.sleep(0.5)"
        runs = await asyncio.gather(*(isolated.finish(PYTHON, "-c", hold, egress=egress) for egress in (first, second)))
        assert [output for _, output in runs] == ["from the agent\n"] * 2
        assert first.names == second.names
        for egress in (first, second):
            egress.close()

    asyncio.run(story())


def test_what_is_shown_is_read_only_and_its_programs_can_be_run(isolated, state):
    shown = state / "environment"
    (shown / "bin").mkdir(parents=True, exist_ok=True)
    tool = shown / "bin" / "tool"
    tool.write_text("#!/bin/sh\necho tool\n")
    tool.chmod(0o755)
    more = {"shown": {"env": shown, "deep/in/it": shown}}
    assert isolated.run("/job/env/bin/tool", **more)[1] == "tool\n"
    assert isolated.run("/job/deep/in/it/bin/tool", **more)[1] == "tool\n"
    ended, _ = isolated.run("/job/env/bin/other", **more)
    assert ended.reason == "not_runnable"
    ended, output = isolated.shell("echo x > /job/env/new; echo x > /job/env/bin/tool; rm -f /job/env/bin/tool", **more)
    assert ended.code != 0
    assert "Read-only" in output
    assert tool.read_text() == "#!/bin/sh\necho tool\n"


def test_absolute_path_leads_into_the_jobs_folder(isolated):
    """At the top, in a folder that is not there, and in /tmp: written there, it is in the job's folder."""
    folder = isolated.folder()
    (folder / "work" / "data").mkdir(parents=True, exist_ok=True)
    (folder / "work" / "data" / "a.txt").write_text("input\n")
    isolated.sandbox.adopt(folder)
    links = {"/data": "work/data", "/opt/deep/a.txt": "work/data/a.txt", "/tmp/all": "work"}
    script = "cat /data/a.txt /opt/deep/a.txt /tmp/all/data/a.txt; echo result > /data/b.txt; mkdir /other"
    ended, output = isolated.shell(script, folder=folder, links=links)
    assert output.startswith("input\ninput\ninput\n")
    assert "Read-only" in output, "the rest is as closed as before"
    assert (folder / "work" / "data" / "b.txt").read_text() == "result\n"
    assert ended.code != 0


@pytest.mark.parametrize("place", ["../out", "/abs", "", "a//b", "./x"])
def test_things_are_shown_in_the_jobs_folder_only(isolated, state, place):
    async def story() -> None:
        with pytest.raises(SandboxError, match="not a plain place"):
            await isolated.finish("/bin/true", shown={place: state})

    asyncio.run(story())


def test_link_that_a_job_left_is_not_followed(isolated, state):
    """Else the next command of the attempt would have folders made outside of it, as the agent's own user."""
    folder = isolated.folder()
    target = state / "made-by-link"
    isolated.shell(f"ln -s /oldroot{target.parent} env; mv env /job/env", folder=folder)
    assert (folder / "env").is_symlink()

    async def story() -> None:
        with pytest.raises(SandboxError, match="'env' is not a folder"):
            await isolated.finish("/bin/true", folder=folder, shown={f"env/{target.name}": state})

    asyncio.run(story())
    assert not target.exists()


def test_ordinary_user_gets_egress_too():
    engines.require("bwrap")
    script = """
import asyncio, json, sys, tempfile
from pathlib import Path
from computepool.agent.sandbox import Command, Limits, available_sandboxes
async def story():
    sandbox = available_sandboxes(Path(sys.argv[1]))[0]
    folder = Path(tempfile.mkdtemp(dir=sandbox.attempts_folder))
    (folder / "work").mkdir()
    seen = []
    command = Command([%r, "-c", %r], {}, folder, Limits(1, 1 << 28, 50, 1 << 24), egress=seen.append)
    process = await sandbox.start(command)
    seen[0].settimeout(300)
    connection, _ = await asyncio.to_thread(seen[0].accept)
    connection.sendall(b"hello")
    connection.close()
    ended = await process.wait()
    print(json.dumps([sandbox.has_egress, ended.code]))
    await sandbox.close()
asyncio.run(story())
"""
    assert json.loads(run_as_ordinary_user(script % (PYTHON, ASK))) == [True, 0]


def test_process_that_is_gone_cannot_be_entered():
    child = subprocess.Popen(["/bin/true"])
    child.wait()
    with pytest.raises(OSError, match="No such"):
        listen_in(child.pid, EGRESS_PORT)
    with pytest.raises(OSError, match="No such"):
        _listen_by_process(child.pid, EGRESS_PORT, False)


@pytest.mark.engine("system-python", "network-namespace")
def test_loopback_that_is_down_is_raised_where_that_is_wanted():
    """As a container's may be."""
    there = subprocess.Popen(["unshare", "--net", "cat"], stdin=subprocess.PIPE)
    try:
        own = Path("/proc/self/ns/net").readlink()
        eventually(lambda: Path(f"/proc/{there.pid}/ns/net").readlink() != own, "the process is in its own network")
        connect = ["nsenter", f"--net=/proc/{there.pid}/ns/net", PYTHON, "-c", ASK]
        with listen_in(there.pid, EGRESS_PORT):
            assert b"unreachable" in subprocess.run(connect, capture_output=True, check=False).stderr  # the control
        with listen_in(there.pid, EGRESS_PORT, raise_loopback=True) as listener:
            listener.settimeout(patience())
            with subprocess.Popen(connect, stdout=subprocess.PIPE) as asking:
                connection, _ = listener.accept()
                connection.sendall(b"here")
                connection.close()
                assert asking.communicate(timeout=patience())[0] == b"here\n"
    finally:
        there.kill()
        there.communicate()
