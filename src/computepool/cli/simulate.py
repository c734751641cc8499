"""`simulate`: nodes that only pretend, in the foreground, until Ctrl-C."""

import asyncio
import contextlib
import logging
import signal
import sys
import threading
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from computepool.cli.errors import CliError, clean, tell
from computepool.cli.options import chosen_home, json_option, open_pool, pool_options, print_json

if TYPE_CHECKING:
    from computepool.agent.simulated import Counts, Crowd, Member, SimulatedMachine
    from computepool.client.pool import Pool

MOST_NODES = 5000
TOKEN_USES = 1000
"""As many as a hub lets one token have."""
SUMMARY_SECONDS = 1.0
PROFILES = ("mixed", "gaming", "lab", "servers", "flaky")
GONE_STATES = frozenset({"banned"})


@click.command(
    epilog="Examples: computepool simulate --nodes 50 · computepool simulate --nodes 1000 --profile servers --json"
)
@click.option("--nodes", "count", default=50, show_default=True, type=click.IntRange(1, MOST_NODES), help="How many.")
@click.option(
    "--profile", default="mixed", show_default=True, type=click.Choice(PROFILES), help="Which machines, and owners."
)
@click.option("--seed", default=1, show_default=True, help="Another seed, other machines; the same seed, the same.")
@click.option(
    "--job-seconds",
    default=20.0,
    show_default=True,
    type=click.FloatRange(0.01, 86_400),
    help="How long a job takes, on average. [a job's own: SIMULATED_SECONDS in its env]",
)
@click.option("--sample-jobs", is_flag=True, help="Submit a few sample jobs too, now and then.")
@click.option("--remove", is_flag=True, help="Take this home's simulated nodes out of the pool for good, and end.")
@click.option("--while-stdin-open", is_flag=True, hidden=True, help="End when standard input ends.")
@click.option("-v", "--verbose", is_flag=True, help="Show the agents' logs here.")
@json_option
@pool_options
def simulate(
    count: int,
    profile: str,
    seed: int,
    job_seconds: float,
    sample_jobs: bool,
    remove: bool,
    while_stdin_open: bool,
    verbose: bool,
    as_json: bool,
) -> int:
    """Add simulated nodes to the pool, for demos and load tests, until Ctrl-C. Nothing is really run.

    They are nodes of yours, named sim-… and tagged `simulated`, and run only jobs that ask for that tag:
    computepool run --tag simulated -- python train.py. Other jobs never go there. When this ends they are offline; the
    next start goes on with the same ones.
    """
    _configure_log(verbose)
    with open_pool() as pool:
        session = _Session(pool, as_json=as_json)
        with session.alone():
            if remove:
                return session.remove()
            if while_stdin_open:
                from computepool.cli.machine import end_with_parent

                threading.Thread(target=end_with_parent, daemon=True).start()
            members = session.gather(profile, seed, count)
            return session.run(members, seed, job_seconds, sample_jobs=sample_jobs)


def _configure_log(verbose: bool) -> None:
    if verbose:
        from computepool.agent.logsetup import log_to

        log_to(sys.stderr)
    else:
        # What a thousand agents have to say is nobody's news.
        logging.getLogger("computepool").setLevel(logging.CRITICAL)


class _Session:
    def __init__(self, pool: "Pool", *, as_json: bool) -> None:
        from computepool.agent.simulated import Roster
        from computepool.cli.attach import StatusLine

        self._pool = pool
        self._as_json = as_json
        self.roster: Roster = Roster(chosen_home(), pool.hub_id())
        self._status = StatusLine(quiet=as_json)
        self._stop = asyncio.Event()

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        from computepool.agent.home import AlreadyRunning

        with contextlib.ExitStack() as stack:
            try:
                stack.enter_context(self.roster.lock())
            except AlreadyRunning:
                raise CliError(
                    "The simulated nodes of this home are running already.",
                    "End them where they were started (simulate, or up --demo), or take another --home.",
                ) from None
            yield

    # ── who takes part ──

    def gather(self, profile: str, seed: int, count: int) -> "list[Member]":
        """The nodes of earlier starts, as the machines of this one, and new ones where there are too few."""
        from computepool.agent.simulated import make_machines

        machines = make_machines(profile, seed, count)
        known = self._known_nodes()
        self.roster.clear_work()
        self.roster.keep_only(known, self._pool.target.url, self._pool.target.fingerprint)
        for member in self.roster.members(machines):
            self._bring_up_to_date(member.machine, known[member.home.node().node_id])
        self._enrol(machines)
        return self.roster.members(machines)

    def _known_nodes(self) -> dict[str, dict[str, Any]]:
        """Of those in the roster, what the hub knows of them."""
        ours = set(self.roster.node_ids)
        return {
            node["id"]: node
            for node in self._pool.node_documents()
            if node["id"] in ours and node["state"] not in GONE_STATES
        }

    def _bring_up_to_date(self, machine: "SimulatedMachine", known: dict[str, Any]) -> None:
        wanted = {"name": machine.name, "country": machine.country, "tags": sorted(machine.tags)}
        changes = {name: value for name, value in wanted.items() if known.get(name) != value}
        if changes:
            self._status.say(f"simulated nodes: renaming {clean(machine.name)}", matters=False)
            self._pool.change_node(known["id"], changes)

    def _enrol(self, machines: "list[SimulatedMachine]") -> None:
        import httpx

        from computepool.agent.main import agent_version
        from computepool.protocol.pinning import PinnedContext

        target = self._pool.target
        with httpx.Client(verify=PinnedContext(target.fingerprint) if target.fingerprint else True) as client:
            while (missing := len(machines) - len(self.roster.node_ids)) > 0:
                some = machines[: len(machines) - max(0, missing - TOKEN_USES)]
                token = self._pool.join_token(uses=min(missing, TOKEN_USES)).token
                self.roster.enrol(
                    some,
                    target.url,
                    token,
                    fingerprint=target.fingerprint,
                    insecure=target.insecure,
                    agent_version=agent_version(),
                    client=client,
                    progress=lambda done: self._status.say(
                        f"simulated nodes: {done} of {len(machines)} joined", matters=False
                    ),
                )

    def remove(self) -> int:
        """Out of the pool, for good."""
        known = self._known_nodes()
        for node_id in known:
            self._pool.call("POST", f"/nodes/{node_id}/ban")
        self.roster.keep_only((), self._pool.target.url)
        self.roster.clear_work()
        if self._as_json:
            print_json({"removed": sorted(known)})
        else:
            tell(f"{len(known)} simulated nodes are out of the pool." if known else "There were no simulated nodes.")
        return 0

    # ── while they run ──

    def run(self, members: "list[Member]", seed: int, job_seconds: float, *, sample_jobs: bool) -> int:
        from computepool.agent.main import agent_version
        from computepool.agent.simulated import Crowd

        crowd = Crowd(members, agent_version=agent_version(), seed=seed, average_seconds=job_seconds)
        if not self._as_json:
            number = "1 simulated node" if len(members) == 1 else f"{len(members)} simulated nodes"
            tell(f"{number} at {self._pool.target.url}. No job is really run there.", bold=True)
            tell("  Give them work: computepool run --tag simulated -- python train.py · Ctrl-C ends them.", dim=True)
        try:
            asyncio.run(self._run(crowd, sample_jobs=sample_jobs))
        finally:
            self._status.stop()
            self.roster.keep_only(set(self.roster.node_ids) - set(crowd.dismissed), self._pool.target.url)
            self.roster.clear_work()
        self._tell_end(crowd)
        return 0

    async def _run(self, crowd: "Crowd", *, sample_jobs: bool) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._signalled)
        beside = [asyncio.create_task(self._summarise(crowd))]
        if sample_jobs:
            from computepool.cli.samples import Samples

            beside.append(asyncio.create_task(Samples(self._pool).run()))
        try:
            await crowd.run(self._stop)
        finally:
            for task in beside:
                task.cancel()
            results = await asyncio.gather(*beside, return_exceptions=True)
        for result in results:
            if isinstance(result, Exception):
                raise result

    def _signalled(self) -> None:
        if self._stop.is_set():
            # Meant: nothing is waited for, and the hub finds out by itself.
            raise KeyboardInterrupt
        self._stop.set()
        self._status.say("ending: what runs is given back …", urgent=True)

    async def _summarise(self, crowd: "Crowd") -> None:
        last: Counts | None = None
        while True:
            await asyncio.sleep(SUMMARY_SECONDS)
            counts = crowd.counts()
            if self._stop.is_set() or counts == last:
                continue
            last = counts
            if self._as_json:
                print_json({"type": "summary", **asdict(counts)}, lines=True)
                sys.stdout.flush()
            else:
                self._status.say(_summary(counts))

    def _tell_end(self, crowd: "Crowd") -> None:
        counts = crowd.counts()
        if self._as_json:
            print_json({"type": "end", **asdict(counts)}, lines=True)
            return
        tell(f"Ended: {counts.done} simulated jobs done, {counts.failed} failed, {counts.stopped} given back.")
        for node_id, why in list(crowd.dismissed.items())[:5]:
            tell(f"note: the hub sent {node_id} away: {clean(why)}", fg="yellow")
        tell("The nodes stay in the pool, offline, for the next time.", dim=True)
        tell("Take them out: computepool simulate --remove", dim=True)


def _summary(counts: "Counts") -> str:
    parts = [f"{counts.up} of {counts.nodes} simulated nodes up"]
    parts += [f"{counts.paused} paused"] if counts.paused else []
    parts += [f"{counts.running} running", f"{counts.done} done"]
    parts += [f"{counts.failed} failed"] if counts.failed else []
    return " · ".join(parts)
