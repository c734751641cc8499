"""Who is given what, at which price, and whether the hub's memory agrees with its database: in whole worlds."""

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from simulation.feasible import Holding, overcommitted, price_of, why_not

from computepool.hub.engine import Engine
from computepool.hub.scheduling.fleet import FleetNode
from computepool.hub.scheduling.queue import Waiting
from computepool.hub.scheduling.scheduler import Placement
from computepool.protocol.manifest import Grant
from computepool.protocol.states import ATTEMPT_LIVE

if TYPE_CHECKING:
    from simulation.world import World

HEARD_SECONDS = 0.1
"""Until the hub's memory knows what its database has just said."""
LIVE = ", ".join(f"'{state}'" for state in sorted(ATTEMPT_LIVE))
SAYS_SOMETHING = "a.verdict IN ('ok', 'host', 'owner') AND a.reason IS NOT 'declined' AND NOT a.own"
"""Ends of strangers' attempts that move a node's record."""
FOUND_WRONG = ("digest_mismatch", "wrong_result")


class Placing:
    def __init__(self, world: "World", db: sqlite3.Connection, blame: Callable[[str], None]) -> None:
        self._world = world
        self._db = db
        self._blame = blame
        self.prices: dict[str, int] = {}

    def watch(self, engine: Engine) -> None:
        """A hub that has just started."""
        scheduler = engine.scheduler
        place = scheduler._place

        def watched(waiting: Waiting, node: FleetNode, now: datetime, tick: float) -> Placement:
            expected = self._look_before(waiting, node, now)
            placement = place(waiting, node, now, tick)
            price = placement.lease.price_micros
            if price != expected:
                self._blame(f"{placement.lease.attempt_id} is to cost {price}, its node asks for {expected}")
            self.prices[placement.lease.attempt_id] = price
            return placement

        scheduler._place = watched  # type: ignore[method-assign]  # it looks, and then does the same

    def _look_before(self, waiting: Waiting, node: FleetNode, now: datetime) -> int:
        needs, node_id = waiting.brief.requirements, node.traits.node_id
        held = [Holding(one.grant, one.order.own) for one in node.attempts.values()]
        problem = why_not(needs, node, held, self._closed_until(node_id, now), now)
        if problem is not None:
            self._blame(f"infeasible: {waiting.key}: {problem}")
        host_price = self._world.prices.get(node_id)
        if host_price is not None and node.traits.ask.core_micros != host_price:
            self._blame(f"{node.name} asks for {node.traits.ask.core_micros} a core, its host for {host_price}")
        return price_of(needs, node.traits.ask, own=node.traits.owner_id == needs.owner_id)

    def check_prices(self) -> None:
        """After a commit: what was agreed on stays."""
        for attempt_id, price in self._db.execute(f"SELECT id, price_micros FROM attempts WHERE state IN ({LIVE})"):
            if price != self.prices[attempt_id]:
                self._blame(f"{attempt_id} costs {price}, it was leased at {self.prices[attempt_id]}")

    # ── when all is quiet ──

    def look(self) -> None:
        world = self._world
        if world.hub is None or world.hub_sleeps or world.hub.context.db.under_way:  # type: ignore[attr-defined]  # ours
            return
        live: dict[str, dict[str, tuple[Grant, Any]]] = defaultdict(dict)
        query = (
            "SELECT a.node_id, a.id, json_extract(json_extract(a.manifest, '$.body'), '$.grant'), a.own, "
            "a.price_micros, a.weight, j.owner_id FROM attempts a JOIN jobs j ON j.id = a.job_id "
            f"WHERE a.state IN ({LIVE})"
        )
        for node_id, attempt_id, grant, *rest in self._db.execute(query):
            live[node_id][attempt_id] = (Grant.model_validate_json(grant), rest)
        scheduler = world.hub.scheduler
        for node in scheduler.fleet:
            self._compare(node, {one: grant for one, (grant, _) in live[node.traits.node_id].items()})
        queued = set(self._db.execute("SELECT job_id, \"index\" FROM slices WHERE state = 'queued'"))
        waiting = {one.key for one in scheduler.queue}
        if waiting != queued:
            self._blame(f"memory: the queue differs by {sorted(waiting ^ queued)}")
        self._world.watch.money.look()
        # What ran on a node that was banned is over: a hub that crashed meanwhile ends it with its first sweep.
        there = [live[node.traits.node_id] for node in scheduler.fleet]
        self._compare_renters([rest for attempts in there for _, rest in attempts.values()])

    def _compare(self, node: FleetNode, grants: dict[str, Grant]) -> None:
        if set(node.attempts) != set(grants):
            self._blame(f"memory: {node.name} holds {sorted(node.attempts)}, truly {sorted(grants)}")
        problem = overcommitted(node, grants.values())
        if problem is not None:
            self._blame(f"too much: {problem}")
        taken, all_of_it = grants.values(), node.capacity
        truly = (
            round((all_of_it.cpus - sum(one.cpus for one in taken)) * 1000),
            all_of_it.memory_bytes - sum(one.memory_bytes for one in taken),
            all_of_it.disk_bytes - sum(one.disk_bytes for one in taken),
            {gpu.id for gpu in all_of_it.gpus} - {gpu for one in taken for gpu in one.gpus},
        )
        free = node.free
        if (free.cpu_millis, free.memory_bytes, free.disk_bytes, {gpu.id for gpu in free.gpus}) != truly:
            self._blame(f"memory: {node.name} has {free} left, truly {truly}")

    def _compare_renters(self, live: list[Any]) -> None:
        assert self._world.hub is not None
        scheduler = self._world.hub.scheduler
        slices, hourly, rate = Counter[str](), Counter[str](), Counter[str]()
        for own, price, weight, owner_id in live:
            if not own:
                slices[owner_id] += 1
                hourly[owner_id] += price
                rate[owner_id] += weight
        month = self._world.clock.now().date().replace(day=1)
        spent = dict(self._db.execute("SELECT owner_id, sum(micros) FROM spending GROUP BY owner_id"))
        for (owner_id,) in self._db.execute("SELECT DISTINCT owner_id FROM jobs"):
            share, account = scheduler.occupancy.share(owner_id), scheduler.occupancy.usage._accounts.get(owner_id)
            believed = (share.slices, share.hourly_micros, account.rate if account is not None else 0)
            if believed != (slices[owner_id], hourly[owner_id], rate[owner_id]):
                self._blame(f"memory: {owner_id} occupies {believed}, truly {slices}, {hourly}, {rate}")
            if scheduler.limits.spent(owner_id, month) != spent.get(owner_id, 0):
                self._blame(f"memory: {owner_id} spent {scheduler.limits.spent(owner_id, month)}, truly {spent}")

    # ── at the end ──

    def check_end(self) -> None:
        (preempted,) = self._db.execute("SELECT count(*) FROM attempts WHERE verdict = 'preempted'").fetchone()
        self._world.ledger.seen["preempted"] += preempted
        self._check_reputation()
        query = (
            "SELECT s.job_id, s.\"index\", s.losses, sum(a.verdict IN ('host', 'owner', 'hub')) FROM slices s JOIN "
            'attempts a ON a.job_id = s.job_id AND a.slice_index = s."index" GROUP BY s.job_id, s."index"'
        )
        for job_id, index, losses, others in self._db.execute(query):
            if losses > others:
                self._blame(f"slice {index} of {job_id} has {losses} losses, {others} times it was others' doing")

    def _check_reputation(self) -> None:
        """Every end that says something of a node is counted once, and nothing else is."""
        events = Counter(
            attempt_id
            for (attempt_id,) in self._db.execute("SELECT attempt_id FROM reputation_events WHERE resolution IS NULL")
        )
        rows = self._db.execute(f"SELECT a.id, a.reason FROM attempts a WHERE {SAYS_SOMETHING}").fetchall()
        # One that others proved wrong was counted when it ended, and once more when it was found out.
        said = Counter({attempt_id: 2 if reason in FOUND_WRONG else 1 for attempt_id, reason in rows})
        if events != said:
            self._blame(f"reputation: {events - said} was counted for nothing, {said - events} was not counted")

    def _closed_until(self, node_id: str, now: datetime) -> datetime | None:
        query = "SELECT r.quarantined_until, r.as_of FROM reputations r WHERE r.id = ?"
        until, as_of = self._db.execute(query, (node_id,)).fetchone() or (None, None)
        if until is None or as_of is None or (now - _time(as_of)).total_seconds() < HEARD_SECONDS:
            return None
        return _time(until)


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)
