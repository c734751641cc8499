"""What neighbours notice while somebody floods the hub: an API client at a steady rate, and an agent that has a lease.

The hub has all its default limits. Each flood (`benchmarks/flooding.py`) is a process of its own and comes from another
address than the API client. There are several rounds of all floods, with a quiet phase before each flood and after the
last. A figure is the median of its phases, for the floods and for the quiet baseline alike.
"""

import asyncio
import contextlib
import functools
import hashlib
import json
import statistics
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import httpx
import psutil

from benchmarks.client import Client
from benchmarks.crowd import ENDLESS, Invented, SimulatedAgent, enrol, invent
from benchmarks.flooding import READY, Plan
from benchmarks.measure import Data, Options, Table, judged, megabytes, ms, summary_ms
from benchmarks.pool import Hub
from benchmarks.processes import START_SECONDS, Child, python, scratch, wait_until
from computepool.agent.link.base import Link, LinkClosed
from computepool.agent.link.websocket import open_websocket
from computepool.protocol.messages import HeartbeatAck, Offer, parse_from_hub
from computepool.protocol.timing import HEARTBEAT_SECONDS

FLOODS = {
    "headers": "headers without end",
    "half_open": "half-open requests",
    "streams": "streams of one account",
    "polls": "unsigned polls of 4 MB",
    "logs": "a log as fast as it is taken",
    "uploads": "uploads as fast as they are taken",
}
ROUNDS = 3
PHASE_SECONDS = 8.0
SETTLE_SECONDS = 1.0
REQUESTS_A_SECOND = 40
BEATS_A_SECOND = 10
NEIGHBOUR_ADDRESS = "127.0.0.2"
TARGET_RATIO = 2.0
TARGET_GROWTH_BYTES = 64 * 1024**2
HALF_OPEN = 3_000
STREAMS = 500
WATCHED_SLICES = 1_000
UPLOAD_BYTES = 32 * 1024**2
SAMPLE_SECONDS = 0.1


@dataclass
class Noticed:
    """By the neighbours, in one phase."""

    requests: list[float] = field(default_factory=list)
    beats: list[float] = field(default_factory=list)
    refused: int = 0
    late_beats: int = 0
    """Answered after the next one was due."""
    lost_leases: int = 0

    grown_bytes: int = 0
    """Memory of the hub at its peak, beyond that before the phase."""
    sent: Counter[str] = field(default_factory=Counter)


def run(options: Options) -> Data:
    with scratch() as folder:
        hub = Hub(folder / "hub", bounded=True)
        neighbour, *nodes = invent([(ENDLESS, None)] * (1 + options.figure(1, ROUNDS)))
        try:
            hub.start()
            flooders = [_register(hub, number, node) for number, node in enumerate(nodes)]
            for node, owner_id in ((neighbour, hub.admin_id), *((each.node, each.user_id) for each in flooders)):
                enrol([node], hub.settings.effective_database_url, owner_id)
            return asyncio.run(_run(hub, neighbour, flooders, folder, options))
        finally:
            hub.close()


@dataclass(frozen=True)
class Flooder:
    """An account and a node of its own for each round, so that no limit of a day ends a later flood early."""

    user_id: str
    token: str
    node: Invented


def _register(hub: Hub, number: int, node: Invented) -> Flooder:
    person = {"email": f"flooder-{number}@example.org", "password": "correct horse battery", "name": "flooder"}
    session = hub.client.http.post("auth/register", json=person).raise_for_status().json()
    as_flooder = Client(hub.url, session["access_token"])
    try:
        token = as_flooder.http.post("tokens", json={"name": "flood"}).raise_for_status().json()["token"]
        return Flooder(as_flooder.get("me")["id"], token, node)
    finally:
        as_flooder.close()


async def _run(hub: Hub, node: Invented, flooders: list[Flooder], folder: Path, options: Options) -> Data:
    seconds = options.figure(0.1, PHASE_SECONDS)
    hub_id = hub.client.get("keys")["hub_id"]
    rounds = [
        {kind: {**make(), "kind": kind, "port": hub.port, "seconds": seconds, "hub_id": hub_id} for kind, make in plans}
        for plans in (_plans(hub, node, flooder, options).items() for flooder in flooders)
    ]
    agent = SimulatedAgent(node, hub.url, hub_id, lambda: open_websocket(hub.url, "bench"))
    quiet: list[Noticed] = []
    noticed: dict[str, list[Noticed]] = {kind: [] for kind in FLOODS}
    async with _neighbour(hub, node, agent) as watch:
        await watch(seconds)  # warms up
        for number, plans in enumerate(rounds):
            for kind, plan in plans.items():
                quiet.append(await watch(seconds))
                noticed[kind].append(await _flood(hub, plan, folder / f"{kind}-{number}", watch))
                await asyncio.sleep(options.figure(0.0, SETTLE_SECONDS))
        quiet.append(await watch(seconds))
    return {
        "seconds": seconds,
        "rounds": len(rounds),
        "quiet": _figures(quiet),
        "floods": {kind: _figures(phases) for kind, phases in noticed.items()},
    }


async def _flood(hub: Hub, plan: Plan, file: Path, watch: "Watch") -> Noticed:
    before_bytes = _resident_bytes(hub)
    await asyncio.to_thread(file.write_text, json.dumps(plan))
    flood = Child(python("-m", "benchmarks.flooding", file), log := file.with_suffix(".log"))
    try:
        ready = functools.partial(_has_begun, log)
        await asyncio.to_thread(wait_until, ready, f"the flood of {plan['kind']}", hub.child, flood)
        noticed = await watch(plan["seconds"], before_bytes)
        if code := await asyncio.to_thread(flood.wait):
            raise RuntimeError(f"the flood of {plan['kind']} ended with {code}:\n{flood.log_tail()}")
    finally:
        flood.stop()
    noticed.sent.update(json.loads((await asyncio.to_thread(log.read_text)).splitlines()[-1]))
    return noticed


def _has_begun(log: Path) -> bool:
    return READY in log.read_text()


def _plans(hub: Hub, neighbour: Invented, flooder: Flooder, options: Options) -> dict[str, Callable[[], Plan]]:
    """What each flood needs, made while the hub is quiet."""

    def headers() -> Plan:
        return {}

    def half_open() -> Plan:
        return {"connections": options.figure(20, HALF_OPEN)}

    def streams() -> Plan:
        (nowhere,) = invent([(ENDLESS, None)])  # never enrolled, so that the job waits
        slices = options.figure(10, WATCHED_SLICES)
        spec = {"run": ["true"], "slices": slices, "where": {"node": nowhere.node_id}}
        return {
            "job_id": _posted(hub, flooder, "jobs", spec)["id"],
            "token": flooder.token,
            "streams": options.figure(3, STREAMS),
        }

    def polls() -> Plan:
        return {"node_id": neighbour.node_id}

    def logs() -> Plan:
        _posted(hub, flooder, "jobs", _endless(flooder.node))
        return {"node_id": flooder.node.node_id, "sign_key": flooder.node.sign_key}

    def uploads() -> Plan:
        size_bytes = options.figure(1024**2, UPLOAD_BYTES)
        digest = f"sha256:{hashlib.sha256(bytes(size_bytes)).hexdigest()}"
        announced = _posted(hub, flooder, "artifacts", {"digest": digest, "size_bytes": size_bytes})
        return {"size_bytes": size_bytes, "urls": [upload["url"] for upload in announced["uploads"]]}

    return {
        "headers": headers,
        "half_open": half_open,
        "streams": streams,
        "polls": polls,
        "logs": logs,
        "uploads": uploads,
    }


def _endless(node: Invented) -> Data:
    """A job for this node, which never does anything with it."""
    return {"run": ["true"], "isolation": "bubblewrap", "where": {"node": node.node_id}}


def _posted(hub: Hub, account: Flooder, path: str, body: Data) -> Data:
    headers = {"Authorization": f"Bearer {account.token}"}
    response = hub.client.http.post(path, json=body, headers=headers)
    if response.is_error:
        raise RuntimeError(f"{path}: {response.status_code} {response.text}")
    answer: Data = response.json()
    return answer


# ── the neighbours ───────────────────────────────────────────────────────────────────────────────────────────────────


class Watch(Protocol):
    """Lets both neighbours work for so many seconds, and tells what they noticed."""

    def __call__(self, seconds: float, before_bytes: int | None = None) -> Awaitable[Noticed]: ...


@contextlib.asynccontextmanager
async def _neighbour(hub: Hub, node: Invented, agent: SimulatedAgent) -> AsyncIterator[Watch]:
    link, _ = await agent.begin()
    transport = httpx.AsyncHTTPTransport(local_address=NEIGHBOUR_ADDRESS, limits=httpx.Limits(keepalive_expiry=2.0))
    headers = {"Authorization": f"Bearer {hub.token}"}
    try:
        await asyncio.to_thread(lambda: hub.client.http.post("jobs", json=_endless(node)).raise_for_status())
        async with asyncio.timeout(START_SECONDS):
            while not isinstance(parse_from_hub(raw := await link.receive()), Offer):
                pass
        agent.take(raw)
        async with httpx.AsyncClient(base_url=f"{hub.url}/api/v1/", headers=headers, transport=transport) as http:

            async def watch(seconds: float, before_bytes: int | None = None) -> Noticed:
                noticed = Noticed()
                before_bytes = _resident_bytes(hub) if before_bytes is None else before_bytes
                async with asyncio.TaskGroup() as group:
                    group.create_task(_ask(http, seconds, noticed))
                    group.create_task(_beat(agent, link, seconds, noticed))
                    group.create_task(_weigh(hub, seconds, noticed, before_bytes))
                return noticed

            yield watch
    finally:
        await link.close()


async def _ask(http: httpx.AsyncClient, seconds: float, noticed: Noticed) -> None:
    """Each request at its time, whether or not the one before it was answered; timed from when it was due."""

    async def ask(due_at: float) -> None:
        response = await http.get("jobs", params={"limit": 10}, timeout=60.0)
        noticed.requests.append(time.monotonic() - due_at)
        noticed.refused += response.is_error

    began = time.monotonic()
    async with asyncio.TaskGroup() as group:
        for number in range(max(1, round(seconds * REQUESTS_A_SECOND))):
            due_at = began + number / REQUESTS_A_SECOND
            await asyncio.sleep(max(0.0, due_at - time.monotonic()))
            group.create_task(ask(due_at))


async def _beat(agent: SimulatedAgent, link: Link, seconds: float, noticed: Noticed) -> None:
    """More often than a real agent, to see more; late is what would be late for a real one."""
    for _ in range(max(1, round(seconds * BEATS_A_SECOND))):
        began = time.monotonic()
        try:
            await agent.beat(link)
            while not isinstance(answer := parse_from_hub(await link.receive()), HeartbeatAck):
                pass
        except LinkClosed:
            noticed.late_beats += 1
            noticed.lost_leases += 1
            return
        took = time.monotonic() - began
        noticed.beats.append(took)
        noticed.late_beats += took > HEARTBEAT_SECONDS
        noticed.lost_leases += not answer.renewed
        await asyncio.sleep(max(0.0, 1 / BEATS_A_SECOND - took))


async def _weigh(hub: Hub, seconds: float, noticed: Noticed, before_bytes: int) -> None:
    ends_at = time.monotonic() + seconds
    while time.monotonic() < ends_at:
        noticed.grown_bytes = max(noticed.grown_bytes, _resident_bytes(hub) - before_bytes)
        await asyncio.sleep(SAMPLE_SECONDS)


def _resident_bytes(hub: Hub) -> int:
    return int(psutil.Process(hub.child.pid).memory_info().rss)


def _figures(phases: list[Noticed]) -> Data:
    """Latency is that of the median phase, by each figure, so that one that another program disturbed does not count.
    Everything else is the worst phase, or all of them together."""
    requests = [summary_ms(phase.requests) for phase in phases]
    return {
        "requests": _median(requests),
        "heartbeats": _median([summary_ms(phase.beats) for phase in phases]),
        "phases": requests,
        "refused_requests": sum(phase.refused for phase in phases),
        "late_heartbeats": sum(phase.late_beats for phase in phases),
        "lost_leases": sum(phase.lost_leases for phase in phases),
        "memory_growth_bytes": max(phase.grown_bytes for phase in phases),
        "sent": dict(sum((phase.sent for phase in phases), Counter())),
    }


def _median(summaries: list[Data]) -> Data:
    return {key: round(statistics.median(each[key] for each in summaries), 4) for key in summaries[0]}


# ── shown ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def tables(data: Data) -> list[Table]:
    quiet = data["quiet"]
    requests, beats = (ms(quiet[what], "p50", "p99") for what in ("requests", "heartbeats"))
    rows = [["none", "", requests, "", _spread(quiet), beats, "", "", ""]]
    rows += [_row(name, data["floods"][kind], quiet) for kind, name in FLOODS.items()]
    return [
        Table(
            "Neighbours of a flood",
            (
                "flood",
                "sent",
                "request, ms (p50 / p99)",
                "of the baseline (p50 / p99)",
                "p99 of the single phases, ms",
                "heartbeat, ms (p50 / p99)",
                "hub memory",
                "heartbeats late / leases lost",
                f"p99 ≤ {TARGET_RATIO:g}×, ≤ +{TARGET_GROWTH_BYTES / 1024**2:.0f} MiB, none late or lost",
            ),
            rows,
            f"Default limits. {data['rounds']} rounds of all floods, each flood {data['seconds']:g} s long and from "
            f"another address than the requests: `GET jobs` with a token, {REQUESTS_A_SECOND} a second, timed from "
            f"when each was due. The agent has a lease and sends {BEATS_A_SECOND} heartbeats a second; late is an "
            f"answer after {HEARTBEAT_SECONDS:g} s. The baseline are quiet phases of the same length, one before each "
            "flood and one at the end. Latencies are medians of the phases; memory is the largest growth within a "
            "phase; sent, late and lost are sums. Where the single phases are far apart, other programs had the "
            "machine too. Hub, flood and neighbours share the cores.",
        )
    ]


def _row(name: str, found: Data, quiet: Data) -> list[str]:
    ratios = [found["requests"][key] / quiet["requests"][key] for key in ("p50_ms", "p99_ms")]
    late, lost, growth_bytes = found["late_heartbeats"], found["lost_leases"], found["memory_growth_bytes"]
    met = judged(ratios[1], TARGET_RATIO).endswith("✓")
    met = met and growth_bytes <= TARGET_GROWTH_BYTES and not (late or lost or found["refused_requests"])
    return [
        name,
        _sent(found["sent"]),
        ms(found["requests"], "p50", "p99"),
        " / ".join(f"{ratio:.2f}×" for ratio in ratios),
        _spread(found),
        ms(found["heartbeats"], "p50", "p99"),
        f"{'+' if growth_bytes >= 0 else '−'}{megabytes(abs(growth_bytes))}",
        f"{late} / {lost}",
        "✓" if met else "✗",
    ]


def _spread(figures: Data) -> str:
    p99s = [phase["p99_ms"] for phase in figures["phases"]]
    return f"{min(p99s):.1f} – {max(p99s):.1f}"


def _sent(counts: dict[str, int]) -> str:
    parts = [f"{count:,} {name}" for name, count in counts.items() if name != "bytes"]
    return ", ".join([*parts, megabytes(counts.get("bytes", 0))])
