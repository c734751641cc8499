"""The statements of settlements, and nothing else of the hub: noted while they are settled, undone, and then sent by
the bare driver. What the database itself needs for them is the most that any hub could reach with one at a time."""

import json
import time
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from benchmarks.bare import Link
from benchmarks.settlements import settle
from computepool.hub.core.driver import Driver
from computepool.hub.jobs.repository import AttemptView

Statement = tuple[str, Sequence[Any]]


def replay(engine: Engine, views: Sequence[AttemptView]) -> float:
    """Settle them one after the other, each in a commit of its own; how many a second."""
    noted, link = _note(engine, views), Link(engine)
    began = time.perf_counter()
    for statements in noted:
        link.run("BEGIN")
        entry_id = 0
        for words, values in statements:
            found = link.run(words, _with_entry(entry_id, values) if "ledger_postings" in words else values)
            if "ledger_entries" in words:
                ((_, entry_id),) = found
        link.run("COMMIT")
    seconds = time.perf_counter() - began
    link.close()
    return len(views) / seconds


def _note(engine: Engine, views: Sequence[AttemptView]) -> list[list[Statement]]:
    class Noted(Driver):
        def run(self, words: str, values: Sequence[Any]) -> list[Any]:
            notes[-1].append((words, values))
            return super().run(words, values)

    notes: list[list[Statement]] = []
    with Session(engine) as session:
        session.info["driver"] = (session.begin(), Noted(session.connection()))
        for view in views:
            notes.append([])
            settle(session, [view])
        session.rollback()
    return notes


def _with_entry(entry_id: int, values: Sequence[Any]) -> Sequence[Any]:
    """PostgreSQL counts on from where it was: the postings are those of the entry that was added now."""
    if len(values) > 1:
        return [entry_id if place % 5 == 0 else value for place, value in enumerate(values)]
    return (json.dumps([{**line, "entry_id": entry_id} for line in json.loads(values[0])]),)
