"""`python -m simulation --seeds 0:300`: run worlds, one a seed. Prints one JSON line, one for each planted bug if any
is named; the first seed that failed is in it."""

import argparse
import asyncio
import gc
import json
import logging
import os
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Iterator, MutableMapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import structlog
from simulation.fleet_world import FleetWorld
from simulation.mutants import MUTANTS
from simulation.virtual_time import VirtualLoop
from simulation.world import OWNERS, STRANGER, Plan, World
from sqlalchemy import create_engine, make_url
from sqlalchemy.orm import Session
from support.money import give_credits

from computepool.hub.core.db import durable_sqlite_engine
from computepool.hub.ledger.accounts import Kind
from computepool.hub.schema import migrate

BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)
WARM_UPS = 2
"""Worlds that run first, and count for nothing: what nearly all need is then imported and compiled, once."""
ERRORS: list[str] = []
"""What hub or agents logged as an error: in this world there is no reason for any."""


def main() -> int:
    arguments = _parse()
    structlog.configure(
        processors=[structlog.processors.format_exc_info, _note_error],
        wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR),
    )
    logging.disable(logging.WARNING)
    logging.getLogger("computepool").addHandler(_Errors())
    first, _, last = arguments.seeds.partition(":")
    seeds = range(int(first), int(last or int(first) + 1))
    plan, found = Plan(hub_restarts_only=arguments.restarts_only), True
    base = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=base) as folder:
        template = _template(Path(folder)) if not arguments.fleet else Path()
        for seed in range(arguments.warm_ups):
            run_seed(seed, Plan(), Path(folder, f"warm-up-{seed}"), template, fleet=arguments.fleet)
        ERRORS.clear()
        gc.freeze()
        for mutant in arguments.mutant or [None]:
            report = _run_seeds(seeds, arguments, plan, Path(folder, mutant or "worlds"), template, mutant)
            found = found and report["failed_seed"] is not None
            print(json.dumps(report), flush=True)
    return 1 if found else 0


def _run_seeds(
    seeds: range, arguments: argparse.Namespace, plan: Plan, folder: Path, template: Path, mutant: str | None
) -> dict[str, Any]:
    """The first seed that failed, why, and how often each fault fired."""
    folder.mkdir()
    fired: Counter[str] = Counter()
    failed, failure = None, None
    for seed, result in _in_children(iter(seeds), arguments, plan, folder, template, mutant):
        fired.update(result["fired"])
        if result["failure"] is not None:
            if arguments.keep_going:
                print(f"seed {seed}: {result['failure'].splitlines()[-1]}", flush=True)
            if failed is None or seed < failed:
                failed, failure = seed, result["failure"]
    return {"failed_seed": failed, "failure": failure, "fired": fired}


def _in_children(
    seeds: Iterator[int],
    arguments: argparse.Namespace,
    plan: Plan,
    folder: Path,
    template: Path,
    mutant: str | None,
) -> Iterator[tuple[int, dict[str, Any]]]:
    """A child for each seed: no world can see what an earlier one left behind. Ends early at the first failure."""
    running: dict[int, tuple[int, int]] = {}
    while True:
        while len(running) < arguments.jobs and (seed := next(seeds, None)) is not None:
            reader, writer = os.pipe()
            child = os.fork()
            if child == 0:
                if mutant is not None:
                    MUTANTS[mutant]()
                result = run_seed(seed, plan, folder / f"seed-{seed}", template, fleet=arguments.fleet)
                os.write(writer, json.dumps(result).encode())
                os._exit(0)
            os.close(writer)
            running[child] = (seed, reader)
        if not running:
            return
        child, _status = os.wait()
        seed, reader = running.pop(child)
        with os.fdopen(reader, "rb") as pipe:
            text = pipe.read()
        result = json.loads(text) if text else {"failure": "the simulation itself crashed", "fired": {}}
        if result["failure"] is not None and not arguments.keep_going:
            seeds = iter(())
        yield seed, result


def run_seed(seed: int, plan: Plan, place: Path, template: Path, *, fleet: bool) -> dict[str, Any]:
    if fleet:
        return run_fleet(seed)
    gc.disable()
    place.mkdir()
    world = World(seed, plan, place, template)
    asyncio.set_event_loop(world.loop)
    failure = None
    try:
        world.loop.run_until_complete(world.run())
        failure = _what_went_wrong(world)
    except Exception:  # whatever it is, it is what the seed is about
        failure = traceback.format_exc(limit=-6)
    return {"failure": failure, "fired": dict(world.faults.fired + world.ledger.seen)}


def run_fleet(seed: int) -> dict[str, Any]:
    gc.disable()
    world = FleetWorld(seed)
    asyncio.set_event_loop(world.loop)
    failure = None
    try:
        world.loop.run_until_complete(world.run())
        failure = _what_was_logged(world.loop, but="BrokeOff")
    except Exception:  # whatever it is, it is what the seed is about
        failure = traceback.format_exc(limit=-6)
    return {"failure": failure, "fired": dict(world.fired)}


def _what_went_wrong(world: World) -> str | None:
    # One that no node ever heard of may have become too old to be offered again: nothing is lost by that.
    healthy = sorted(attempt_id for attempt_id in world.watch.lost if world.ledger.started[attempt_id])
    if world.plan.hub_restarts_only and healthy:
        return f"a healthy job was given up during a hub's outage: {healthy}"
    return _what_was_logged(world.loop)


def _what_was_logged(loop: VirtualLoop, but: str = "\0") -> str | None:
    """`but`: a word of errors that were meant to happen."""
    errors = [error for error in ERRORS if but not in error]
    if errors:
        return "somebody logged an error: " + errors[0]
    for error in loop.errors:
        exception = error.get("exception")
        if exception is not None and not isinstance(exception, asyncio.CancelledError):
            return "".join(traceback.format_exception(exception, limit=-6))
    return None


class _Errors(logging.Handler):
    """The agents'."""

    def emit(self, record: logging.LogRecord) -> None:
        why = "".join(traceback.format_exception(record.exc_info[1])) if record.exc_info else ""
        ERRORS.append(f"{record.getMessage()}: {why}")


def _note_error(_logger: object, _name: str, event: MutableMapping[str, Any]) -> str:
    ERRORS.append(f"{event.get('event')}: {event.get('exception', event)}")
    raise structlog.DropEvent


def _template(folder: Path) -> Path:
    path = folder / "template.db"
    engine = durable_sqlite_engine(make_url(f"sqlite:///{path}"))
    migrate(engine)
    with engine.begin() as connection:
        for owner in (*OWNERS, STRANGER):
            connection.exec_driver_sql(
                "INSERT INTO owners (id, kind, created_at) VALUES (?, 'user', '2026-01-01 00:00:00')", (owner,)
            )
    with Session(engine) as session, session.begin():
        for owner in (OWNERS[0], STRANGER):
            give_credits(session, owner, BEGINNING, 3, kind=Kind.PROMOTIONAL)
            give_credits(session, owner, BEGINNING, 2)
    engine.dispose()
    single = create_engine(f"sqlite:///{path}")
    with single.connect() as connection:
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    single.dispose()
    return path


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="simulation", description=__doc__)
    parser.add_argument("--seeds", default="0:20")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--mutant", nargs="+", choices=sorted(MUTANTS), help="planted bugs, one after the other")
    parser.add_argument("--warm-ups", type=int, default=WARM_UPS)
    parser.add_argument("--restarts-only", action="store_true")
    parser.add_argument("--fleet", action="store_true", help="the light worlds: no agents, no SQL, a fleet that churns")
    parser.add_argument("--keep-going", action="store_true", help="after a failure too; one line for each")
    return parser.parse_args()


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    os._exit(code)  # what is left of dead processes must not be closed, and so run
