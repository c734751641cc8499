"""The hub without its HTTP shell: everything that has a memory or a loop, wired once.

`app` puts routes around it; the simulation runs it as it is, with its own clock, chance and links.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import structlog
from sqlalchemy.orm import Session

from computepool.hub.accounts.background import keep_directory
from computepool.hub.accounts.directory import TokenDirectory
from computepool.hub.accounts.tokens import TokenSigner
from computepool.hub.artifacts.background import seal_cut_off, seal_logs
from computepool.hub.artifacts.blob_urls import BlobSigner
from computepool.hub.artifacts.checkpoints import CheckpointFiles
from computepool.hub.artifacts.freeing import sweep_abandoned
from computepool.hub.artifacts.logs import LogStore
from computepool.hub.artifacts.outputs import Outputs
from computepool.hub.artifacts.store import Store
from computepool.hub.artifacts.transfers import sign_downloads
from computepool.hub.artifacts.uploads import Uploads
from computepool.hub.core.context import Context
from computepool.hub.core.keyring import Keyring
from computepool.hub.core.pruning import prune_in_batches
from computepool.hub.core.records import Event, prune_audit, prune_outbox
from computepool.hub.disputes.service import find_open_about, heard_of_chargeback
from computepool.hub.gateway.handshake import Gateway
from computepool.hub.gateway.polls import Polls
from computepool.hub.gateway.reports import Reports
from computepool.hub.jobs.brief import JobBrief
from computepool.hub.jobs.checkpoints import free_unused
from computepool.hub.jobs.ending import Canceled
from computepool.hub.jobs.invariants import INVARIANTS
from computepool.hub.jobs.removal import Removal
from computepool.hub.jobs.service import NewJob
from computepool.hub.jobs.storage import StorageWatch
from computepool.hub.jobs.submission import StoreJob
from computepool.hub.jobs.tables import Job
from computepool.hub.jobs.verification import Consequences
from computepool.hub.ledger.journal import list_spendable
from computepool.hub.mail.background import Mailer
from computepool.hub.market.book import Book
from computepool.hub.market.feasibility import Traits
from computepool.hub.market.repository import host_price_of
from computepool.hub.market.requirements import MILLI
from computepool.hub.market.standing import Standing
from computepool.hub.market.views import ask_view
from computepool.hub.nodes.api import Live, Room
from computepool.hub.nodes.tables import Node
from computepool.hub.payments.background import Payments
from computepool.hub.payments.cash_outs import cash_outs_are_cashing_out, pay_out_ended, pay_out_returned
from computepool.hub.payments.hooks import Hooks
from computepool.hub.payments.plans import Lacking
from computepool.hub.reputation.service import list_standings
from computepool.hub.scheduling import memory, remembering
from computepool.hub.scheduling.canary_clock import TICK_SECONDS as CANARY_SECONDS
from computepool.hub.scheduling.canary_clock import CanaryClock
from computepool.hub.scheduling.fleet import free_of, traits_of
from computepool.hub.scheduling.fleet_node import allowed_slices
from computepool.hub.scheduling.instalments import SWEEP_SECONDS as INSTALMENT_SWEEP_SECONDS
from computepool.hub.scheduling.instalments import Instalments
from computepool.hub.scheduling.leases import LeaseKeeper
from computepool.hub.scheduling.limits import Spent
from computepool.hub.scheduling.market_clock import TICK_SECONDS, MarketClock
from computepool.hub.scheduling.presence import Presence
from computepool.hub.scheduling.queue_limits import check_queue
from computepool.hub.scheduling.quotes import with_its_ceiling
from computepool.hub.scheduling.replicas import Seat
from computepool.hub.scheduling.scheduler import Scheduler
from computepool.hub.scheduling.why import explain_all
from computepool.hub.trust.audits import give_up_old
from computepool.hub.trust.repository import list_answers
from computepool.hub.trust.restitution import make_good
from computepool.hub.trust.service import cancel_job
from computepool.hub.wallet.checking import LedgerWatch
from computepool.protocol.capacity import Capacity
from computepool.protocol.manifest import Saved
from computepool.protocol.messages import LOG_LIMIT_BYTES
from computepool.protocol.states import NodeState

POLL_SWEEP_SECONDS = 30.0
RESTITUTION_SECONDS = 60.0
TIDY_SECONDS = 3600.0
LOG_MARGIN_BYTES = 64 * 1024
"""Refusing a log ends its job: an agent that counts a little otherwise is not to blame."""
SLICES_COVERED = 50
"""Of one renter who pays by the job: for so many waiting slices at once the card is charged."""
CHECKPOINT_MARGIN = timedelta(hours=1)
"""A file that is stored belongs to a checkpoint a moment later: nobody takes it away in between."""

log = structlog.get_logger()


class Engine:
    def __init__(self, context: Context, keyring: Keyring, store: Store, blob_signer: BlobSigner) -> None:
        self.context = context
        self.keyring = keyring
        self.store = store
        self.blob_signer = blob_signer
        self.started_at = context.clock.monotonic()
        self.token_signer = TokenSigner(context.secret_key, context.hub_id)
        self.directory = TokenDirectory(self.token_signer, context.clock)
        self.logs = LogStore(store, context.offload, LOG_LIMIT_BYTES + LOG_MARGIN_BYTES)
        self.outputs = Outputs(context, store)
        self.uploads = Uploads(context, store)
        self.checkpoints = CheckpointFiles(context, store)
        self.book = Book(is_free=context.settings.money == "off", unproven_slices=context.settings.unproven_slices)
        self.scheduler = Scheduler(context, keyring, self._downloads, self.logs.begin)
        self.market = MarketClock(context, self.book, self.scheduler)
        self.canaries = CanaryClock(context, self.scheduler.fleet, self.checks_changed)
        self.scheduler.following.banned = self._ban
        self.instalments = Instalments(context, self.scheduler)
        self.presence = Presence(context, self.scheduler)
        self.leases = LeaseKeeper(context, self.scheduler, self.presence, self._attempt_lost, self.logs.size)
        self.storage = StorageWatch(context)
        self.removal = Removal(context, store, self.logs, self, find_open_about)
        reports = Reports(context, self.scheduler, self.leases, self.logs, self.outputs, self.checkpoints, self.storage)
        self.gateway = Gateway(context, keyring, self.scheduler, self.presence, self.leases, reports, self.appraise)
        self.polls = Polls(context, self.gateway)
        hooks = Hooks(pay_out_ended, pay_out_returned, partial(heard_of_chargeback, context))
        self.payments = Payments(context, self.lacking, hooks=hooks)
        self.ledger = LedgerWatch(context, (*INVARIANTS, cash_outs_are_cashing_out))
        self.mailer = Mailer(context)
        self._changing_node = asyncio.Lock()
        self._stack = AsyncExitStack()
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Rebuild the memory from the truth, then begin to work."""
        loop = asyncio.get_running_loop()

        def tell(events: list[Event]) -> None:
            loop.call_soon_threadsafe(self._hear, events)

        self.context.db.on_commit = tell
        await self._stack.enter_async_context(keep_directory(self.context, self.directory))
        await self._stack.enter_async_context(self.market.running())
        await self.storage.load()
        for node in await self.context.db.read(memory.load_fleet, self.context.clock.monotonic()):
            if node.state is NodeState.BANNED:
                self.scheduler.orphans += [(node, held.attempt_id, held.fence) for held in node.attempts.values()]
            else:
                node.traits = self.appraise(node.traits, node.capacity)
                self.scheduler.fleet.put(node)
        await self.refresh_standings()
        self.scheduler.purse.load(await self.context.db.read(list_spendable))
        self.scheduler.restore(*await self.context.db.read(memory.load_queue))
        for root, index, row in await self.context.db.read(list_answers):
            self.scheduler.replicas.take(root, index, row.job_id, Seat(row.attempt_id, row.owner_id, row.gpu_class))
        half_life = timedelta(hours=self.context.settings.fair_share_half_life_hours)
        money, now = self.context.settings.money == "on", self.context.now()
        self.scheduler.remember(await self.context.db.read(remembering.load, now, half_life, money=money))
        self._spawn(self.scheduler.run())
        self._spawn(self.leases.keep_awake())
        self._spawn(self.leases.run())
        self._spawn(self._every(POLL_SWEEP_SECONDS, self.polls.sweep))
        self._spawn(self._every(TIDY_SECONDS, self._tidy))
        self._spawn(self._every(TIDY_SECONDS, self.removal.tidy))
        self._spawn(self._every(TICK_SECONDS, self.market.tick))
        self._spawn(self._every(INSTALMENT_SWEEP_SECONDS, self.instalments.sweep))
        self._spawn(self._every(RESTITUTION_SECONDS, self._make_good))
        self._spawn(self._every(CANARY_SECONDS, self._send_canaries))
        self._spawn(self.payments.run())
        self._spawn(self.mailer.run())
        if self.context.settings.money == "on":
            self._spawn(self.ledger.run())
        self._spawn(self._seal_cut_off())

    async def say_goodbye(self) -> None:
        """Before the server waits for its requests to end: a poll would keep it waiting for as long as it may."""
        await self.gateway.close()
        await self.polls.close()

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.scheduler.finish()
        await self.say_goodbye()
        await self.payments.close()
        await self.mailer.close()
        await self._stack.aclose()

    # ── what jobs need of the scheduler and the gateway (jobs.ports.Dispatch) ────────────────────────────────────────

    async def submit(self, job: NewJob, brief: JobBrief, store: StoreJob) -> str:
        await self.storage.check(job.owner_id)
        check_queue(self.context.settings, self.scheduler.queue, self.scheduler.briefs, job, brief)
        brief, ceiling = with_its_ceiling(self.scheduler.fleet, self.book, brief)
        return await self.scheduler.submit(replace(job, ceiling_micros=ceiling), brief, store)

    def cancel(self, session: Session, job: Job, now: datetime, *, actor: str) -> Canceled:
        return cancel_job(session, job, now, actor=actor)

    def canceled(self, job_id: str, *, final: bool) -> None:
        self.scheduler.canceled(job_id, final=final)

    def find_user_of(self, artifact_id: str) -> str | None:
        briefs = self.scheduler.briefs.values()
        return next((one.root for one in briefs if artifact_id in (one.bundle_id, *one.input_ids.values())), None)

    def stop_attempt(self, node_id: str, attempt_id: str, fence: int, reason: str) -> None:
        self.gateway.stop_attempt(node_id, attempt_id, fence, reason)

    async def why(self, job_id: str) -> list[dict[str, Any]]:
        brief = self.scheduler.briefs.get(job_id)
        if brief is None:
            return []
        waiting = self.scheduler.replicas.list_waiting(self.scheduler.queue, brief)
        now, tick, admission = self.context.now(), self.context.clock.monotonic(), self.scheduler.admission
        groups = await explain_all(
            self.scheduler.fleet,
            self.scheduler.queue,
            waiting,
            now,
            lambda owner_id: self.scheduler.occupancy.standing(owner_id, tick),
            lambda one: (
                admission.why_limited(one, now)
                or admission.why_unfunded(one, now)
                or admission.why_kept(one, now, tick)
            ),
        )
        return [group.model_dump(mode="json") for group in groups]

    # ── what payments need of the scheduler (payments.background) ────────────────────────────────────────────────────

    def lacking(self, owner_id: str) -> Lacking:
        """What this renter's slices wait for that nothing but money keeps from a node."""
        now, scheduler = self.context.now(), self.scheduler
        briefs = [one for one in scheduler.briefs.values() if one.owner_id == owner_id]
        waiting = [one for brief in briefs for one in scheduler.replicas.list_waiting(scheduler.queue, brief)]
        needed = [micros for one in waiting[:SLICES_COVERED] if (micros := scheduler.admission.lacking(one, now))]
        has = max(0, scheduler.purse.left(owner_id))
        return Lacking(max(0, min(needed) - has), max(0, sum(needed) - has)) if needed else Lacking()

    # ── what nodes need of the scheduler (nodes.api) ─────────────────────────────────────────────────────────────────

    def look_live(self, node_id: str) -> Live | None:
        node = self.scheduler.fleet.get(node_id)
        if node is None:
            return None
        free = node.free
        room = Room(
            cpus=free.cpu_millis / MILLI,
            memory_bytes=free.memory_bytes,
            disk_bytes=free.disk_bytes,
            gpus=len(free.gpus),
        )
        # One that was not heard since the hub's start was seen when its row says.
        seen = self.context.clock.monotonic() - node.seen_at if node.reported is not None else None
        return Live(
            state=node.state,
            free=room,
            running_attempts=len(node.attempts),
            seen_seconds_ago=seen,
            availability=node.availability,
            gpu_loads=node.loads,
            ask=ask_view(node.traits.ask, self.book.place_of(node_id)),
            slices_at_once=allowed_slices(node),
        )

    async def node_changed(self, row: Node) -> None:
        async with self._changing_node:
            # Of several changes at once the last one counts, whoever comes here last.
            row = await self.context.db.read(lambda session: session.get_one(Node, row.id))
            node = self.scheduler.fleet.get(row.id)
            self.book.set_host_price(row.id, host_price_of(row))
            if row.state == NodeState.BANNED:
                self.scheduler.fleet.remove(row.id)
                self.book.forget(row.id)
                self.gateway.dismiss(row.id)
                if node is not None:
                    node.line, node.state = None, NodeState.BANNED
            elif node is None:
                node = memory.fleet_node(row, self.context.clock.monotonic())
                node.traits = self.appraise(node.traits, node.capacity)
                self.scheduler.fleet.put(node)
            else:
                node.name, node.drain_requested = row.name, row.drain_requested
                outdated = node.traits.outdated
                said = traits_of(
                    row.id,
                    row.owner_id,
                    row.country,
                    row.tags,
                    node.capacity,
                    outdated=outdated,
                    known=node.traits,
                )
                node.traits = self.appraise(said, node.capacity)
                node.free = free_of(node.traits, node.attempts.values())
        if node is not None and node.state is NodeState.BANNED:
            await self.leases.lose_all(node)
        elif node is not None:
            await self.presence.settle(node)
        self.scheduler.wake()

    def checks_changed(self, after: Consequences) -> None:
        self.scheduler.following.follow(after, self.context.clock.monotonic())
        self.scheduler.wake()

    def _ban(self, node_id: str) -> None:
        """The commit that banned it for wrong results is durable."""

        async def follow() -> None:
            await self.node_changed(await self.context.db.read(lambda session: session.get_one(Node, node_id)))

        self._spawn(follow())

    # ── what reputation needs of the scheduler (reputation.api) ──────────────────────────────────────────────────────

    def standing_changed(self, node_id: str, standing: Standing) -> None:
        self.scheduler.standings.put(node_id, standing)
        self.scheduler.wake()

    async def refresh_standings(self) -> None:
        """What is known of a node that does nothing is worth less from day to day."""
        half_life = self.context.settings.reliability_half_life
        self.scheduler.standings.put_all(await self.context.db.read(list_standings, self.context.now(), half_life))

    def appraise(self, traits: Traits, capacity: Capacity) -> Traits:
        """A node's traits with what it asks for, and how fast it was measured to be."""
        return self.book.appraise(traits, capacity)

    # ── inside ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _downloads(self, brief: JobBrief, saved: Saved | None) -> dict[str, tuple[str, ...]]:
        places = self.checkpoints.downloads(brief.job_id, saved) if saved is not None else {}
        if brief.bundle is not None and brief.bundle_id is not None:
            places[brief.bundle.digest] = tuple(sign_downloads(self.store, brief.bundle_id, brief.bundle.size_bytes))
        for one in brief.inputs:
            artifact_id = brief.input_ids.get(one.digest)
            if artifact_id is not None and one.size_bytes is not None:
                places[one.digest] = tuple(sign_downloads(self.store, artifact_id, one.size_bytes))
        return places

    def _attempt_lost(self, attempt_id: str) -> None:
        self.logs.forget(attempt_id)
        self.storage.log_ended(attempt_id)
        self.outputs.forget(attempt_id)

    def _hear(self, events: list[Event]) -> None:
        """What commits told: first to those whose memory depends on it."""
        if self.scheduler.purse.hear(events):
            self.scheduler.wake()
        self.storage.hear(events)
        self.mailer.hear(events)
        self.context.bus.publish(events)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        self._tasks.append(asyncio.create_task(work))

    async def _every(self, seconds: float, work: Callable[[], Awaitable[object]]) -> None:
        while True:
            await asyncio.sleep(seconds)
            try:
                await work()
            except Exception:
                log.exception("periodic.failed", work=work.__name__)

    async def _seal_cut_off(self) -> None:
        try:
            await seal_cut_off(self.context, self.logs)
        except Exception:
            log.exception("logs.seal_cut_off_failed")

    async def _send_canaries(self) -> None:
        async with self.removal.artifacts.reruns:
            await self.canaries.tick()

    async def _make_good(self) -> None:
        async for owner_id, day, micros in make_good(self.context):
            self.scheduler.limits.spend([Spent(owner_id, day, -micros)])

    async def _prune(self) -> None:
        settings, now = self.context.settings, self.context.now()
        await prune_in_batches(self.context.db, prune_outbox, now - timedelta(days=settings.keep_outbox_days))
        if settings.keep_audit_days is not None:
            await prune_in_batches(self.context.db, prune_audit, now - timedelta(days=settings.keep_audit_days))

    async def _tidy(self) -> None:
        self.scheduler.limits.forget_before(self.context.now().date().replace(day=1))
        await seal_logs(self.logs, self.logs.take_in_pieces())
        await self.context.db.run(free_unused, self.context.now() - CHECKPOINT_MARGIN)
        await sweep_abandoned(self.context, self.store)
        await self.refresh_standings()
        self.checks_changed(await self.context.db.run(give_up_old, self.context.now()))
        await self._prune()
        await self.mailer.tidy()
        await self.market.tidy()
