"""`python -m simulation --seeds 0:300`: run worlds, one a seed. Prints one JSON line; a failure prints its seed."""

import argparse
import asyncio
import json
import logging
import os
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any

import structlog
from sqlalchemy import create_engine, make_url

from computepool.hub.core.db import durable_sqlite_engine
from computepool.hub.schema import migrate
from simulation.mutants import MUTANTS
from simulation.world import OWNER, Plan, World

GIVE_UP_SECONDS = 60.0
ERRORS: list[str] = []
"""What the hub logged as an error: in this world there is no reason for any."""


def main() -> None:
    arguments = _parse()
    structlog.configure(
        processors=[structlog.processors.format_exc_info, _note_error],
        wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR),
    )
    logging.disable(logging.WARNING)
    if arguments.mutant:
        MUTANTS[arguments.mutant]()
    first, _, last = arguments.seeds.partition(":")
    fired: Counter[str] = Counter()
    base = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=base) as folder:
        template = _template(Path(folder))
        for seed in range(int(first), int(last or int(first) + 1)):
            failure = run_seed(seed, Plan(hub_restarts_only=arguments.restarts_only), Path(folder), template, fired)
            if failure is not None:
                print(json.dumps({"failed_seed": seed, "failure": failure, "fired": fired}), flush=True)
                os._exit(1)
    print(json.dumps({"failed_seed": None, "fired": fired}), flush=True)
    os._exit(0)  # what is left of dead processes must not be closed, and so run


def run_seed(seed: int, plan: Plan, folder: Path, template: Path, fired: Counter[str]) -> str | None:
    place = folder / f"seed-{seed}"
    place.mkdir()
    world = World(seed, plan, place, template)
    asyncio.set_event_loop(world.loop)
    began = time.monotonic()
    try:
        world.loop.run_until_complete(world.run())
        if plan.hub_restarts_only and world.watch.lost:
            return f"a healthy job was given up during a hub's outage: {sorted(world.watch.lost)}"
        if time.monotonic() - began > GIVE_UP_SECONDS:
            return "took too long"
    except Exception:
        return traceback.format_exc(limit=-6)
    finally:
        fired.update(world.faults.fired)
    if ERRORS:
        return "the hub logged an error: " + ERRORS[0]
    for error in world.loop.errors:
        exception = error.get("exception")
        if exception is not None and not isinstance(exception, asyncio.CancelledError):
            return "".join(traceback.format_exception(exception, limit=-6))
    return None


def _note_error(_logger: object, _name: str, event: MutableMapping[str, Any]) -> str:
    ERRORS.append(f"{event.get('event')}: {event.get('exception', event)}")
    raise structlog.DropEvent


def _template(folder: Path) -> Path:
    path = folder / "template.db"
    engine = durable_sqlite_engine(make_url(f"sqlite:///{path}"))
    migrate(engine)
    with engine.begin() as connection:
        connection.exec_driver_sql(
            "INSERT INTO owners (id, kind, created_at) VALUES (?, 'user', '2026-01-01 00:00:00')", (OWNER,)
        )
    engine.dispose()
    single = create_engine(f"sqlite:///{path}")
    with single.connect() as connection:
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    single.dispose()
    return path


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="simulation", description=__doc__)
    parser.add_argument("--seeds", default="0:20")
    parser.add_argument("--mutant", choices=sorted(MUTANTS))
    parser.add_argument("--restarts-only", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
