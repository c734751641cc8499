"""Seconds that were paid for in instalments, given back: the last ones first, each to the pocket that it came from."""

from datetime import UTC, datetime

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from computepool.hub.core.db import durable_engine
from computepool.hub.core.owners import Owner
from computepool.hub.ledger.accounts import Kind, Platform, account, platform
from computepool.hub.ledger.check import check
from computepool.hub.ledger.claims import claims_are_kept, owed_to
from computepool.hub.ledger.entries import Entry, Posting
from computepool.hub.ledger.holds import HoldRow, Resolution, find_open, open_hold, resolve_all
from computepool.hub.ledger.journal import balance, post
from computepool.hub.ledger.refunds import Back, give_back
from computepool.hub.ledger.settlement import Payer, postings_of, settle
from computepool.hub.ledger.tables import EntryRow

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
RENTER, HOST = "user_renter", "user_host"
PRICE, FEE_BPS = 3600, 2000
"""A micro for a second, and a fifth of it is the fee."""
SUBSIDY, FEES = platform(Platform.SUBSIDY), platform(Platform.FEES)


def pay(session: Session, attempt_id: str, number: int, seconds: int) -> None:
    open_hold(session, RENTER, "job_1", 0, attempt_id, number, seconds, PRICE, seconds, NOW)
    hold = find_open(session, attempt_id)
    assert hold is not None
    one = settle(hold.pockets, PRICE, seconds, FEE_BPS, Payer.RENTER)
    entry = Entry(f"settle/{attempt_id}/{number}", "settle", postings_of(one, RENTER, HOST))
    resolve_all(session, [Resolution(hold, entry, one.cost.total, seconds)], NOW)


@pytest.fixture
def session(hub_url):
    """A hundred seconds of a_1 were paid with presents, a hundred with money, and ten of a_2."""
    engine = durable_engine(hub_url)
    with Session(engine) as made, made.begin():
        made.add_all(Owner(id=one, kind="user", created_at=NOW) for one in (RENTER, HOST))
        made.flush()
        clearing = platform(Platform.CLEARING)
        for source, kind, micros in ((SUBSIDY, Kind.PROMOTIONAL, 100), (clearing, Kind.AVAILABLE, 200)):
            post(made, Entry(f"give/{kind}", "grant", (Posting(source, account(RENTER, kind), micros),)), NOW)
        for attempt_id, number, seconds in (("a_1", 1, 100), ("a_1", 2, 100), ("a_2", 2, 10)):
            pay(made, attempt_id, number, seconds)
        yield made
        assert check(made, [claims_are_kept]).balanced
    engine.dispose()


def pockets(session: Session, owner_id: str) -> tuple[int, ...]:
    kinds = (Kind.PROMOTIONAL, Kind.AVAILABLE, Kind.EARNINGS, Kind.DEBT)
    return tuple(balance(session, account(owner_id, kind)) for kind in kinds)


def paid(session: Session) -> list[tuple[int, int]]:
    """By hold, the seconds and the micros that it stands for."""
    rows = session.execute(
        select(HoldRow.paid_seconds, HoldRow.spent_micros).order_by(HoldRow.attempt_id, HoldRow.number)
    )
    return [(seconds, micros) for seconds, micros in rows]


def details(session: Session) -> list[dict[str, int]]:
    return list(session.scalars(select(EntryRow.details).where(EntryRow.kind == "give_back").order_by(EntryRow.id)))


def test_last_seconds_go_back_first_and_each_to_its_pocket(session):
    assert give_back(session, "a_1", HOST, 130, FEE_BPS, NOW) == Back(130, 130, 104)
    assert pockets(session, RENTER) == (30, 190, 0, 0)
    assert pockets(session, HOST) == (56, 0, 8, 0)
    assert (balance(session, FEES), balance(session, SUBSIDY)) == (2, -100 + 14)
    assert paid(session) == [(70, 70), (0, 0), (10, 10)]
    assert details(session) == [
        {"seconds": 100, "kept_seconds": 0, "cost_micros": 100, "host_micros": 80},
        {"seconds": 30, "kept_seconds": 70, "cost_micros": 30, "host_micros": 24},
    ]


def test_part_of_the_last_instalment_leaves_the_others_alone(session):
    assert give_back(session, "a_1", HOST, 1, FEE_BPS, NOW) == Back(1, 1, 0)  # a fee of 19.8 is one of 19
    assert paid(session) == [(100, 100), (99, 99), (10, 10)]
    assert give_back(session, "a_1", HOST, 99, FEE_BPS, NOW) == Back(99, 99, 80)
    assert paid(session) == [(100, 100), (0, 0), (10, 10)]


def test_nothing_is_given_back_twice(session):
    give_back(session, "a_1", HOST, 130, FEE_BPS, NOW)
    assert give_back(session, "a_1", HOST, 1000, FEE_BPS, NOW) == Back(70, 70, 56)
    assert give_back(session, "a_1", HOST, 1000, FEE_BPS, NOW) == Back()
    assert pockets(session, RENTER) == (100, 190, 0, 0)
    assert pockets(session, HOST) == (0, 0, 8, 0)
    assert (balance(session, FEES), balance(session, SUBSIDY)) == (2, -100)


def test_single_second_is_given_back(session):
    pay(session, "a_3", 1, 1)
    assert give_back(session, "a_3", HOST, 1, FEE_BPS, NOW) == Back(1, 1, 1)


def test_no_seconds_are_nothing(session):
    assert give_back(session, "a_1", HOST, 0, FEE_BPS, NOW) == Back()
    assert details(session) == []


def test_host_keeps_its_share_when_the_platform_pays(session):
    assert give_back(session, "a_1", HOST, 130, FEE_BPS, NOW, by_platform=True) == Back(130, 130, 0)
    assert pockets(session, RENTER) == (30, 190, 0, 0)
    assert pockets(session, HOST) == (80, 0, 88, 0)
    assert (balance(session, FEES), balance(session, SUBSIDY)) == (22, -100 + 20 - 130)
    assert [one["host_micros"] for one in details(session)] == [0, 0]


def test_what_the_host_has_spent_it_owes(session):
    post(session, Entry("out", "cash_out", (Posting(account(HOST, Kind.EARNINGS), FEES, 80),)), NOW)
    assert give_back(session, "a_1", HOST, 100, FEE_BPS, NOW) == Back(100, 100, 80)
    assert pockets(session, HOST) == (80, 0, 0, -72)
    assert pockets(session, RENTER) == (0, 90 + 28, 0, 0), "what is there: the fee, and 8 that it had earned since"
    assert (owed_to(session, RENTER), balance(session, platform(Platform.RESTITUTION))) == (72, 72)
    assert details(session)[0]["owed_micros"] == 72
    assert paid(session)[1] == (0, 0), "what is owed is not paid any more"


def test_presents_that_the_host_has_spent_are_gone_and_stay_paid(session):
    post(session, Entry("out", "test", (Posting(account(HOST, Kind.PROMOTIONAL), SUBSIDY, 60),)), NOW)
    assert give_back(session, "a_1", HOST, 200, FEE_BPS, NOW) == Back(200, 140, 100)
    assert pockets(session, RENTER) == (40, 190, 0, 0)
    assert pockets(session, HOST) == (0, 0, 8, 0)
    assert paid(session)[:2] == [(0, 60), (0, 0)]
    assert details(session)[1] == {
        "seconds": 100,
        "kept_seconds": 0,
        "cost_micros": 40,
        "host_micros": 20,
        "owed_micros": 0,
        "lost_micros": 60,
    }
    assert owed_to(session, RENTER) == 0
