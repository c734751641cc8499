"""Container engines of the tests' own: private daemons with private folders and sockets. Root only.

The machine's own engines are not used, and what a daemon was running ends with it. Each of them skips the running test
where it does not work: see support/engines.py.
"""

import contextlib
import http.client
import io
import json
import os
import shutil
import signal
import socket
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from support import engines
from support.waiting import patience

from computepool.agent.sandbox.proctree import every_pid

STOP_SECONDS = 20.0
NOBODY = 65534
# Debian's runsc has no KVM here, and its default network would be of no use without one.
RUNSC_ARGUMENTS = ["--platform=ptrace", "--network=none"]


def answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(2)
        try:
            client.connect(str(path))
            client.sendall(b"GET /_ping HTTP/1.0\r\nHost: engine\r\n\r\n")
            return b"200" in client.recv(64)
        except OSError:
            return False


class PrivateEngine:
    """A daemon that answers on `socket`. `kill` is for tests of engines that die; `start` brings it back."""

    def __init__(self, name: str, argv: list[str], folder: Path, env: dict[str, str] | None = None) -> None:
        self.name = name
        self.socket = folder / f"{name}.sock"
        self.log = folder / f"{name}.log"
        self._argv = argv
        self._env = {**os.environ, "TMPDIR": str(folder), **(env or {})}
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                # Tests that are killed must not leave a daemon behind.
                ["setpriv", "--pdeathsig", "TERM", *self._argv],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=self._env,
                cwd=self._folder,
                start_new_session=True,
            )
        began = time.monotonic()
        while not answers(self.socket):
            if self._process.poll() is not None or time.monotonic() > began + patience():
                self.stop()
                raise RuntimeError(f"{self.name} did not start: {self.log.read_text(errors='replace')[-1500:]}")
            time.sleep(0.05)

    def kill(self) -> None:
        """Without a word, as a crash does."""
        if self._process:
            self._process.kill()
            self._process.wait()
            self._process = None

    def stop(self) -> None:
        if not self._process:
            return
        self._process.terminate()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def ask(self, method: str, path: str, body: bytes | dict[str, Any] | None = None) -> Any:
        """The engine's answer, read as JSON. RuntimeError with its message if it refuses."""
        with contextlib.closing(http.client.HTTPConnection("engine", timeout=patience())) as connection:
            connection.sock = socket.socket(socket.AF_UNIX)
            connection.sock.settimeout(patience())
            connection.sock.connect(str(self.socket))
            content = json.dumps(body).encode() if isinstance(body, dict) else body
            kind = {"Content-Type": "application/json" if isinstance(body, dict) else "application/x-tar"}
            connection.request(method, path, content, kind)
            answer = connection.getresponse()
            told = answer.read()
        if answer.status >= 400:
            raise RuntimeError(f"{self.name}: {method} {path}: {told.decode(errors='replace')[-500:]}")
        return json.loads(told) if told.strip() else None

    def add_bare_image(self, name: str, tag: str) -> None:
        image = self.ask("POST", "/images/create?fromSrc=-", bare_image())["status"]
        self.ask("POST", f"/images/{image}/tag?repo={name}&tag={tag}")

    def run_container(self, runtime: str | None = None) -> None:
        """Run a command in a container, as a sandbox does. RuntimeError if that is impossible."""
        self.add_bare_image("localhost/trial", "1")
        # Podman's own limits are higher than some machines allow; sandboxes set theirs as well.
        ulimits = [{"Name": name, "Soft": 256, "Hard": 256} for name in ("nofile", "nproc")]
        host = {"NetworkMode": "none", "Binds": ["/usr:/usr:ro"], "Ulimits": ulimits, "Runtime": runtime or ""}
        spec = {"Image": "localhost/trial:1", "Cmd": ["/bin/sh", "-c", "exit 42"], "HostConfig": host}
        container = self.ask("POST", "/containers/create", spec)["Id"]
        self.ask("POST", f"/containers/{container}/start")
        ended = self.ask("POST", f"/containers/{container}/wait")
        if ended["StatusCode"] != 42:
            raise RuntimeError(f"{self.name}: a container that should end with 42 ended so: {ended}")


def bare_image() -> bytes:
    """A file system of nothing but places to mount the machine's own programs at."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as image:
        for name in ("bin", "lib", "lib64", "sbin"):
            link = tarfile.TarInfo(name)
            link.type, link.linkname = tarfile.SYMTYPE, f"usr/{name}"
            image.addfile(link)
        for name in ("usr", "tmp", "proc", "dev", "sys", "etc", "root", "run", "var", "state"):
            folder = tarfile.TarInfo(name)
            folder.type, folder.mode = tarfile.DIRTYPE, 0o1777 if name in ("tmp", "state") else 0o755
            image.addfile(folder)
    return packed.getvalue()


@contextlib.contextmanager
def private_folder() -> Iterator[Path]:
    """Short, because a socket's name must be, and reachable for every user, because jobs run as others.

    Not in /tmp: engines mount things, and other tests show all of /tmp to a sandbox meanwhile.
    """
    folder = Path(tempfile.mkdtemp(prefix="cp-engine-", dir="/var/tmp"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        _end_what_runs_in(folder)
        _unmount_below(folder)
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def docker_engine(environment: dict[str, str] | None = None) -> Iterator[PrivateEngine]:
    """dockerd with runc, and runsc if it is installed."""
    engines.require("docker")
    with private_folder() as folder:
        runsc = shutil.which("runsc")
        settings = {
            "data-root": str(folder / "data"),
            "exec-root": str(folder / "exec"),
            "pidfile": str(folder / "docker.pid"),
            "hosts": [f"unix://{folder / 'docker.sock'}"],
            "bridge": "none",
            "iptables": False,
            "ip6tables": False,
            "ip-forward": False,
            "runtimes": {"runsc": {"path": runsc, "runtimeArgs": RUNSC_ARGUMENTS}} if runsc else {},
        }
        (folder / "daemon.json").write_text(json.dumps(settings))
        argv = ["dockerd", "--config-file", str(folder / "daemon.json")]
        engine = PrivateEngine("docker", argv, folder, environment)
        engine.start()
        try:
            yield engine
        finally:
            engine.stop()


@contextlib.contextmanager
def podman_engine(registry_address: str | None = None) -> Iterator[PrivateEngine]:
    """podman's service with runc. It trusts plain HTTP only at the address given."""
    engines.require("podman")
    with private_folder() as folder:
        registries = folder / "registries.conf"
        trust = f'[[registry]]\nlocation = "{registry_address}"\ninsecure = true\n' if registry_address else ""
        registries.write_text(trust)
        argv = [
            "podman", "--cgroup-manager", "cgroupfs", "--runtime", "runc", "--events-backend", "file",
            "--root", str(folder / "data"), "--runroot", str(folder / "run"), "--tmpdir", str(folder / "tmp"),
            "system", "service", "--time", "0", f"unix://{folder / 'podman.sock'}",
        ]  # fmt: skip
        engine = PrivateEngine("podman", argv, folder, {"CONTAINERS_REGISTRIES_CONF": str(registries)})
        engine.start()
        try:
            yield engine
        finally:
            engine.stop()


# An ordinary user needs ids to map; here they are given in a mount namespace, and nothing of the machine changes.
AS_NOBODY = """
mount --bind "$0" /etc/subuid && mount --bind "$0" /etc/subgid &&
exec setpriv --reuid 65534 --regid 65534 --clear-groups "$@"
"""


@contextlib.contextmanager
def rootless_podman_engine() -> Iterator[PrivateEngine]:
    """podman's service of the user nobody, whom it answers."""
    engines.require("podman-rootless")
    with private_folder() as folder:
        ids = folder / "ids"
        ids.write_text("nobody:200000:65536\n")
        home = folder / "home"
        (home / "run").mkdir(parents=True)
        for place in (folder, home, home / "run"):
            os.chown(place, NOBODY, NOBODY)
        podman = [
            "podman", "--cgroup-manager", "cgroupfs", "--runtime", "runc", "--events-backend", "file",
            "--storage-driver", "vfs", "--root", str(home / "data"), "--runroot", str(home / "run/podman"),
            "--tmpdir", str(home / "run/tmp"), "system", "service", "--time", "0", f"unix://{folder / 'podman.sock'}",
        ]  # fmt: skip
        argv = ["unshare", "--mount", "sh", "-c", AS_NOBODY, str(ids), *podman]
        engine = PrivateEngine("podman", argv, folder, {"HOME": str(home), "XDG_RUNTIME_DIR": str(home / "run")})
        engine.start()
        try:
            yield engine
        finally:
            engine.stop()


def _end_what_runs_in(folder: Path) -> None:
    """Shims, monitors and podman's pause process, which outlive a daemon: they name the folder, or work in it."""
    for _ in range(20):
        left = [pid for pid in every_pid() if pid != os.getpid() and _belongs_to(folder, pid)]
        if not left:
            return
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)


def _belongs_to(folder: Path, pid: int) -> bool:
    process = Path(f"/proc/{pid}")
    try:
        return f"{folder}/".encode() in (process / "cmdline").read_bytes() or (process / "cwd").readlink() == folder
    except OSError:
        return False


def _unmount_below(folder: Path) -> None:
    points = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    for point in sorted((point for point in points if point.startswith(f"{folder}/")), reverse=True):
        subprocess.run(["umount", "-l", point], check=False, capture_output=True)
