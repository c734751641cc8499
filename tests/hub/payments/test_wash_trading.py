"""Promise 32: whoever trades with themselves gets no more cash out than they paid in, and no more presents than given.

A strategy is a random sequence of everything that moves credits between somebody's own accounts: presents, vouchers,
money, jobs that end in all ways, instalments, guilt on purpose after the credits were spent, debts that are paid,
disputes, contests and cash-outs, through the hub's real transactions.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import count, pairwise
from typing import Any

import pytest
from sqlalchemy import func, select
from sqlalchemy.orm import Session
from support.proofs import figure
from support.rented import CREDIT, Rented
from support.truth import FAILED, LOST, OK, Held

from computepool.hub.core.errors import PoolError
from computepool.hub.disputes import refunding, service
from computepool.hub.disputes.tables import Dispute, Outcome
from computepool.hub.disputes.views import admin_views
from computepool.hub.jobs.policy import Ending
from computepool.hub.jobs.tables import Job
from computepool.hub.ledger import claims, promotions, refunds, returns, settlement
from computepool.hub.ledger.accounts import FEES, RESTITUTION, SUBSIDY, Kind, account, kind_of
from computepool.hub.ledger.entries import Posting, moved
from computepool.hub.ledger.holds import Pockets
from computepool.hub.ledger.journal import balance, balances, lock_accounts
from computepool.hub.ledger.settlement import Share
from computepool.hub.ledger.tables import EntryRow, PostingRow
from computepool.hub.payments import cash_outs, moving, safe_earnings, vouchers
from computepool.hub.payments.amounts import units_of
from computepool.hub.payments.manual import Manual
from computepool.hub.trust import restitution
from computepool.protocol.receipt import Usage
from computepool.protocol.states import Verdict

PREEMPTED = Ending(Verdict.PREEMPTED, "preempted", lost=True)
CANCELED = Ending(Verdict.RENTER, "canceled")
HUB_SAYS_THE_NODE = Ending(Verdict.HUB, "unreachable")
OUTAGE = Ending(Verdict.HUB, "hub_downtime", lost=True, is_hubs_fault=True)
ENDS = (OK, OK, OK, FAILED, LOST, PREEMPTED, CANCELED, HUB_SAYS_THE_NODE, OUTAGE)
LONG_ENDS = (OK, LOST, LOST, PREEMPTED, HUB_SAYS_THE_NODE, OUTAGE)
"""Most of which give something back."""
NUMBERS = count(1)
SPENDABLE = (Kind.PROMOTIONAL, Kind.AVAILABLE, Kind.EARNINGS)


@dataclass
class Lent:
    """What the pool paid with its eyes open: an operator decided so, or the hub itself had failed."""

    real: int = 0
    presents: int = 0
    """Of hosts who had spent some that a dispute gave back."""
    subsidy: int = 0
    """Of all that, what the platform did not make a host owe."""


class Schemer:
    """One person with several accounts. In some pools the operator believes everything, or the hub has outages."""

    def __init__(self, pool: Rented, seed: int) -> None:
        self.pool, self.chance = pool, random.Random(seed)
        self.context = pool.context(cash_out_min=0)
        self.units, self.provider = units_of(self.context.settings), Manual()
        self.accounts = [f"user_{next(NUMBERS)}" for _ in range(self.chance.randrange(3, 6))]
        # Each way of cheating, with presents and without: they are spent first, and would hide what happens to money.
        habits: tuple[Callable[[], None], ...] = (self.cheat, self.work_long, self.dispute, self.contest)
        self.habit, self.has_presents = habits[seed % 4], seed // 4 % 2 == 1
        self.is_believed, self.has_outages = self.chance.random() < 0.3, self.chance.random() < 0.3
        self.done: list[tuple[str, Held]] = []
        self.disputes: list[str] = []
        self.paid_in = self.paid_out = self.presents = 0
        self.fees, self.subsidy = self.platform(FEES), self.platform(SUBSIDY)
        self.lent, self.cheated = Lent(), 0
        self.did: Counter[str] = Counter()
        pool.know(*self.accounts)

    def scheme(self) -> None:
        moves: list[Callable[[], Any]] = [
            *(self.habit for _ in range(5)),
            *(self.work for _ in range(3)),
            *(self.cash_out, self.cash_out, self.wait, self.wait, self.pay_in, self.top_up, self.sweep),
            *(self.cheat, self.work_long, self.dispute, self.resolve, self.be_found_guilty, self.contest),
            *((self.welcome, self.redeem) if self.has_presents else ()),
        ]
        (self.welcome if self.has_presents else self.pay_in)()
        for _ in range(self.chance.randrange(5, 14)):
            move = self.chance.choice(moves)
            try:
                move()
            except PoolError:
                self.did["refused"] += 1
            else:
                self.did[move.__name__] += 1
        self.sweep()
        first, *others = self.accounts
        for one in others:  # whatever is spendable ends in one place
            self.work(one, first)
        self.sweep()
        self.pool.days(31)
        for one in self.accounts:
            if not self.pool.has(one, Kind.DEBT):
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
        before = self.has(Kind.PROMOTIONAL)
        self.run(promotions.grant_welcome, self.someone(), 100, self.pool.now)
        self.presents += self.has(Kind.PROMOTIONAL) - before

    def redeem(self) -> None:
        number, secret = next(NUMBERS), self.context.secret_key
        digests = self.run(vouchers.digests_of_code, secret, f"VOUCHER-{number}")
        micros, name = self.some(80 * CREDIT), f"voucher_{number}"
        self.run(vouchers.make_voucher, name, digests, micros, 5, None, "", "hub", self.pool.now)
        for one in self.accounts:
            self.run(vouchers.redeem, digests, one, self.pool.now)
            self.presents += micros

    def pay_in(self, owner_id: str | None = None) -> None:
        micros = self.some(60 * CREDIT)
        self.pool.pay_in(owner_id or self.someone(), micros / CREDIT, f"{next(NUMBERS)}")
        self.paid_in += micros

    def top_up(self) -> None:
        """By card: it fills a debt, if there is one."""
        owing = [one for one in self.accounts if self.pool.has(one, Kind.DEBT)]
        micros = self.some(60 * CREDIT)
        who = self.chance.choice(owing or self.accounts)
        self.run(moving.credit, f"top_up/{next(NUMBERS)}", "top_up", who, micros, self.pool.now)
        self.paid_in += micros

    def work(self, *who: str) -> None:
        """With all that the renter has, if it is said who."""
        renter, host = who or self.chance.sample(self.accounts, 2)
        has = self.spendable(renter)
        if has < 1_000:
            return
        held = self.pool.begin(renter, host, (has - 10 if who else self.some(has)) / CREDIT)
        end = OK if who else self.chance.choice(ENDS if self.has_outages else ENDS[:-1])
        self.pool.finish(held, end)
        self.note_end(host, held, end)

    def work_long(self) -> None:
        """Hour by hour, and the host spends what it got before it is over."""
        renter = max(self.accounts, key=self.spendable)
        host, third = self.chance.sample([one for one in self.accounts if one != renter], 2)
        has = self.spendable(renter)
        if has < 100_000:
            return
        held = self.pool.begin_long(renter, host, has / self.chance.randrange(2, 5) / CREDIT)
        hours = 0
        for _ in range(self.chance.randrange(1, 4)):
            hours += self.pool.an_hour_later(held)
            if self.chance.random() < 0.7:
                self.work(host, third)
        self.pool.renter, self.pool.host = renter, host
        end = self.chance.choice(LONG_ENDS if self.has_outages else LONG_ENDS[:-1])
        claimed = Usage(running_seconds=self.chance.random() * 3600 * (hours + 1))
        self.pool.end(held, end, facts=None if end.lost else {"usage": claimed})
        self.note_end(host, held, end)

    def note_end(self, host: str, held: Held, end: Ending) -> None:
        if end.lost:
            self.pool.cancel(held.job_id)
        if end is OUTAGE:
            self.lend("settle", "give_back", attempt_id=held.id)
        self.done.append((host, held))

    def cheat(self) -> None:
        """The credits go through several accounts; then hosts on the way, who have spent them, are found guilty."""
        path = self.chance.sample(self.accounts, self.chance.randrange(3, len(self.accounts) + 1))
        before = len(self.done)
        if self.spendable(path[0]) < CREDIT:
            self.pay_in(path[0])
        for renter, host in pairwise(path):
            self.work(renter, host)
        on_the_way = self.done[before:-1]
        for host, held in self.chance.sample(on_the_way, self.some(len(on_the_way)) if on_the_way else 0):
            self.pool.find_guilty(held, host)
            self.cheated += self.pool.has(host, Kind.DEBT) < 0
            if self.chance.random() < 0.2:
                self.chance.choice((self.sweep, self.top_up))()

    def sweep(self) -> None:
        self.pool.pay_claims()

    def dispute(self) -> None:
        if self.done:
            _, held = self.chance.choice(self.done)
            dispute_id, window = f"dispute_{next(NUMBERS)}", self.context.settings.dispute_window

            def open_it(session: Session) -> None:
                job = session.get_one(Job, held.job_id)
                service.open_dispute(session, dispute_id, job, "why not", window, job.owner_id, self.pool.now)

            self.run(open_it)
            self.disputes.append(dispute_id)
            if self.chance.random() < 0.7:
                self.resolve()

    def resolve(self) -> None:
        """An operator who looks gives nothing back that hosts have spent."""
        if not self.disputes:
            return
        one = self.chance.choice(self.disputes)
        (seen,) = self.run(lambda session: admin_views(session, [session.get_one(Dispute, one)]))
        outcome = self.chance.choice(list(Outcome))
        if seen.uncovered_micros and not self.is_believed:
            outcome = Outcome.NONE
        micros = self.some(20 * CREDIT) if outcome is Outcome.PARTIAL else None
        owed = self.run(service.resolve, one, outcome, micros, "fooled", "user_admin", self.pool.now).owed_micros
        assert not owed or self.is_believed, "what is covered makes nobody owe anything"
        self.lent.real += owed
        self.lent.presents += owed

    def be_found_guilty(self) -> None:
        if self.done:
            host, held = self.chance.choice(self.done)
            self.pool.find_guilty(held, host)

    def contest(self) -> None:
        """Of a guilty one an operator believes that the result was right."""
        if self.done and self.is_believed:
            host, held = self.chance.choice(self.done)
            check_id = self.pool.find_guilty(held, host, again=self.chance.random() < 0.2)
            before = self.run(lambda session: session.scalar(select(func.max(EntryRow.id)))) or 0
            if self.pool.overturn(held, check_id):
                self.lend("clawback_overturned", attempt_id=held.id, after=before)

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

    def spendable(self, owner_id: str) -> int:
        purse = self.purse(owner_id)
        return sum(purse[kind] for kind in SPENDABLE)

    def purse(self, owner_id: str) -> dict[Kind, int]:
        with Session(self.pool.engine) as session:
            return balances(session, owner_id)

    def has(self, *kinds: Kind) -> int:
        """All of them together. A debt is left out: nobody has to pay one who opens another account."""
        return sum(micros for one in self.accounts for kind, micros in self.purse(one).items() if kind in kinds)

    def lend(self, *kinds: str, attempt_id: str, after: int = 0) -> None:
        query = (
            select(PostingRow.destination, PostingRow.micros)
            .join(EntryRow, EntryRow.id == PostingRow.entry_id)
            .where(EntryRow.attempt_id == attempt_id, EntryRow.kind.in_(kinds), PostingRow.source == SUBSIDY)
            .where(EntryRow.id > after)
        )
        for destination, micros in self.run(lambda session: session.execute(query).all()):
            self.lent.subsidy += micros
            self.lent.real += micros if kind_of(destination) != Kind.PROMOTIONAL else 0

    def platform(self, name: str) -> int:
        with Session(self.pool.engine) as session:
            return balance(session, name)

    @property
    def gain(self) -> int:
        """In real credits: what was cashed out, what could be yet, and what went into fees, beyond what was paid in.
        With the fees, or these would hide what is gained."""
        pockets = (Kind.AVAILABLE, Kind.EARNINGS, Kind.HELD, Kind.CASHING_OUT)
        fees = self.platform(FEES) - self.fees
        return self.paid_out + self.has(*pockets) + fees - self.paid_in - self.lent.real

    @property
    def gain_of_presents(self) -> int:
        """Beyond what came from the pool, the fees on presents included, which go back there; or what came from there
        beyond what was given."""
        came = self.subsidy - self.platform(SUBSIDY)
        return max(self.has(Kind.PROMOTIONAL) - came - self.lent.presents, came - self.presents - self.lent.subsidy)


@dataclass
class Tally:
    """What a number of strategies did."""

    did: Counter[str] = field(default_factory=Counter)
    paid_out: int = 0
    cheated: int = 0
    lent: int = 0


def try_strategies(pool: Rented, seeds: Iterable[int]) -> Tally:
    """AssertionError at the first strategy that gains."""
    tally = Tally()
    for seed in seeds:
        schemer = Schemer(pool, seed)
        schemer.scheme()
        assert schemer.gain <= 0, f"strategy {seed} gains {schemer.gain} micros"
        presents = schemer.gain_of_presents
        assert presents <= 0, f"strategy {seed} gains {presents} micros of presents"
        if schemer.lent == Lent():
            tally.paid_out += schemer.paid_out > 0
            tally.cheated += schemer.cheated > 0
        tally.lent += schemer.lent.real > 0
        tally.did += schemer.did
    pool.all_adds_up()
    return tally


@pytest.fixture
def pool(sqlite_hub: str) -> Iterator[Rented]:
    pool = Rented(sqlite_hub)
    yield pool
    pool.close()


@pytest.mark.proof
def test_wash_trading_yields_nothing(pool):
    tally = try_strategies(pool, range(figure(16, 10_000)))
    assert tally.paid_out >= figure(2, 1_000), "hardly any strategy cashed out: nothing was tried"
    assert tally.cheated >= figure(2, 1_000), "hardly any strategy spent what had to be given back"
    for move in ("work", "cheat", "work_long", "cash_out", "redeem", "pay_in", "top_up", "sweep", "dispute"):
        assert tally.did[move] >= figure(1, 1_000), tally.did
    for move in ("resolve", "be_found_guilty", "contest"):
        assert tally.did[move] >= figure(1, 1_000), tally.did
    assert tally.lent >= figure(1, 500), "operators were never fooled, and nothing ever failed"


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
    real = returns.to_renter

    def to_renter(renter_id: str, back: Pockets, owes: int) -> Any:
        return real(renter_id, Pockets(0, back.total, 0), owes)

    plant.setattr(refunding, "to_renter", to_renter)


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


def _at_the_pools_risk(one: Any, renter_id: str, host_id: str, renter_owes: int = 0) -> tuple[Posting, ...]:
    """The renter gets at once what its host owes."""
    found = _REAL_POSTINGS(one, renter_id, host_id, renter_owes)
    to = account(renter_id, Kind.AVAILABLE)
    return tuple(replace(part, destination=to) if part.destination == RESTITUTION else part for part in found)


_REAL_POSTINGS = returns.postings_of_return


def guilty_hosts_are_paid_for_by_the_pool(plant: pytest.MonkeyPatch) -> None:
    plant.setattr(returns, "postings_of_return", _at_the_pools_risk)
    plant.setattr(restitution, "add_claim", lambda *_: None)


def instalments_are_given_back_by_the_pool(plant: pytest.MonkeyPatch) -> None:
    plant.setattr(refunds, "postings_of_return", _at_the_pools_risk)
    plant.setattr(refunds, "add_claim", lambda *_: None)


def what_is_owed_is_paid_before_it_is_earned(plant: pytest.MonkeyPatch) -> None:
    """A sweep that forgets to look at the debt."""
    real = lock_accounts

    def lock(session: Session, names: Any) -> dict[str, int]:
        found = real(session, names)
        return {name: 0 if kind_of(name) == Kind.DEBT else micros for name, micros in found.items()}

    plant.setattr(claims, "lock_accounts", lock)
    plant.setattr(claims, "list_payable", lambda session: sorted(set(session.scalars(select(claims.ClaimRow.host_id)))))


def presents_come_back_though_they_are_spent(plant: pytest.MonkeyPatch) -> None:
    def postings(one: Any, renter_id: str, host_id: str, renter_owes: int = 0) -> tuple[Posting, ...]:
        again = moved(SUBSIDY, account(renter_id, Kind.PROMOTIONAL), one.lost)
        return (*_REAL_POSTINGS(one, renter_id, host_id, renter_owes), *again)

    plant.setattr(returns, "postings_of_return", postings)


def node_that_blames_the_hub_is_believed(plant: pytest.MonkeyPatch) -> None:
    plant.setattr("computepool.hub.jobs.money.RULES", {Verdict.HOST: settlement.RULES[Verdict.HUB]})


FOUND_AT = {
    pay_presents_out_as_earnings: 4,
    give_presents_back_as_money: 22,
    presents_can_be_cashed_out: 4,
    guilty_hosts_are_paid_for_by_the_pool: 0,
    instalments_are_given_back_by_the_pool: 17,
    what_is_owed_is_paid_before_it_is_earned: 0,
    presents_come_back_though_they_are_spent: 4,
    node_that_blames_the_hub_is_believed: 7,
}
"""Each planted bug, and the strategy that showed it first: the search begins there."""


@pytest.mark.parametrize("mutant", FOUND_AT, ids=lambda mutant: mutant.__name__)
def test_planted_bug_is_found(pool, mutant, monkeypatch):
    mutant(monkeypatch)
    with pytest.raises(AssertionError, match=r"strategy \d+ gains \d+ micros"):
        try_strategies(pool, range(FOUND_AT[mutant], FOUND_AT[mutant] + 32))
