"""Credits set aside: taken in order, resolved once, and what is not used goes back to where it came from."""

from datetime import UTC, datetime

import pytest
from sqlalchemy.orm import Session

from computepool.hub.core.db import durable_engine
from computepool.hub.core.owners import Owner
from computepool.hub.ledger.accounts import Kind, Platform, account, platform
from computepool.hub.ledger.check import check
from computepool.hub.ledger.entries import Entry, Posting
from computepool.hub.ledger.holds import Pockets, Resolution, find_open, given_back, open_hold, resolve_all
from computepool.hub.ledger.journal import NotEnough, balances, post

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
ALICE = "user_alice"
ATTEMPT = "attempt_1"


@pytest.fixture
def session(hub_url):
    engine = durable_engine(hub_url)
    with Session(engine) as made, made.begin():
        made.add(Owner(id=ALICE, kind="user", created_at=NOW))
        made.flush()
        for kind, micros in ((Kind.PROMOTIONAL, 100), (Kind.AVAILABLE, 50), (Kind.EARNINGS, 30)):
            source = platform(Platform.SUBSIDY if kind is Kind.PROMOTIONAL else Platform.CLEARING)
            post(made, Entry(f"give/{kind}", "grant", (Posting(source, account(ALICE, kind), micros),)), NOW)
        yield made
        assert check(made).balanced
    engine.dispose()


def hold(session: Session, micros: int, number: int = 1) -> Pockets:
    return open_hold(session, ALICE, "job_1", 0, ATTEMPT, number, micros, 3600, micros, NOW)


def test_presents_are_spent_first_and_earnings_last(session):
    assert hold(session, 160) == Pockets(promotional=100, available=50, earnings=10)
    assert balances(session, ALICE)[Kind.HELD] == 160


def test_what_is_not_used_goes_back_to_where_it_came_from(session):
    before = balances(session, ALICE)
    hold(session, 160)
    found = find_open(session, ATTEMPT)
    assert found is not None
    resolve_all(session, [Resolution(found, Entry("release", "release", given_back(ALICE, found.pockets)))], NOW)
    assert balances(session, ALICE) == before
    assert find_open(session, ATTEMPT) is None


def test_more_than_there_is_holds_nothing(session):
    before = balances(session, ALICE)
    with pytest.raises(NotEnough):
        hold(session, 181)
    assert balances(session, ALICE) == before
    assert find_open(session, ATTEMPT) is None


def test_a_hold_is_resolved_once_and_as_a_whole(session):
    hold(session, 160)
    found = find_open(session, ATTEMPT)
    assert found is not None
    part = Entry("part", "release", given_back(ALICE, found.pockets.first(100)))
    with pytest.raises(ValueError, match="does not resolve a hold of 160"):
        resolve_all(session, [Resolution(found, part)], NOW)
    whole = Entry("whole", "release", given_back(ALICE, found.pockets))
    resolve_all(session, [Resolution(found, whole)], NOW)
    with pytest.raises(AssertionError, match="was resolved before"):
        resolve_all(session, [Resolution(found, Entry("again", "release", whole.postings))], NOW)


def test_pockets_are_taken_in_order_and_never_below_zero():
    has = Pockets(promotional=5, available=3, earnings=2)
    assert has.first(0) == Pockets()
    assert has.first(7) == Pockets(5, 2)
    assert has.without(has.first(7)) == Pockets(0, 1, 2)
    for wrong in (-1, 11):
        with pytest.raises(ValueError, match="micros"):
            has.first(wrong)
    with pytest.raises(ValueError, match="below zero"):
        Pockets(1).without(Pockets(2))
