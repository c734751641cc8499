"""What neighbours notice while somebody floods the hub: an API client at a steady rate, and an agent that has a lease.

The hub has all its default limits. Each flood (`benchmarks/flooding.py`) is a process of its own and comes from another
address than the API client. Quiet phases stand between the floods: the median of them is the baseline.
"""

import asyncio
import contextlib
import functools
import hashlib
import json
import statistics
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

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
PHASE_SECONDS = 12.0
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
    peak_bytes: int = 0

    def figures(self, before_bytes: int) -> Data:
        return {
            "requests": summary_ms(self.requests),
            "heartbeats": summary_ms(self.beats),
            "refused_requests": self.refused,
            "late_heartbeats": self.late_beats,
            "lost_leases": self.lost_leases,
            "memory_growth_bytes": self.peak_bytes - before_bytes,
        }


def run(options: Options) -> Data:
    with scratch() as folder:
        hub = Hub(folder / "hub", bounded=True)
        nodes = invent([(ENDLESS, None)] * 2)
        try:
            hub.start()
            flooder = _register(hub)
            for node, owner_id in zip(nodes, (hub.admin_id, flooder.user_id), strict=True):
                enrol([node], hub.settings.effective_database_url, owner_id)
            return asyncio.run(_run(hub, nodes, flooder, folder, options))
        finally:
            hub.close()


@dataclass(frozen=True)
class Account:
    user_id: str
    token: str


def _register(hub: Hub) -> Account:
    person = {"email": "flooder@example.org", "password": "correct horse battery", "name": "flooder"}
    session = hub.client.http.post("auth/register", json=person).raise_for_status().json()
    as_flooder = Client(hub.url, session["access_token"])
    try:
        token = as_flooder.http.post("tokens", json={"name": "flood"}).raise_for_status().json()["token"]
        return Account(as_flooder.get("me")["id"], token)
    finally:
        as_flooder.close()


async def _run(hub: Hub, nodes: list[Invented], flooder: Account, folder: Path, options: Options) -> Data:
    seconds = options.figure(0.1, PHASE_SECONDS)
    plans = {kind: make() for kind, make in _plans(hub, nodes, flooder, options).items()}
    hub_id = hub.client.get("keys")["hub_id"]
    agent = SimulatedAgent(nodes[0], hub.url, hub_id, lambda: open_websocket(hub.url, "bench"))
    async with _neighbour(hub, nodes[0], agent) as watch:
        await watch(seconds / 2)  # warms up
        quiet, found = [await watch(seconds)], {}
        for kind in FLOODS:
            plan = {**plans[kind], "kind": kind, "port": hub.port, "seconds": seconds, "hub_id": hub_id}
            before_bytes = _resident_bytes(hub)
            file = folder / f"{kind}.json"
            file.write_text(json.dumps(plan))
            flood = Child(python("-m", "benchmarks.flooding", file), log := folder / f"{kind}.log")
            try:
                ready = functools.partial(_has_begun, log)
                await asyncio.to_thread(wait_until, ready, f"the flood of {kind}", hub.child, flood)
                noticed = await watch(seconds)
                if code := await asyncio.to_thread(flood.wait):
                    raise RuntimeError(f"the flood of {kind} ended with {code}:\n{flood.log_tail()}")
            finally:
                flood.stop()
            found[kind] = noticed.figures(before_bytes) | {"sent": json.loads(log.read_text().splitlines()[-1])}
            await asyncio.sleep(options.figure(0.0, SETTLE_SECONDS))
            quiet.append(await watch(seconds))
    return {"seconds": seconds, "quiet": _typical(quiet), "floods": found}


def _has_begun(log: Path) -> bool:
    return READY in log.read_text()


def _plans(hub: Hub, nodes: list[Invented], flooder: Account, options: Options) -> dict[str, Callable[[], Plan]]:
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
        return {"node_id": nodes[0].node_id}

    def logs() -> Plan:
        _posted(hub, flooder, "jobs", _endless(nodes[1]))
        return {"node_id": nodes[1].node_id, "sign_key": nodes[1].sign_key}

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


def _posted(hub: Hub, account: Account, path: str, body: Data) -> Data:
    headers = {"Authorization": f"Bearer {account.token}"}
    response = hub.client.http.post(path, json=body, headers=headers)
    if response.is_error:
        raise RuntimeError(f"{path}: {response.status_code} {response.text}")
    answer: Data = response.json()
    return answer


# ── the neighbours ───────────────────────────────────────────────────────────────────────────────────────────────────


@contextlib.asynccontextmanager
async def _neighbour(
    hub: Hub, node: Invented, agent: SimulatedAgent
) -> AsyncIterator[Callable[[float], Awaitable[Noticed]]]:
    """A function that lets both neighbours work for so many seconds, and tells what they noticed."""
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

            async def watch(seconds: float) -> Noticed:
                noticed = Noticed()
                async with asyncio.TaskGroup() as group:
                    group.create_task(_ask(http, seconds, noticed))
                    group.create_task(_beat(agent, link, seconds, noticed))
                    group.create_task(_weigh(hub, seconds, noticed))
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


async def _weigh(hub: Hub, seconds: float, noticed: Noticed) -> None:
    ends_at = time.monotonic() + seconds
    while time.monotonic() < ends_at:
        noticed.peak_bytes = max(noticed.peak_bytes, _resident_bytes(hub))
        await asyncio.sleep(SAMPLE_SECONDS)


def _resident_bytes(hub: Hub) -> int:
    return int(psutil.Process(hub.child.pid).memory_info().rss)


def _typical(phases: list[Noticed]) -> Data:
    """The median phase, by each figure: one that something else disturbed, or the flood before it, does not count."""
    requests = [summary_ms(phase.requests) for phase in phases]
    beats = [summary_ms(phase.beats) for phase in phases]
    return {"requests": _median(requests), "heartbeats": _median(beats), "phases": requests}


def _median(summaries: list[Data]) -> Data:
    return {key: round(statistics.median(each[key] for each in summaries), 4) for key in summaries[0]}


# ── shown ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def tables(data: Data) -> list[Table]:
    quiet = data["quiet"]
    least, most = (choose(phase["p99_ms"] for phase in quiet["phases"]) for choose in (min, max))
    rows = [["none", "", ms(quiet["requests"], "p50", "p99"), "", ms(quiet["heartbeats"], "p50", "p99"), "", "", ""]]
    rows += [_row(name, data["floods"][kind], quiet) for kind, name in FLOODS.items()]
    return [
        Table(
            "Neighbours of a flood",
            (
                "flood",
                "sent",
                "request, ms (p50 / p99)",
                "of the baseline (p50 / p99)",
                "heartbeat, ms (p50 / p99)",
                "hub memory",
                "heartbeats late / leases lost",
                f"p99 ≤ {TARGET_RATIO:g}×, ≤ +{TARGET_GROWTH_BYTES / 1024**2:.0f} MiB, none late or lost",
            ),
            rows,
            f"Default limits. Each flood lasts {data['seconds']:g} s and comes from another address than the "
            f"requests, `GET jobs` with a token, {REQUESTS_A_SECOND} a second, timed from when each was due. The "
            f"agent has a lease and sends {BEATS_A_SECOND} heartbeats a second; late is an answer after "
            f"{HEARTBEAT_SECONDS:g} s. The baseline is the median of the phases between floods, whose p99 was "
            f"{least:.1f} to {most:.1f} ms: far apart, other programs had the machine too. Hub, flood and neighbours "
            "share the cores.",
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
        ms(found["heartbeats"], "p50", "p99"),
        f"{'+' if growth_bytes >= 0 else '−'}{megabytes(abs(growth_bytes))}",
        f"{late} / {lost}",
        "✓" if met else "✗",
    ]


def _sent(counts: dict[str, int]) -> str:
    parts = [f"{count:,} {name}" for name, count in counts.items() if name != "bytes"]
    return ", ".join([*parts, megabytes(counts.get("bytes", 0))])
