"""The product under measurement: a hub process and, where asked for, an agent process, each in a home of its own."""

import asyncio
import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

from benchmarks.client import Client
from benchmarks.measure import Unavailable
from benchmarks.processes import Child, Failed, free_port, python, wait_until
from computepool.agent.home import AgentHome
from computepool.agent.sandbox.identity import SYSTEM_FOLDER, instance_of
from computepool.hub import commands

COMPUTEPOOL = ("-P", "-m", "computepool")
UNBOUNDED = {f"COMPUTEPOOL_LIMIT_REQUESTS_PER_{whose}": "1000000" for whose in ("ADDRESS", "ACCOUNT")}
UNBOUNDED |= {"COMPUTEPOOL_LIMIT_CONNECTIONS": "20000", "COMPUTEPOOL_LIMIT_CONNECTIONS_PER_ADDRESS": "20000"}
"""A benchmark asks as often as the hub can answer, all from one address. What it asks is counted all the same."""


class Hub:
    """Prepared as `up` does it, run as `hub serve` does it; it may be stopped, killed and started again."""

    def __init__(self, folder: Path, *program: str, bounded: bool = False) -> None:
        """`bounded`: with the limits on requests that every hub has."""
        self.home = folder
        self.settings = commands.load_settings(home=folder)
        commands.migrate(self.settings)
        prepared = asyncio.run(commands.prepare(self.settings, None))
        self.admin_id, self.token, self.join_token = prepared.admin_id, prepared.cli_token, prepared.join_token
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.client = Client(self.url, self.token)
        self._program = program or COMPUTEPOOL
        self._variables = {} if bounded else UNBOUNDED
        self._child: Child | None = None

    @property
    def database(self) -> Path:
        return self.home / "pool.db"

    @property
    def child(self) -> Child:
        assert self._child is not None, "the hub is not running"
        return self._child

    def start(self) -> float:
        """Seconds from its start until it is ready."""
        words = ("hub", "serve", "--port", str(self.port), "--home", self.home)
        child = self._child = Child(python(*self._program, *words), self.home / "hub.log", self._variables)
        return wait_until(self._is_ready, "the hub", child)

    def stop(self) -> None:
        if self._child is not None:
            self._child.stop()
            self._child = None

    def close(self) -> None:
        """For good."""
        self.stop()
        self.client.close()

    def kill(self) -> None:
        self.child.kill()
        self._child = None

    def nodes_online(self) -> int:
        return self.client.nodes_online()

    def finished(self) -> dict[str, int]:
        """How many jobs ended in which state."""
        states: dict[str, int] = {}
        cursor: str | None = None
        while True:
            page = self.client.get("jobs", limit=500, **({"cursor": cursor} if cursor else {}))
            for job in page["items"]:
                states[job["state"]] = states.get(job["state"], 0) + 1
            cursor = page["next"]
            if cursor is None:
                return states

    def _is_ready(self) -> bool:
        with contextlib.suppress(httpx.TransportError):
            return self.client.http.get(f"{self.url}/readyz").is_success
        return False


class Agent:
    """A real one."""

    def __init__(self, hub: Hub, folder: Path, *program: str, url: str | None = None, takes_jobs: bool = True) -> None:
        """`url` is where it reaches the hub, if not directly. Jobs run in bubblewrap, which must work for them."""
        self.home = AgentHome(folder / "agent")
        log, home = folder / "agent.log", ("--home", folder)
        folder.mkdir(parents=True, exist_ok=True)
        # Its jobs are not signed, so that they would wait until nobody uses this machine.
        self.home.prepare()
        (self.home.root / "policy.toml").write_text('seat = "no"\n')
        join = Child(
            python(
                *COMPUTEPOOL,
                "join",
                url or hub.url,
                "--token",
                hub.join_token,
                "--enrol-only",
                "--name",
                "bench",
                *home,
            ),
            log,
        )
        if code := join.wait():
            raise Failed(f"computepool join ended with {code}:\n{join.log_tail()}")
        words = ("agent", "start", "--while-stdin-open", *home)
        self.child = Child(python(*(program or COMPUTEPOOL), *words), log)
        try:
            wait_until(lambda: hub.nodes_online() > 0, "the agent", hub.child, self.child, every=0.05)
            self.node: Any = hub.client.get("nodes")["items"][0]
            if takes_jobs and "bubblewrap" not in self.node["capacity"]["isolation"]:
                raise Unavailable("bubblewrap does not work here: `computepool agent doctor` says what to do")
        except BaseException:
            self.stop()
            raise

    def attempts_folders(self) -> list[Path]:
        """Where the folders of its jobs may be: an agent that is root keeps them where other users can go."""
        return [self.home.attempts, SYSTEM_FOLDER / instance_of(self.home.root) / "attempts"]

    @property
    def cpus(self) -> int:
        return max(1, int(self.node["capacity"]["cpus"]))

    def stop(self) -> None:
        self.child.stop()


@contextlib.contextmanager
def running_hub(folder: Path, *program: str) -> Iterator[Hub]:
    hub = Hub(folder, *program)
    try:
        hub.start()
        yield hub
    finally:
        hub.close()


@contextlib.contextmanager
def running_pool(folder: Path, *program: str) -> Iterator[tuple[Hub, Agent]]:
    with running_hub(folder / "hub", *program) as hub:
        agent = Agent(hub, folder / "agent", *program)
        try:
            yield hub, agent
        finally:
            agent.stop()
