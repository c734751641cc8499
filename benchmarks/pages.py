"""What pages of the web app ask for, of a pool with a long past: each page with all its requests, one after another."""

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from sqlalchemy import update
from sqlalchemy.orm import Session

from benchmarks.crowd import SMALL, enrol, invent
from benchmarks.filling import copy_job
from benchmarks.measure import Data, Options, Table, ms, summary_ms
from benchmarks.pool import Hub, running_hub
from benchmarks.processes import wait_until
from computepool.hub.core.db import durable_engine
from computepool.hub.jobs.tables import Attempt, Job, Slice

TARGET_MS = 50.0
REQUESTS_TARGET = 3
DAYS = 365
COUNTRIES = ("DE", "FR", "US", "BR", "JP", "IN", "ZA", "AU")
PAGES = {
    "job list": ("jobs?limit=50",),
    "job list, failed ones": ("jobs?limit=50&state=failed",),
    "job list, a search that finds nothing": ("jobs?limit=50&search=nowhere",),
    "job": ("jobs/{job_id}", "jobs/{job_id}/timeline", "jobs/{job_id}/explain"),
    "node list": ("nodes?limit=50",),
    "wallet": ("wallet", "wallet/entries?limit=50", "wallet/payments"),
    "offers": ("market/offers", "market/filters"),
    "map": ("map", "stats"),
    f"admin overview of {DAYS} days": (f"admin/overview?days={DAYS}", "admin/queue", "stats"),
}


def measure_pages(folder: Path, options: Options) -> Data:
    jobs, nodes = options.figure(200, 1_000_000), options.figure(20, 10_000)
    with running_hub(folder) as hub:
        job_id = _submit(hub)
        hub.stop()
        invented = invent([(SMALL, COUNTRIES[number % len(COUNTRIES)]) for number in range(nodes)])
        enrol(invented, hub.settings.effective_database_url, hub.admin_id)
        _finish(hub, job_id, invented[0].node_id)
        began = time.monotonic()
        copy_job(hub.database, job_id, jobs, over=timedelta(days=DAYS - 2))
        filling = time.monotonic() - began
        ready = hub.start()
        counting = wait_until(lambda: _counted(hub) >= jobs, "the daily totals", hub.child, seconds=180, every=0.2)
        newest = _newest(hub)
        found = {name: _page(hub, paths, newest, options.samples(2, 50)) for name, paths in PAGES.items()}
    return {
        "jobs": jobs,
        "nodes": nodes,
        "filling_seconds": round(filling, 1),
        "ready_seconds": round(ready, 2),
        "counting_seconds": round(counting, 1),
        "pages": found,
    }


def _submit(hub: Hub) -> str:
    """One that no node can have."""
    spec = {"run": ["/bin/true"], "where": {"tags": ["nowhere"]}, "name": "bench"}
    return str(hub.client.http.post("jobs", json=spec).raise_for_status().json()["id"])


def _finish(hub: Hub, job_id: str, node_id: str) -> None:
    """As if it had run: what is measured only reads."""
    now = datetime.now(UTC)
    ended = {"state": "succeeded", "verdict": "ok", "reason": "exited", "exit_code": 0, "finished_at": now}
    began = now - timedelta(seconds=60)
    engine = durable_engine(hub.settings.effective_database_url)
    try:
        with Session(engine) as session, session.begin():
            job_ended = ended | {"created_at": began, "started_at": began, "slices_left": 0}
            session.execute(update(Job).where(Job.id == job_id).values(job_ended))
            session.execute(update(Slice).where(Slice.job_id == job_id).values(ended | {"attempts": 1, "fence": 1}))
            session.add(
                Attempt(
                    id="attempt_template",
                    job_id=job_id,
                    slice_index=0,
                    number=1,
                    fence=1,
                    node_id=node_id,
                    own=True,
                    isolation="bubblewrap",
                    manifest="{}",
                    leased_at=began,
                    started_at=began,
                    log_bytes=0,
                    **ended,
                )
            )
    finally:
        engine.dispose()


def _counted(hub: Hub) -> int:
    return int(hub.client.get("admin/overview", days=DAYS)["totals"]["jobs"])


def _newest(hub: Hub) -> str:
    return str(hub.client.get("jobs", limit=1)["items"][0]["id"])


def _page(hub: Hub, paths: tuple[str, ...], job_id: str, samples: int) -> Data:
    filled = [path.format(job_id=job_id) for path in paths]
    pages: list[float] = []
    parts: dict[str, list[float]] = {path: [] for path in paths}
    for number in range(samples + 1):
        took = []
        for path in filled:
            began = time.perf_counter()
            hub.client.http.get(path).raise_for_status()
            took.append(time.perf_counter() - began)
        if number:  # the first one only warms caches
            pages.append(sum(took))
            for path, seconds in zip(paths, took, strict=True):
                parts[path].append(seconds)
    return {"requests": len(paths), "page": summary_ms(pages), "parts": {p: summary_ms(s) for p, s in parts.items()}}


def pages_table(data: Data) -> Table:
    rows = []
    for name, found in data["pages"].items():
        met = found["page"]["p50_ms"] <= TARGET_MS and found["requests"] <= REQUESTS_TARGET
        slowest = max(found["parts"], key=lambda path: found["parts"][path]["p50_ms"])
        rows.append(
            [
                name,
                str(found["requests"]),
                ms(found["page"], "p50"),
                ms(found["page"], "p95"),
                f"`{slowest}`: {ms(found['parts'][slowest], 'p50')}",
                f"≤ {TARGET_MS:g} {'✓' if met else '✗'}",
            ]
        )
    return Table(
        f"Pages of a pool with {data['jobs']:,} jobs and {data['nodes']:,} nodes, ms",
        ("", "requests", "p50", "p95", "slowest request", "target"),
        rows,
        f"SQLite, all jobs of one owner over {DAYS} days, each with one attempt. All requests of a page, one after the "
        f"other; at most {REQUESTS_TARGET}. The hub was ready {data['ready_seconds']:.1f} s after its start and had "
        f"counted all days {data['counting_seconds']:.0f} s later.",
    )
