"""What commands really did, against what the hub gave out: who runs, who saved what, who was drained."""

import json
import sqlite3
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from simulation.jobs import Run

from computepool.agent.agent import LEASE_LOOK_SECONDS
from computepool.hub.jobs.policy import PREEMPTED
from computepool.protocol.receipt import CONTINUE_LATER
from computepool.protocol.states import ATTEMPT_ENDED, ATTEMPT_LIVE

if TYPE_CHECKING:
    from simulation.world import SimulatedNode, World

Place = tuple[str, int]
"""A slice: its job, its index."""
AWAKE_SECONDS = LEASE_LOOK_SECONDS + 0.1
"""Who wakes up runs for so long before anybody looks at its lease. Nothing gets out meanwhile."""
SETTLED_SECONDS = 20.0
"""After some trouble its hub may not have heard of it yet."""
ROUNDING_SECONDS = 0.1


@dataclass(frozen=True)
class Row:
    attempt_id: str
    job_id: str
    slice_index: int
    node_id: str
    fence: int
    state: str
    verdict: str | None
    exit_code: int | None
    reason: str | None
    resumed_from: int | None

    @property
    def place(self) -> Place:
        return self.job_id, self.slice_index


COLUMNS = "id, job_id, slice_index, node_id, fence, state, verdict, exit_code, reason, resumed_from"


class Running:
    def __init__(self, world: "World", blame: Callable[[str], None]) -> None:
        self._world = world
        self._blame = blame
        self._newest: dict[Place, Row] = {}
        self._rows: dict[str, Row] = {}
        self._limits: dict[str, float] = {}
        self._saved: dict[Place, list[tuple[int, float]]] = {}
        """Numbers of the checkpoints that the hub has, and how much work is in each."""
        self._savers: set[str] = set()
        self._left_and_saved: set[str] = set()
        self._starts_from: dict[str, float | None] = {}
        self._idle_85: Counter[Place] = Counter()
        self._draining: dict[str, tuple[SimulatedNode, float]] = {}
        """Attempts, the nodes that drain with them, and since when."""
        world.ledger.on_start = self._started
        world.ledger.on_run = self._check_alone
        world.ledger.on_sent = self._sent

    # ── after a commit ──

    def check(self, db: sqlite3.Connection, rows: list[Row]) -> None:
        changed = [row for row in rows if self._rows.get(row.attempt_id) != row]
        for row in changed:
            if row.attempt_id not in self._rows:
                self._given(db, row)
            self._rows[row.attempt_id] = row
            if row.state in ATTEMPT_ENDED:
                self._ended(db, row)
        self._check_saved(db)

    def _given(self, db: sqlite3.Connection, row: Row) -> None:
        """A slice has a new attempt: whoever had it before must not run any more, and it starts from the newest."""
        known = self._newest.get(row.place)
        if known is None or row.fence > known.fence:
            self._newest[row.place] = row
        for run in self._world.ledger.runs.values():
            if run.place == row.place and run.network:
                if run.machine.alive and self._rows[run.attempt_id].reason == "lease_expired":
                    awake = run.machine.asleep_until <= self._world.loop.time()
                    self._world.ledger.seen["overtaken" if awake else "overtaken_asleep"] += 1
                self._check_alone(run)
        number, progress = self._saved.get(row.place, [(None, None)])[-1]
        if row.resumed_from != number:
            self._blame(f"{row.attempt_id} starts from checkpoint {row.resumed_from}, the newest is {number}")
        self._starts_from[row.attempt_id] = progress
        query = (
            "SELECT json_extract(json_extract(manifest, '$.body'), '$.max_runtime_seconds') FROM attempts WHERE id = ?"
        )
        (self._limits[row.attempt_id],) = db.execute(query, (row.attempt_id,)).fetchone()

    def _ended(self, db: sqlite3.Connection, row: Row) -> None:
        if row.attempt_id in self._draining:
            self._check_drained(row)
        if row.reason == "taken_back_by_owner" and row.attempt_id in self._left_and_saved:
            self._world.ledger.seen["evicted_with_checkpoint"] += 1
        if row.verdict == "ok" and self._newest[row.place].attempt_id != row.attempt_id:
            self._blame(f"{row.attempt_id} is paid beside its replacement {self._newest[row.place].attempt_id}")
        run = self._world.ledger.runs.get(row.attempt_id)
        if row.reason in ("runtime", "overdue") and run is not None:
            ran, limit = run.unfrozen_seconds(self._world.loop.time()), self._limits[row.attempt_id]
            (canceled,) = db.execute("SELECT cancel_requested_at FROM jobs WHERE id = ?", (row.job_id,)).fetchone()
            if ran < limit - ROUNDING_SECONDS and not (row.reason == "overdue" and canceled):
                self._blame(f"{row.attempt_id} ended as {row.reason} after {ran:.1f} s of its {limit:.0f} s")
        if row.exit_code == CONTINUE_LATER and row.state == "failed" and not self._got_further(row):
            self._idle_85[row.place] += 1
            query = "SELECT json_extract(spec, '$.retries') FROM jobs WHERE id = ?"
            (retries,) = db.execute(query, (row.job_id,)).fetchone()
            if self._idle_85[row.place] > (retries or 0) + 1:
                self._blame(f"{row.job_id} left to be continued {self._idle_85[row.place]} times without a checkpoint")

    def _got_further(self, row: Row) -> bool:
        """It saved more than it began with."""
        began = self._starts_from[row.attempt_id]
        return row.attempt_id in self._savers and (began is None or self._saved[row.place][-1][1] > began)

    def _check_saved(self, db: sqlite3.Connection) -> None:
        query = "SELECT job_id, slice_index, number, attempt_id, content FROM checkpoints ORDER BY number"
        for job_id, index, number, attempt_id, content in db.execute(query):
            place = (job_id, index)
            known = self._saved.setdefault(place, [])
            if known and number <= known[-1][0]:
                continue
            (file,) = json.loads(content)["files"]
            written_job, written_index, progress = self._world.ledger.written[file["digest"]]
            if (written_job, written_index) != place:
                self._blame(f"checkpoint {number} of {place} is of {written_job}, slice {written_index}")
            row = self._newest[place]
            if row.attempt_id != attempt_id or self._rows[attempt_id].state not in ATTEMPT_LIVE:
                self._blame(f"checkpoint {number} of {place} counts, by {attempt_id}, which is stale")
            if known and progress < known[-1][1]:
                self._blame(f"checkpoint {number} of {place} has {progress} s of work, the one before {known[-1][1]} s")
            known.append((number, progress))
            self._savers.add(attempt_id)
            if (run := self._world.ledger.runs.get(attempt_id)) is not None and run.over_at is not None:
                self._left_and_saved.add(attempt_id)
            self._world.ledger.seen["checkpoint_saved"] += 1
            if self._rows[attempt_id].state == "suspended":
                self._world.ledger.seen["checkpoint_saved_at_rest"] += 1

    # ── while commands run ──

    def look(self) -> None:
        for run in self._world.ledger.runs.values():
            if run.network and run.over_at is None:
                self._check_alone(run)

    def _started(self, run: Run, found: tuple[str, int, float] | None) -> None:
        progress = None
        if found is not None:
            job_id, index, progress = found
            self._world.ledger.seen["resumed"] += 1
            if (job_id, index) != run.place:
                self._blame(f"{run.attempt_id} was given the checkpoint of {job_id}, slice {index}")
        if progress != self._starts_from[run.attempt_id]:
            self._blame(f"{run.attempt_id} starts with {progress} s done, not {self._starts_from[run.attempt_id]}")
        self._check_alone(run)

    def _check_alone(self, run: Run) -> None:
        """Judged by the world's clock alone, not by what anybody believes."""
        now, other = self._world.loop.time(), self._newest.get(run.place)
        if other is None or other.attempt_id == run.attempt_id or not run.network or not run.runs(now):
            return
        if now - run.machine.asleep_until > AWAKE_SECONDS:
            self._blame(f"{run.attempt_id} has network access and runs, its slice is {other.attempt_id}'s")

    def _sent(self, run: Run) -> None:
        other = self._newest[run.place]
        if other.attempt_id != run.attempt_id:
            self._blame(f"{run.attempt_id} sent something after its slice was given to {other.attempt_id}")

    # ── draining ──

    def drains(self, node: "SimulatedNode") -> None:
        """SIGTERM, now: what it holds and could finish is remembered."""
        now = self._world.loop.time()
        if node.agent is None or node.troubled_at > now - SETTLED_SECONDS:
            return
        held = [
            attempt.id
            for attempt in node.agent.supervisor.attempts
            if attempt.takes_room
            and not attempt.manifest.network  # a hub that is away for long may cost these theirs
            and attempt.id in self._rows
            and self._rows[attempt.id].state in ATTEMPT_LIVE
        ]
        self._draining |= dict.fromkeys(held, (node, now))

    def _check_drained(self, row: Row) -> None:
        """If nothing else has happened to its node since, it was finished there."""
        node, since = self._draining.pop(row.attempt_id)
        if node.troubled_at < since and row.reason != PREEMPTED:  # whom the hub itself had asked to leave before
            self._world.ledger.seen["drained_attempt"] += 1
            if row.state == "lost" or row.reason == "declined":
                self._blame(f"{row.attempt_id} was lost by a node that drained: {row.reason}")
