"""Gives queued slices to nodes with room. Event-driven: a submit, a freed node or a new one wakes it; nothing polls.

A slice that finds room when it is submitted is leased in the commit that stores it. Everything here runs on the event
loop and decides in memory; the database then confirms, under its guards, or the room is given back.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

import structlog

from computepool.hub.core.context import Context
from computepool.hub.core.keyring import Keyring
from computepool.hub.core.unbroken import Unbroken
from computepool.hub.jobs import service
from computepool.hub.jobs.brief import JobBrief, manifest_of, replicated
from computepool.hub.jobs.ending import Applied, Ended, Requeued
from computepool.hub.jobs.funding import Unfunded, Want
from computepool.hub.jobs.service import Lease, NewJob
from computepool.hub.jobs.submission import StoreJob
from computepool.hub.jobs.terms import max_seconds_of, terms_of
from computepool.hub.jobs.verification import Role
from computepool.hub.market.feasibility import may_be_by_host, weakest_level
from computepool.hub.market.pricing import hourly_price, price_made_of
from computepool.hub.scheduling.admission import Admission
from computepool.hub.scheduling.endings import Endings
from computepool.hub.scheduling.evicting import evict
from computepool.hub.scheduling.fleet import Fleet, FleetNode, Held, Line, give_room_back, grant_on, held_of, take_room
from computepool.hub.scheduling.following import Following
from computepool.hub.scheduling.limits import LimitBook, Spent, limits_of, seconds_to_midnight
from computepool.hub.scheduling.occupancy import Occupancy, Occupied
from computepool.hub.scheduling.open_jobs import OpenJobs
from computepool.hub.scheduling.preemption import Claim
from computepool.hub.scheduling.purse import Purse
from computepool.hub.scheduling.queue import Queue, Tally, Waiting
from computepool.hub.scheduling.remembering import Remembered
from computepool.hub.scheduling.replicas import Replicas, Seat, gpu_class_on
from computepool.hub.scheduling.rounds import place_some
from computepool.hub.scheduling.standings import Standings
from computepool.hub.scheduling.usage import Usage, weight_of
from computepool.hub.trust import service as verification
from computepool.hub.trust.consequences import means_of
from computepool.protocol.manifest import MANIFEST, Manifest, Saved
from computepool.protocol.signing import Signed

log = structlog.get_logger()

LEASE_BATCH = 64
"""Most leases in one transaction."""
EPOCH_STEP = 2**20
"""A fence is epoch times this, plus the attempt's number: greater than any before a restore.

An epoch may be a time in seconds, so this leaves fences below 2**53, which every JSON reader keeps exactly.
"""
AFTER_FAILURE_SECONDS = 1.0
FINISH_SECONDS = 5.0
SECONDS_PER_HOUR = 3600.0

Downloads = Callable[[JobBrief, Saved | None], Mapping[str, tuple[str, ...]]]
"""Where the node gets the job's inputs, and the checkpoint that it starts from."""
Leased = Callable[[str], None]
"""Told of every new attempt, before its node is."""


@dataclass(slots=True)
class Placement:
    waiting: Waiting
    node: FleetNode
    lease: Lease
    manifest: Signed


class Scheduler:
    def __init__(self, context: Context, keyring: Keyring, downloads: Downloads, leased: Leased) -> None:
        self.fleet = Fleet()
        self.queue = Queue()
        self.occupancy = Occupancy(Usage(context.settings.fair_share_half_life_hours * SECONDS_PER_HOUR))
        self.limits = LimitBook(limits_of(context.settings))
        self.replicas = Replicas()
        self.purse = Purse(takes_cards=context.settings.stripe_secret_key is not None)
        self.admission = Admission(
            self.fleet, self.queue, self.occupancy, self.limits, self.replicas, context.randbits, self.purse
        )
        self.briefs = OpenJobs()
        """Of every job that is not final."""
        self.endings = Endings(context, self.briefs)
        self.orphans: list[tuple[FleetNode, str, int]] = []
        """(node, attempt, fence) of leases on nodes that have left the pool. The leases' keeper ends them."""
        self.tally = Tally()
        self._context = context
        self._keyring = keyring
        self._downloads = downloads
        self._leased = leased
        self._looking_again: asyncio.TimerHandle | None = None
        self._woken = asyncio.Event()
        self._dispatching = False
        self.standings = Standings(context, self.fleet, self.wake)
        self.following = Following(self.fleet, self.queue, self.briefs, self.replicas, self.standings, self.limits)
        self._unbroken = Unbroken()
        """A commit that is under way, and what follows from it here, are not torn apart by a caller that gives up."""

    # ── new work ─────────────────────────────────────────────────────────────────────────────────────────────────────

    async def submit(self, job: NewJob, brief: JobBrief, store: StoreJob) -> str:
        """Store the job, and lease what finds room, in one commit. Returns its id, or that of its earlier twin."""
        since = self._context.clock.monotonic()
        waiting = [Waiting(brief, index, fence=0, attempts=0, waits_since=since) for index in job.indices]
        # Room that others wait for is theirs first. While nothing is being dispatched, whatever waits was looked at and
        # found no room.
        must_wait = len(self.queue) > 0 and (self._dispatching or self._woken.is_set())
        placements = [] if must_wait else self._place_new(waiting)
        return await self._unbroken.run(self._store(job, brief, store, waiting, placements))

    async def _store(
        self, job: NewJob, brief: JobBrief, store: StoreJob, waiting: list[Waiting], placements: list[Placement]
    ) -> str:
        heard = self.purse.heard(one.lease.owner_id for one in placements)
        try:
            stored = await self._context.db.run(store, job, [one.lease for one in placements])
        except BaseException:
            self._give_back(placements)
            raise
        if isinstance(stored, str):
            self._give_back(placements)
            return stored
        self.purse.refused(stored.unfunded, heard)
        self._give_back(one for one in placements if one.lease.attempt_id not in stored.granted)
        placements = [one for one in placements if one.lease.attempt_id in stored.granted]
        self.briefs[job.id] = brief
        for replica_id in job.replica_ids:
            again = self.briefs[replica_id] = replicated(replace(brief, job_id=replica_id), Role.REPLICA, job.id)
            for one in waiting:
                self.queue.add(replace(one, brief=again))
        placed = {one.lease.slice_index for one in placements}
        for one in waiting:
            if one.slice_index not in placed:
                self.queue.add(one)
        self._deliver(placements)
        if len(placements) < job.slices or job.replica_ids:
            self.wake()  # room may have come while the commit was under way
        return job.id

    def offer_again(self, line: Line, manifest: Manifest, signed: Signed) -> bool:
        """Its node never heard of the lease, because the hub was restarted. False if the job is not open any more."""
        brief = self.briefs.get(manifest.job_id)
        if brief is None:
            return False
        line.offer(manifest.attempt_id, signed, self._downloads(brief, manifest.saved))
        return True

    def image_pinned(self, job_id: str, digest: str) -> None:
        """The job's first attempt with its image runs: what is leased from now on runs the same one."""
        brief = self.briefs.get(job_id)
        if brief is not None and brief.image is not None and brief.image_digest is None:
            self.briefs[job_id] = replace(brief, image_digest=digest)

    def taken_back(self, job_id: str, slice_index: int) -> None:
        """A lost attempt goes on: its slice does not wait any more."""
        self.queue.remove((job_id, slice_index))

    def wake(self) -> None:
        self._woken.set()

    async def finish(self) -> None:
        """What was begun is done. Nothing new may be asked for meanwhile."""
        await self._unbroken.finish(FINISH_SECONDS)

    async def run(self) -> None:
        """The dispatch loop: sleeps until woken, then places whatever fits."""
        while True:
            await self._woken.wait()
            self._woken.clear()
            self._dispatching = True
            try:
                placements, claims = self._place_queued()
                while placements or claims:
                    await self._unbroken.run(self._lease(placements))
                    await self._unbroken.run(evict(self._context, self.fleet, self.admission.claims, claims))
                    placements, claims = self._place_queued()
            except Exception:
                log.exception("dispatch.failed")
                asyncio.get_running_loop().call_later(AFTER_FAILURE_SECONDS, self.wake)
            finally:
                self._dispatching = False

    # ── what happened ────────────────────────────────────────────────────────────────────────────────────────────────

    def ended(self, node_id: str, ended: Ended) -> None:
        """An attempt is over, and the commit that says so is durable."""
        self.release(self.fleet.get(node_id), ended.attempt_id)
        if not ended.answered:
            self.replicas.leave(self.briefs.get(ended.job_id), ended.slice_index, ended.attempt_id)
        if ended.standing is not None:
            self.standings.put(node_id, ended.standing)
        if ended.spent_micros:
            self.limits.spend([Spent(ended.owner_id, self._context.now().date(), ended.spent_micros)])
        brief = self.briefs.get(ended.job_id)
        self.purse.ended(brief.root if brief is not None else ended.job_id)
        if ended.requeued is not None:
            self._requeue(ended.requeued)
        elif ended.applied is Applied.APPLIED:
            self.queue.remove((ended.job_id, ended.slice_index))  # it waited, if this attempt had been given up before
        if ended.job_final:
            self.briefs.pop(ended.job_id, None)
            self.replicas.forget(ended.job_id)
        self.following.follow(ended.after, self._context.clock.monotonic())
        self.wake()

    def hold(self, node: FleetNode, held: Held, price_micros: int | None) -> None:
        """An attempt has room on a node, at the price that its lease locked. Without one, from before there were
        prices, it costs what such a slice costs there now."""
        take_room(node, held)
        self._occupy(node, held, price_micros, self._context.clock.monotonic())

    def release(self, node: FleetNode | None, attempt_id: str) -> None:
        if node is not None:
            give_room_back(node, attempt_id)
        self.admission.ended(attempt_id, self._context.clock.monotonic())

    def canceled(self, job_id: str, *, final: bool) -> None:
        brief = self.briefs.get(job_id)
        if brief is not None:
            self.queue.remove_job(job_id, range(brief.slices))
            if len(self.admission.reservations):
                self.wake()  # room may have been kept for it
        if final:
            self.briefs.pop(job_id, None)
            self.replicas.forget(job_id)

    def restore(self, briefs: Iterable[JobBrief], waiting: Iterable[Waiting]) -> None:
        """Fill the memory from the truth, on start."""
        self.briefs.update((brief.job_id, brief) for brief in briefs)
        since = self._context.clock.monotonic()
        for one in waiting:
            one.waits_since = since
            self.queue.add(one)
            self._wake_when_due(one)
        self.wake()

    def remember(self, remembered: Remembered) -> None:
        """What renters had before the hub started, and what of it they still have."""
        now = self._context.clock.monotonic()
        self.occupancy.usage.remember(remembered.past, now)
        for node in self.fleet:
            for held in node.attempts.values():
                self._occupy(node, held, remembered.prices.get(held.attempt_id), now)
        self.limits.spend(remembered.spent)
        for owner_id, limits in remembered.limits:
            self.limits.set(owner_id, limits)

    # ── inside ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _occupy(self, node: FleetNode, held: Held, price_micros: int | None, now: float) -> None:
        brief = self.briefs.get(held.job_id)
        if brief is not None:
            seat = Seat(held.attempt_id, node.traits.owner_id, gpu_class_on(node, held.grant.gpus))
            self.replicas.seat(brief, held.order.slice_index, seat)
            own = node.traits.owner_id == brief.owner_id
            if price_micros is None:
                price_micros = hourly_price(brief.requirements, node.traits.ask, own=own)
            self.occupancy.begin(Occupied(held.attempt_id, node.traits.node_id, brief, own, price_micros), now)

    def _requeue(self, requeued: Requeued) -> None:
        brief = self.briefs.get(requeued.job_id)
        if brief is None:
            log.error("requeue.without_brief", job_id=requeued.job_id)
            return
        waiting = Waiting(
            brief,
            requeued.slice_index,
            fence=requeued.fence,
            attempts=requeued.fence % EPOCH_STEP,
            avoid=requeued.avoid,
            retry_at=requeued.retry_at,
            saved=requeued.saved,
            held_back=requeued.held_back,
            continues=requeued.continues,
            verdict=requeued.verdict,
            reason=requeued.reason,
            waits_since=self._context.clock.monotonic(),
        )
        self.queue.add(waiting)
        self._wake_when_due(waiting)

    def _place_queued(self) -> tuple[list[Placement], list[Claim]]:
        """The next few who wait and find room, in the order of their turns; they do not wait any more. And room that
        others have to make."""
        placements: list[Placement] = []
        now, tick = self._context.now(), self._context.clock.monotonic()

        def place(waiting: Waiting, node: FleetNode) -> None:
            placements.append(self._place(waiting, node, now, tick))

        try:
            claims = place_some(self.admission, LEASE_BATCH, now, tick, place)
        except BaseException:
            self._wait_again(placements)
            raise
        for one in placements:
            self.queue.remove(one.waiting.key)
        self._look_again(now, tick)
        return placements, claims

    def _place_new(self, slices: list[Waiting]) -> list[Placement]:
        """Slices of one job that nobody has seen yet."""
        placements: list[Placement] = []
        now, tick = self._context.now(), self._context.clock.monotonic()
        for one in slices[:LEASE_BATCH]:
            node = self.admission.find(one, now, tick)
            if node is None:
                break
            placements.append(self._place(one, node, now, tick))
            if self.admission.placed(one):
                self.wake()  # whoever waits and was kept from that room has a turn before the rest of these
                break
        return placements

    def _place(self, waiting: Waiting, node: FleetNode, now: datetime, tick: float) -> Placement:
        # Its newest form: what waits has the one of its submit.
        brief, context = self.briefs.get(waiting.brief.job_id, waiting.brief), self._context
        number = waiting.attempts + 1
        fence = context.fence_epoch * EPOCH_STEP + number
        attempt_id = context.new_id("attempt")
        own = node.traits.owner_id == brief.owner_id
        manifest = manifest_of(
            brief,
            hub_id=context.hub_id,
            node_id=node.traits.node_id,
            own=own and may_be_by_host(brief.requirements, node.traits),
            attempt_id=attempt_id,
            number=number,
            slice_index=waiting.slice_index,
            fence=fence,
            grant=grant_on(node, self.replicas.narrowed(waiting, brief.requirements)),
            saved=waiting.saved,
            isolation=weakest_level(brief.requirements, node.traits),
            now=now,
        )
        signed = self._keyring.sign(MANIFEST, manifest.to_bytes())
        price = hourly_price(brief.requirements, node.traits.ask, own=own)
        take_room(node, held_of(manifest, signed.body, tick))
        self.purse.place(attempt_id, brief.owner_id, price, max_seconds_of(brief))
        self.occupancy.begin(Occupied(attempt_id, node.traits.node_id, brief, own, price), tick)
        seat = Seat(attempt_id, node.traits.owner_id, gpu_class_on(node, manifest.grant.gpus))
        self.replicas.seat(brief, waiting.slice_index, seat)
        lease = Lease(
            attempt_id=attempt_id,
            job_id=brief.job_id,
            slice_index=waiting.slice_index,
            number=number,
            fence=fence,
            previous_fence=waiting.fence,
            node_id=node.traits.node_id,
            node_name=node.name,
            own=own,
            manifest=signed.model_dump_json(),
            owner_id=brief.owner_id,
            resumed_from=waiting.saved.number if waiting.saved is not None else None,
            weight=0 if own else weight_of(brief.requirements),
            price_micros=price,
            price=price_made_of(brief.requirements, node.traits.ask, own=own),
            terms=terms_of(context.settings, brief, node.traits.owner_id, price),
            root=brief.root,
            host_id=None if own else node.traits.owner_id,
        )
        return Placement(waiting, node, lease, signed)

    def _look_again(self, now: datetime, tick: float) -> None:
        """When room that is kept is to be free, or a new day begins, for those who wait although nothing happens."""
        loop, end = asyncio.get_running_loop(), self.admission.reservations.next_end()
        if self._looking_again is not None:
            self._looking_again.cancel()
            self._looking_again = None
        waits = [] if end is None else [end - tick + 1.0]
        if len(self.queue) and not self.limits.is_empty:
            waits.append(seconds_to_midnight(now) + 1.0)
        if waits:
            self._looking_again = loop.call_later(max(1.0, min(waits)), self.wake)

    async def _lease(self, placements: list[Placement]) -> None:
        if not placements:
            return
        leases = [one.lease for one in placements]
        heard = self.purse.heard(one.owner_id for one in leases)
        try:
            leased = await self._context.db.run(service.lease, leases, self._context.now())
        except BaseException:
            self._wait_again(placements)
            raise
        self.purse.refused(leased.unfunded, heard)
        unpaid = {one.attempt_id for one in leased.unfunded}
        self._wait_again(one for one in placements if one.lease.attempt_id in unpaid)
        if unpaid:
            self.wake()  # others may have looked for the room that they had
        known = leased.granted | unpaid
        self._give_back(one for one in placements if one.lease.attempt_id not in known)  # canceled while we were at it
        self._deliver(one for one in placements if one.lease.attempt_id in leased.granted)
        for one in leased.unfunded:
            if one.want is Want.BUDGET:
                await self._end_unfunded(one)

    async def _end_unfunded(self, one: Unfunded) -> None:
        """What it may cost is spent: it has waited for nothing."""
        slice_of, means = (one.job_id, one.slice_index), means_of(self._context)
        ended = await self._context.db.run(
            verification.end_unfunded, *slice_of, one.fence, self._context.now(), means=means, words=one.words
        )
        self.queue.remove(slice_of)
        if ended is not None:
            self.ended("", ended)

    def _deliver(self, placements: Iterable[Placement]) -> None:
        """Tell the nodes. One that went away meanwhile is told when it comes back."""
        for one in placements:
            self._leased(one.lease.attempt_id)
            self.tally.waited.append(self._context.clock.monotonic() - one.waiting.waits_since)
            if self.fleet.get(one.lease.node_id) is not one.node:
                self.orphans.append((one.node, one.lease.attempt_id, one.lease.fence))
            elif one.node.line is not None:
                downloads = self._downloads(one.waiting.brief, one.waiting.saved)
                one.node.line.offer(one.lease.attempt_id, one.manifest, downloads)

    def _give_back(self, placements: Iterable[Placement]) -> None:
        for one in placements:
            self._vacate(one)
            self.wake()  # somebody may have looked for room while it was taken

    def _wait_again(self, placements: Iterable[Placement]) -> None:
        """They keep their turns: what they were to have is not theirs yet."""
        for one in placements:
            self._vacate(one)
            self.queue.add(one.waiting)

    def _vacate(self, placement: Placement) -> None:
        self.release(placement.node, placement.lease.attempt_id)
        self.purse.forget(placement.lease.attempt_id)
        waiting = placement.waiting
        self.replicas.leave(waiting.brief, waiting.slice_index, placement.lease.attempt_id)

    def _wake_when_due(self, waiting: Waiting) -> None:
        """By the wall clock, which may go slower than the timer's: then it is not yet time, and we wait on."""
        if waiting.retry_at is None or waiting.removed:
            return
        seconds = (waiting.retry_at - self._context.now()).total_seconds()
        if seconds <= 0:
            self.wake()
        else:
            asyncio.get_running_loop().call_later(seconds, self._wake_when_due, waiting)
