"""From a submit to a running process, and whole jobs in a second: the floor and the pool side by side.

Blocks of the one and of the other take turns, so that whatever else the machine does hits both.
"""

import shutil
from collections.abc import Sequence
from typing import Any

from benchmarks.client import Client
from benchmarks.floor import Floor
from benchmarks.measure import Data, Options, Table, judged, measured, ms, summary_ms
from benchmarks.pool import Hub, running_pool
from benchmarks.processes import scratch

IN_FLIGHT = 64
WARM_UP = 5
P50_TARGET, P95_TARGET, THROUGHPUT_TARGET = 2.0, 3.0, 0.4
NO_OP = ("/bin/true",)


def run(options: Options) -> Data:
    return measured(lambda: _run(options))


def _run(options: Options) -> Data:
    rounds = 2 if options.quick or options.count else 6
    per_round = max(1, options.samples(2, 120) // rounds)
    sequential = max(1, options.samples(2, 360) // rounds)
    crowded = max(1, options.samples(8, 900) // rounds)
    with scratch() as folder, running_pool(folder / "pool") as (hub, agent):
        floor = Floor(folder, agent.cpus)
        try:
            targets = {"floor": floor.client, "pool": hub.client}
            starts = _starts(targets, options.figure(1, WARM_UP), rounds, per_round)
            jobs = _jobs(targets, rounds, sequential, crowded)
            _check_jobs(hub)
        finally:
            floor.stop()
        return {
            "cpus": agent.cpus,
            "rounds": rounds,
            "isolation": "bubblewrap",
            "soft_limits": agent.node["capacity"]["soft_limits"],
            "starts": starts,
            "jobs": jobs,
        }


def programs() -> dict[str, Sequence[str]]:
    """Each prints its own clock as the first thing that it does."""
    interpreter = shutil.which("python3", path="/usr/bin:/usr/local/bin")
    found: dict[str, Sequence[str]] = {"native": ("/bin/date", "+%s.%N")}
    if interpreter is not None:
        found["python"] = (interpreter, "-c", "import time; print(time.time())")
    return found


def _starts(targets: dict[str, Client], warm_up: int, rounds: int, per_round: int) -> Data:
    found: Data = {}
    for name, program in programs().items():
        started: dict[str, list[float]] = {target: [] for target in targets}
        submitted: dict[str, list[float]] = {target: [] for target in targets}
        for client in targets.values():
            for _ in range(warm_up):
                client.start_seconds(program)
        for number in range(rounds):
            for target, client in _turn(targets, number):
                for _ in range(per_round):
                    start, submit = client.start_seconds(program)
                    started[target].append(start)
                    submitted[target].append(submit)
        found[name] = {target: summary_ms(started[target]) for target in targets}
        found[name] |= {f"{target}_submit_call": summary_ms(submitted[target]) for target in targets}
    plain = [targets["floor"].start_seconds(programs()["native"], "process")[0] for _ in range(per_round)]
    found["native"]["floor_without_sandbox"] = summary_ms(plain)
    return found


def _jobs(targets: dict[str, Client], rounds: int, sequential: int, crowded: int) -> Data:
    rates: dict[str, dict[str, list[float]]] = {
        kind: {target: [] for target in targets} for kind in ("sequential", f"{IN_FLIGHT} in flight")
    }
    for number in range(rounds):
        for target, client in _turn(targets, number):
            rates["sequential"][target].append(sequential / client.one_by_one(NO_OP, sequential))
        for target, client in _turn(targets, number):
            seconds = client.many_at_once(NO_OP, crowded, IN_FLIGHT)
            rates[f"{IN_FLIGHT} in flight"][target].append(crowded / seconds)
    counts = {"sequential": sequential, f"{IN_FLIGHT} in flight": crowded}
    return {
        kind: {"jobs_per_round": counts[kind]}
        | {target: {"per_second": round(_mean(found), 2), "rounds": _rounded(found)} for target, found in of.items()}
        for kind, of in rates.items()
    }


def _turn(targets: dict[str, Client], number: int) -> list[tuple[str, Client]]:
    """The other one first, every second time."""
    order = list(targets.items())
    return order if number % 2 == 0 else order[::-1]


def _check_jobs(hub: Hub) -> None:
    """A figure made of jobs that failed, or that ran without their sandbox, is none."""
    states = hub.finished()
    if set(states) != {"succeeded"}:
        raise RuntimeError(f"not every job succeeded: {states}")
    newest = hub.client.get("jobs", limit=1)["items"][0]["id"]
    level = hub.client.get(f"jobs/{newest}")["slices"][0]["attempts"][0]["isolation"]
    if level != "bubblewrap":
        raise RuntimeError(f"jobs ran at {level}, not in bubblewrap")


def _mean(rates: list[float]) -> float:
    """Of rounds with as many jobs each: all jobs by all seconds."""
    return len(rates) / sum(1 / rate for rate in rates)


def _rounded(values: list[float]) -> list[float]:
    return [round(value, 2) for value in values]


def tables(data: Data) -> list[Table]:
    starts = [row for name, figures in data["starts"].items() for row in _start_rows(name, figures)]
    jobs = [_jobs_row(kind, figures) for kind, figures in data["jobs"].items()]
    plain = data["starts"]["native"]["floor_without_sandbox"]
    return [
        Table(
            "Submit → the job's process is running (idle pool, bubblewrap), ms",
            ("job", "", "floor", "pool", "pool / floor", "target"),
            starts,
            f"n = {data['starts']['native']['pool']['n']} each, in {data['rounds']} rounds that take turns. The start "
            f"is the job's own clock at its first action. The floor without any sandbox: {ms(plain, 'p50', 'p95')} "
            "(p50 / p95).",
        ),
        Table(
            "Whole no-op jobs per second (bubblewrap, durable, with logs and receipts)",
            ("", "floor", "pool", "pool / floor", "target"),
            jobs,
            f"`/bin/true`, {data['cpus']} at a time on both sides; client, hub, agent and jobs share the cores.",
        ),
    ]


def _start_rows(name: str, figures: Any) -> list[list[str]]:
    rows = []
    for percent, target in (("p50", P50_TARGET), ("p95", P95_TARGET)):
        ratio = figures["pool"][f"{percent}_ms"] / figures["floor"][f"{percent}_ms"]
        cells = [ms(figures[one], percent) for one in ("floor", "pool")]
        rows.append([name, percent, *cells, f"{ratio:.2f}×", judged(ratio, target)])
    calls = [ms(figures[f"{one}_submit_call"], "p50") for one in ("floor", "pool")]
    ratio = figures["pool_submit_call"]["p50_ms"] / figures["floor_submit_call"]["p50_ms"]
    rows.append([name, "p50 of the submit call", *calls, f"{ratio:.2f}×", ""])
    return rows


def _jobs_row(kind: str, figures: Any) -> list[str]:
    floor, pool = figures["floor"]["per_second"], figures["pool"]["per_second"]
    ratio = pool / floor
    return [kind, f"{floor:.0f}", f"{pool:.0f}", f"{ratio:.2f}×", judged(ratio, THROUGHPUT_TARGET, at_least=True)]
