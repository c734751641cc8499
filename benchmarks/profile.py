"""Where the time of a no-op job goes: by process, beside the floor's, and by part inside hub and agent."""

import json
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.client import Client
from benchmarks.floor import Floor
from benchmarks.measure import Data, Options, Table, measured
from benchmarks.pool import running_pool
from benchmarks.processes import Child, cpu_seconds, scratch

IN_FLIGHT = 64
NO_OP = ("/bin/true",)
PROCESSES = ("hub", "agent", "jobs", "client")


@dataclass(frozen=True)
class Load:
    jobs: int
    warm_up: int
    settle_seconds: float


def run(options: Options) -> Data:
    return measured(lambda: _run(options))


def _run(options: Options) -> Data:
    load = Load(options.samples(4, 500), options.figure(2, 20), options.figure(0.1, 1.0))
    with scratch() as folder:
        with running_pool(folder / "plain") as (hub, agent):
            floor = Floor(folder, agent.cpus)
            try:
                cpu = {
                    "floor": _cpu_per_job(floor.client, floor.hub, floor.agent, load),
                    "pool": _cpu_per_job(hub.client, hub.child, agent.child, load),
                }
            finally:
                floor.stop()
        return {"jobs": load.jobs, "cpus": agent.cpus, "cpu_ms_per_job": cpu, "shares": _shares(folder, load)}


def _cpu_per_job(client: Client, hub: Child, agent: Child, load: Load) -> dict[str, float]:
    client.many_at_once(NO_OP, load.warm_up, IN_FLIGHT)
    time.sleep(load.settle_seconds)
    before, began = _cpu(hub, agent), time.monotonic()
    client.many_at_once(NO_OP, load.jobs, IN_FLIGHT)
    seconds = time.monotonic() - began
    time.sleep(load.settle_seconds)  # what is tidied up after a job belongs to it
    after = _cpu(hub, agent)
    found = {name: round((after[name] - before[name]) / load.jobs * 1000, 3) for name in PROCESSES}
    return found | {"wall": round(seconds / load.jobs * 1000, 3)}


def _cpu(hub: Child, agent: Child) -> dict[str, float]:
    agent_itself, its_jobs = cpu_seconds(agent.pid)
    mine = os.times()
    return {
        "hub": sum(cpu_seconds(hub.pid)),
        "agent": agent_itself,
        "jobs": its_jobs,
        "client": mine.user + mine.system,
    }


def _shares(folder: Path, load: Load) -> dict[str, dict[str, float]]:
    """By a watcher in each process, which costs something itself: so this is a run of its own."""
    seen = folder / "seen"
    seen.mkdir()
    with running_pool(folder / "watched", "-m", "benchmarks.sampling", str(seen)) as (hub, agent):
        pids = {"hub": hub.child.pid, "agent": agent.child.pid}
        hub.client.many_at_once(NO_OP, load.warm_up, IN_FLIGHT)
        for pid in pids.values():
            os.kill(pid, signal.SIGUSR1)
        hub.client.many_at_once(NO_OP, load.jobs, IN_FLIGHT)
        for pid in pids.values():
            os.kill(pid, signal.SIGUSR2)
        time.sleep(load.settle_seconds)
    return {name: _shares_of(seen / f"{pid}.json") for name, pid in pids.items()}


def _shares_of(file: Path) -> dict[str, float]:
    seconds: dict[str, float] = json.loads(file.read_text())
    total = sum(seconds.values()) or 1.0
    return {drawer: round(spent / total, 4) for drawer, spent in sorted(seconds.items(), key=lambda item: -item[1])}


def tables(data: Data) -> list[Table]:
    cpu = data["cpu_ms_per_job"]
    rows = [[name, *(f"{cpu[side][name]:.2f}" for side in ("floor", "pool"))] for name in PROCESSES]
    totals = {side: sum(cpu[side][name] for name in PROCESSES) for side in ("floor", "pool")}
    rows.append(["**together**", *(f"**{totals[side]:.2f}**" for side in ("floor", "pool"))])
    rows.append(["wall clock per job", *(f"{cpu[side]['wall']:.2f}" for side in ("floor", "pool"))])
    note = (
        f"`/bin/true` in bubblewrap, {IN_FLIGHT} in flight, {data['jobs']} jobs. Jobs: what the kernel counted for the "
        f"sandboxes' own processes. On {data['cpus']} cores the wall clock cannot be less than the sum by "
        f"{data['cpus']}; what it is more, they waited."
    )
    return [
        Table("Processor time of a no-op job, ms", ("process", "floor", "pool"), rows, note),
        *[_shares_table(name, shares, cpu["pool"][name]) for name, shares in data["shares"].items()],
    ]


def _shares_table(name: str, shares: dict[str, float], cpu_ms: float) -> Table:
    return Table(
        f"Inside the {name}",
        ("part", "ms per job", "share"),
        [[part, f"{share * cpu_ms:.2f}", f"{share:.0%}"] for part, share in shares.items() if share >= 0.005],
        "Shares of processor time were sampled in a run of their own, and are applied to the figure above. Commits and "
        "work on files get somewhat more than their due.",
    )
