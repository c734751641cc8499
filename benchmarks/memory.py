"""What a hub and an agent weigh at rest, what each connected agent adds, and how long a storm of them takes."""

import time
from pathlib import Path

from benchmarks.crowd import SMALL, enrol, invent, start_crowd
from benchmarks.measure import Data, Options, Table, measured, megabytes, untested_table
from benchmarks.pool import Hub, running_pool
from benchmarks.processes import scratch, wait_until, weigh

REST_SECONDS = 3.0


def run(options: Options) -> Data:
    rest = options.figure(0.1, REST_SECONDS)
    with scratch() as folder:
        return {
            "alone": measured(lambda: _alone(folder, options.figure(2, 200), rest)),
            "crowd": _crowd(folder, options.samples(5, 1000), rest),
        }


def _alone(folder: Path, jobs: int, rest_seconds: float) -> Data:
    with running_pool(folder / "pool") as (hub, agent):
        time.sleep(rest_seconds)
        fresh = {"hub": weigh(hub.child.pid), "agent": weigh(agent.child.pid)}
        hub.client.many_at_once(["/bin/true"], jobs, 16)
        time.sleep(rest_seconds)
        used = {"hub": weigh(hub.child.pid), "agent": weigh(agent.child.pid)}
    return {"fresh": fresh, "jobs": jobs, "after_jobs": used}


def _crowd(folder: Path, count: int, rest_seconds: float) -> Data:
    hub = Hub(folder / "hub")
    # Simulated, so that the hub asks none of them for a benchmark.
    nodes = invent([(SMALL.model_copy(update={"simulated": True}), None)] * count)
    enrol(nodes, hub.settings.effective_database_url, hub.admin_id)
    hub.start()
    try:
        time.sleep(rest_seconds)
        before = weigh(hub.child.pid)
        agents = start_crowd(hub, nodes, folder)
        try:

            def all_online() -> bool:
                return hub.nodes_online() == count

            connecting = wait_until(all_online, f"{count} agents", hub.child, agents, every=0.1)
            time.sleep(rest_seconds)
            connected = weigh(hub.child.pid)
            killed_at = time.monotonic()
            hub.kill()
            ready = hub.start()
            storm = wait_until(all_online, f"{count} agents again", hub.child, agents, every=0.1)
            away = time.monotonic() - killed_at
            time.sleep(rest_seconds)
            again = weigh(hub.child.pid)
        finally:
            agents.stop()
    finally:
        hub.close()
    return {
        "agents": count,
        "hub_alone": before,
        "hub_connected": connected,
        "per_agent_pss_bytes": round((connected["pss_bytes"] - before["pss_bytes"]) / count),
        "connecting_seconds": round(connecting, 2),
        "storm": {
            "hub_ready_seconds": round(ready, 2),
            "all_online_after_ready_seconds": round(storm, 2),
            "all_online_after_kill_seconds": round(away, 2),
            "hub_after": again,
        },
    }


def tables(data: Data) -> list[Table]:
    crowd = data["crowd"]
    storm = crowd["storm"]
    count = crowd["agents"]
    hub = [
        ["no agent", *_weights(crowd["hub_alone"])],
        [f"{count:,} agents connected", *_weights(crowd["hub_connected"])],
        [f"{count:,} agents connected again", *_weights(storm["hub_after"])],
    ]
    return [
        _alone_table("At rest", data["alone"]),
        Table(
            f"A hub with {count:,} agents",
            ("hub", "PSS", "RSS"),
            hub,
            _story(crowd),
        ),
    ]


def _alone_table(title: str, alone: Data) -> Table:
    if "untested" in alone:
        return untested_table(title, alone)
    rows = [
        [who, *(megabytes(alone[when][who][f"{kind}_bytes"]) for when in ("fresh", "after_jobs") for kind in _KINDS)]
        for who in ("hub", "agent")
    ]
    columns = ("", "PSS, fresh", "RSS, fresh", "PSS, used", "RSS, used")
    return Table(title, columns, rows, f"Used: {alone['jobs']} jobs later.")


def _story(crowd: Data) -> str:
    storm = crowd["storm"]
    return (
        f"Each agent adds {crowd['per_agent_pss_bytes'] / 1000:.1f} kB (PSS). Real WebSockets, handshakes and keys; "
        f"all agents in one other process. The first connection of all took {crowd['connecting_seconds']:.1f} s. "
        "Reconnect storm: the hub is killed and started at once; it is ready after "
        f"{storm['hub_ready_seconds']:.1f} s, and {storm['all_online_after_ready_seconds']:.1f} s later everybody is "
        f"online ({storm['all_online_after_kill_seconds']:.1f} s after the kill)."
    )


_KINDS = ("pss", "rss")


def _weights(weight: dict[str, int]) -> list[str]:
    return [megabytes(weight[f"{kind}_bytes"]) for kind in _KINDS]
