"""Promise 7: fee + host + refund is the hold, to the micro, whatever the price, the time, the fee and the pockets."""

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import pytest
from support.planted import each_check, each_mutant
from support.proofs import figure

from computepool.hub.ledger import entries, settlement
from computepool.hub.ledger.accounts import Kind, Platform, account, kind_of, platform
from computepool.hub.ledger.entries import Entry
from computepool.hub.ledger.holds import Pockets
from computepool.hub.ledger.settlement import (
    RULES,
    Basis,
    Payer,
    Share,
    cost_of,
    fee_of,
    postings_of,
    rule_of,
    seconds_for,
    settle,
)
from computepool.protocol.states import Verdict

CASES = figure(5_000, 1_000_000)
RENTER, HOST = "user_renter", "user_host"


@dataclass(frozen=True)
class Case:
    hold: Pockets
    price_micros: int
    seconds: int
    fee_bps: int
    payer: Payer
    debt: int


def cases(count: int, seed: int = 7) -> "list[Case]":
    rng = random.Random(seed)

    def amount() -> int:
        return rng.choice((0, 1, rng.randrange(10), rng.randrange(10**6), rng.randrange(10**12)))

    found = []
    for _ in range(count):
        hold = Pockets(amount(), amount(), amount())
        seconds = rng.choice((0, 1, rng.randrange(4000), rng.randrange(10**6)))
        price = rng.choice((1, 3599, 3600, 3601, rng.randrange(1, 10**6), rng.randrange(1, 10**9)))
        bps = rng.choice((0, 1, 2000, 9999, 10_000, rng.randrange(10_001)))
        found.append(Case(hold, price, seconds, bps, rng.choice(list(Payer)), amount()))
    return found


def everything_adds_up(count: int = CASES) -> None:
    for case in cases(count):
        one = settle(case.hold, case.price_micros, case.seconds, case.fee_bps, case.payer)
        assert one.fee.total + one.host.total + one.refund.total == case.hold.total, case
        assert one.cost.total <= min(case.hold.total, cost_of(case.price_micros, case.seconds)), case
        assert min(one.fee.promotional, one.fee.real, one.host.promotional, one.host.real) >= 0, case
        assert min(one.subsidy.promotional, one.subsidy.real) >= 0, case
        assert one.host.promotional + one.fee.promotional == one.cost.promotional, case
        if case.payer is not Payer.RENTER:
            assert one.refund == case.hold, case
        assert one.fee.total * 10_000 <= one.cost.total * case.fee_bps, case


def every_posting_keeps_its_colour(count: int = CASES // 5) -> None:
    """No present ever becomes money, and none is lost: by the accounts that the postings name."""
    for number, case in enumerate(cases(count, seed=11)):
        one = settle(case.hold, case.price_micros, case.seconds, case.fee_bps, case.payer)
        postings = postings_of(one, RENTER, HOST, case.debt)
        if not postings:
            continue
        changes = Entry(f"settle/{number}", "settle", postings).changes
        assert changes.get(account(RENTER, Kind.HELD), 0) == -case.hold.total, case
        presents = changes.get(account(HOST, Kind.PROMOTIONAL), 0) + changes.get(account(RENTER, Kind.PROMOTIONAL), 0)
        assert presents + one.fee.promotional == case.hold.promotional + one.subsidy.promotional, case
        real = sum(
            micros
            for name, micros in changes.items()
            if kind_of(name) in (Kind.AVAILABLE, Kind.EARNINGS, Kind.DEBT) or name == platform(Platform.FEES)
        )
        assert real == case.hold.real + one.subsidy.real, case
        assert 0 <= changes.get(account(HOST, Kind.DEBT), 0) <= case.debt, case


def fee_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settlement, "fee_of", lambda micros, bps: -(-micros * bps // 10_000))


def fee_as_a_float(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settlement, "fee_of", lambda micros, bps: int(micros * (bps / 10_000) + 0.5))


def more_than_the_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    real = Pockets.first

    def first(self: Pockets, micros: int) -> Pockets:
        return real(self, min(self.total, micros + 1))

    monkeypatch.setattr(Pockets, "first", first)


def presents_are_earned(monkeypatch: pytest.MonkeyPatch) -> None:
    original = entries.moved_all
    wrong = {account(HOST, Kind.PROMOTIONAL): account(HOST, Kind.EARNINGS)}

    def moved_all(lines: Iterable[tuple[str, str, int]]) -> object:
        return original((source, wrong.get(destination, destination), micros) for source, destination, micros in lines)

    monkeypatch.setattr(settlement, "moved_all", moved_all)


MUTANTS: dict[Callable[..., None], list[Callable[[pytest.MonkeyPatch], None]]] = {
    everything_adds_up: [fee_up, fee_as_a_float, more_than_the_hold],
    every_posting_keeps_its_colour: [presents_are_earned],
}


@each_check(MUTANTS)
@pytest.mark.proof
def test_it_holds(check):
    check()


@each_mutant(MUTANTS)
def test_planted_bug_is_found(check, mutant, monkeypatch):
    mutant(monkeypatch)
    with pytest.raises((AssertionError, ValueError)):
        check(2_000)


def test_cost_rounds_up_and_the_fee_down():
    assert cost_of(1, 1) == 1
    assert cost_of(3600, 1) == 1
    assert cost_of(3601, 1) == 2
    assert cost_of(3600, 0) == 0
    assert (fee_of(9, 2000), fee_of(10, 2000)) == (1, 2)
    assert settle(Pockets(available=9), 9, 3600, 2000, Payer.RENTER).host == Share(real=8)


def test_so_long_lasts_so_much():
    for micros, price in ((0, 5), (1, 3600), (1, 3601), (10**9, 7), (36_000_000, 36_000_000)):
        seconds = seconds_for(micros, price)
        assert cost_of(price, seconds) <= micros < cost_of(price, seconds + 1) + 1


@pytest.mark.parametrize(("price", "seconds", "bps"), [(-1, 1, 0), (1, -1, 0), (1, 1, -1), (1, 1, 10_001)])
def test_nonsense_is_refused(price, seconds, bps):
    with pytest.raises(ValueError, match=r"seconds at|a fee of"):
        settle(Pockets(available=5), price, seconds, bps, Payer.RENTER)


def test_every_verdict_has_a_rule():
    assert set(RULES) == set(Verdict)
    assert rule_of(Verdict.RENTER, refund_failed=True).payer is Payer.NOBODY
    assert rule_of(Verdict.OK, refund_failed=True).payer is Payer.RENTER
    assert RULES[Verdict.OWNER].basis is Basis.SAVED


def test_platform_pays_the_host_and_not_more_than_the_hold():
    one = settle(Pockets(available=100), 3_600_000, 3600, 2000, Payer.PLATFORM)
    assert (one.refund.total, one.subsidy, one.cost.total) == (100, Share(real=80), 0)
    assert settle(Pockets(), 100, 3600, 2000, Payer.PLATFORM).subsidy == Share()
    for limit, paid in (
        (Share(real=100), Share(real=80)),
        (Share(real=30), Share(real=30)),
        (Share(promotional=50, real=100), Share(promotional=50, real=30)),
        (Share(promotional=200), Share(promotional=80)),
    ):
        assert settle(Pockets(), 100, 3600, 2000, Payer.PLATFORM, limit).subsidy == paid


def test_platform_pays_in_the_colours_in_which_the_renter_would_have_paid():
    """Or whoever waits for an outage turns presents into money."""
    one = settle(Pockets(promotional=60, available=100), 100, 3600, 2000, Payer.PLATFORM)
    assert one.subsidy == Share(promotional=48, real=32)
    changes = Entry("settle/1", "settle", postings_of(one, RENTER, HOST, 1_000)).changes
    assert changes[account(HOST, Kind.PROMOTIONAL)] == 48
    assert changes[account(HOST, Kind.DEBT)] == 32


def colours_forgotten_by_the_platform(monkeypatch: pytest.MonkeyPatch) -> None:
    real = settlement.postings_of

    def all_is_money(one: settlement.Settlement, *about: object) -> object:
        return real(replace(one, subsidy=Share(real=one.subsidy.total)), *about)  # type: ignore[arg-type]

    monkeypatch.setitem(globals(), "postings_of", all_is_money)


def test_platform_that_forgets_the_colours_is_found(monkeypatch):
    colours_forgotten_by_the_platform(monkeypatch)
    with pytest.raises(AssertionError):
        every_posting_keeps_its_colour(2_000)
