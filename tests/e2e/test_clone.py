"""The newcomer's path, literally: a fresh clone, an empty home, nothing set, and the commands of the README.

It downloads everything that the lock names, so it is a proof: `./dev prove clone`.
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.children import environment_with, processes_with
from support.waiting import eventually

ROOT = Path(__file__).parents[2]
INSTALL_SECONDS = 900
USUAL_PORT = 8000
# How this machine reaches the package registries is the only thing that a newcomer is taken to have set.
REGISTRIES = ("PIP_", "UV_", "SSL_CERT_", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    if shutil.which("git") is None:
        pytest.skip("clone: git is not installed")
    if not (ROOT / ".git").exists():
        pytest.skip("clone: these files are not a git repository")
    clone = tmp_path / "computepool"
    subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True, env=environment_with(GIT_DIR=None))
    return clone


@pytest.fixture
def newcomer(tmp_path: Path) -> dict[str, str]:
    """As after `env -i`: a home and a PATH."""
    home = tmp_path / "home"
    home.mkdir()
    # The system's programs first; the Python of these tests only where the system has none that is new enough.
    base = Path(getattr(sys, "_base_executable", sys.executable)).parent
    path = os.pathsep.join(["/usr/local/bin", "/usr/bin", "/bin", str(base)])
    registries = {name: value for name, value in os.environ.items() if name.upper().startswith(REGISTRIES)}
    return {"HOME": str(home), "PATH": path, **registries}


@pytest.fixture
def up(clone: Path, newcomer: dict[str, str], tmp_path: Path) -> Iterator[Path]:
    """`./dev up`, in the background; its output."""
    output = tmp_path / "up.txt"
    words = [] if _is_free(USUAL_PORT) else ["--port", "0"]
    with output.open("wb") as file:
        process = subprocess.Popen(
            ["./dev", "up", *words],
            cwd=clone,
            env=newcomer,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:

        def shared() -> bool:
            assert process.poll() is None, output.read_text()
            return "machine  shared" in output.read_text()

        eventually(shared, "./dev up shares this machine", takes=INSTALL_SECONDS)
        yield output
        process.send_signal(signal.SIGINT)
        assert process.wait(40) == 0, output.read_text()
        eventually(lambda: not processes_with([str(clone)]), "nothing of it is left")
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


@pytest.mark.slow
@pytest.mark.proof(long=True)
@pytest.mark.timeout(INSTALL_SECONDS + 300)
def test_fresh_clone_makes_a_pool_and_runs_a_job_with_two_commands(clone, newcomer, up):
    def run(*command: str) -> subprocess.CompletedProcess[str]:
        words = ["./dev", "run", "computepool", "run", "--", *command]
        return subprocess.run(words, cwd=clone, env=newcomer, capture_output=True, text=True, timeout=120, check=False)

    began = time.monotonic()
    done = run("python3", "-c", "print(6*7)")
    assert (done.returncode, done.stdout) == (0, "42\n"), done.stderr + up.read_text()
    assert time.monotonic() - began < 30, "the environment is there already: nothing is installed again"
    assert run("sh", "-c", "exit 7").returncode == 7, "the exit code is the job's"
    changed = subprocess.run(
        ["git", "status", "--short"], cwd=clone, env=newcomer, capture_output=True, text=True, check=True
    )
    assert changed.stdout == "", "the checkout is as it was"
