"""The same credits by hand, twice at the same moment, on a PostgreSQL that lets both run side by side."""

import threading

import pytest
from sqlalchemy.orm import Session
from support.side_by_side import wait_until_blocked_or_done
from support.truth import HOST, Truth

from computepool.hub.core.records import write_records
from computepool.hub.payments import grants

MICROS = 5_000_000


@pytest.fixture
def truth(postgres_hub):
    truth = Truth(postgres_hub)
    yield truth
    truth.close()


def grant(session, truth, number, *, asks=True, promotional=False):
    about = {"giving": True, "owner_id": HOST, "micros": MICROS, "note": "invoice 7", "now": truth.now}
    if asks:
        grants.refuse_repeated(session, whose="the host", promotional=promotional, **about)
    grants.by_hand(session, grant_id=f"grant_{number}", actor="user_admin", promotional=promotional, **about)
    write_records(session)


@pytest.mark.parametrize("promotional", [False, True], ids=["for money", "a present"])
@pytest.mark.parametrize("first_asks", [True, False])
@pytest.mark.parametrize("is_newcomer", [True, False])
def test_of_two_equal_grants_at_once_one_is_refused(truth, is_newcomer, first_asks, promotional):
    """Also for somebody who never had a credit, and also when the first did not care."""
    if not is_newcomer:
        truth.renter = HOST
        truth.give(1)
    before = sum(truth.balances(HOST).values())
    ended = []

    def follow():
        try:
            truth.run(grant, truth, 2, promotional=promotional)
            ended.append("given")
        except grants.DoneBefore:
            ended.append("refused")

    thread = threading.Thread(target=follow)
    with Session(truth.engine) as session, session.begin():
        grant(session, truth, 1, asks=first_asks, promotional=promotional)
        session.flush()
        thread.start()
        wait_until_blocked_or_done(truth.engine, lambda: not thread.is_alive())
    thread.join()
    assert ended == ["refused"]
    assert sum(truth.balances(HOST).values()) == before + MICROS
