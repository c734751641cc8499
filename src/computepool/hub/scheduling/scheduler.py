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
from computepool.hub.jobs.brief import JobBrief, manifest_of
from computepool.hub.jobs.ending import Applied, Ended, Requeued
from computepool.hub.jobs.service import Lease, NewJob
from computepool.hub.jobs.submission import StoreJob
from computepool.hub.market.feasibility import weakest_level
from computepool.hub.scheduling.fleet import Fleet, FleetNode, Line, give_room_back, grant_on, held_of, take_room
from computepool.hub.scheduling.queue import Queue, Waiting
from computepool.hub.scheduling.turns import Round
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
        self.briefs: dict[str, JobBrief] = {}
        """Of every job that is not final."""
        self.orphans: list[tuple[FleetNode, str, int]] = []
        """(node, attempt, fence) of leases on nodes that have left the pool. The leases' keeper ends them."""
        self._context = context
        self._keyring = keyring
        self._downloads = downloads
        self._leased = leased
        self._woken = asyncio.Event()
        self._dispatching = False
        self._unbroken = Unbroken()
        """A commit that is under way, and what follows from it here, are not torn apart by a caller that gives up."""

    # ── new work ─────────────────────────────────────────────────────────────────────────────────────────────────────

    async def submit(self, job: NewJob, brief: JobBrief, store: StoreJob) -> str:
        """Store the job, and lease what finds room, in one commit. Returns its id, or that of its earlier twin."""
        waiting = [Waiting(brief, index, fence=0, attempts=0) for index in range(job.slices)]
        # Room that others wait for is theirs first. While nothing is being dispatched, whatever waits was looked at and
        # found no room.
        must_wait = len(self.queue) > 0 and (self._dispatching or self._woken.is_set())
        placements = [] if must_wait else self._place_new(waiting)
        return await self._unbroken.run(self._store(job, brief, store, waiting, placements))

    async def _store(
        self, job: NewJob, brief: JobBrief, store: StoreJob, waiting: list[Waiting], placements: list[Placement]
    ) -> str:
        try:
            earlier = await self._context.db.run(store, job, [one.lease for one in placements])
        except BaseException:
            self._give_back(placements)
            raise
        if earlier is not None:
            self._give_back(placements)
            return earlier
        self.briefs[job.id] = brief
        placed = {one.lease.slice_index for one in placements}
        for one in waiting:
            if one.slice_index not in placed:
                self.queue.add(one)
        self._deliver(placements)
        if len(placements) < job.slices:
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
                while placements := self._place_queued():
                    await self._unbroken.run(self._lease(placements))
            except Exception:
                log.exception("dispatch.failed")
                asyncio.get_running_loop().call_later(AFTER_FAILURE_SECONDS, self.wake)
            finally:
                self._dispatching = False

    # ── what happened ────────────────────────────────────────────────────────────────────────────────────────────────

    def ended(self, node_id: str, ended: Ended) -> None:
        """An attempt is over, and the commit that says so is durable."""
        node = self.fleet.get(node_id)
        if node is not None:
            give_room_back(node, ended.attempt_id)
        if ended.requeued is not None:
            self._requeue(ended.requeued)
        elif ended.applied is Applied.APPLIED:
            self.queue.remove((ended.job_id, ended.slice_index))  # it waited, if this attempt had been given up before
        if ended.job_final:
            self.briefs.pop(ended.job_id, None)
        self.wake()

    def canceled(self, job_id: str, *, final: bool) -> None:
        brief = self.briefs.get(job_id)
        if brief is not None:
            self.queue.remove_job(job_id, brief.slices)
        if final:
            self.briefs.pop(job_id, None)

    def restore(self, briefs: Iterable[JobBrief], waiting: Iterable[Waiting]) -> None:
        """Fill the memory from the truth, on start."""
        self.briefs.update((brief.job_id, brief) for brief in briefs)
        for one in waiting:
            self.queue.add(one)
            self._wake_when_due(one)
        self.wake()

    # ── inside ───────────────────────────────────────────────────────────────────────────────────────────────────────

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
        )
        self.queue.add(waiting)
        self._wake_when_due(waiting)

    def _place_queued(self) -> list[Placement]:
        """The next few who wait and find room, in the order of their turns. They do not wait any more."""
        placements: list[Placement] = []
        now = self._context.now()
        turns = Round(self.queue.lines(), now)
        try:
            while len(placements) < LEASE_BATCH and (waiting := turns.next()) is not None:
                node = self.fleet.choose(
                    waiting.brief.requirements,
                    waiting.avoid,
                    avoided_too=waiting.is_due(now),
                    wanted=waiting.brief.wanted,
                )
                if node is None:
                    turns.in_vain()
                else:
                    placements.append(self._place(waiting, node, now))
                    turns.served()
        except BaseException:
            self._wait_again(placements)
            raise
        for one in placements:
            self.queue.remove(one.waiting.key)
        return placements

    def _place_new(self, slices: list[Waiting]) -> list[Placement]:
        """Slices of one job that nobody has seen yet."""
        placements: list[Placement] = []
        for one in slices[:LEASE_BATCH]:
            node = self.fleet.choose(one.brief.requirements, wanted=one.brief.wanted)
            if node is None:
                break
            placements.append(self._place(one, node, self._context.now()))
        return placements

    def _place(self, waiting: Waiting, node: FleetNode, now: datetime) -> Placement:
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
            own=own,
            attempt_id=attempt_id,
            number=number,
            slice_index=waiting.slice_index,
            fence=fence,
            grant=grant_on(node, brief.requirements),
            saved=waiting.saved,
            isolation=weakest_level(brief.requirements, node.traits),
            now=now,
        )
        signed = self._keyring.sign(MANIFEST, manifest.to_bytes())
        take_room(node, held_of(manifest, signed.body, context.clock.monotonic()))
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
        )
        return Placement(waiting, node, lease, signed)

    async def _lease(self, placements: list[Placement]) -> None:
        leases = [one.lease for one in placements]
        try:
            granted = await self._context.db.run(service.lease, leases, self._context.now())
        except BaseException:
            self._wait_again(placements)
            raise
        refused = [one for one in placements if one.lease.attempt_id not in granted]
        self._give_back(refused)  # canceled while we were at it
        self._deliver(one for one in placements if one.lease.attempt_id in granted)

    def _deliver(self, placements: Iterable[Placement]) -> None:
        """Tell the nodes. One that went away meanwhile is told when it comes back."""
        for one in placements:
            self._leased(one.lease.attempt_id)
            if self.fleet.get(one.lease.node_id) is not one.node:
                self.orphans.append((one.node, one.lease.attempt_id, one.lease.fence))
            elif one.node.line is not None:
                downloads = self._downloads(one.waiting.brief, one.waiting.saved)
                one.node.line.offer(one.lease.attempt_id, one.manifest, downloads)

    def _give_back(self, placements: Iterable[Placement]) -> None:
        for one in placements:
            give_room_back(one.node, one.lease.attempt_id)
            self.wake()  # somebody may have looked for room while it was taken

    def _wait_again(self, placements: Iterable[Placement]) -> None:
        """They keep their turns: what they were to have is not theirs yet."""
        for one in placements:
            give_room_back(one.node, one.lease.attempt_id)
            self.queue.add(one.waiting)

    def _wake_when_due(self, waiting: Waiting) -> None:
        """By the wall clock, which may go slower than the timer's: then it is not yet time, and we wait on."""
        if waiting.retry_at is None or waiting.removed:
            return
        seconds = (waiting.retry_at - self._context.now()).total_seconds()
        if seconds <= 0:
            self.wake()
        else:
            asyncio.get_running_loop().call_later(seconds, self._wake_when_due, waiting)
