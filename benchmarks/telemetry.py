"""What history costs: bytes stored for a node and day, and the answer to a heartbeat while a node sends its loads."""

import asyncio
import random
import time
from pathlib import Path

from benchmarks.crowd import SMALL, VERSION, Invented, SimulatedAgent, enrol, invent
from benchmarks.measure import Data, Options, Table, judged, ms, summary_ms
from benchmarks.pool import Hub, running_hub
from computepool.agent.link.base import Link
from computepool.agent.link.websocket import open_websocket
from computepool.hub.history.metrics import GPUS_RECORDED, NODE_METRICS
from computepool.hub.history.recorder import NODE_PAUSE_SECONDS
from computepool.hub.history.repository import DAY_SECONDS, FINEST, HOUR_SECONDS, HistoryKind
from computepool.hub.history.series import Series, encode
from computepool.protocol.messages import GpuLoad, NodeReport
from computepool.protocol.telemetry import MachineLoad

DAY_TARGET_BYTES = 50_000
BEAT_TARGET = 1.1
ROW_BYTES = 160
"""What a row takes beside its data: its key in the table and in two indexes, and the database's own header."""


def measure_telemetry(folder: Path, options: Options) -> Data:
    return {
        "gpus": GPUS_RECORDED,
        "day_bytes": _day_bytes(options.figure(2 * HOUR_SECONDS, DAY_SECONDS)) * DAY_SECONDS // HOUR_SECONDS,
        "heartbeats": _heartbeats(folder, options),
    }


def _day_bytes(seconds: int) -> int:
    """Stored for an hour on average: as many samples as a hub takes, of every metric and as random as they can be."""
    rng, step = random.Random(17), FINEST[HistoryKind.NODE]
    hours: dict[int, Series] = {}
    for number in range(int(seconds / NODE_PAUSE_SECONDS)):
        at = number * NODE_PAUSE_SECONDS
        values = {code: rng.randrange(metric.most + 1) for code, metric in NODE_METRICS.items()}
        hours.setdefault(int(at // HOUR_SECONDS), Series(step)).add(at, values)
    return sum(len(encode(hour)) + ROW_BYTES for hour in hours.values()) // len(hours)


def _heartbeats(folder: Path, options: Options) -> Data:
    with running_hub(folder) as hub:
        hub.stop()
        nodes = invent([(SMALL, None)])
        enrol(nodes, hub.settings.effective_database_url, hub.admin_id)
        hub.start()
        hub_id = str(hub.client.get("keys")["hub_id"])
        rounds, beats = options.figure(1, 20), options.samples(3, 100)
        found = asyncio.run(_beat(hub, hub_id, nodes[0], rounds, beats))
    return {which: summary_ms(times) for which, times in found.items()}


async def _beat(hub: Hub, hub_id: str, node: Invented, rounds: int, beats: int) -> dict[str, list[float]]:
    """Rounds with and without loads take turns. Each measured heartbeat follows one that is not: by its answer, the hub
    has read the report before it."""
    agent = SimulatedAgent(node, hub.url, hub_id, lambda: open_websocket(hub.url, VERSION))
    link, _ = await agent.begin()
    found: dict[str, list[float]] = {"without": [], "with": []}
    try:
        for number in range(rounds):
            for which in ("without", "with") if number % 2 == 0 else ("with", "without"):
                for _ in range(beats):
                    if which == "with":
                        await link.send(_report().to_bytes())
                    await _answered(agent, link)
                    found[which].append(await _answered(agent, link))
    finally:
        await link.close()
    return found


async def _answered(agent: SimulatedAgent, link: Link) -> float:
    began = time.perf_counter()
    await agent.beat(link)
    while b'"heartbeat_ack"' not in await link.receive():
        pass
    return time.perf_counter() - began


def _report() -> NodeReport:
    load = {"utilisation": 0.5, "memory_used_bytes": 2**33, "temperature_celsius": 60.0, "power_watts": 250.0}
    return NodeReport(
        gpus=tuple(GpuLoad.model_validate({"id": f"gpu{number}", **load}) for number in range(GPUS_RECORDED)),
        machine=MachineLoad(
            cpu=0.5,
            memory_used_bytes=2**34,
            disk_used_bytes=2**40,
            received_bytes_per_second=1e6,
            sent_bytes_per_second=1e6,
        ),
    )


def telemetry_table(data: Data) -> Table:
    beats = data["heartbeats"]
    ratio = beats["with"]["p50_ms"] / beats["without"]["p50_ms"]
    day, is_met = data["day_bytes"], data["day_bytes"] <= DAY_TARGET_BYTES
    return Table(
        "What telemetry costs",
        ("", "without", "with", "", "target"),
        [
            [
                f"stored for a node with {data['gpus']} GPUs and a day",
                "",
                f"{day / 1000:.1f} kB",
                "",
                f"≤ {DAY_TARGET_BYTES / 1000:g} kB {'✓' if is_met else '✗'}",
            ],
            [
                "heartbeat → its answer, ms (p50)",
                ms(beats["without"], "p50"),
                ms(beats["with"], "p50"),
                f"{ratio:.2f}×",
                judged(ratio, BEAT_TARGET),
            ],
        ],
        "Stored: random values of every metric, as often as the hub takes them. Heartbeats: one node over a WebSocket; "
        f"with loads of {data['gpus']} GPUs and the machine before every second heartbeat, and without; rounds of the "
        f"two take turns; n = {beats['with']['n']} each.",
    )
