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
from computepool.hub.accounts.passwords import Passwords
from computepool.hub.accounts.sign_in import SignIn
from computepool.hub.accounts.tokens import TokenSigner
from computepool.hub.admin.pool_settings import load_in_force
from computepool.hub.artifacts.background import seal_cut_off, seal_logs
from computepool.hub.artifacts.blob_urls import BlobSigner
from computepool.hub.artifacts.charges import ROUND_SECONDS as CHARGE_SECONDS
from computepool.hub.artifacts.charges import charge_storage, charges_are_paid_once
from computepool.hub.artifacts.checkpoints import CheckpointFiles
from computepool.hub.artifacts.freeing import sweep_abandoned
from computepool.hub.artifacts.log_lines import LogLines
from computepool.hub.artifacts.logs import LogStore
from computepool.hub.artifacts.outputs import Outputs
from computepool.hub.artifacts.reading import Downloads
from computepool.hub.artifacts.store import Store
from computepool.hub.artifacts.transfers import sign_downloads
from computepool.hub.artifacts.uploads import Uploads
from computepool.hub.core.bulk import BulkLane
from computepool.hub.core.context import Context
from computepool.hub.core.http import Principal
from computepool.hub.core.keyring import Keyring
from computepool.hub.core.pruning import prune_in_batches
from computepool.hub.core.records import Event, prune_audit, prune_notices, prune_outbox
from computepool.hub.disputes.service import heard_of_chargeback
from computepool.hub.figures.rollups import LOOK_SECONDS, DailyFigures
from computepool.hub.gateway.handshake import Gateway
from computepool.hub.gateway.polls import Polls
from computepool.hub.gateway.reports import Reports
from computepool.hub.history.recorder import WRITE_SECONDS, History
from computepool.hub.jobs.brief import JobBrief
from computepool.hub.jobs.checkpoints import free_unused
from computepool.hub.jobs.ending import Canceled
from computepool.hub.jobs.invariants import INVARIANTS
from computepool.hub.jobs.live import LiveJobs
from computepool.hub.jobs.queries import load_job
from computepool.hub.jobs.removal import Removal
from computepool.hub.jobs.service import NewJob
from computepool.hub.jobs.storage import StorageWatch
from computepool.hub.jobs.submission import StoreJob
from computepool.hub.jobs.verification import Consequences
from computepool.hub.ledger.journal import list_spendable
from computepool.hub.ledger.timeline import DayStart
from computepool.hub.live.feed import Feed
from computepool.hub.live.loads import Loads
from computepool.hub.live.wallets import Wallets
from computepool.hub.mail.background import Mailer
from computepool.hub.market.book import Book
from computepool.hub.market.feasibility import Traits
from computepool.hub.market.repository import host_price_of
from computepool.hub.market.standing import Standing
from computepool.hub.nodes.tables import Node
from computepool.hub.payments.background import Payments
from computepool.hub.payments.cash_outs import cash_outs_are_cashing_out, pay_out_ended, pay_out_returned
from computepool.hub.payments.hooks import Hooks
from computepool.hub.payments.plans import Lacking
from computepool.hub.reputation.service import list_standings
from computepool.hub.scheduling import memory, remembering
from computepool.hub.scheduling.canary_clock import TICK_SECONDS as CANARY_SECONDS
from computepool.hub.scheduling.canary_clock import CanaryClock
from computepool.hub.scheduling.census import Census
from computepool.hub.scheduling.fleet import free_of, traits_of
from computepool.hub.scheduling.instalments import SWEEP_SECONDS as INSTALMENT_SWEEP_SECONDS
from computepool.hub.scheduling.instalments import Instalments
from computepool.hub.scheduling.leases import LeaseKeeper
from computepool.hub.scheduling.limits import Spent, limits_of
from computepool.hub.scheduling.market_clock import TICK_SECONDS, MarketClock
from computepool.hub.scheduling.offer_list import OfferList
from computepool.hub.scheduling.presence import Presence
from computepool.hub.scheduling.pulse import PULSE_SECONDS, Pulse
from computepool.hub.scheduling.queue_limits import check_queue
from computepool.hub.scheduling.quotes import with_its_ceiling
from computepool.hub.scheduling.replicas import Seat
from computepool.hub.scheduling.scheduler import Scheduler
from computepool.hub.trust.audits import give_up_old
from computepool.hub.trust.repository import list_answers
from computepool.hub.trust.restitution import make_good
from computepool.hub.trust.service import cancel_job
from computepool.hub.wallet.checking import LedgerWatch
from computepool.protocol.capacity import Capacity
from computepool.protocol.manifest import Saved
from computepool.protocol.messages import LOG_LIMIT_BYTES
from computepool.protocol.states import JOB_FINAL, NodeState

POLL_SWEEP_SECONDS = 30.0
RESTITUTION_SECONDS = 60.0
DISMISS_SECONDS = 1.0
"""How often open event streams are asked whether their token still holds. It is a look into memory."""
TIDY_SECONDS = 3600.0
NOTICES_KEPT = timedelta(days=90)
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
        self.sign_in = SignIn(context, self.token_signer, self.directory, Passwords(context.offload))
        self.logs = LogStore(store, context.offload, LOG_LIMIT_BYTES + LOG_MARGIN_BYTES)
        self.outputs = Outputs(context, store)
        self.uploads = Uploads(context, store)
        self.bulk = BulkLane()
        self.log_lines = LogLines(self.logs, self.bulk)
        self.downloads = Downloads(store, context.offload, self.bulk)
        self.checkpoints = CheckpointFiles(context, store)
        self.book = Book(is_free=context.settings.money == "off", unproven_slices=context.settings.unproven_slices)
        self.scheduler = Scheduler(context, keyring, self._downloads, self.logs.begin)
        self.census = Census(self.scheduler.fleet, self.book)
        self.offers = OfferList(context, self.scheduler.fleet, self.book)
        self.figures = DailyFigures(context)
        self.market = MarketClock(context, self.book, self.scheduler)
        self.canaries = CanaryClock(context, self.scheduler.fleet, self.checks_changed)
        self.scheduler.following.banned = self._ban
        self.instalments = Instalments(context, self.scheduler)
        self.presence = Presence(context, self.scheduler)
        self.leases = LeaseKeeper(context, self.scheduler, self.presence, self._attempt_lost, self.logs.size)
        self.storage = StorageWatch(context)
        self.removal = Removal(context, store, self.logs)
        reports = Reports(context, self.scheduler, self.leases, self.logs, self.outputs, self.checkpoints, self.storage)
        self.history = History(context)
        self.pulse = Pulse(self.scheduler, self.history)
        self.gateway = Gateway(
            context,
            keyring,
            self.scheduler,
            self.presence,
            self.leases,
            reports,
            self.appraise,
            self.bulk,
            self.history,
        )
        self.polls = Polls(context, self.gateway)
        hooks = Hooks(pay_out_ended, pay_out_returned, partial(heard_of_chargeback, context))
        self.payments = Payments(context, self.lacking, hooks=hooks)
        self.ledger = LedgerWatch(context, (*INVARIANTS, cash_outs_are_cashing_out, charges_are_paid_once))
        self.mailer = Mailer(context)
        self.live_jobs = LiveJobs(context, self.logs)
        self.feed = Feed(context)
        self.wallets = Wallets(context, self.feed)
        self.history.heard_node = Loads(self.scheduler.fleet, self.feed).show
        self.day_start = DayStart()
        self._changing_node = asyncio.Lock()
        self._changing_settings = asyncio.Lock()
        self._stack = AsyncExitStack()
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Rebuild the memory from the truth, then begin to work."""
        loop = asyncio.get_running_loop()

        def tell(events: list[Event]) -> None:
            loop.call_soon_threadsafe(self._hear, events)

        def tell_in_order(events: list[Event]) -> None:
            loop.call_soon_threadsafe(self.feed.hear, events)

        self.context.db.on_commit, self.context.db.on_settled = tell, tell_in_order
        await self._read_settings()
        await self.feed.load()
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
        self.census.look()
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
        self._spawn(self._every(DISMISS_SECONDS, self._dismiss))
        self._spawn(self._every(PULSE_SECONDS, self.pulse.tick))
        self._spawn(self._every(WRITE_SECONDS, self.history.write))
        self._spawn(self._every(LOOK_SECONDS, self.figures.tick))
        self._spawn(self.payments.run())
        self._spawn(self.mailer.run())
        if self.context.settings.money == "on":
            self._spawn(self.ledger.run())
            self._spawn(self.wallets.run())
            self._spawn(self._every(CHARGE_SECONDS, self._charge_storage))
        self._spawn(self._seal_cut_off())

    async def say_goodbye(self) -> None:
        """Before the server waits for its requests to end: a poll would keep it waiting for as long as it may."""
        self.feed.close()
        await self.gateway.close()
        await self.polls.close()

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.scheduler.finish()
        await self.say_goodbye()
        await self._write_history()
        await self.payments.close()
        await self.mailer.close()
        await self._stack.aclose()

    # ── what routes, and the simulation, do with jobs ────────────────────────────────────────────────────────────────

    async def submit(self, job: NewJob, brief: JobBrief, store: StoreJob) -> str:
        """Store the job and lease what finds room at once. The id: its own, or that of its earlier twin."""
        await self.check_submit(job, brief)
        brief, ceiling = with_its_ceiling(self.scheduler.fleet, self.book, brief)
        return await self.scheduler.submit(replace(job, ceiling_micros=ceiling), brief, store)

    async def check_submit(self, job: NewJob, brief: JobBrief) -> None:
        """Raises what keeps its owner from submitting it now: QueueFull, or an error about storage."""
        await self.storage.check(job.owner_id)
        check_queue(self.context.settings, self.scheduler.queue, self.scheduler.briefs, job, brief)

    def card_names(self) -> frozenset[str]:
        """The GPUs of the pool's price table and of its fleet."""
        return self.scheduler.fleet.cards | self.book.tables.tiers.cards.keys()

    async def cancel(self, job_id: str, principal: Principal) -> None:
        """What waits is canceled at once; what runs is told to stop, and the job ends when it has."""
        canceled = await self.context.db.run(_cancel, principal, job_id, self.context.now())
        for each_id, state in [(job_id, canceled.state), *canceled.replicas]:
            self.scheduler.canceled(each_id, final=state in JOB_FINAL)
        for attempt_id, fence, node_id in canceled.live:
            self.gateway.stop_attempt(node_id, attempt_id, fence, "canceled")

    # ── asked by the loop of payments, which is below the scheduler ───────────────────────────────────────────────────

    def lacking(self, owner_id: str) -> Lacking:
        """What this renter's slices wait for that nothing but money keeps from a node."""
        now, scheduler = self.context.now(), self.scheduler
        briefs = [one for one in scheduler.briefs.values() if one.owner_id == owner_id]
        waiting = [one for brief in briefs for one in scheduler.replicas.list_waiting(scheduler.queue, brief)]
        needed = [micros for one in waiting[:SLICES_COVERED] if (micros := scheduler.admission.lacking(one, now))]
        has = max(0, scheduler.purse.left(owner_id))
        return Lacking(max(0, min(needed) - has), max(0, sum(needed) - has)) if needed else Lacking()

    # ── after a commit, the same in memory ────────────────────────────────────────────────────────────────────────────

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
                    enrolled_by=row.enrolled_by,
                    known=node.traits,
                )
                node.traits = self.appraise(said, node.capacity)
                node.free = free_of(node.traits, node.attempts.values())
        if node is not None and node.state is NodeState.BANNED:
            await self.leases.lose_all(node)
        elif node is not None:
            await self.presence.settle(node)
        self.scheduler.wake()

    async def settings_changed(self) -> None:
        """Of several changes at once the last one counts, whoever comes here last."""
        await self._read_settings()
        await self.storage.load()
        await self.market.reprice()
        self.scheduler.wake()

    async def _read_settings(self) -> None:
        context = self.context
        async with self._changing_settings:
            context.settings = settings = await context.db.read(load_in_force, context.defaults)
            self.scheduler.limits.set_defaults(limits_of(settings))
            self.book.unproven_slices = settings.unproven_slices

    def checks_changed(self, after: Consequences) -> None:
        self.scheduler.following.follow(after, self.context.clock.monotonic())
        self.scheduler.wake()

    def _ban(self, node_id: str) -> None:
        """The commit that banned it for wrong results is durable."""

        async def follow() -> None:
            await self.node_changed(await self.context.db.read(lambda session: session.get_one(Node, node_id)))

        self._spawn(follow())

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
        self.wallets.hear(events)
        self.figures.hear(events)
        self.context.bus.publish(events)

    async def _dismiss(self) -> None:
        await self.feed.dismiss(self.directory.still_holds)

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

    async def _write_history(self) -> None:
        """A hub that cannot store its last samples stops all the same."""
        try:
            await self.history.write()
        except Exception:
            log.exception("history.write_failed")

    async def _send_canaries(self) -> None:
        async with self.removal.artifacts.reruns:
            await self.canaries.tick()

    async def _charge_storage(self) -> None:
        await charge_storage(self.context)

    async def _make_good(self) -> None:
        async for owner_id, day, micros in make_good(self.context):
            self.scheduler.limits.spend([Spent(owner_id, day, -micros)])

    async def _prune(self) -> None:
        settings, now = self.context.settings, self.context.now()
        await prune_in_batches(self.context.db, prune_outbox, now - timedelta(days=settings.keep_outbox_days))
        await prune_in_batches(self.context.db, prune_notices, now - NOTICES_KEPT)
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
        await self.history.tidy()


def _cancel(session: Session, principal: Principal, job_id: str, now: datetime) -> Canceled:
    return cancel_job(session, load_job(session, principal, job_id), now, actor=principal.user_id)
