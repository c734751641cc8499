"""A real pool: hub, agents and command lines as processes of their own, each with its home below one folder."""

import contextlib
import functools
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import httpx
from sqlalchemy.orm import Session
from support.children import (
    COMPUTEPOOL,
    Child,
    ForkedChild,
    environment_with,
    finished,
    processes_with,
)
from support.engine import check_books, prepare_database
from support.services import free_ports
from support.waiting import eventually, patience

from computepool.agent.control import AgentNotRunning, ask_agent
from computepool.agent.home import AgentHome
from computepool.agent.owner.policy import Own, Policy
from computepool.agent.owner.policy_file import PolicyFile
from computepool.agent.sandbox.identity import SYSTEM_FOLDER, instance_of
from computepool.client.models import Job
from computepool.client.pool import Pool as Client
from computepool.client.signing_key import ensure_signing_key
from computepool.hub.core.db import durable_engine
from computepool.protocol.own_job import key_text

T = TypeVar("T")

TINY = {"resources": {"cpus": 0.1, "memory": "64MB", "disk": "64MB"}}
"""So that a small machine runs many at once."""
CLEANUP_CHECKS = 50
"""How often `close` looks whether the processes of a pool ended before it kills the rest."""


@dataclass(frozen=True)
class Done:
    """How a command line ended."""

    words: tuple[str, ...]
    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        return self.out.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    def expect(self, code: int = 0) -> "Done":
        assert self.code == code, f"{' '.join(self.words)} → {self.code}, not {code}\n{self.text[-2000:]}{self.err}"
        assert "Traceback" not in self.err, self.err
        return self


@dataclass
class Person:
    """Somebody with a home of their own, signed in to the hub or not."""

    pool: "Pool"
    home: Path
    environment: Mapping[str, str] = field(default_factory=dict)

    def cli(
        self,
        *words: str,
        environment: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> Done:
        """Run the command line to its end."""
        variables = self._variables(environment)
        done = finished(words, environment=variables, cwd=cwd or self.pool.folder)
        return Done(("computepool", *words), done.code, done.out, done.err)

    def begin(self, *words: str, output: Path | None = None) -> Child:
        """Start the command line and leave it running."""
        name = words[0]
        child = Child(
            name,
            [*COMPUTEPOOL, *words],
            log=self.pool.new_log(name),
            environment=self._variables(None),
            cwd=self.pool.folder,
            output=output,
        )
        return self.pool.keep(child)

    def share(self, name: str, *, program: Path | None = None, price: str = "3600", **environment: str) -> "Agent":
        """A machine of this person at this price, whose agent is ours or another program."""
        machine = Agent(self.pool, name, environment)
        self.pool.agents.append(machine)
        token = self.cli("node", "join-token", "--json").expect(0).json["token"]
        words = ["join", self.pool.url, "--token", token, "--name", name]
        if program is None:
            machine.run(*words)
        else:
            variables = environment_with(COMPUTEPOOL_HOME=machine.home, **environment)
            command = [sys.executable, "-P", str(program), *words]
            child = Child(name, command, log=self.pool.new_log(name), environment=variables, cwd=self.pool.folder)
            machine.child = self.pool.keep(child)
            self.pool.until(lambda: machine.link is not None, f"{name} has a line to the hub")
        self.cli("node", "price", machine.node_id, "--fixed", price).expect(0)
        return machine

    def _variables(self, more: Mapping[str, str] | None) -> dict[str, str]:
        return environment_with(COMPUTEPOOL_HOME=self.home, **self.environment, **(more or {}))


class Agent:
    """A machine of the pool: its home, and the process that may be running there."""

    def __init__(self, pool: "Pool", name: str, environment: Mapping[str, str]) -> None:
        self.pool = pool
        self.name = name
        self.home = pool.folder / name
        self.files = AgentHome(self.home / "agent")
        self.environment = environment
        self.child: Child | None = None

    @property
    def node_id(self) -> str:
        return self.files.node().node_id

    @property
    def pid(self) -> int:
        assert self.child is not None
        return self.child.pid

    def run(self, *words: str, wait: bool = True, open_files: int | None = None) -> None:
        """`join` or `agent start`, until it has its line. `open_files` is the soft limit that it begins with."""
        variables = environment_with(COMPUTEPOOL_HOME=self.home, **self.environment)
        log = self.pool.new_log(self.name)
        limits = (open_files, resource.getrlimit(resource.RLIMIT_NOFILE)[1]) if open_files is not None else None
        self.child = self.pool.keep(
            ForkedChild(self.name, words, log=log, environment=variables, cwd=self.pool.folder, open_files=limits)
        )
        if wait:
            self.pool.until(lambda: self.link is not None, f"{self.name} has a line to the hub")

    def needs_no_sandbox(self) -> None:
        """Its owner says that the owner's own jobs may run as plain processes."""
        self.files.prepare()
        PolicyFile(self.files.root).write(Policy(own=Own(process=True)))

    def start(self, *, wait: bool = True) -> None:
        self.run("agent", "start", wait=wait)

    def kill(self) -> None:
        assert self.child is not None
        self.child.kill()

    def stop(self) -> None:
        """As Ctrl-C does; nothing where it has ended already."""
        if self.child is not None and self.child.is_running():
            self.child.stop()

    def ended(self) -> int:
        """Its exit code, once it ended by itself."""
        assert self.child is not None
        return self.child.wait()

    def status(self) -> dict[str, Any] | None:
        """What it says of itself; None while nobody answers."""
        try:
            return ask_agent(self.files.socket_path, "status")
        except AgentNotRunning:
            assert self.child is None or self.child.is_running(), f"{self.name} ended. {self.child.said()}"
            return None

    @property
    def link(self) -> str | None:
        status = self.status()
        return status["link"] if status else None


class Pool(Person):
    """The operator's: a hub that can be killed and started again, agents, and who is signed in beside it."""

    def __init__(self, folder: Path, settings: Mapping[str, str] | None = None) -> None:
        """`settings` are the hub's, as environment variables."""
        super().__init__(self, folder / "hub")
        self.folder = folder
        # Tests make many people, all from this machine.
        self.settings = {"COMPUTEPOOL_LIMIT_REGISTRATIONS_PER_ADDRESS": "1000", **(settings or {})}
        self.port = free_ports(1)[0]
        self.url = f"http://127.0.0.1:{self.port}"
        self.hub: Child | None = None
        self.agents: list[Agent] = []
        self._children: list[Child] = []
        self._client: Client | None = None
        self._logs = 0

    # ── the hub ──

    def start_hub(self, *more: str, wait: bool = True, open_files: int | None = None) -> None:
        """`up --no-agent` on the pool's port, until it answers. `open_files` is its hard limit."""
        words = ["up", "--no-agent", "--port", str(self.port), *more]
        variables = environment_with(COMPUTEPOOL_HOME=self.home, **self.settings)
        if not self.home.exists() and "COMPUTEPOOL_DATABASE_URL" not in self.settings:
            self.home.mkdir(mode=0o700)
            (self.home / "pool.db").write_bytes(migrated_database())
        log = self.new_log("hub")
        limits = (open_files, open_files) if open_files is not None else None
        self.hub = self.keep(
            ForkedChild("hub", words, log=log, environment=variables, cwd=self.folder, open_files=limits)
        )
        if wait:
            self.hub.wait_for("web ")

    def up(self, *words: str) -> Child:
        """The one command: a hub, and an agent on this machine."""
        command = ["up", "--port", str(self.port), *words]
        variables = environment_with(COMPUTEPOOL_HOME=self.home, **self.settings)
        log = self.new_log("up")
        self.hub = self.keep(ForkedChild("up", command, log=log, environment=variables, cwd=self.folder))
        self.hub.wait_for("machine  shared")
        return self.hub

    def kill_hub(self) -> None:
        assert self.hub is not None
        self.hub.kill()

    # ── machines and people ──

    def join(self, name: str, *, url: str | None = None, words: Sequence[str] = (), **environment: str) -> Agent:
        """A second machine: its own home, its own process, a fresh token. Its owner's jobs need no sandbox there."""
        agent = Agent(self, name, environment)
        agent.needs_no_sandbox()
        self.agents.append(agent)
        agent.run("join", url or self.url, *self.join_words(), "--name", name, *words)
        return agent

    def join_words(self) -> list[str]:
        """As the operator's own CLI prints them: a fresh token, and the key that signs the operator's jobs."""
        key = key_text(ensure_signing_key(self.home).public_key())
        return ["--token", self.client.join_token().token, "--owner-key", key]

    def join_without_bubblewrap(self, name: str) -> Agent:
        """A bare machine: the same programs, except bwrap."""
        return self.join(name, PATH=path_without("bwrap"))

    def register(self, name: str) -> Person:
        """Somebody else with an account, signed in by a personal token as on a second machine."""
        person = {"email": f"{name}@example.org", "password": "correct horse battery", "name": name}
        answer = httpx.post(f"{self.url}/api/v1/auth/register", json=person, timeout=patience())
        session = answer.raise_for_status().json()
        with Client(self.url, session["access_token"], self.folder) as client:
            token = client.create_token("cli")["token"]
        other = Person(self, self.folder / name)
        other.cli("login", self.url, "--token", token).expect(0)
        return other

    # ── asking ──

    @property
    def client(self) -> Client:
        """The SDK in this process, signed in as the operator: quicker to ask than a command line."""
        if self._client is None:
            self._client = patient(Client(home=self.home))
        return self._client

    def submit(self, *command: str, **spec: Any) -> Job:
        return self.client.submit({**TINY, "run": list(command), **spec})

    def until(self, condition: Callable[[], T | None], what: str, takes: float = 0.0) -> T:
        """`eventually`, with the logs of everything in the error."""
        try:
            return eventually(condition, what, takes=takes)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.story()}") from None

    def until_state(self, job_id: str, *states: str, takes: float = 0.0) -> Job:
        def look() -> Job | None:
            job = self.client.job(job_id)
            assert job.state in states or not job.is_final, f"{job_id} is {job.state}: {job.message}\n{self.story()}"
            return job if job.state in states else None

        return self.until(look, f"{job_id} becomes {' or '.join(states)}", takes)

    def until_running(self, job_id: str) -> Job:
        """Until its command runs, not only until it has a node."""

        def look() -> Job | None:
            job = self.client.job(job_id)
            assert not job.is_final, f"{job_id} is {job.state}: {job.message}\n{self.story()}"
            newest = job.slices[0].newest
            return job if newest is not None and newest.state == "running" else None

        return self.until(look, f"{job_id} runs")

    def log_of(self, job_id: str, slice: int = 0) -> bytes:
        return b"".join(chunk.data for chunk in self.client.logs(job_id, slice=slice))

    # ── processes ──

    def new_log(self, name: str) -> Path:
        self._logs += 1
        return self.folder / f"{self._logs:02}-{name}.log"

    def keep(self, child: Child) -> Any:
        self._children.append(child)
        return child

    def story(self) -> str:
        """What everybody said last."""
        newest = sorted(self.folder.glob("*.log"), key=lambda log: log.stat().st_mtime)[-6:]
        logs = [*newest, *(self.home / name for name in ("hub.log", "agent.log"))]
        return "\n".join(f"── {log.name}\n{log.read_text(errors='replace')[-2500:]}" for log in logs if log.is_file())

    def leftovers(self) -> dict[int, str]:
        """Processes of this pool, of its jobs too: a sandbox is known by the agent's folder or instance."""
        ours = [str(self.folder), *(instance_of(agent.files.root) for agent in self._all_agents())]
        return processes_with(ours)

    def _all_agents(self) -> list[Agent]:
        # `up` has one in its own home.
        return [*self.agents, Agent(self, self.home.name, {})]

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
        # Agents and command lines first, while there is a hub to tell.
        for child in sorted(self._children, key=lambda child: child is self.hub):
            with contextlib.suppress(AssertionError):
                child.stop()
        for _ in range(CLEANUP_CHECKS):
            if not self.leftovers():
                break
            time.sleep(0.1)
        for pid in self.leftovers():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for agent in self._all_agents():
            # Where an agent that is root, and was killed, kept the folders of its jobs.
            # Jobs may have dug deeper than Python's own removal goes.
            subprocess.run(["rm", "-rf", str(SYSTEM_FOLDER / instance_of(agent.files.root))], check=False)

    def check_books(self) -> None:
        """Whatever was killed in the middle of what."""
        if (file := self.home / "pool.db").exists():
            engine = durable_engine(f"sqlite:///{file}")
            with Session(engine) as session:
                check_books(session)
            engine.dispose()


def patient(client: Client) -> Client:
    """It waits for a hub that is away as long as a test waits."""
    client._http.patience_seconds = patience()
    return client


@functools.cache
def migrated_database() -> bytes:
    """A database file as the first start of a hub makes it; `up` makes its own."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "pool.db")
        prepare_database(f"sqlite:///{file}")
        return file.read_bytes()


_paths: list[Path] = []


def remove_paths() -> None:
    while _paths:
        shutil.rmtree(_paths.pop(), ignore_errors=True)
    path_without.cache_clear()


@functools.cache
def path_without(program: str) -> str:
    """A PATH with every program of ours but this one; `remove_paths` at the end."""
    place = Path(tempfile.mkdtemp(prefix="computepool-tests-path-"))
    _paths.append(place)
    found: dict[str, str] = {}
    for folder in reversed(os.environ["PATH"].split(os.pathsep)):
        with contextlib.suppress(OSError):
            found |= {entry.name: entry.path for entry in os.scandir(folder or ".")}
    found.pop(program, None)
    for name, target in found.items():
        (place / name).symlink_to(target)
    return str(place)


@contextlib.contextmanager
def running_pool(folder: Path, settings: Mapping[str, str] | None = None, *, hub: bool = True) -> Iterator[Pool]:
    folder.mkdir(parents=True, exist_ok=True)
    pool = Pool(folder, settings)
    try:
        if hub:
            pool.start_hub()
        yield pool
    finally:
        pool.close()
        # pytest shows this where the test failed.
        sys.stdout.write(pool.story())
    pool.check_books()
