"""The host, as probes want it: an agent's folder with secrets, sockets and a process, which anybody may reach."""

import contextlib
import os
import shutil
import socket
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SECRET = "the-agents-secret"
SETUID_PROGRAMS = (["/usr/bin/su", "-c", "true"], ["/bin/su", "-c", "true"], ["/usr/bin/passwd"])
USUAL_DEVICES = (
    "null", "zero", "full", "random", "urandom", "tty", "console", "ptmx", "pts", "shm", "mqueue", "stdin", "stdout",
    "stderr", "fd", "core", "net",
)  # fmt: skip
# Kernels put these into every network, down and without an address.
USUAL_INTERFACES = (
    "sit0", "tunl0", "ip6tnl0", "gre0", "gretap0", "erspan0", "ip_vti0", "ip6_vti0", "ip6gre0",
)  # fmt: skip
# Opening them does nothing. Never a watchdog.
HARMLESS_DEVICES = ("/dev/kmsg", "/dev/fuse", "/dev/loop-control", "/dev/net/tun", "/dev/hwrng", "/dev/vhost-net")
# What a renter may write into a job's environment.
RENTERS_ENVIRONMENT = {
    "NVIDIA_VISIBLE_DEVICES": "all",
    "NVIDIA_DRIVER_CAPABILITIES": "all",
    "LD_PRELOAD": "libm.so.6",
    "LD_LIBRARY_PATH": "/job/work",
    "LD_AUDIT": "/job/work/evil.so",
    "COMPUTEPOOL_RUN": "another.run.1.",
}

Facts = dict[str, Any]


@contextlib.contextmanager
def secrets_of(state: Path, attempts: Path) -> Iterator[Facts]:
    """Facts for probes. Meanwhile this process holds an open file and a socket that it would hand down."""
    with contextlib.ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="agent-", dir=state))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        neighbour = Path(tempfile.mkdtemp(prefix="neighbour-", dir=attempts))
        stack.callback(shutil.rmtree, neighbour, ignore_errors=True)
        _write(folder / "key.json", folder / "journal" / "attempt.json", neighbour / "work" / "input")
        for place in (folder, neighbour):
            place.chmod(0o755)
        tmp_file = stack.enter_context(tempfile.NamedTemporaryFile("w", prefix="computepool-probe-"))
        Path(tmp_file.name).write_text("secret")
        Path(tmp_file.name).chmod(0o644)
        abstract = f"computepool-probe-{folder.name}"
        for address in (str(folder / "agent.sock"), str(folder / "docker.sock"), f"\0{abstract}"):
            _listen(stack, socket.AF_UNIX, address)
        _hand_down(stack, folder / "key.json")
        yield {
            "key": str(folder / "key.json"),
            "journal": str(folder / "journal" / "attempt.json"),
            "places": [str(folder), str(state)],
            "agent_socket": str(folder / "agent.sock"),
            "engine_socket": str(folder / "docker.sock"),
            "neighbour": str(neighbour),
            "tmp_file": tmp_file.name,
            "abstract": abstract,
            "port": _listen(stack, socket.AF_INET, ("127.0.0.1", 0)),
            "port6": _listen(stack, socket.AF_INET6, ("::1", 0)),
            "pid": _agent(stack, folder),
            **_machine(),
        }


def _write(*files: Path) -> None:
    for file in files:
        file.parent.mkdir(exist_ok=True)
        file.parent.chmod(0o755)
        file.write_text("secret")
        file.chmod(0o644)


def _listen(stack: contextlib.ExitStack, family: int, address: Any) -> int:
    """The port, where there are ports."""
    server = stack.enter_context(socket.socket(family, socket.SOCK_STREAM))
    server.bind(address)
    server.listen(64)
    return int(server.getsockname()[1]) if family != socket.AF_UNIX else 0


def _hand_down(stack: contextlib.ExitStack, file: Path) -> None:
    descriptor = os.open(file, os.O_RDONLY)
    stack.callback(os.close, descriptor)
    os.set_inheritable(descriptor, True)
    left = stack.enter_context(socket.socket(socket.AF_INET))
    left.set_inheritable(True)


def _agent(stack: contextlib.ExitStack, folder: Path) -> int:
    process = subprocess.Popen(["/bin/sleep", "3600"], env={"AGENT_SECRET": SECRET}, cwd=folder)
    stack.callback(process.wait)
    stack.callback(process.kill)
    return process.pid


def _machine() -> Facts:
    disks = [
        Path("/dev", name)
        for name in sorted(path.name for path in Path("/sys/block").iterdir())
        if not name.startswith(("loop", "ram"))
    ]
    disk = next((path for path in disks if path.is_block_device()), None)
    return {
        "secret": SECRET,
        "home": str(Path.home()),
        "user": "daemon",
        "hostname": socket.gethostname(),
        "disk": str(disk),
        "disk_number": disk.stat().st_rdev if disk else 0,
        "handle_of": "/usr/bin/env",
        "cgroups": _cgroup_folders(),
        "setuid": next((words for words in SETUID_PROGRAMS if _is_setuid(words[0])), ["/bin/false"]),
        "gateway": _gateway(),
        "name_server": _name_server(),
        "usual_interfaces": USUAL_INTERFACES,
        "usual_devices": USUAL_DEVICES,
        "devices": [device for device in HARMLESS_DEVICES if Path(device).exists()][:2] or ["/dev/none"],
    }


def _is_setuid(path: str) -> bool:
    with contextlib.suppress(OSError):
        return bool(Path(path).stat().st_mode & stat.S_ISUID)
    return False


def _cgroup_folders() -> list[str]:
    lines = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    return [words[1] for words in lines if words[2].startswith("cgroup")] or ["/sys/fs/cgroup"]


def _gateway() -> str:
    for line in Path("/proc/net/route").read_text().splitlines()[1:]:
        _, destination, gateway, *_ = line.split()
        if destination == "00000000" and gateway != "00000000":
            return socket.inet_ntoa(int(gateway, 16).to_bytes(4, "little"))
    return "192.168.0.1"


def _name_server() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/etc/resolv.conf").read_text().splitlines():
            words = line.split()
            if words[:1] == ["nameserver"] and ":" not in words[1]:
                return words[1]
    return "8.8.8.8"
