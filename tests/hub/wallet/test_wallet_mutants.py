"""Bugs put in on purpose into what people are told of their money: each must be found."""

import random
from datetime import UTC, datetime, timedelta

import pytest
from support.money_lives import as_user, claw_back, live
from support.planted import each_check, each_mutant
from support.truth import Truth

from computepool.hub.ledger.accounts import Kind, account
from computepool.hub.ledger.journal import balances
from computepool.hub.wallet import entries, explain_store, payments, statements
from computepool.hub.wallet.entries import Filter, page_entries
from computepool.hub.wallet.explain_store import explain_job
from computepool.hub.wallet.facts import EntryFacts
from computepool.hub.wallet.payments import Money
from computepool.hub.wallet.periods import Period, parse_period
from computepool.hub.wallet.statements import make_statement


def life(truth: Truth) -> list:
    """Everything that can happen to money, to a renter with all kinds of credits."""
    chance = random.Random(3)
    truth.give(20_000)
    truth.give(40, kind=Kind.PROMOTIONAL)
    found = []
    for number in range(6):
        found.append(live(truth, chance))
        if number % 3 == 0:
            claw_back(truth, found[-1])
        truth.move(days=20)
    return found


def explain_adds_up(truth: Truth) -> None:
    told = {"renter": 0, "host": 0}
    for held in life(truth):
        for view, who in (("renter", truth.renter), ("host", truth.host)):
            one = truth.run(explain_job, as_user(who), held.job_id, None, 0, 100)
            assert one.change_micros == sum(each.change_micros for each in one.attempts)
            told[view] += one.change_micros
            for attempt in one.attempts:
                assert attempt.cost_micros == attempt.fee_micros + attempt.earned_micros
                assert attempt.change_micros == (-attempt.cost_micros if view == "renter" else attempt.earned_micros)
                for paid in attempt.payments:
                    if paid.kind == "settle" and paid.cost_micros:
                        steps = {step.label: step.micros for step in paid.steps}
                        assert steps["the host earns"] == paid.earned_micros
                        assert paid.fee_micros >= 0
                        limit = steps["cost, rounded up to a millionth"]
                        assert limit is not None
                        assert paid.cost_micros <= limit
    assert told["host"] == sum(truth.run(balances, truth.host).values())
    assert told["renter"] == sum(truth.run(balances, truth.renter).values()) - 20_040 * 1_000_000


def statements_add_up(truth: Truth) -> None:
    life(truth)
    now = datetime(2027, 1, 1, tzinfo=UTC)
    for who in (truth.renter, truth.host):
        whole = truth.run(make_statement, who, parse_period("2026"), now)
        has = {kind.value: micros for kind, micros in truth.run(balances, who).items()}
        assert whole.closing == has
        closing, lines = whole.opening, list[statements.Line]()
        for month in range(1, 13):
            one = truth.run(make_statement, who, parse_period(f"2026-{month:02}"), now)
            assert one.opening == closing
            closing, lines = one.closing, [*lines, *one.lines]
        assert lines == list(whole.lines)
        assert sum(whole.totals.values()) == sum(has.values())
        page = truth.run(page_entries, who, Filter(), None, 500)
        assert [one.id for one in reversed(page.items)] == [line.entry_id for line in lines]
        assert all(sum(one.pockets.values()) == one.change_micros for one in page.items)


# ── bugs ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def host_is_shown_the_cost_as_earned(patch: pytest.MonkeyPatch) -> None:
    real = payments._as_host

    def all_of_it(entry, host_id, before):
        one = real(entry, host_id, before)
        return Money(one.cost, one.fee, one.cost)

    patch.setattr(payments, "_as_host", all_of_it)


def what_goes_back_is_not_counted(patch: pytest.MonkeyPatch) -> None:
    real = explain_store._entries_of

    def but_clawbacks(session, attempt_ids):
        found = real(session, attempt_ids)
        return {key: [one for one in some if one.kind != "clawback"] for key, some in found.items()} | {
            key: [] for key in attempt_ids if key not in found
        }

    patch.setattr(explain_store, "_entries_of", but_clawbacks)


def pockets_forget_what_leaves(patch: pytest.MonkeyPatch) -> None:
    real = EntryFacts.pockets_of
    patch.setattr(
        EntryFacts,
        "pockets_of",
        lambda one, who: {kind: micros for kind, micros in real(one, who).items() if micros > 0},
    )


def fee_is_of_the_hold(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(payments, "_metered_cost", lambda details: details["hold_micros"] or 1)


def totals_leave_earnings_out(patch: pytest.MonkeyPatch) -> None:

    def misnamed(owner_id: str, kind: Kind) -> str:
        return account(owner_id, Kind.HELD if kind is Kind.EARNINGS else kind)

    patch.setattr(explain_store, "account", misnamed)


def month_takes_the_next_ones_first_day(patch: pytest.MonkeyPatch) -> None:
    real = statements.make_statement

    def longer(session, owner_id, period, now):
        return real(session, owner_id, Period(period.name, period.start, period.end + timedelta(days=25)), now)

    patch.setitem(globals(), "make_statement", longer)


def opening_forgets_what_is_held(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(statements, "Kind", [kind for kind in Kind if kind is not Kind.PROMOTIONAL])


def a_page_skips_an_entry(patch: pytest.MonkeyPatch) -> None:
    real = entries._ids
    patch.setattr(entries, "_ids", lambda *of: (one for number, one in enumerate(real(*of)) if number != 3))


MUTANTS = {
    explain_adds_up: [
        host_is_shown_the_cost_as_earned,
        what_goes_back_is_not_counted,
        pockets_forget_what_leaves,
        fee_is_of_the_hold,
        totals_leave_earnings_out,
    ],
    statements_add_up: [
        pockets_forget_what_leaves,
        month_takes_the_next_ones_first_day,
        opening_forgets_what_is_held,
        a_page_skips_an_entry,
    ],
}


@pytest.fixture
def truth(sqlite_hub):
    truth = Truth(sqlite_hub)
    truth.begin_anew()
    yield truth
    truth.close()


@each_check(MUTANTS)
def test_holds_as_things_are(truth, check):
    check(truth)


@each_mutant(MUTANTS)
def test_finds_the_bug(truth, check, mutant, monkeypatch):
    mutant(monkeypatch)
    with pytest.raises((AssertionError, KeyError)):
        check(truth)
