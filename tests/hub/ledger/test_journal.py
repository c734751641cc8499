"""Entries, postings and balances, on both databases."""

import itertools
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TypeVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import delete, update
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from computepool.hub.core.db import durable_engine
from computepool.hub.core.driver import Driver
from computepool.hub.core.owners import Owner
from computepool.hub.core.records import take_records
from computepool.hub.ledger.accounts import Kind, Platform, account, platform
from computepool.hub.ledger.check import check
from computepool.hub.ledger.entries import MOST_MICROS, Entry, Posting, moved
from computepool.hub.ledger.journal import (
    PLATFORM_SHARDS,
    SPENDABLE,
    KeyTaken,
    NotEnough,
    balance,
    balances,
    list_spendable,
    lock_accounts,
    post,
    post_all,
    postings_of,
)
from computepool.hub.ledger.tables import BalanceRow, EntryRow, PostingRow

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
R = TypeVar("R")
RUNS = itertools.count()
"""One database sees many examples: their keys must not meet."""
ALICE, BOB = "user_alice", "user_bob"
CLEARING, FEES = platform(Platform.CLEARING), platform(Platform.FEES)


class Ledger:
    def __init__(self, url: str) -> None:
        self.engine = durable_engine(url)
        with Session(self.engine) as session, session.begin():
            session.add_all(Owner(id=one, kind="user", created_at=NOW) for one in (ALICE, BOB))

    def do(self, fn: Callable[[Session], R]) -> R:
        with Session(self.engine) as session, session.begin():
            return fn(session)

    def post(self, key: str, *postings: Posting, kind: str = "test") -> bool:
        return self.do(lambda session: post(session, Entry(key, kind, postings), NOW)).is_new

    def balance(self, name: str) -> int:
        return self.do(lambda session: balance(session, name))


@pytest.fixture
def ledger(hub_url):
    made = Ledger(hub_url)
    yield made
    made.engine.dispose()


def available(owner_id: str) -> str:
    return account(owner_id, Kind.AVAILABLE)


def test_what_leaves_one_account_arrives_in_another(ledger):
    assert ledger.post("top-up", Posting(CLEARING, available(ALICE), 500))
    assert ledger.post("pay", Posting(available(ALICE), available(BOB), 200), Posting(available(ALICE), FEES, 50))
    assert [ledger.balance(name) for name in (available(ALICE), available(BOB), FEES, CLEARING)] == [250, 200, 50, -500]
    report = ledger.do(check)
    assert report.balanced
    assert (report.entries, report.postings, report.moved_micros) == (2, 3, 750)


def test_balances_are_taken_by_name_and_the_platforms_last(ledger):
    """As whoever settles takes them: two that took them the other way round would wait for each other."""
    taken = []

    class Noted(Driver):
        def run_rows(self, words, columns, rows):
            if words.startswith("INSERT INTO ledger_balances"):
                taken.append([row[0] for row in rows])
            return super().run_rows(words, columns, rows)

    def pay(session: Session) -> None:
        session.info["driver"] = (session.get_transaction(), Noted(session.connection()))
        postings = (Posting(available(BOB), FEES, 1), Posting(available(ALICE), FEES, 1))
        post(session, Entry("pay", "test", postings), NOW)

    ledger.post("top-up", Posting(CLEARING, available(BOB), 2), Posting(CLEARING, available(ALICE), 2))
    ledger.do(pay)
    assert taken == [[available(ALICE), available(BOB), FEES]]


def test_the_same_key_is_posted_once(ledger):
    assert ledger.post("top-up", Posting(CLEARING, available(ALICE), 500))
    assert not ledger.post("top-up", Posting(CLEARING, available(ALICE), 500))
    assert ledger.balance(available(ALICE)) == 500


def test_the_same_key_twice_at_once_is_posted_once(ledger):
    pay = Entry("top-up", "test", (Posting(CLEARING, available(ALICE), 500),))
    first, second = ledger.do(lambda session: post_all(session, [pay, pay], NOW))
    assert (first.id, first.is_new, second.is_new) == (second.id, True, False)
    assert ledger.balance(available(ALICE)) == 500


@pytest.mark.parametrize("other", [{"micros": 501}, {"kind": "grant"}])
def test_the_same_key_for_something_else_is_refused(ledger, other):
    ledger.post("top-up", Posting(CLEARING, available(ALICE), 500))
    with pytest.raises(KeyTaken):
        ledger.post(
            "top-up", Posting(CLEARING, available(ALICE), other.get("micros", 500)), kind=other.get("kind", "test")
        )
    assert ledger.balance(available(ALICE)) == 500


def test_nobody_spends_what_they_do_not_have(ledger):
    ledger.post("top-up", Posting(CLEARING, available(ALICE), 500))
    with pytest.raises(NotEnough, match=r"0\.000501 credits is needed"):
        ledger.post("pay", Posting(available(ALICE), available(BOB), 501))
    with pytest.raises(NotEnough):
        ledger.post("from nothing", Posting(available(BOB), available(ALICE), 1))
    assert ledger.balance(available(ALICE)) == 500
    assert ledger.do(check).entries == 1


def test_a_debt_is_filled_up_and_never_beyond(ledger):
    debt = account(BOB, Kind.DEBT)
    ledger.post("refund", Posting(debt, available(ALICE), 300))
    ledger.post("top-up", Posting(CLEARING, available(BOB), 500))
    with pytest.raises(NotEnough):
        ledger.post("too much", Posting(available(BOB), debt, 301))
    ledger.post("repaid", Posting(available(BOB), debt, 300))
    assert ledger.balance(debt) == 0
    assert ledger.do(check).balanced


@pytest.mark.parametrize("micros", [0, -1, 1.5, 10.0, True, MOST_MICROS + 1, 2**63, "7", None])
def test_no_posting_moves_anything_but_whole_micros(micros):
    with pytest.raises(ValueError, match="a whole number of micros"):
        Posting(CLEARING, available(ALICE), micros)


def test_entries_and_postings_that_make_no_sense_are_refused():
    with pytest.raises(ValueError, match="from one account to another"):
        Posting(FEES, FEES, 1)
    with pytest.raises(ValueError, match="moves nothing"):
        Entry("key", "kind", ())
    with pytest.raises(ValueError, match="1 to 120 characters"):
        Entry("k" * 121, "kind", (Posting(CLEARING, FEES, 1),))
    assert moved(CLEARING, FEES, 0) == ()


@pytest.mark.parametrize("table", [EntryRow, PostingRow])
@pytest.mark.parametrize("change", ["update", "delete"])
def test_the_database_itself_refuses_to_change_what_is_written(ledger, table, change):
    ledger.post("top-up", Posting(CLEARING, available(ALICE), 500))
    values = {"kind": "other"} if table is EntryRow else {"micros": 1}
    statement = update(table).values(**values) if change == "update" else delete(table)
    with pytest.raises(DBAPIError, match="never changed, only reversed"):
        ledger.do(lambda session: session.execute(statement))


def test_a_reversal_takes_everything_back(ledger):
    ledger.post("top-up", Posting(CLEARING, available(ALICE), 500))
    ledger.post("pay", Posting(available(ALICE), available(BOB), 200), Posting(available(ALICE), FEES, 50))

    def take_back(session: Session) -> None:
        paid = session.query(EntryRow.id).filter_by(key="pay").scalar()
        back = tuple(Posting(one.destination, one.source, one.micros) for one in postings_of(session, paid))
        post(session, Entry("undo/pay", "refund", back, reverses=paid), NOW)

    ledger.do(take_back)
    assert [ledger.balance(name) for name in (available(ALICE), available(BOB), FEES)] == [500, 0, 0]
    assert ledger.do(check).balanced


@pytest.mark.parametrize(
    ("tamper", "says"),
    [
        (lambda s: s.execute(update(BalanceRow).values(micros=BalanceRow.micros + 1)), "its postings sum to"),
        (lambda s: s.add(BalanceRow(account=available(BOB), shard=0, micros=5)), "all accounts together have 5"),
        (lambda s: s.execute(delete(BalanceRow)), "has 0 micros, but its postings sum to"),
        (
            lambda s: s.add(EntryRow(key="e", kind="k", actor="hub", note="", details={}, created_at=NOW)),
            "e moves noth",
        ),
    ],
)
def test_the_check_finds_what_does_not_add_up(ledger, tamper, says):
    ledger.post("top-up", Posting(CLEARING, available(ALICE), 500))
    ledger.do(tamper)
    report = ledger.do(check)
    assert not report.balanced
    assert any(says in problem for problem in report.problems)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    moves=st.lists(
        st.tuples(st.sampled_from([ALICE, BOB, ""]), st.sampled_from([ALICE, BOB, ""]), st.integers(1, 10**12)),
        max_size=12,
    ),
)
def test_whatever_is_posted_adds_up(ledger, moves):
    run = next(RUNS)

    def name(owner_id: str) -> str:
        return available(owner_id) if owner_id else CLEARING

    for number, (source, destination, micros) in enumerate(moves):
        if source == destination:
            continue
        try:
            ledger.post(f"{run}/{number}", Posting(name(source), name(destination), micros))
        except NotEnough:
            assert ledger.balance(name(source)) < micros
    assert ledger.do(check).balanced


def test_sixty_four_who_spend_the_same_credits_at_once_spend_them_once(ledger):
    ledger.post("top-up", Posting(CLEARING, available(ALICE), 10))
    done: list[bool] = []

    def spend(number: int) -> None:
        try:
            done.append(ledger.post(f"spend/{number}", Posting(available(ALICE), available(BOB), 1)))
        except NotEnough:
            done.append(False)

    threads = [threading.Thread(target=spend, args=(number,)) for number in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(done), sum(done)) == (64, 10)
    assert ledger.do(lambda session: balances(session, ALICE))[Kind.AVAILABLE] == 0
    assert ledger.do(check).balanced


# ── what others are told ─────────────────────────────────────────────────────────────────────────────────────────────


def told_of(ledger: Ledger, *entries: Entry) -> list[tuple[str, int, str | None]]:
    def story(session: Session) -> list[tuple[str, int, str | None]]:
        for entry in entries:
            post(session, entry, NOW)
        events = take_records(session).events
        return [
            (event.payload["owner"], event.payload["micros"], event.payload["hold"])
            for event in events
            if event.topic == SPENDABLE
        ]

    return ledger.do(story)


def test_whoever_keeps_balances_in_mind_is_told_what_can_be_spent_more_or_less(ledger):
    held, earnings = account(ALICE, Kind.HELD), account(BOB, Kind.EARNINGS)
    top_up = Entry("top-up", "test", (Posting(CLEARING, available(ALICE), 500),))
    assert told_of(ledger, top_up) == [(ALICE, 500, None)]
    assert told_of(ledger, top_up) == [], "it was posted before"
    hold = Entry("hold/1", "hold", (Posting(available(ALICE), held, 200),), attempt_id="attempt_1")
    assert told_of(ledger, hold) == [(ALICE, -200, "attempt_1")]
    paid = (Posting(held, earnings, 120), Posting(held, FEES, 30), Posting(held, available(ALICE), 50))
    settled = Entry("settle/1", "settle", paid, attempt_id="attempt_1")
    assert sorted(told_of(ledger, settled)) == [(ALICE, 50, None), (BOB, 120, None)]
    between = (Posting(available(ALICE), account(ALICE, Kind.PROMOTIONAL), 10),)
    assert told_of(ledger, Entry("between", "test", between)) == [], "they have as much as before"
    assert ledger.do(list_spendable) == {ALICE: 350, BOB: 120}


def test_only_owners_accounts_are_locked(ledger):
    ledger.post("top-up", Posting(CLEARING, available(ALICE), 500))
    assert ledger.do(lambda session: lock_accounts(session, [CLEARING])) == {}
    names = [available(BOB), CLEARING, available(ALICE)]
    assert ledger.do(lambda session: lock_accounts(session, names)) == {available(ALICE): 500, available(BOB): 0}


def test_platforms_accounts_are_many_rows_and_one_balance(ledger):
    for number in range(40):
        ledger.post(f"pay/{number}", Posting(CLEARING, FEES, 1))
    rows = ledger.do(lambda session: session.query(BalanceRow.shard).filter(BalanceRow.account == FEES).all())
    assert 8 < len(rows) <= PLATFORM_SHARDS
    assert all(0 <= shard < PLATFORM_SHARDS for (shard,) in rows)
    assert ledger.balance(FEES) == 40


def test_check_finds_an_account_below_zero_though_all_of_it_adds_up(ledger):
    def tamper(session: Session) -> None:
        about = {"kind": "test", "actor": "hub", "note": "", "details": {}, "created_at": NOW}
        session.add(EntryRow(id=9, key="past the guard", **about))
        session.flush()
        session.add(PostingRow(entry_id=9, number=0, source=available(BOB), destination=FEES, micros=5))
        session.add_all([BalanceRow(account=available(BOB), shard=0, micros=-5)])
        session.add_all([BalanceRow(account=FEES, shard=3, micros=2), BalanceRow(account=FEES, shard=4, micros=3)])

    ledger.do(tamper)
    report = ledger.do(check)
    assert report.problems == (f"{available(BOB)} has 0.000005 credits too few",)
    assert (report.entries, report.postings, report.accounts, report.moved_micros) == (1, 1, 2, 5)


def test_check_names_both_sums_of_a_balance_that_is_wrong(ledger):
    ledger.post("top-up", Posting(CLEARING, available(ALICE), 500))
    ledger.do(lambda session: session.execute(update(BalanceRow).where(BalanceRow.micros == 500).values(micros=499)))
    assert ledger.do(check).problems == (
        f"{available(ALICE)} has 499 micros, but its postings sum to 500",
        "all accounts together have -1 micros instead of none",
    )
