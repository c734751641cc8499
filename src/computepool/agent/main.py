"""Wires the real parts together: the agent as a program."""

import asyncio
import contextlib
import functools
import logging
import random
import secrets
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version

from computepool.agent.agent import Agent, Parts
from computepool.agent.benchmark.desk import BenchmarkDesk
from computepool.agent.clock import SystemClock
from computepool.agent.control import serve_control
from computepool.agent.detect import Hardware, detect, isolation_of, offered_disk_bytes
from computepool.agent.detect.machine_load import MachineMeter
from computepool.agent.detect.software import as_engines_say
from computepool.agent.detect.software import look_again as detect_software_again
from computepool.agent.engines import EngineWatch
from computepool.agent.home import AgentHome
from computepool.agent.household import NodeImages, keep_house, make_stores
from computepool.agent.housekeeping import is_beginning
from computepool.agent.key_rotation import settled_identity
from computepool.agent.link.connections import Connections
from computepool.agent.own_jobs import OwnCheckpoints, OwnJobs
from computepool.agent.owner.policy_file import PolicyFile
from computepool.agent.ports import allow_open_files, offload_to_threads
from computepool.agent.proof import Proof
from computepool.agent.sandbox import FoundEngine, Sandbox, available_sandboxes, find_engines, look_again, self_test
from computepool.agent.sandbox.available import chosen_engines, container_sandbox
from computepool.agent.sandbox.containers.sandbox import new_run
from computepool.agent.transfer import HttpTransfer
from computepool.agent.workbook import WorkBook
from computepool.protocol.capacity import Capacity
from computepool.protocol.states import NodeState

log = logging.getLogger(__name__)

OPEN_FILES = 8192
"""Each job has pipes, a spool, a way out with its connections, and transfers; many systems begin with 1,024."""


def agent_version() -> str:
    try:
        return version("computepool")
    except PackageNotFoundError:
        return "0"


def sandboxes_of(home: AgentHome, engines: Sequence[FoundEngine] = (), run: str | None = None) -> list[Sandbox]:
    """Every sandbox of this machine, proven or not."""
    hidden = (home.root.parent,)
    return available_sandboxes(home.root, offload=offload_to_threads, hidden=hidden, engines=engines, run=run)


async def proven_sandboxes(
    home: AgentHome, engines: Sequence[FoundEngine] | None = None, run: str | None = None
) -> list[Sandbox]:
    """The sandboxes whose self-test holds here, strongest first. Others are not offered to anybody.

    `join` proves them and starts the agent a moment later: what was proven just now need not be proven again.
    """
    proven = []
    proof = Proof(home.root / "proven.json", SystemClock())
    for sandbox in sandboxes_of(home, await find_engines() if engines is None else engines, run):
        if proof.is_fresh(sandbox.level):
            proven.append(sandbox)
            continue
        result = await self_test(sandbox)
        if result.ok:
            # What gave up its way out here would have it again at the next start.
            if result.facts.get("egress") != "none":
                proof.note(sandbox.level)
            proven.append(sandbox)
        else:
            log.warning("sandbox.unproven", extra={"level": sandbox.level.value, "why": "; ".join(result.problems)})
            await sandbox.close()
    return proven


async def watch_engines(home: AgentHome) -> EngineWatch:
    """With the sandboxes that hold now."""
    engines, run = await find_engines(), new_run(home.root)
    make = functools.partial(
        container_sandbox, state=home.root, run=run, offload=offload_to_threads, hidden=(home.root.parent,)
    )
    return EngineWatch(found=engines, sandboxes=await proven_sandboxes(home, engines, run), look=look_again, make=make)


async def measure(home: AgentHome, own_jobs: OwnJobs | None = None) -> Capacity:
    """What this machine can offer, for `join`."""
    home.prepare()
    engines = await find_engines()
    sandboxes = await proven_sandboxes(home, engines)
    try:
        hardware = await offload_to_threads(detect, home.root)
        policy_file = PolicyFile(home.root)
        policy_file.refresh()
        own_jobs = (own_jobs or OwnJobs()).following(policy_file.policy.own)
        return _offer(hardware, sandboxes, policy_file, engines, own_jobs)
    finally:
        for sandbox in sandboxes:
            await sandbox.close()


def _offer(
    hardware: Hardware,
    sandboxes: Sequence[Sandbox],
    policy_file: PolicyFile,
    engines: Sequence[FoundEngine],
    own_jobs: OwnJobs,
) -> Capacity:
    policy = policy_file.policy
    # Where jobs write, which may be another disk than the agent's own.
    disks = [offered_disk_bytes(sandbox.attempts_folder, policy.storage.keep_free) for sandbox in sandboxes]
    changes = {
        "rules": policy.house_rules(),
        "disk_bytes": min(disks, default=hardware.disk_bytes),
        "software": as_engines_say(hardware.software, parts_of(engines)),
        **own_jobs.offered(sandboxes),
    }
    return hardware.capacity(sandboxes).model_copy(update=changes)


def parts_of(engines: Sequence[FoundEngine]) -> list[Mapping[str, str]]:
    """What they say of themselves, the one that runs jobs at level `container` first."""
    first = [one for one, gvisor in chosen_engines(engines) if not gvisor]
    return [one.facts.parts for one in (*first, *(other for other in engines if other not in first))]


async def run_agent(
    home: AgentHome,
    *,
    sandboxes: Sequence[Sandbox] | None = None,
    handle_signals: bool = True,
    on_ready: Callable[[Agent], Awaitable[None]] | None = None,
    own_jobs: OwnJobs | None = None,
) -> None:
    """Run the agent of this home until it is drained or stopped. Raises HomeError, Dismissed.

    `own_jobs` is what whoever starts it says of its owner's jobs, beside the policy.
    """
    allow_open_files(OPEN_FILES)
    home.prepare()
    with home.lock():
        async with _real_agent(home, sandboxes, own_jobs or OwnJobs()) as agent:
            with _signals(agent) if handle_signals else contextlib.nullcontext():
                async with serve_control(agent, home.socket_path):
                    if on_ready is not None:
                        await on_ready(agent)
                    await agent.run()


@contextlib.asynccontextmanager
async def _real_agent(home: AgentHome, sandboxes: Sequence[Sandbox] | None, own_jobs: OwnJobs) -> AsyncIterator[Agent]:
    clock, rng = SystemClock(), random.SystemRandom()
    node, identity = home.node(), await settled_identity(home, offload_to_threads, rng)
    engines = await watch_engines(home) if sandboxes is None else None
    proven = engines.sandboxes if engines is not None else list(sandboxes or ())
    hardware = await offload_to_threads(detect, home.root)
    policy_file = PolicyFile(home.root)
    policy_file.write_default_if_missing()
    policy_file.refresh()
    own_jobs = replace(
        own_jobs, policy=policy_file.policy.own, checkpoints=OwnCheckpoints(home.root, offload_to_threads)
    )
    capacity = _offer(hardware, proven, policy_file, engines.found if engines is not None else (), own_jobs)
    connections = Connections(node, identity, agent_version(), rng)
    transfer = HttpTransfer(node.hub_url, tls=node.tls)
    async with contextlib.AsyncExitStack() as closing:
        if engines is not None:
            closing.push_async_callback(engines.close)
        for sandbox in proven if engines is None else ():
            closing.push_async_callback(sandbox.close)
        closing.push_async_callback(transfer.close)
        closing.push_async_callback(connections.close)
        house = await keep_house(home, policy_file, hardware, proven, clock, closing, transfer)
        transfer.passed = house.passed
        stores = make_stores(home, policy_file, transfer, house.images, proven)
        agent = Agent(
            Parts(
                home=home,
                node=node,
                identity=identity,
                capacity=capacity,
                instance_id=secrets.token_hex(16),
                agent_version=agent_version(),
                clock=clock,
                rng=rng,
                offload=offload_to_threads,
                connect=connections,
                sandboxes=proven,
                transfer=transfer,
                gpu_devices=hardware.gpu_devices,
                images=house.images,
                outside=house.outside,
                least_isolation=policy_file.policy.welcome.isolation,
                inputs=stores.inputs,
                environments=stores.environments,
                unremoved=stores.unremoved,
                caches=stores.keeper,
                monitor=house.monitor,
                machine=MachineMeter(home.root),
                book=WorkBook(home.root / "work.json"),
                engines=engines,
                open_watch=house.open_watch,
                own_jobs=own_jobs,
            )
        )
        if engines is not None:
            offer_what_engines_bring(agent, engines, house.images)
        let_the_hub_measure(agent)
        yield agent


def offer_what_engines_bring(agent: Agent, engines: EngineWatch, images: NodeImages) -> None:
    """As they come and go."""

    async def change(sandboxes: Sequence[Sandbox]) -> None:
        software = await offload_to_threads(detect_software_again, agent.capacity.software)
        changes = {**isolation_of(sandboxes), "software": as_engines_say(software, parts_of(engines.found))}
        images.follow(sandboxes)
        await agent.offer(sandboxes, agent.capacity.model_copy(update=changes))

    engines.on_change = change
    engines.is_beginning = functools.partial(is_beginning, agent.supervisor)
    engines.is_idle = lambda: not agent.supervisor.is_busy


def let_the_hub_measure(agent: Agent) -> None:
    """While the machine has nothing better to do."""
    supervisor = agent.supervisor

    def why_not() -> str | None:
        if supervisor.is_busy:
            return "the node has work"
        if supervisor.state is not NodeState.ONLINE:
            return f"the node is {supervisor.state}"
        available = supervisor.availability
        if available.strangers and not available.gpus_in_use:
            return None
        return f"the owner is using the machine: {available.reason}"

    desk = BenchmarkDesk(
        say=supervisor.say,
        why_not=why_not,
        gpus=agent.parts.capacity.gpus,
        folder=agent.parts.home.root,
        start=supervisor.soon,
    )
    supervisor.on_benchmark = desk.handle


@contextlib.contextmanager
def _signals(agent: Agent) -> Iterator[None]:
    """SIGTERM drains: heartbeats go on until what runs is done. Ctrl-C, or a second SIGTERM, gives it back."""
    loop = asyncio.get_running_loop()
    tasks: set[asyncio.Task[None]] = set()

    def stop() -> None:
        if not tasks:
            tasks.add(asyncio.ensure_future(agent.stop()))

    def terminate() -> None:
        if agent.state == "draining":
            stop()
        else:
            log.info("agent.draining", extra={"hint": "signal again to stop at once"})
            agent.drain()

    loop.add_signal_handler(signal.SIGTERM, terminate)
    loop.add_signal_handler(signal.SIGINT, stop)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGTERM)
        loop.remove_signal_handler(signal.SIGINT)
