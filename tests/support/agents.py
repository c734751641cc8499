"""Real agents for tests: real lines, real files, the real plain-process sandbox, in the test's own event loop."""

import asyncio
import contextlib
import random
import secrets
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ParamSpec, TypeVar

from support.fake_hub import FakeHub, Node

from computepool.agent.agent import Agent, Parts
from computepool.agent.clock import Clock, SystemClock
from computepool.agent.detect import GpuMonitor
from computepool.agent.engines import EngineWatch
from computepool.agent.home import AgentHome, NodeRecord
from computepool.agent.images import Images
from computepool.agent.link.connections import Connections
from computepool.agent.outside import Outside
from computepool.agent.own_jobs import OwnCheckpoints, OwnJobs
from computepool.agent.ownership import OpenWatch
from computepool.agent.ports import Connect, offload_to_threads
from computepool.agent.sandbox import ProcessSandbox, Sandbox
from computepool.agent.transfer import HttpTransfer
from computepool.protocol.capacity import Capacity

P = ParamSpec("P")
T = TypeVar("T")
CAPACITY = Capacity(cpus=4.0, memory_bytes=4 * 1024**3, disk_bytes=10 * 1024**3)


class SkippingClock(SystemClock):
    """A machine that slept: elapsed time jumps, the event loop's timers do not."""

    skipped = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.skipped


async def offload_inline(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """For virtual time: nothing leaves the event loop."""
    return function(*args, **kwargs)


def enrolled_home(hub: FakeHub, folder: Path) -> tuple[AgentHome, Node]:
    """A home whose node the hub knows, without the ceremony."""
    home = AgentHome(folder / "agent")
    home.prepare()
    if home.is_enrolled():
        return home, hub.nodes[home.node().node_id]
    identity = home.identity()
    node = hub.add_node(identity.sign_key.public_key().public_bytes_raw())
    home.save_node(
        NodeRecord(hub_url=hub.url, hub_id=hub.hub_id, node_id=node.node_id, name="test", hub_keys=hub.hub_keys)
    )
    return home, node


@dataclass
class Running:
    agent: Agent
    home: AgentHome
    node: Node
    """As the hub knows it."""
    task: asyncio.Task[None]
    sandboxes: Sequence[Sandbox]

    @property
    def job_folders(self) -> list[Path]:
        places = [sandbox.attempts_folder for sandbox in self.sandboxes]
        return [path for place in places for path in place.iterdir() if path.name.startswith("attempt_")]

    async def die(self) -> None:
        """As `kill -9` would: nothing is told, nothing is tidied up."""
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


@contextlib.asynccontextmanager
async def running_agent(
    hub: FakeHub,
    folder: Path,
    *,
    connect: Connect | None = None,
    wait: bool = True,
    sandboxes: Sequence[Sandbox] | None = None,
    log_limit_bytes: int = 1_000_000_000,
    seed: int = 1,
    capacity: Capacity = CAPACITY,
    clock: Clock | None = None,
    outside: Outside | None = None,
    images: Images | None = None,
    open_watch: OpenWatch | None = None,
    monitor: GpuMonitor | None = None,
    engines: EngineWatch | None = None,
    passed: Callable[[int], None] = lambda count: None,
    own_jobs: OwnJobs | None = None,
) -> AsyncIterator[Running]:
    home, node = enrolled_home(hub, folder)
    own = sandboxes is None
    used: Sequence[Sandbox] = [ProcessSandbox(home.root, cgroups=None)] if sandboxes is None else sandboxes
    rng = random.Random(seed)
    connections = Connections(home.node(), home.identity(), "test", rng)
    transfer = HttpTransfer(hub.url, passed)
    agent = Agent(
        Parts(
            home=home,
            node=home.node(),
            identity=home.identity(),
            capacity=capacity,
            instance_id=secrets.token_hex(16),
            agent_version="test",
            clock=clock or SystemClock(),
            rng=rng,
            offload=offload_to_threads,
            connect=connect or connections,
            sandboxes=used,
            transfer=transfer,
            log_limit_bytes=log_limit_bytes,
            outside=outside,
            images=images,
            open_watch=open_watch,
            monitor=monitor,
            engines=engines,
            own_jobs=None
            if own_jobs is None
            else replace(own_jobs, checkpoints=OwnCheckpoints(home.root, offload_to_threads)),
        )
    )
    task = asyncio.ensure_future(agent.run())
    try:
        if wait:
            await hub.until(lambda: node.line is not None or task.done())
        yield Running(agent, home, node, task, used)
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await connections.close()
        await transfer.close()
        if own:
            for sandbox in used:
                await sandbox.sweep()
                await sandbox.close()
