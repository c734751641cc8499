"""The hub's side of the processor: sends what is due, looks into what it told, charges plans, reconciles every day.

A processor that is down costs nothing but time: what could not be sent or looked into stays a row, and is tried again.
"""

import asyncio
import importlib
from collections.abc import Callable, Coroutine, Sequence
from datetime import datetime
from typing import Any

import structlog
from sqlalchemy.orm import Session

from computepool.hub.core.context import Context
from computepool.hub.core.settings import Settings
from computepool.hub.payments import events, facts, outgoing, plans, reconcile
from computepool.hub.payments.amounts import units_of
from computepool.hub.payments.facts import Desk
from computepool.hub.payments.hooks import Hooks
from computepool.hub.payments.manual import Manual
from computepool.hub.payments.outgoing import Sending
from computepool.hub.payments.plans import Lacking
from computepool.hub.payments.provider import (
    Checkout,
    Fact,
    Movement,
    NoSuchObject,
    Provider,
    ProviderUnreachable,
    Refused,
    RequestKind,
    Subject,
)
from computepool.hub.payments.reconcile import Difference, PaymentPeriod
from computepool.hub.payments.refusals import refuse
from computepool.hub.payments.states import EventState

TICK_SECONDS = 15.0
AT_ONCE = 50
ROUNDS = 2
"""What comes of one request may be another: a charge that its bank wants confirmed."""
PATIENCE_SECONDS = 5.0
ALWAYS_LOOKED_FOR = frozenset({RequestKind.PAY_OUT})
"""Before it is sent for the first time, too: a hub that was restored from a backup may have sent it before."""

log = structlog.get_logger()


def provider_of(settings: Settings, hub_id: str) -> Provider:
    if settings.stripe_secret_key is None or settings.money == "off":
        return Manual()
    stripe = importlib.import_module("computepool.hub.payments.stripe_provider")
    provider: Provider = stripe.StripeProvider(settings, hub_id)
    return provider


class Payments:
    def __init__(
        self, context: Context, lacking: Callable[[str], Lacking] = lambda _: Lacking(), *, hooks: Hooks | None = None
    ) -> None:
        """`lacking`: what an owner's slices wait for that nothing but money keeps from a node."""
        self.context = context
        self.provider = provider_of(context.settings, context.hub_id)
        self._lacking = lacking
        self.hooks = hooks or Hooks()
        self.units = units_of(context.settings)
        self.desk = Desk(context, self.units, self.hooks)
        self.started_at = context.now()
        self._wake = asyncio.Event()
        self._working = asyncio.Lock()
        self._plans_after = self._payers_after = ""
        self._sending: dict[str, asyncio.Task[None]] = {}

    @property
    def return_url(self) -> str:
        """Where people come back to when nobody knows from where they came."""
        return f"{self.context.settings.public_url or 'http://localhost:8000'}/wallet"

    async def close(self) -> None:
        """What is being sent gets a moment to be answered; the rest stays rows, and is taken up at the next start."""
        if self._sending:
            await asyncio.wait(self._sending.values(), timeout=PATIENCE_SECONDS)
        self.provider.close()

    def wake(self) -> None:
        self._wake.set()

    async def run(self) -> None:
        """For ever; at once ended where an operator does everything by hand."""
        while self.provider.moves_money:
            self._wake.clear()
            try:
                await self.work()
            except Exception:
                log.exception("payments.failed")
            try:
                async with asyncio.timeout(TICK_SECONDS):
                    await self._wake.wait()
            except TimeoutError:
                continue

    async def work(self) -> None:
        """Everything that is due now; one at a time, so that nothing is done twice for nothing."""
        async with self._working:
            await self._work()

    async def _work(self) -> None:
        await self._charge_plans()
        for _ in range(ROUNDS):
            for request_id in await self.context.db.read(outgoing.list_due, self.context.now(), AT_ONCE):
                await self.send(request_id)
        for event_id, subject in await self.context.db.read(events.list_due_events, self.context.now(), AT_ONCE):
            await self._safely(self.look_into(event_id, subject))
        window = await self.context.db.read(reconcile.next_window, self.started_at, self.context.now())
        if window is not None:
            await self.reconcile(window)

    async def _safely(self, work: Coroutine[Any, Any, None]) -> None:
        """One that fails must not keep the others waiting."""
        try:
            await work
        except Exception:
            log.exception("payments.failed")

    # ── out ──────────────────────────────────────────────────────────────────────────────────────────────────────────

    async def send(self, request_id: str) -> None:
        """Now, if it is due. What comes of it is in the database, also if whoever asked does not wait for it."""
        task = self._sending.get(request_id)
        if task is None:
            task = self._sending[request_id] = asyncio.create_task(self._safely(self._send(request_id)))
            task.add_done_callback(lambda _: self._sending.pop(request_id, None))
        await asyncio.shield(task)

    async def _send(self, request_id: str) -> None:
        context = self.context
        while (sending := await context.db.run(outgoing.claim, request_id, context.now(), context.hub_id)) is not None:
            try:
                fact = await context.offload(self._carry_out, sending)
            except Refused as refused:
                await context.db.run(refuse, self.desk, sending.id, refused.words, context.now())
                return
            except NoSuchObject:
                words = "The object no longer exists at the processor."
                await context.db.run(refuse, self.desk, sending.id, words, context.now())
                return
            except ProviderUnreachable as away:
                log.warning("payments.processor_away", request=sending.request.key, words=away.words)
                await context.db.run(outgoing.postpone, sending, away.words, away.is_saved, context.now())
                return
            if fact is not None:
                await context.db.run(self._finish, sending, fact, context.now())
                return
            if not await context.db.run(outgoing.renew, sending, context.now()):
                return

    def _carry_out(self, sending: Sending) -> Fact | None:
        """None: nothing was ever made of it, and its key is too old to be used."""
        if sending.is_again or sending.request.kind in ALWAYS_LOOKED_FOR:
            found = self.provider.find(sending.request)
            if found is not None or sending.is_outdated:
                return found
        if self.context.now() > sending.good_until:
            raise ProviderUnreachable("this machine was suspended for too long")
        return self.provider.perform(sending.request)

    def _finish(self, session: Session, sending: Sending, fact: Fact, now: datetime) -> None:
        if not facts.apply(session, self.desk, fact, now):
            raise AssertionError(f"what {sending.request.key} made is not the hub's: {fact}")
        outgoing.end_if_waiting(session, sending.id, fact.id, now)

    # ── in ───────────────────────────────────────────────────────────────────────────────────────────────────────────

    async def look_into(self, event_id: str, subject: Subject) -> None:
        context = self.context
        try:
            known = await self.look_at(subject)
        except ProviderUnreachable as away:
            await context.db.run(events.postpone_event, event_id, away.words, context.now())
            return
        state = EventState.APPLIED if known else EventState.UNKNOWN
        words = "" if known else "This hub did not request it."
        await context.db.run(events.end_event, event_id, state, context.now(), words)

    async def look_at(self, subject: Subject) -> bool:
        """How it is now becomes so here. False: it is not the hub's."""
        context = self.context
        try:
            fact = await context.offload(self.provider.look, subject)
        except NoSuchObject:
            return subject.kind == "account" and await context.db.run(facts.account_gone, subject.id, context.now())
        except Refused as refused:
            raise ProviderUnreachable(refused.words) from refused
        known = await context.db.run(facts.apply, self.desk, fact, context.now())
        if known and isinstance(fact, Checkout) and fact.payment_id is not None:
            return await self.look_at(Subject("payment", fact.payment_id))
        return known

    # ── by itself ────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _charge_plans(self) -> None:
        db = self.context.db
        by_job, self._payers_after = await db.read(plans.list_paying_by_job, self._payers_after)
        for owner_id in by_job:
            if (lacking := self._lacking(owner_id)).least_micros:
                await db.run(plans.cover, self.context, self.units, owner_id, lacking, self.return_url)
        below, self._plans_after = await db.read(plans.list_below, self._plans_after)
        for owner_id in below:
            await db.run(plans.charge_below, self.context, self.units, owner_id, self.return_url)

    async def reconcile(self, window: PaymentPeriod) -> Sequence[Difference]:
        """Compare, report, then heal what a lost message left behind."""
        context, slack = self.context, reconcile.SLACK
        try:
            there = await context.offload(self._list, window.since - slack, window.until + slack)
        except (ProviderUnreachable, Refused, NoSuchObject):
            log.warning("payments.reconciliation_postponed")
            return ()
        found = await context.db.read(reconcile.compare, self.units, window, there)
        await context.db.run(reconcile.report, window, len(there), found, context.now())
        for one in found:
            if one.kind == "missing_here" and one.subject is not None:
                try:
                    await self.look_at(one.subject)
                except ProviderUnreachable:
                    log.warning("payments.healing_postponed", movement=one.movement_id)
        await context.db.run(reconcile.settle_healed, context.now())
        return found

    def _list(self, since: datetime, until: datetime) -> list[Movement]:
        return list(self.provider.list_movements(since, until))
