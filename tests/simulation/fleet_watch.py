"""What must hold in a fleet: whenever a slice is given to a node, whenever all is quiet, and at the end."""

import asyncio
from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING

from simulation.feasible import Holding, overcommitted, price_of, why_not
from simulation.fleet_truth import AttemptRow, read_order

from computepool.hub.jobs.service import Lease
from computepool.hub.market.requirements import Requirements
from computepool.hub.scheduling.fleet import FleetNode
from computepool.hub.scheduling.queue import Waiting
from computepool.hub.scheduling.scheduler import AFTER_FAILURE_SECONDS, Placement
from computepool.hub.scheduling.turns import lane_of
from computepool.protocol.states import JobState
from computepool.protocol.timing import BEGIN_SECONDS, HEARTBEAT_SECONDS

if TYPE_CHECKING:
    from simulation.fleet_world import FleetWorld

SINGLE_SECONDS = 300.0
"""Every slot is free again within 150 s: its work and its margin."""
LARGE_SECONDS = 500.0
"""A minute until room is kept, what runs there and its margin, and one more such slice before."""
LATE_SECONDS = 10.0
IDLE_SECONDS = BEGIN_SECONDS + 3 * HEARTBEAT_SECONDS + LATE_SECONDS
"""Until a heartbeat, a look at the leases and its commit."""
TRIES_AGAIN_SECONDS = AFTER_FAILURE_SECONDS + 1.0
"""After a commit that failed."""


class Violated(AssertionError):
    """A promise was broken; the text says which, and by whom."""


class FleetWatch:
    def __init__(self, world: "FleetWorld") -> None:
        self._world = world
        self._scheduler = world.scheduler
        self._pending: dict[str, tuple[str, tuple[str, int], Holding]] = {}
        """Placed, and not yet in a commit: node, slice and room, by attempt."""
        self._prices: dict[str, int] = {}
        self._soon: dict[str, tuple[str, float]] = {}
        self._violations: list[str] = []
        self.broken: asyncio.Future[None] = world.loop.create_future()
        self._place, self._vacate = self._scheduler._place, self._scheduler._vacate
        self._scheduler._place = self._watched_place  # type: ignore[method-assign]  # it looks, and then does the same
        self._scheduler._vacate = self._watched_vacate  # type: ignore[method-assign]  # as above
        world.truth.on_lease = self._leased

    def blame(self, what: str) -> None:
        self._violations.append(what)
        if not self.broken.done():
            self.broken.set_result(None)
        raise Violated(what)

    def raise_if_violated(self) -> None:
        if self._violations:
            raise Violated(self._violations[0])

    # ── when a slice is given to a node ──────────────────────────────────────────────────────────────────────────────

    def _watched_place(self, waiting: Waiting, node: FleetNode, now: datetime, tick: float) -> Placement:
        needs, node_id = waiting.brief.requirements, node.traits.node_id
        problem = why_not(needs, node, self._held(node_id), self._closed_until(node_id, now), now)
        if problem is not None:
            self.blame(f"infeasible: slice {waiting.slice_index} of {waiting.brief.job_id}: {problem}")
        self._check_nobody_is_passed_over(waiting, node, now, tick)
        price = price_of(needs, node.traits.ask, own=node.traits.owner_id == needs.owner_id)
        placement = self._place(waiting, node, now, tick)
        lease = placement.lease
        if lease.price_micros != price:
            self.blame(f"{lease.attempt_id} is to cost {lease.price_micros}, its node asks for {price}")
        self._prices[lease.attempt_id] = price
        grant = read_order(placement.manifest.body).grant
        self._pending[lease.attempt_id] = (node_id, waiting.key, Holding(grant, lease.own))
        return placement

    def _watched_vacate(self, placement: Placement) -> None:
        self._pending.pop(placement.lease.attempt_id, None)
        self._vacate(placement)

    def _leased(self, lease: Lease) -> None:
        """Its commit."""
        world = self._world
        self._pending.pop(lease.attempt_id, None)
        place = (lease.job_id, lease.slice_index)
        live = world.truth.live[lease.node_id]
        twins = [one for one in self._live_rows() if _place(one.lease) == place]
        if len(twins) > 1:
            self.blame(f"two live attempts of {place}: {[one.lease.attempt_id for one in twins]}")
        problem = overcommitted(world.hosts[lease.node_id].node, (row.holding.grant for row in live.values()))
        if problem is not None:
            self.blame(f"too much: {problem}")
        limit = self._scheduler.limits.of(lease.owner_id).slices
        if limit is not None and not lease.own:
            running = sum(row.lease.owner_id == lease.owner_id and not row.lease.own for row in self._live_rows())
            if running > limit:
                self.blame(f"{lease.owner_id} has {running} slices at once, {limit} are allowed")

    def _check_nobody_is_passed_over(self, waiting: Waiting, node: FleetNode, now: datetime, tick: float) -> None:
        """Nobody who had less of the pool waits for the very same room."""
        scheduler, needs = self._scheduler, waiting.brief.requirements
        placed = {key for _, key, _ in self._pending.values()}
        mine = scheduler.occupancy.standing(needs.owner_id, tick)
        node_id = node.traits.node_id
        for line in scheduler.queue.lines():
            other = line.needs
            if needs.owner_id in (other.owner_id, node.traits.owner_id):
                continue
            if lane_of(other) > lane_of(needs) or scheduler.occupancy.standing(other.owner_id, tick) >= mine - 1.0:
                continue
            first = next((one for one in line if one.key not in placed), None)
            if (
                first is None
                or first.avoid
                or first.retry_at is not None
                or not self._may_have(first, node_id, now, tick)
            ):
                continue
            if why_not(other, node, _believed(node), self._closed_until(node_id, now), now) is None:
                self.blame(f"{first.key} of {other.owner_id} was passed over by {waiting.key} on {node.name}")

    def _may_have(self, waiting: Waiting, node_id: str, now: datetime, tick: float) -> bool:
        """Within its renter's limits, and not where room is kept for others."""
        admission, needs = self._scheduler.admission, waiting.brief.requirements
        return admission._allowed(needs, now) is needs and node_id not in admission._barred(waiting, tick)

    # ── when all is quiet ────────────────────────────────────────────────────────────────────────────────────────────

    def look(self) -> None:
        self.raise_if_violated()
        world, scheduler = self._world, self._scheduler
        self._check_expected()
        if world.db.under_way or scheduler._dispatching or scheduler._woken.is_set():
            return  # what is decided, and what is true, are not the same right now
        self._pending.clear()
        self._check_memory()
        self._check_nothing_is_kept_idle()
        if world.loop.time() - world.db.broke_at > TRIES_AGAIN_SECONDS:
            self._check_kept_room()
            self._check_nobody_waits_in_vain()

    def _check_memory(self) -> None:
        world, scheduler = self._world, self._scheduler
        for node in scheduler.fleet:
            live = world.truth.live.get(node.traits.node_id, {})
            if set(node.attempts) != set(live):
                self.blame(f"memory: {node.name} holds {sorted(node.attempts)}, truly {sorted(live)}")
            cpus, taken = (
                sum(one.holding.grant.cpus for one in live.values()),
                [one.holding.grant for one in live.values()],
            )
            memory = node.capacity.memory_bytes - sum(one.memory_bytes for one in taken)
            gpus = len(node.capacity.gpus) - sum(len(one.gpus) for one in taken)
            truly = (round((node.capacity.cpus - cpus) * 1000), memory, gpus)
            if (node.free.cpu_millis, node.free.memory_bytes, len(node.free.gpus)) != truly:
                self.blame(f"memory: {node.name} has {node.free} left, truly {truly}")
        queued = {key for key, row in world.truth.slices.items() if row.state is JobState.QUEUED}
        if {one.key for one in scheduler.queue} != queued:
            self.blame(f"memory: the queue differs by {sorted({one.key for one in scheduler.queue} ^ queued)}")
        self._check_renters()

    def _check_nothing_is_kept_idle(self) -> None:
        """By a node that can be heard and does nothing with a stranger's slice."""
        now = self._world.clock.monotonic()
        for host in self._world.hosts.values():
            for attempt_id, since in host.taken_at.items():
                held = host.node.attempts.get(attempt_id)
                if held is not None and not held.order.own and not host.gone and now - since > IDLE_SECONDS:
                    self.blame(
                        f"stuck: {host.node.name} has {attempt_id} since {now - since:.0f} s, and has not begun it"
                    )

    def _check_renters(self) -> None:
        scheduler, truth = self._scheduler, self._world.truth
        foreign = [row for row in self._live_rows() if not row.lease.own]
        for owner_id in {row.owner_id for row in truth.slices.values()}:
            theirs = [row.lease for row in foreign if row.lease.owner_id == owner_id]
            share = scheduler.occupancy.share(owner_id)
            truly = (len(theirs), sum(lease.price_micros for lease in theirs))
            if (share.slices, share.hourly_micros) != truly:
                self.blame(f"memory: {owner_id} occupies {share}, truly {truly}")
            account = scheduler.occupancy.usage._accounts.get(owner_id)
            if account is not None and account.rate != sum(lease.weight for lease in theirs):
                self.blame(f"memory: {owner_id} uses {account.rate} a second, truly {theirs}")
            spent = scheduler.limits.spent(owner_id, self._world.clock.now().date().replace(day=1))
            if spent != truth.spent[owner_id]:
                self.blame(f"memory: {owner_id} spent {spent}, truly {truth.spent[owner_id]}")
        for row in self._rows:
            if row.lease.price_micros != self._prices[row.lease.attempt_id]:
                self.blame(f"{row.lease.attempt_id} costs {row.lease.price_micros}, it was leased at another price")

    def _check_kept_room(self) -> None:
        """Room is kept only while somebody waits for it, and not for ever."""
        scheduler, now = self._scheduler, self._world.clock.monotonic()
        for one in scheduler.admission.reservations:
            self._world.fired["kept_room"] += 1
            if scheduler.queue.line(one.needs) is None or now > one.free_at + LATE_SECONDS:
                self.blame(f"kept: {one.node_id} is kept for {one.needs.owner_id}, until {one.free_at}, for nobody")
        for attempt_id, claim in scheduler.admission.claims._by_attempt.items():
            if not self._world.truth.attempts[attempt_id].is_live:
                self.blame(f"kept: {claim.node_id} is being cleared of {attempt_id}, which is over")

    def _check_nobody_waits_in_vain(self) -> None:
        now, tick = self._world.clock.now(), self._world.clock.monotonic()
        for line in self._scheduler.queue.lines():
            first = next((one for one in line if one.retry_at is None and not one.avoid), None)
            if first is None:
                continue
            for node in self._could(line.needs, now):
                node_id = node.traits.node_id
                held = self._held(node_id)
                closed_until = self._closed_until(node_id, now, -1.0)  # the hub may have heard of it at once
                if why_not(line.needs, node, held, closed_until, now) is None and self._may_have(
                    first, node_id, now, tick
                ):
                    self.blame(f"{first.key} waits, and {node.name} has room for it")

    # ── at the end ───────────────────────────────────────────────────────────────────────────────────────────────────

    def expect_soon(self, *, large: str, single: str) -> None:
        """Of jobs that were just submitted, if somebody could run them."""
        now, time = self._world.clock.now(), self._world.loop.time()
        for job_id, seconds in ((large, LARGE_SECONDS), (single, SINGLE_SECONDS)):
            waiting = self._scheduler.queue.get((job_id, 0))
            if waiting is not None and any(self._could(waiting.brief.requirements, now)):
                self._soon[job_id] = ("large" if job_id == large else "single", time + seconds)
                self._world.fired["waits_in_calm"] += 1

    def _check_expected(self) -> None:
        for job_id, (kind, deadline) in self._soon.items():
            waiting = self._scheduler.queue.get((job_id, 0))
            if waiting is None or waiting.attempts or self._world.loop.time() < deadline:
                continue
            if any(self._could(waiting.brief.requirements, self._world.clock.now())):
                self.blame(f"starved: the {kind} slice of {job_id} waits since {waiting.waits_since:.0f}")

    def somebody_could_go_on(self) -> bool:
        if any(self._live_rows()):
            return True
        now = self._world.clock.now()
        return any(any(self._could(line.needs, now)) for line in self._scheduler.queue.lines())

    def check_end(self) -> None:
        truth, fired = self._world.truth, self._world.fired
        fired["preempted"] += truth.preempted
        fired["quarantined"] += len(truth.closed)
        fired["not_begun"] += truth.not_begun
        fired["asked_less"] += len(truth.declined)
        for row in self._rows:
            attempt_id = row.lease.attempt_id
            if row.ended != 1 or truth.counted[attempt_id] > 1:
                self.blame(f"{attempt_id} ended {row.ended} times, counted {truth.counted[attempt_id]} times")
        for key, one in truth.slices.items():
            if one.losses > one.lost_by_others:
                self.blame(f"{key} has {one.losses} losses, {one.lost_by_others} times it was others' doing")

    # ──

    @property
    def _rows(self) -> Iterable[AttemptRow]:
        return self._world.truth.attempts.values()

    def _live_rows(self) -> Iterable[AttemptRow]:
        return (row for rows in self._world.truth.live.values() for row in rows.values())

    def _held(self, node_id: str) -> list[Holding]:
        truly = [row.holding for row in self._world.truth.live.get(node_id, {}).values()]
        return truly + [holding for where, _, holding in self._pending.values() if where == node_id]

    def _closed_until(self, node_id: str, now: datetime, heard_seconds: float = 0.1) -> datetime | None:
        """Quarantined, or not asked after it declined: of what the hub has had so long to hear of."""
        truth = self._world.truth
        known = [found for found in (truth.closed.get(node_id), truth.declined.get(node_id)) if found is not None]
        ends = [until for until, since in known if until is not None and (now - since).total_seconds() > heard_seconds]
        return max(ends, default=None)

    def _could(self, needs: Requirements, now: datetime) -> Iterable[FleetNode]:
        """Nodes that could hold it, were they empty, and not in quarantine."""
        return (node for node in self._scheduler.fleet if why_not(needs, node, (), None, now) is None)


def _believed(node: FleetNode) -> list[Holding]:
    """What the hub takes for held there: an end that was written down a moment ago is not known yet."""
    return [Holding(held.grant, held.order.own) for held in node.attempts.values()]


def _place(lease: Lease) -> tuple[str, int]:
    return lease.job_id, lease.slice_index
