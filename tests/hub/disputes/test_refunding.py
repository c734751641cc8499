"""Refunds to the micro: never more than was paid, whatever came back before."""

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import select
from sqlalchemy.orm import Session
from support.planted import each_check, each_mutant
from support.proofs import figure
from support.rented import CREDIT, Rented
from support.truth import FAILED, OK, Held

from computepool.hub.core.errors import PoolError
from computepool.hub.disputes import refunding, service
from computepool.hub.disputes.refunding import part_of, shares_of
from computepool.hub.disputes.tables import Dispute, Outcome
from computepool.hub.jobs.tables import Job
from computepool.hub.ledger import returns
from computepool.hub.ledger.accounts import Kind, Platform, account, platform
from computepool.hub.ledger.entries import Entry, Posting
from computepool.hub.ledger.holds import Pockets
from computepool.hub.ledger.journal import post
from computepool.hub.ledger.returns import Paid, paid_of
from computepool.hub.ledger.settlement import Payer, postings_of, settle
from computepool.hub.ledger.tables import EntryRow, PostingRow

RENTER, HOST = "user_renting", "user_hosting"
AMOUNT = st.integers(0, 10**13)


def paid_for(hold: Pockets, cost: int, fee_bps: int, debt: int = 0) -> Paid:
    """As the ledger has it after a settlement."""
    one = settle(hold, 3600 * cost, 1, fee_bps, Payer.RENTER)
    nets: dict[str, int] = {}
    postings = [
        *(Posting(account(RENTER, kind), account(RENTER, Kind.HELD), micros) for kind, micros in _parts(hold)),
        *postings_of(one, RENTER, HOST, debt),
    ]
    for posting in postings:
        nets[posting.source] = nets.get(posting.source, 0) - posting.micros
        nets[posting.destination] = nets.get(posting.destination, 0) + posting.micros
    assert not nets.get(account(RENTER, Kind.HELD))
    paid = paid_of(nets, "attempt", "job", RENTER, HOST)
    assert (paid.cost, paid.fee, paid.host) == (one.cost, one.fee, one.host)
    return paid


def _parts(hold: Pockets) -> list[tuple[Kind, int]]:
    parts = [(Kind.PROMOTIONAL, hold.promotional), (Kind.AVAILABLE, hold.available), (Kind.EARNINGS, hold.earnings)]
    return [(kind, micros) for kind, micros in parts if micros]


@given(AMOUNT, AMOUNT, AMOUNT, AMOUNT, st.integers(0, 10_000), AMOUNT, st.data())
@settings(max_examples=300, deadline=None)
def test_part_is_a_part_of_every_side(promotional, available, earnings, cost, fee_bps, debt, data):
    paid = paid_for(Pockets(promotional, available, earnings), cost, fee_bps, debt)
    micros = data.draw(st.integers(0, paid.cost.total))
    back = part_of(paid, micros)
    assert back.cost.total == micros
    assert 0 <= back.fee.real <= paid.fee.real
    assert 0 <= back.fee.promotional <= paid.fee.promotional
    assert 0 <= back.host.real <= paid.host.real
    assert 0 <= back.host.promotional <= paid.host.promotional
    assert back.cost.promotional == max(0, micros - paid.cost.real), "presents come back last"
    if micros == paid.cost.total:
        assert (back.cost, back.fee, back.host) == (paid.cost, paid.fee, paid.host)


@given(st.lists(st.integers(1, 10**13), min_size=1, max_size=20), st.data())
@settings(max_examples=200, deadline=None)
def test_shares_sum_up_and_none_is_more_than_it_was(amounts, data):
    micros = data.draw(st.integers(0, sum(amounts)))
    shares = shares_of(micros, amounts)
    assert sum(shares) == micros
    assert all(0 <= share <= amount for share, amount in zip(shares, amounts, strict=True))


# ── whatever came back before ────────────────────────────────────────────────────────────────────────────────────────


class Life:
    """A renter, two hosts, jobs of all colours, and everything that gives something back, in any order."""

    def __init__(self, pool: Rented, seed: int) -> None:
        self.pool, self.chance, self.number = pool, random.Random(seed), seed
        self.renter, self.hosts = f"user_r{seed}", [f"user_h{seed}", f"user_g{seed}"]
        self.jobs: list[tuple[str, Held]] = []
        self.names = iter(range(10**6))
        for kind in (Kind.PROMOTIONAL, Kind.AVAILABLE, Kind.EARNINGS):
            pool.pay_in(self.renter, self.chance.choice((1, 13.5, 200)), f"{seed}/{kind}", kind)
        pool.know(*self.hosts)

    def name(self, kind: str) -> str:
        return f"{kind}_{self.number}_{next(self.names)}"

    def live(self) -> None:
        moves = [self.work] * 3 + [self.spend] * 2 + [self.dispute] * 3 + [self.find_guilty] * 2 + [self.earn]
        for _ in range(self.chance.randrange(4, 12)):
            try:
                self.chance.choice(moves)()
            except PoolError:
                continue
            self.pool.days(0.1)

    def work(self) -> None:
        host, has = self.chance.choice(self.hosts), sum(self.pool.credits(self.renter).values())
        if has > 1:
            held = self.pool.work(self.renter, host, self.chance.random() * has, self.chance.choice((OK, FAILED)))
            self.jobs.append((host, held))

    def spend(self) -> None:
        """A host spends what it has, or a part of it."""
        host = self.chance.choice(self.hosts)
        for kind in (Kind.PROMOTIONAL, Kind.EARNINGS):
            has = self.pool.has(host, kind)
            part = self.chance.randrange(has + 1) if has else 0
            if part:
                gone = Posting(account(host, kind), platform(Platform.WRITE_OFF), part)
                self.pool.run(post, Entry(self.name("spent"), "test", (gone,)), self.pool.now)

    def dispute(self) -> None:
        if not self.jobs:
            return
        _, held = self.chance.choice(self.jobs)
        name, now = self.name("dispute"), self.pool.now
        outcome = self.chance.choice((Outcome.FULL, Outcome.PARTIAL))
        micros = self.chance.randrange(1, 40 * CREDIT) if outcome is Outcome.PARTIAL else None

        def act(session: Session) -> None:
            job = session.get_one(Job, held.job_id)
            # As a chargeback, and so more than once for each job.
            service.open_dispute(session, name, job, "x", now - now, "hub", now, at_any_time=True)
            service.resolve(session, name, outcome, micros, "x", "hub", now)
            session.get_one(Dispute, name).subject = name

        self.pool.run(act)

    def find_guilty(self) -> None:
        if not self.jobs:
            return
        host, held = self.chance.choice(self.jobs)
        self.pool.find_guilty(held, host)

    def earn(self) -> None:
        """A host works for somebody else: of what it owes, its renters are paid."""
        host, other = self.chance.choice(self.hosts), self.name("user")
        self.pool.pay_in(other, 50, other)
        self.pool.work(other, host, self.chance.random() * 50)
        self.pool.pay_claims()


def nobody_gets_more_back_than_was_paid(url: str) -> None:
    pool = Rented(url)
    try:
        for seed in range(figure(25, 2_000)):
            life = Life(pool, seed)
            before = {kind: pool.has(life.renter, kind) for kind in Kind}
            life.live()
            for kind in (Kind.PROMOTIONAL, Kind.AVAILABLE, Kind.EARNINGS):
                has = pool.has(life.renter, kind)
                assert has <= before[kind], f"life {seed}: {kind} grew by {has - before[kind]}"
            for _, held in life.jobs:
                row = pool.attempt(held)
                assert row.cost_micros >= 0, f"life {seed}: {held.id} cost {row.cost_micros}"
        pool.all_adds_up()
    finally:
        pool.close()


def forget_what_came_back_before(plant: pytest.MonkeyPatch) -> None:
    """What a settlement said is what is still paid."""

    def add_nets(session: Session, job_ids: Any, nets: Any) -> None:
        query = (
            select(EntryRow.attempt_id, PostingRow.source, PostingRow.destination, PostingRow.micros)
            .join(PostingRow, PostingRow.entry_id == EntryRow.id)
            .where(EntryRow.job_id.in_(job_ids), EntryRow.kind.in_(["hold", "settle"]))
        )
        for attempt_id, source, destination, micros in session.execute(query):
            if attempt_id in nets:
                nets[attempt_id][source] -= micros
                nets[attempt_id][destination] += micros

    plant.setattr(refunding, "_add_nets", add_nets)


def give_presents_back_as_money(plant: pytest.MonkeyPatch) -> None:
    real = returns.to_renter
    plant.setattr(
        refunding, "to_renter", lambda renter_id, back, owes: real(renter_id, Pockets(0, back.total, 0), owes)
    )


MUTANTS = {nobody_gets_more_back_than_was_paid: [forget_what_came_back_before, give_presents_back_as_money]}


@pytest.mark.proof
@pytest.mark.timeout(3600)
@each_check(MUTANTS)
def test_refunds_never_exceed_what_was_paid(sqlite_hub, check):
    check(sqlite_hub)


@each_mutant(MUTANTS)
def test_bug_put_in_on_purpose_is_found(sqlite_hub, check, mutant, monkeypatch):
    mutant(monkeypatch)
    with pytest.raises(AssertionError, match=r"life \d+"):
        check(sqlite_hub)
