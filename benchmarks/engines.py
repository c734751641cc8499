"""A Docker daemon of the benchmark's own, with private folders and a private socket. Needs root."""

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.processes import Child, Failed, wait_until


@contextlib.contextmanager
def private_docker(folder: Path) -> Iterator[tuple[Path, str | None]]:
    """Its socket, and why it cannot be had here, if so."""
    missing = [program for program in ("docker", "dockerd", "containerd", "runc") if not shutil.which(program)]
    if os.geteuid() != 0 or missing:
        yield folder, f"{', '.join(missing)} not installed" if missing else "needs root"
        return
    # Short, because the name of a socket must be.
    place = Path(tempfile.mkdtemp(prefix="cp-bench-"))
    sock = place / "docker.sock"
    settings = {
        "data-root": str(place / "data"),
        "exec-root": str(place / "exec"),
        "pidfile": str(place / "docker.pid"),
        "hosts": [f"unix://{sock}"],
        "bridge": "none",
        "iptables": False,
        "ip6tables": False,
        "ip-forward": False,
    }
    (place / "daemon.json").write_text(json.dumps(settings))
    folder.mkdir(parents=True, exist_ok=True)
    daemon = Child(["dockerd", "--config-file", str(place / "daemon.json")], folder / "dockerd.log")
    try:
        try:
            wait_until(sock.is_socket, "dockerd", daemon, every=0.1)
        except Failed as error:
            yield folder, str(error)
            return
        yield sock, None
    finally:
        daemon.stop()
        shutil.rmtree(place, ignore_errors=True)
