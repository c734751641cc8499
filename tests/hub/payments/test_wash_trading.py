"""Promise 32: whoever trades with themselves gets no more cash out than they paid in.

A strategy is a random sequence of everything that moves credits between somebody's own accounts: presents, vouchers,
money, jobs that end in all ways, disputes, guilt, and cash-outs, through the hub's real transactions.
"""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

import pytest
from sqlalchemy.orm import Session
from support.planted import each_check, each_mutant
from support.proofs import figure
from support.rented import CREDIT, Rented
from support.truth import FAILED, LOST, OK, Held

from computepool.hub.core.errors import PoolError
from computepool.hub.disputes import refunding, service
from computepool.hub.disputes.tables import Outcome
from computepool.hub.jobs.policy import Ending
from computepool.hub.jobs.tables import Job
from computepool.hub.ledger import promotions, settlement
from computepool.hub.ledger.accounts import Kind, account
from computepool.hub.ledger.entries import Posting
from computepool.hub.ledger.holds import Pockets
from computepool.hub.ledger.journal import balances
from computepool.hub.ledger.settlement import Share
from computepool.hub.payments import cash_outs, grants, safe_earnings, vouchers
from computepool.hub.payments.amounts import units_of
from computepool.hub.payments.manual import Manual
from computepool.hub.trust import restitution
from computepool.hub.trust.tables import Check, Clawback
from computepool.protocol.states import Verdict

PREEMPTED = Ending(Verdict.PREEMPTED, "preempted", lost=True)
CANCELED = Ending(Verdict.RENTER, "canceled")
ENDS = (OK, OK, OK, FAILED, LOST, PREEMPTED, CANCELED)
NUMBERS = count(1)


class Schemer:
    """One person with several accounts."""

    def __init__(self, pool: Rented, seed: int) -> None:
        self.pool, self.chance = pool, random.Random(seed)
        self.context = pool.context(cash_out_min=0)
        self.units, self.provider = units_of(self.context.settings), Manual()
        self.accounts = [f"user_{next(NUMBERS)}" for _ in range(self.chance.randrange(2, 5))]
        self.done: list[tuple[str, Held]] = []
        self.disputes: list[str] = []
        self.paid_in = self.paid_out = 0
        self.did: Counter[str] = Counter()
        pool.know(*self.accounts)

    def scheme(self) -> None:
        moves: list[Callable[[], Any]] = [
            *(self.work for _ in range(6)),
            *(self.cash_out for _ in range(3)),
            *(self.wait for _ in range(3)),
            *(self.welcome, self.redeem, self.pay_in, self.dispute, self.resolve, self.be_found_guilty),
        ]
        self.welcome()
        for _ in range(self.chance.randrange(6, 16)):
            move = self.chance.choice(moves)
            try:
                move()
            except PoolError:
                self.did["refused"] += 1
            else:
                self.did[move.__name__] += 1
        first, *others = self.accounts
        for one in others:  # whatever is spendable ends in one place
            self.work(one, first)
        self.pool.days(31)
        for one in self.accounts:
            self.cash_out(one)

    def someone(self) -> str:
        return self.chance.choice(self.accounts)

    def some(self, most: int) -> int:
        """Micros: rarely round."""
        return self.chance.randrange(1, most + 1)

    def run(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return self.pool.run(fn, *args, **kwargs)

    # ── moves ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def welcome(self) -> None:
        self.run(promotions.grant_welcome, self.someone(), 100, self.pool.now)

    def redeem(self) -> None:
        number, secret = next(NUMBERS), self.context.secret_key
        digest = vouchers.digest_of_code(secret, f"VOUCHER-{number}")
        micros, name = self.some(80 * CREDIT), f"voucher_{number}"
        self.run(vouchers.make_voucher, name, digest, micros, 5, None, "", "hub", self.pool.now)
        for one in self.accounts:
            self.run(vouchers.redeem, digest, one, self.pool.now)

    def pay_in(self) -> None:
        micros = self.some(60 * CREDIT)
        self.run(
            grants.by_hand,
            giving=True,
            grant_id=f"grant_{next(NUMBERS)}",
            owner_id=self.someone(),
            micros=micros,
            note="paid",
            actor="hub",
            now=self.pool.now,
        )
        self.paid_in += micros

    def work(self, *who: str) -> None:
        """With all that the renter has, if it is said who."""
        renter, host = who or self.chance.sample(self.accounts, 2)
        has = sum(self.pool.has(renter, kind) for kind in (Kind.PROMOTIONAL, Kind.AVAILABLE, Kind.EARNINGS))
        if has < 1_000:
            return
        held = self.pool.begin(renter, host, (has - 10 if who else self.some(has)) / CREDIT)
        end = OK if who else self.chance.choice(ENDS)
        self.pool.finish(held, end)
        if end.lost:
            self.pool.cancel(held.job_id)
        self.done.append((host, held))

    def dispute(self) -> None:
        if self.done:
            _, held = self.chance.choice(self.done)
            dispute_id, window = f"dispute_{next(NUMBERS)}", self.context.settings.dispute_window

            def open_it(session: Session) -> None:
                job = session.get_one(Job, held.job_id)
                service.open_dispute(session, dispute_id, job, "why not", window, job.owner_id, self.pool.now)

            self.run(open_it)
            self.disputes.append(dispute_id)
            if self.chance.random() < 0.5:
                self.resolve()

    def resolve(self) -> None:
        if self.disputes:
            outcome = self.chance.choice(list(Outcome))
            micros = self.some(20 * CREDIT) if outcome is Outcome.PARTIAL else None
            one = self.chance.choice(self.disputes)
            self.run(service.resolve, one, outcome, micros, "fooled", "user_admin", self.pool.now)

    def be_found_guilty(self) -> None:
        if not self.done:
            return
        host, held = self.chance.choice(self.done)
        job = self.pool.job(held.job_id)

        def find(session: Session) -> None:
            if session.get(Clawback, held.id) is None:
                check_id, now = f"check_{next(NUMBERS)}", self.pool.now
                about: dict[str, Any] = {"job_id": held.job_id, "slice_index": 0, "spec_digest": "x", "asked": 2}
                session.add(Check(id=check_id, subject=held.id, kind="audit", state="guilty", created_at=now, **about))
                session.flush()
                people: dict[str, Any] = {"node_id": held.node_id, "host_id": host, "renter_id": job.owner_id}
                row = Clawback(
                    attempt_id=held.id, check_id=check_id, micros=1, state="pending", created_at=now, **people
                )
                session.add(row)

        self.run(find)
        self.run(restitution.carry_out, held.id, self.pool.now)

    def wait(self) -> None:
        self.pool.days(self.chance.choice((0.1, 3, 8, 31)))

    def cash_out(self, owner_id: str | None = None) -> None:
        owner_id, now, settings = owner_id or self.someone(), self.pool.now, self.context.settings
        if not any(self.pool.has(owner_id, kind) for kind in (Kind.EARNINGS, Kind.PROMOTIONAL)):
            return
        can = self.run(safe_earnings.cashable, owner_id, now, settings.hold_back).micros
        if not can:
            return
        name = f"cashout_{next(NUMBERS)}"
        asked = (name, owner_id, can, owner_id, now)
        self.run(cash_outs.request_cash_out, settings, self.provider, self.units, *asked)
        if self.chance.random() < 0.1:
            self.run(cash_outs.reject, name, "no", "user_admin", now)
            return
        self.run(cash_outs.approve, self.context, self.provider, self.units, name, "", "user_admin", now)
        self.run(cash_outs.mark_paid, name, "sent", "", "user_admin", now)
        self.paid_out += can

    # ── what came of it ──────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def owed(self) -> int:
        """What was given back by who had spent it: the pool's risk with every refund, and not of presents."""
        return -sum(self.pool.has(one, Kind.DEBT) for one in self.accounts)


def nobody_gains(url: str) -> None:
    pool, did, honest = Rented(url), Counter[str](), 0
    try:
        for seed in range(figure(40, 10_000)):
            schemer = Schemer(pool, seed)
            schemer.scheme()
            gain = schemer.paid_out - schemer.paid_in
            assert gain <= schemer.owed, f"strategy {seed} gains {gain - schemer.owed} micros"
            honest += not schemer.owed and schemer.paid_out > 0
            did += schemer.did
        pool.all_adds_up()
        assert honest >= figure(5, 1_000), "hardly anybody was paid out: nothing was tried"
        for move in ("work", "cash_out", "redeem", "pay_in", "dispute", "resolve", "be_found_guilty"):
            assert did[move] >= figure(5, 1_000), did
    finally:
        pool.close()


# ── bugs ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def pay_presents_out_as_earnings(plant: pytest.MonkeyPatch) -> None:
    """A host's share of presents as if it were money."""
    real = settlement.settle

    def settle(*args: Any, **kwargs: Any) -> Any:
        one = real(*args, **kwargs)
        return replace(one, host=Share(0, one.host.total))

    plant.setattr("computepool.hub.jobs.money.divide", settle)


def give_presents_back_as_money(plant: pytest.MonkeyPatch) -> None:
    """What a dispute gives back counts as paid for."""
    real = refunding._to_renter

    def to_renter(back: Any, owes: int) -> Any:
        return real(replace(back, cost=Pockets(0, back.cost.total, 0), fee=Share()), owes)

    plant.setattr(refunding, "_to_renter", to_renter)


def presents_can_be_cashed_out(plant: pytest.MonkeyPatch) -> None:
    """What is cashable counts all pockets; what is missing in earnings comes from presents."""
    real_cashable, real_post = safe_earnings.cashable, cash_outs._post

    def cashable(session: Session, owner_id: str, *args: Any, **kwargs: Any) -> Any:
        can = real_cashable(session, owner_id, *args, **kwargs)
        return safe_earnings.Cashable(can.micros + balances(session, owner_id)[Kind.PROMOTIONAL])

    def post(session: Session, row: Any, step: str, postings: Any, *more: Any) -> None:
        if step == "asked":
            has = balances(session, row.owner_id)[Kind.PROMOTIONAL]
            to = account(row.owner_id, Kind.CASHING_OUT)
            parts = {Kind.PROMOTIONAL: min(has, row.micros), Kind.EARNINGS: row.micros - min(has, row.micros)}
            postings = tuple(Posting(account(row.owner_id, kind), to, part) for kind, part in parts.items() if part)
        real_post(session, row, step, postings, *more)

    plant.setattr(safe_earnings, "cashable", cashable)
    plant.setattr(cash_outs, "cashable", cashable)
    plant.setattr(cash_outs, "_post", post)


MUTANTS = {
    nobody_gains: [
        pay_presents_out_as_earnings,
        give_presents_back_as_money,
        presents_can_be_cashed_out,
    ]
}


@pytest.mark.proof
@pytest.mark.timeout(3600)
@each_check(MUTANTS)
def test_wash_trading_yields_nothing(sqlite_hub, check):
    check(sqlite_hub)


@each_mutant(MUTANTS)
def test_bug_put_in_on_purpose_is_found(sqlite_hub, check, mutant, monkeypatch):
    mutant(monkeypatch)
    with pytest.raises(AssertionError, match=r"strategy \d+ gains \d+ micros"):
        check(sqlite_hub)
