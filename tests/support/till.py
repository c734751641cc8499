"""A hub that takes cards: the real engine and the real SDK, with a fake Stripe at the other end."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from simulation.virtual_time import VirtualClock, VirtualLoop
from sqlalchemy.orm import Session
from support.engine import Pool, opened
from support.fake_stripe import hosting, paying
from support.fake_stripe.server import KEY, FakeStripe, fake_stripe
from support.fake_stripe.webhooks import SECRET, signed

from computepool.hub.core.owners import Owner
from computepool.hub.ledger.accounts import Kind, Platform, account, platform
from computepool.hub.ledger.check import check
from computepool.hub.ledger.entries import Entry, Posting
from computepool.hub.ledger.journal import balances, post
from computepool.hub.payments.pay_outs import ask_pay_out
from computepool.protocol.units import MICROS_PER_CREDIT

CREDIT = MICROS_PER_CREDIT
CAROL, DAVE = "user_carol", "user_dave"
"""They begin with nothing."""


class SkippingClock:
    """The pool's clock, which may be set forward without letting anything happen meanwhile."""

    def __init__(self, clock: Any) -> None:
        self._clock, self._ahead = clock, 0.0

    def skip(self, seconds: float) -> None:
        self._ahead += seconds

    def now(self) -> datetime:
        earlier: datetime = self._clock.now()
        return earlier + timedelta(seconds=self._ahead)

    def monotonic(self) -> float:
        return float(self._clock.monotonic() + self._ahead)


@dataclass
class Till:
    pool: Pool
    stripe: FakeStripe
    told: int = 0
    paid: list[Any] = field(default_factory=list)
    """What the hub says came of pay-outs."""

    @property
    def payments(self) -> Any:
        return self.pool.engine.payments

    async def ask(self, method: str, path: str, body: object = None, *, user: str = CAROL, status: int = 200) -> Any:
        answer = await self.pool.call(method, path, body, user=user)
        assert answer.status_code == status, answer.text
        return answer.json() if answer.content else None

    async def top_up(self, credits: object = 100, *, user: str = CAROL, status: int = 201, **more: object) -> Any:
        return await self.ask("POST", "wallet/top-ups", {"credits": credits, **more}, user=user, status=status)

    async def pay(self, credits: object = 100, *, user: str = CAROL, card: str = "visa", **more: Any) -> str:
        """A top-up that is paid on Stripe's page, as far as Stripe is concerned; the payment's id."""
        before = {page["id"] for page in self.stripe.world.all("checkout.session")}
        await self.top_up(credits, user=user, **more)
        page = next(one for one in self.stripe.world.all("checkout.session") if one["id"] not in before)
        payment: str = paying.complete_page(self.stripe.world, page["id"], card)["payment_intent"]
        return payment

    async def save_card(self, kind: str = "visa", *, user: str = CAROL) -> None:
        await self.ask("POST", "wallet/card", user=user, status=201)
        paying.complete_page(self.stripe.world, self.stripe.world.all("checkout.session")[-1]["id"], kind)
        await self.tell()

    async def hear(self, event: dict[str, Any], *, status: int = 200, **options: Any) -> Any:
        """Stripe's message arrives."""
        body, headers = signed(event, options.get("at", self.pool.clock.now()), options.get("secret", SECRET))
        answer = await self.pool.client.post("payments/stripe/webhook", content=body, headers=headers)
        assert answer.status_code == status, answer.text
        return answer.json()

    async def tell(self, events: Iterable[dict[str, Any]] | None = None) -> None:
        """Messages arrive, and are looked into: all that were not sent yet, unless a test says which."""
        if events is None:
            events, self.told = self.stripe.world.events[self.told :], len(self.stripe.world.events)
        for event in events:
            await self.hear(event)
        await self.payments.work()

    async def later(self, seconds: float, *, steps: int = 4) -> None:
        """Time goes by, and what is due is done now and then."""
        for _ in range(steps):
            self.pool.clock.skip(seconds / steps)
            await self.payments.work()

    def forget(self) -> None:
        """Stripe starts from nothing: what a long test did before is not to be searched again and again."""
        self.stripe.world.objects.clear()
        self.stripe.world.events.clear()
        self.told = 0

    def has(self, user: str = CAROL, *, whole: bool = True) -> dict[str, int]:
        """Credits by pocket, those that are empty left out. The ledger as a whole has to be balanced."""
        with Session(self.pool.db.engine) as session:
            report = check(session) if whole else None
            assert report is None or report.balanced, report.problems
            return {kind.value: micros // CREDIT for kind, micros in balances(session, user).items() if micros}

    def rows(self, table: Any, **having: Any) -> Any:
        return self.pool.rows(table, **having)

    # ── hosts ────────────────────────────────────────────────────────────────────────────────────────────────────────

    async def onboard(self, user: str) -> str:
        """A host who said where money goes."""
        await self.ask("POST", "wallet/payout-account", {}, user=user)
        name: str = self.stripe.world.all("account")[-1]["id"]
        hosting.onboard(self.stripe.world, name)
        await self.tell()
        return name

    def keep_results(self) -> None:
        self.payments.hooks.on_pay_out = lambda session, result, now: self.paid.append(result)

    async def pay_out(self, cash_out_id: str, user: str, credits: int) -> str:
        """Asked for, not sent yet; the request's id."""
        row = await self.pool.db.run(
            ask_pay_out,
            self.pool.engine.context,
            self.payments.units,
            cash_out_id,
            user,
            credits * CREDIT,
            self.pool.clock.now(),
        )
        request_id: str = row.id
        return request_id

    def give(self, user: str, kind: Kind, credits: int, key: str) -> None:
        with Session(self.pool.db.engine) as session, session.begin():
            posting = Posting(platform(Platform.SUBSIDY), account(user, kind), credits * CREDIT)
            post(session, Entry(key, "test", (posting,)), self.pool.clock.now())

    def spend(self, user: str, credits: int, key: str) -> None:
        """Gone, to somebody else."""
        with Session(self.pool.db.engine) as session, session.begin():
            posting = Posting(account(user, Kind.AVAILABLE), platform(Platform.FEES), credits * CREDIT)
            post(session, Entry(key, "test", (posting,)), self.pool.clock.now())


def add_people(session: Session, now: datetime) -> None:
    session.add_all(Owner(id=one, kind="user", created_at=now) for one in (CAROL, DAVE))


def play_with_stripe(url: str, story: Callable[[Till], Awaitable[None]], **settings: Any) -> None:
    """As `engine.play`, with a clock that can be set forward, and a fake Stripe that has the same one."""
    with fake_stripe() as stripe, asyncio.Runner(loop_factory=VirtualLoop) as runner:
        chosen = {
            "stripe_secret_key": KEY,
            "stripe_webhook_secret": SECRET,
            "stripe_api_url": stripe.url,
            "public_url": "https://pool.example.org",
        }
        loop = runner.get_loop()
        assert isinstance(loop, VirtualLoop)

        async def whole() -> None:
            clock = SkippingClock(VirtualClock(loop))
            stripe.world.now = clock.now
            async with opened(url, clock, settings=chosen | settings) as pool:
                await pool.db.run(add_people, clock.now())
                await story(Till(pool, stripe))

        runner.run(whole())
        assert not loop.errors, loop.errors
