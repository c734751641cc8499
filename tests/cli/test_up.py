"""`up`: a real hub and a real agent, started, used, restarted and ended."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import psutil
import pytest
from support.children import COMPUTEPOOL, Child, ForkedChild, finished
from support.waiting import eventually, patience

pytestmark = pytest.mark.slow


def environment(home: Path) -> dict[str, str]:
    return {**os.environ, "COMPUTEPOOL_HOME": str(home)}


def call(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    done = finished(words, environment=environment(home), cwd=home.parent)
    return subprocess.CompletedProcess(words, done.code, done.out.decode(), done.err)


class Running:
    def __init__(self, child: Child) -> None:
        self.child = child

    @property
    def shown(self) -> str:
        return self.child.shown

    def wait_for(self, pattern: str) -> str:
        return self.child.wait_for(pattern)

    def children(self) -> list[psutil.Process]:
        return psutil.Process(self.child.pid).children(recursive=True)

    def stop(self) -> int:
        self.child.signal(signal.SIGINT)
        return self.child.wait()


@contextmanager
def up(home: Path, *words: str, fresh: bool = False) -> Iterator[Running]:
    """`fresh`: a whole process of its own, as people start it; else one whose imports were done before."""
    home.parent.mkdir(exist_ok=True)
    log = home.parent / f"up-{time.monotonic_ns()}.txt"
    arguments = ["up", "--port", "0", *words]
    variables = environment(home)
    child = (
        Child("up", [*COMPUTEPOOL, *arguments], log=log, environment=variables, cwd=home.parent)
        if fresh
        else ForkedChild("up", arguments, log=log, environment=variables, cwd=home.parent)
    )
    running = Running(child)
    try:
        yield running
    finally:
        if child.is_running():
            running.stop()


@pytest.fixture(scope="module", params=["@up"])
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Running]]:
    """One pool for the tests that only use it."""
    home = tmp_path_factory.mktemp("pool") / "home"
    with up(home, fresh=True) as running:
        running.wait_for("machine  shared")
        yield home, running


def test_panel_tells_address_sign_in_and_join_line(pool):
    _, running = pool
    url = running.wait_for(r"web\s+(http://127\.0\.0\.1:\d+)")
    assert f"sign in  {url}/" in running.shown
    assert re.search(rf"join\s+computepool join {url} --token \S+", running.shown)
    assert "(one machine, within an hour; the next: computepool node join-token)" in running.shown


def test_cli_of_the_same_home_is_signed_in_and_runs_a_job(pool):
    home, _ = pool
    done = call(home, "run", "--", "python3", "-c", "print(6*7)")
    assert (done.returncode, done.stdout) == (0, "42\n")
    assert call(home, "run", "--", "sh", "-c", "exit 7").returncode == 7


def test_outputs_logs_and_proof_of_a_real_job_hold(pool):
    home, _ = pool
    script = home.parent / "work.py"
    script.write_text(
        "import os, pathlib, sys\n"
        "out = pathlib.Path(os.environ['COMPUTEPOOL_OUTPUT'])\n"
        "(out / 'result.txt').write_text(' '.join(sys.argv[1:]))\n"
        "sys.stdout.buffer.write(bytes(range(256)))\n"
    )
    raw = subprocess.run(
        [*COMPUTEPOOL, "run", "-o", "fetched", "work.py", "--a", "b"],
        env=environment(home),
        cwd=home.parent,
        capture_output=True,
        timeout=patience(),
        check=False,
    )
    assert raw.returncode == 0, raw.stderr
    assert raw.stdout == bytes(range(256))
    assert (home.parent / "fetched/result.txt").read_text() == "--a b"
    verified = call(home, "verify", "last", "-o", "fetched", "--json")
    assert json.loads(verified.stdout)["verified"] is True, verified.stdout


def test_agent_can_be_asked_paused_and_resumed(pool):
    home, _ = pool
    assert json.loads(call(home, "agent", "status", "--json").stdout)["state"] == "online"
    assert json.loads(call(home, "agent", "pause", "--json").stdout)["state"] == "paused"
    assert json.loads(call(home, "agent", "resume", "--json").stdout)["state"] == "online"


def test_doctors_have_an_opinion(pool):
    home, _ = pool
    hub, agent = call(home, "hub", "doctor", "--json"), call(home, "agent", "doctor", "--json")
    assert json.loads(hub.stdout)["ok"] is True
    assert {check["name"] for check in json.loads(agent.stdout)["checks"]} >= {"enrolment", "agent", "hub"}


def test_second_pool_in_the_same_home_is_refused(pool):
    home, _ = pool
    done = call(home, "up", "--port", "0")
    assert done.returncode == 1
    assert "already up" in done.stderr


def test_port_in_use_says_which_to_take(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = call(tmp_path / "home", "up", "--port", str(port))
    assert done.returncode == 1
    assert f"Port {port} is in use" in done.stderr
    assert "--port" in done.stderr


def test_pool_stops_whole_and_goes_on_at_the_next_start(tmp_path):
    home = tmp_path / "home"
    with up(home) as first:
        first.wait_for("machine  shared")
        assert call(home, "run", "--", "echo", "one").stdout == "one\n"
        children = first.children()
        assert children
        assert first.stop() == 0
    assert not [child for child in children if child.is_running() and child.status() != psutil.STATUS_ZOMBIE]
    # On another port: the agent and the CLI have to find it again.
    with up(home) as second:
        second.wait_for("machine  shared")
        assert call(home, "run", "--", "echo", "two").stdout == "two\n"
        jobs = json.loads(call(home, "ps", "-a", "--json").stdout)["items"]
        assert len(jobs) == 2
        assert len(json.loads(call(home, "nodes", "--json").stdout)["items"]) == 1
        assert "was signed in to" not in second.shown


def test_agent_ends_with_a_pool_that_is_killed(tmp_path):
    with up(tmp_path / "home") as running:
        running.wait_for("machine  shared")
        children = running.children()
        assert children
        running.child.kill()
        _, alive = psutil.wait_procs(children, timeout=patience())
        assert not alive


def test_agent_that_dies_is_started_again(tmp_path):
    home = tmp_path / "home"
    with up(home) as running:
        running.wait_for("machine  shared")
        pid = int((home / "agent/agent.lock").read_text())
        assert b"cpj_" not in Path(f"/proc/{pid}/cmdline").read_bytes(), "everybody here could read the join token"
        os.kill(pid, signal.SIGKILL)
        running.wait_for("ended unexpectedly")
        lock = home / "agent/agent.lock"
        eventually(lambda: int(lock.read_text() or 0) != pid, "another agent runs")
        assert call(home, "run", "--", "echo", "back").stdout == "back\n"


def test_hub_alone_has_no_agent(tmp_path):
    home = tmp_path / "home"
    with up(home, "--no-agent") as running:
        running.wait_for(r"not shared")
        assert json.loads(call(home, "nodes", "--json").stdout)["items"] == []
        join = running.wait_for(r"(join http\S+ --token \S+)").split()
        other = tmp_path / "other"
        joined = call(other, *join, "--enrol-only", "--name", "second", "--tag", "lab")
        assert joined.returncode == 0, joined.stderr
        (found,) = json.loads(call(home, "nodes", "--json").stdout)["items"]
        assert (found["name"], found["tags"]) == ("second", ["lab"])
        third = call(tmp_path / "third", *join, "--enrol-only", "--name", "third")
        assert third.returncode != 0
        assert "computepool node join-token" in third.stderr


def test_light_install_says_what_a_hub_needs(tmp_path):
    code = (
        "import sys; sys.modules['uvicorn'] = None; sys.modules['fastapi'] = None;"
        "from computepool.cli.app import run; sys.exit(run(['up', '--home', sys.argv[1]]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "home")],
        capture_output=True,
        text=True,
        timeout=patience(),
        check=False,
    )
    assert done.returncode == 1
    assert "pip install '.[hub]'" in done.stderr


def test_up_says_as_whom_the_cli_is_signed_in_after_its_admin_was_dismissed(tmp_path):
    home = tmp_path / "pool" / "home"
    with up(home, "--no-agent") as first:
        url = first.wait_for(r"web\s+(http://127\.0\.0\.1:\d+)")
        first.wait_for("machine  not shared")
        assert "(once, as admin@localhost)" in first.shown
        assert "signed in as admin@localhost: computepool run" in first.shown
        rita = {"email": "rita@example.org", "password": "correct horse battery", "name": "Rita"}
        assert httpx.post(f"{url}/api/v1/auth/register", json=rita, timeout=patience()).status_code == 201
        assert call(home, "admin", "users", "role", "rita@example.org", "admin").returncode == 0
        assert call(home, "admin", "users", "role", "admin@localhost", "user").returncode == 0
    with up(home, "--no-agent") as second:
        second.wait_for("machine  not shared")
        assert "was signed in as admin@localhost, who is no admin of this pool any more" in second.shown
        assert "now it is signed in to this pool as rita@example.org." in second.shown
        assert "(once, as rita@example.org)" in second.shown
        assert json.loads(call(home, "whoami", "--json").stdout)["email"] == "rita@example.org"
