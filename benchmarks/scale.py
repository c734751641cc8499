"""What grows, and what must not: many nodes, a long past, a long queue, and the way of a log line to its reader."""

import asyncio
import base64
import contextlib
import json
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from websockets.sync.client import connect

from benchmarks import allocation
from benchmarks.crowd import ENDLESS, enrol, invent, start_crowd
from benchmarks.filling import copy_job
from benchmarks.measure import Data, Options, Table, measured, ms, summary_ms, untested_table
from benchmarks.pool import Hub, running_pool
from benchmarks.processes import scratch, wait_until
from computepool.hub.jobs import repository as jobs
from computepool.hub.jobs.submission import brief_of_row
from computepool.hub.opening import open_engine
from computepool.hub.scheduling import memory
from computepool.hub.scheduling.queue import Queue, Waiting
from computepool.protocol.spec import JobSpec

PRINTER = """
import random, time
for _ in range({lines}):
    print(repr(time.time()), flush=True)
    time.sleep(random.uniform(0.02, 0.15))
"""
ROUNDS = 5
SLICES_OF_A_WIDE_JOB = 1000


def run(options: Options) -> Data:
    with scratch() as folder:
        with_jobs = measured(lambda: _lines_and_past(folder, options))
        samples = options.samples(6, 600)
        return {
            "lines": with_jobs.get("lines", with_jobs),
            "allocation": [
                allocation.measure(folder / f"nodes-{nodes}", nodes, samples, samples * 5)
                for nodes in (options.figure(5, 500), options.figure(20, 5000))
            ],
            "past": with_jobs.get("past", with_jobs),
            "restart": _restart(folder, options.figure(20, 100_000)),
        }


def _lines_and_past(folder: Path, options: Options) -> Data:
    """Both need a job that ran: the rows of one that is finished, with manifest and receipt, become the past."""
    with running_pool(folder / "pool") as (hub, _agent):
        job_id = hub.client.submit(["/bin/true"])
        wait_until(lambda: hub.client.log(job_id) is not None, "the first job", hub.child)
        lines = summary_ms(_follow(hub, options.samples(3, 200)))
    warm_up, samples = options.figure(1, 20), options.samples(5, 500)
    return {"lines": lines, "past": _past(folder, job_id, options.figure(200, 1_000_000), warm_up, samples)}


# ── a log line's way ─────────────────────────────────────────────────────────────────────────────────────────────────


def _follow(hub: Hub, lines: int) -> list[float]:
    interpreter = shutil.which("python3", path="/usr/bin:/usr/local/bin") or sys.executable
    job_id = hub.client.submit([interpreter, "-c", PRINTER.format(lines=lines)])
    samples: list[float] = []
    text = b""
    address = f"{hub.url.replace('http', 'ws', 1)}/api/v1/jobs/{job_id}/stream"
    with connect(address, additional_headers={"Authorization": f"Bearer {hub.token}"}, compression=None) as socket:
        for raw in socket:
            frame = json.loads(raw)
            if frame["type"] == "log":
                now = time.time()
                *whole, text = (text + base64.b64decode(frame["data"])).split(b"\n")
                samples += [now - float(line) for line in whole]
    if len(samples) != lines:
        raise RuntimeError(f"{lines} lines were printed, {len(samples)} arrived")
    return samples[1:] or samples  # the first may be older than the reader


# ── a long past ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _past(folder: Path, finished_job: str, finished: int, warm_up: int, samples: int) -> Data:
    """Submits to a hub with no past and to one with a long one, both running, taking turns."""
    shutil.copytree(folder / "pool" / "hub", folder / "old")
    began = time.monotonic()
    copy_job(folder / "old" / "pool.db", finished_job, finished)
    filling = time.monotonic() - began
    size_bytes = (folder / "old" / "pool.db").stat().st_size
    with _hub_with_endless_node(folder, "new") as (new, _), _hub_with_endless_node(folder, "old") as (old, old_ready):
        calls: dict[str, list[float]] = {"new": [], "old": []}
        lists: dict[str, list[float]] = {"new": [], "old": []}
        for hub in (new, old):
            _submits(hub, warm_up)
        for _ in range(ROUNDS):
            for name, hub in (("new", new), ("old", old)):
                calls[name] += _submits(hub, max(1, samples // ROUNDS))
                lists[name] += _lists(hub, max(1, samples // ROUNDS // 5))
        for hub in (new, old):
            waiting = hub.client.slices()[1]
            if waiting:
                raise RuntimeError(f"{waiting} of the submitted slices were not leased")
    return {
        "finished_jobs": finished,
        "database_bytes": size_bytes,
        "filling_seconds": round(filling, 1),
        "ready_seconds": round(old_ready, 2),
        "submit": {"none": summary_ms(calls["new"]), "finished": summary_ms(calls["old"])},
        "list": {"none": summary_ms(lists["new"]), "finished": summary_ms(lists["old"])},
    }


@contextlib.contextmanager
def _hub_with_endless_node(folder: Path, name: str) -> Iterator[tuple[Hub, float]]:
    """Every submit finds a node, and is leased in the commit that stores it; nothing ever runs."""
    hub = Hub(folder / name)
    nodes = invent([(ENDLESS, None)])
    enrol(nodes, hub.settings.effective_database_url, hub.admin_id)
    ready = hub.start()
    try:
        agent = start_crowd(hub, nodes, folder)
        try:
            wait_until(lambda: hub.nodes_online() == 1, "the endless node", hub.child, agent, every=0.05)
            yield hub, ready
        finally:
            agent.stop()
    finally:
        hub.close()


def _submits(hub: Hub, count: int) -> list[float]:
    samples = []
    for _ in range(count):
        began = time.perf_counter()
        hub.client.submit(["/bin/true"])
        samples.append(time.perf_counter() - began)
    return samples


def _lists(hub: Hub, count: int) -> list[float]:
    samples = []
    for _ in range(count):
        began = time.perf_counter()
        hub.client.get("jobs", limit=50)
        samples.append(time.perf_counter() - began)
    return samples


# ── a long queue ─────────────────────────────────────────────────────────────────────────────────────────────────────


def _restart(folder: Path, slices: int) -> Data:
    wide = max(1, slices // SLICES_OF_A_WIDE_JOB)
    narrow = _restart_with(folder / "narrow", copies=slices, slices=1)
    return {
        "slices": slices,
        "empty_ready_seconds": narrow.pop("empty_ready_seconds"),
        "jobs_of_one_slice": narrow,
        "wide_jobs": _restart_with(folder / "wide", copies=wide, slices=slices // wide),
    }


def _restart_with(folder: Path, *, copies: int, slices: int) -> Data:
    hub = Hub(folder)
    try:
        empty = hub.start()
        job = hub.client.http.post("jobs", json={"run": ["/bin/true"], "slices": slices}).raise_for_status().json()
        hub.stop()
        copy_job(hub.database, job["id"], copies - 1)
        ready = hub.start()
        queued = hub.client.slices()[1]
        if queued != copies * slices:
            raise RuntimeError(f"{copies * slices} slices were queued, {queued} came back")
        hub.stop()
        return {
            "jobs": copies,
            "slices_each": slices,
            "empty_ready_seconds": round(empty, 2),
            "ready_seconds": round(ready, 2),
            "in_process_seconds": asyncio.run(_breakdown(hub)),
        }
    finally:
        hub.close()


async def _breakdown(hub: Hub) -> dict[str, float]:
    """The same steps as the hub's start, one by one, in this process."""
    steps: dict[str, float] = {}
    began = time.perf_counter()

    def step(name: str) -> None:
        nonlocal began
        now = time.perf_counter()
        steps[name] = round(now - began, 3)
        began = now

    engine = await open_engine(hub.settings)
    step("open database, keys and store")
    try:
        db = engine.context.db
        await db.read(memory.load_fleet, 0.0)
        step("read nodes and what they hold")
        known: dict[str, JobSpec] = {}
        briefs: dict[str, Any] = await db.read(
            lambda session: {job.id: brief_of_row(job, known) for job in jobs.list_open_jobs(session)}
        )
        step("read open jobs and their specs")
        rows = await db.read(jobs.list_queued_slices)
        step("read queued slices")
        queue = Queue()
        for job_id, index, fence, attempts, avoid, retry_at, *_ in rows:
            queue.add(Waiting(briefs[job_id], index, fence, attempts, tuple(avoid), retry_at))
        step("rebuild the queue")
    finally:
        engine.context.db.close()
    return steps


# ── shown ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def tables(data: Data) -> list[Table]:
    return [
        _allocation_table(data["allocation"]),
        _past_table("A long past, ms (p50 / p95 / p99)", data["past"]),
        _restart_table(data["restart"]),
        _lines_table("A log line, from printed to in the reader's hands, ms", data["lines"]),
    ]


def _allocation_table(found: list[Data]) -> Table:
    return Table(
        "Allocation, ms (p50 / p99)",
        ("nodes connected", "choosing a node", "whole submit: placed, signed, durable, offered"),
        [[f"{one['nodes']:,}", ms(one["choose"], "p50", "p99"), ms(one["submit"], "p50", "p99")] for one in found],
        f"Mixed machines and wishes (cores, GPU by name, by memory, two GPUs, country). n = {found[0]['submit']['n']} "
        "submits. The engine runs in the measuring process, with agents at in-memory links after a real handshake.",
    )


def _past_table(title: str, past: Data) -> Table:
    if "untested" in past:
        return untested_table(title, past)
    name = f"{past['finished_jobs']:,} finished jobs"
    return Table(
        title,
        ("over HTTP", "no finished jobs", name, "p50 ratio"),
        [
            [
                what,
                ms(past[key]["none"], "p50", "p95", "p99"),
                ms(past[key]["finished"], "p50", "p95", "p99"),
                f"{past[key]['finished']['p50_ms'] / past[key]['none']['p50_ms']:.2f}×",
            ]
            for what, key in (("submit", "submit"), ("list the newest 50", "list"))
        ],
        f"Two hubs, taking turns; every submit is leased to a node in the same commit. The database has "
        f"{past['database_bytes'] / 1e9:.2f} GB; that hub was ready {past['ready_seconds']:.1f} s after its start. "
        f"n = {past['submit']['none']['n']}.",
    )


def _restart_table(restart: Data) -> Table:
    rows = []
    for key in ("jobs_of_one_slice", "wide_jobs"):
        one = restart[key]
        steps = ", ".join(f"{name} {seconds:.2f}" for name, seconds in one["in_process_seconds"].items())
        rows.append([f"{one['jobs']:,} × {one['slices_each']:,}", f"{one['ready_seconds']:.1f}", steps])
    return Table(
        f"Hub restart with {restart['slices']:,} queued slices, s",
        ("jobs × slices", "start → ready", "of which, measured apart"),
        rows,
        f"An empty hub is ready after {restart['empty_ready_seconds']:.1f} s: starting Python and importing.",
    )


def _lines_table(title: str, lines: Data) -> Table:
    if "untested" in lines:
        return untested_table(title, lines)
    return Table(
        title,
        ("p50", "p95", "p99"),
        [[ms(lines, percent) for percent in ("p50", "p95", "p99")]],
        f"A job prints a line every 20 to 150 ms; read over `WS jobs/{{id}}/stream`. n = {lines['n']}.",
    )
