"""The API under many readers: what open event streams cost, how soon an event arrives, the public routes of a large
pool, the pages of one with a long past, and what telemetry costs."""

import contextlib
import json
import secrets
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from sqlalchemy.orm import Session
from websockets.sync.client import connect

from benchmarks.crowd import SMALL, enrol, invent
from benchmarks.dispatch import IN_FLIGHT, NO_OP
from benchmarks.measure import Data, Options, Table, judged, measured, megabytes, ms, summary_ms, untested_table
from benchmarks.pages import measure_pages, pages_table
from benchmarks.pool import Agent, Hub, running_hub
from benchmarks.processes import Child, python, scratch, wait_until, weigh
from benchmarks.telemetry import measure_telemetry, telemetry_table
from computepool.hub.accounts.service import create_personal_token, create_user
from computepool.hub.accounts.tokens import new_personal_token
from computepool.hub.core.db import durable_engine
from computepool.hub.core.http import Scope
from computepool.hub.core.ids import new_id

MEMORY_TARGET_BYTES = 64 * 1024**2
DISPATCH_TARGET = 1.05
EVENT_TARGET_MS = 100.0
PUBLIC_TARGET_MS = 5.0
REST_SECONDS = 3.0
PUBLIC_ROUTES = (
    "stats",
    "version",
    "market/prices",
    "market/offers",
    "map",
    "leaderboard",
    "public/events?follow=false",
)


def run(options: Options) -> Data:
    with scratch() as folder:
        streams = measured(lambda: _streams(folder / "streams", options))
        public = _public(folder / "public", options)
        telemetry = measure_telemetry(folder / "telemetry", options)
        pages = measure_pages(folder / "pages", options)
        return {"streams": streams, "public": public, "telemetry": telemetry, "pages": pages}


# ── open event streams ───────────────────────────────────────────────────────────────────────────────────────────────


def _streams(folder: Path, options: Options) -> Data:
    """Each of another user, as in a pool in which everybody has a page open."""
    count, rounds = options.samples(3, 1000), options.figure(1, 10)
    jobs, rest = options.figure(4, 150), options.figure(0.1, REST_SECONDS)
    folder.mkdir(parents=True)
    hub = Hub(folder / "hub")
    tokens = _add_users(hub.settings.effective_database_url, count)
    hub.start()
    agent: Agent | None = None
    try:
        agent = Agent(hub, folder / "agent")
        hub.client.many_at_once(NO_OP, jobs, IN_FLIGHT)
        time.sleep(rest)
        before = weigh(hub.child.pid)
        rates: dict[str, list[float]] = {"without": [], "with": []}
        weights = []
        for number in range(rounds):
            order = ("without", "with") if number % 2 == 0 else ("with", "without")
            for which in order:
                with _listening(hub, tokens, folder) if which == "with" else contextlib.nullcontext():
                    if which == "with":
                        time.sleep(rest)
                        weights.append(weigh(hub.child.pid)["pss_bytes"])
                    rates[which].append(jobs / hub.client.many_at_once(NO_OP, jobs, IN_FLIGHT))
        with _listening(hub, tokens, folder):
            arrivals = _arrivals(hub, options.samples(3, 200))
    finally:
        if agent is not None:
            agent.stop()
        hub.close()
    return {
        "streams": count,
        "rounds": rounds,
        "jobs_per_round": jobs,
        "hub_without_pss_bytes": before["pss_bytes"],
        "hub_with_pss_bytes": weights[0],
        "per_second": {which: round(len(found) / sum(1 / rate for rate in found), 2) for which, found in rates.items()},
        "arrivals": summary_ms(arrivals),
    }


def _add_users(database_url: str, count: int) -> list[str]:
    """Straight into the tables: to register is not what is measured. A token of each."""
    engine, now, tokens = durable_engine(database_url), datetime.now(UTC), []
    try:
        with Session(engine) as session, session.begin():
            for number in range(count):
                user_id, token = new_id("user", now, secrets.randbits), new_personal_token(secrets.randbits)
                create_user(
                    session,
                    user_id,
                    now,
                    email=f"reader{number}@bench.example",
                    name=f"reader {number}",
                    country=None,
                    password_hash=None,
                )
                create_personal_token(
                    session,
                    new_id("token", now, secrets.randbits),
                    token,
                    user_id,
                    now,
                    name="bench",
                    scopes=frozenset({Scope.JOBS_READ, Scope.NODES_READ, Scope.ACCOUNT_READ}),
                    lifetime=timedelta(days=1),
                    actor=user_id,
                )
                tokens.append(token)
    finally:
        engine.dispose()
    return tokens


@contextlib.contextmanager
def _listening(hub: Hub, tokens: list[str], folder: Path) -> Iterator[None]:
    plan, opened = folder / "listeners.json", folder / "listeners.open"
    plan.write_text(json.dumps({"url": f"{hub.url.replace('http', 'ws', 1)}/api/v1/events", "tokens": tokens}))
    opened.write_bytes(b"")
    child = Child(python("-m", "benchmarks.listeners", plan), folder / "listeners.log")
    try:
        wait_until(lambda: opened.stat().st_size == len(tokens), f"{len(tokens)} streams", hub.child, child, every=0.05)
        yield
    finally:
        child.stop()


def _arrivals(hub: Hub, count: int) -> list[float]:
    """From the moment at which the transaction took its time, before its commit, until the event is read."""
    samples: list[float] = []
    address = f"{hub.url.replace('http', 'ws', 1)}/api/v1/events"
    with connect(address, additional_headers={"Authorization": f"Bearer {hub.token}"}, compression=None) as socket:
        for _ in range(count):
            job_id = _submit_waiting(hub)
            while True:
                message = json.loads(socket.recv())
                event = message.get("event", {})
                if event.get("job_id") == job_id and event.get("change") == "submitted":
                    samples.append(time.time() - datetime.fromisoformat(message["at"]).timestamp())
                    break
            hub.client.http.post(f"jobs/{job_id}/cancel").raise_for_status()
    return samples


def _submit_waiting(hub: Hub) -> str:
    """One that no node can have: it only changes the database."""
    spec = {"run": ["/bin/true"], "where": {"tags": ["nowhere"]}}
    answer = hub.client.http.post("jobs", json=spec)
    answer.raise_for_status()
    return str(answer.json()["id"])


# ── public routes ────────────────────────────────────────────────────────────────────────────────────────────────────


def _public(folder: Path, options: Options) -> Data:
    """All nodes are in the hub's memory, and none of them is connected."""
    nodes, samples = options.figure(20, 10_000), options.samples(3, 500)
    with running_hub(folder) as hub:
        hub.stop()
        enrol(invent([(SMALL, None)] * nodes), hub.settings.effective_database_url, hub.admin_id)
        hub.start()
        found = {}
        for route in PUBLIC_ROUTES:
            times = []
            for _ in range(samples):
                began = time.perf_counter()
                hub.client.http.get(route).raise_for_status()
                times.append(time.perf_counter() - began)
            found[route] = summary_ms(times)
    return {"nodes": nodes, "routes": found}


def tables(data: Data) -> list[Table]:
    public = data["public"]
    rows = [
        [f"`GET {route}`", ms(found, "p50"), ms(found, "p95"), _within(found["p50_ms"], PUBLIC_TARGET_MS)]
        for route, found in public["routes"].items()
    ]
    nodes = Table(
        f"Public routes of a pool with {public['nodes']:,} nodes, ms",
        ("", "p50", "p95", "target"),
        rows,
        "One client, one request after the other; all nodes are in the hub's memory, none of them is connected.",
    )
    # Figures of before have none of these.
    pages = [pages_table(data["pages"])] if "pages" in data else []
    telemetry = [telemetry_table(data["telemetry"])] if "telemetry" in data else []
    return [*_stream_tables(data["streams"]), nodes, *pages, *telemetry]


def _stream_tables(streams: Data) -> list[Table]:
    title, arriving = "Open event streams", "Commit → event in a client's hands, ms"
    if "untested" in streams:
        return [untested_table(title, streams), untested_table(arriving, streams)]
    rate, grown = streams["per_second"], streams["hub_with_pss_bytes"] - streams["hub_without_pss_bytes"]
    ratio = rate["without"] / rate["with"]
    memory = "✓" if grown <= MEMORY_TARGET_BYTES else "✗"
    pss = [megabytes(streams[f"hub_{which}_pss_bytes"]) for which in ("without", "with")]
    found = streams["arrivals"]
    return [
        Table(
            title,
            ("", "none", f"{streams['streams']:,}", "", "target"),
            [
                ["hub's memory (PSS)", *pss, f"+{megabytes(grown)}", f"≤ {megabytes(MEMORY_TARGET_BYTES)} {memory}"],
                [
                    f"no-op jobs a second, {IN_FLIGHT} in flight",
                    f"{rate['without']:.0f}",
                    f"{rate['with']:.0f}",
                    f"{ratio:.3f}× slower",
                    judged(ratio, DISPATCH_TARGET),
                ],
            ],
            f"Each stream is another user's, over a WebSocket; {streams['rounds']} rounds of "
            f"{streams['jobs_per_round']} jobs with and without them take turns.",
        ),
        Table(
            arriving,
            ("", "p50", "p95", "target"),
            [
                [
                    f"beside {streams['streams']:,} others",
                    ms(found, "p50"),
                    ms(found, "p95"),
                    _within(found["p95_ms"], EVENT_TARGET_MS),
                ]
            ],
            f"n = {found['n']}. From the time that the transaction took for its rows: the commit itself is included.",
        ),
    ]


def _within(value_ms: float, target_ms: float) -> str:
    return f"≤ {target_ms:g} {'✓' if value_ms <= target_ms else '✗'}"
