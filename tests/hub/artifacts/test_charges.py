"""Storage beyond the free bytes: one charge a day, whole micros, paid whole or told, never a balance below zero."""

import asyncio
from decimal import Decimal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session
from support.engine import ALICE, BOB, play
from support.planted import each_check, each_mutant
from support.proofs import figure
from support.truth import Truth

from computepool.hub.accounts.tables import User
from computepool.hub.artifacts import charges, usage
from computepool.hub.artifacts.charges import StoragePrice, charge_owner, charges_are_paid_once, price_of
from computepool.hub.artifacts.errors import StorageUnpaid
from computepool.hub.artifacts.tables import StorageCharge
from computepool.hub.artifacts.usage import Amount, Quotas
from computepool.hub.core.db import durable_engine, open_database
from computepool.hub.core.errors import PoolError
from computepool.hub.core.owners import Owner
from computepool.hub.core.settings import Settings
from computepool.hub.core.tables import OutboxRow
from computepool.hub.ledger.accounts import Kind, Platform, platform
from computepool.hub.ledger.check import check
from computepool.hub.ledger.holds import Pockets
from computepool.hub.ledger.journal import balance, balances
from computepool.hub.ledger.tables import EntryRow
from computepool.protocol.units import GIB

PRICE = StoragePrice(micros=1_500_001, free_bytes=5 * GIB, grace_days=3)
CREDIT = 1_000_000


@pytest.fixture
def truth(hub_url):
    made = Truth(hub_url)
    yield made
    made.close()


def store(truth, stored_bytes):
    """So much is stored from now on, whatever was before."""
    had = truth.run(usage.find_stored, truth.renter).bytes
    truth.run(usage.count, {truth.renter: Amount(stored_bytes - had, 1)}, truth.now)


def charge(truth, price=PRICE):
    truth.run(charge_owner, truth.renter, price, truth.now)


def charged(truth):
    """By day, (micros, whether they are paid)."""
    query = select(StorageCharge).where(of(truth)).order_by(StorageCharge.day)
    rows = truth.run(lambda session: session.scalars(query).all())
    return {row.day: (row.due_micros, row.paid_at is not None) for row in rows}


def of(truth):
    return StorageCharge.owner_id == truth.renter


def notices(truth):
    def read(session):
        rows = session.scalars(select(OutboxRow).where(OutboxRow.topic == f"mail/{truth.renter}"))
        return [row.payload for row in rows if row.payload["action"] == "storage.unpaid"]

    return truth.run(read)


def books(truth):
    return truth.run(check, [charges_are_paid_once])


# ── what a day costs ─────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("stored_bytes", "micros"),
    [
        (0, 0),
        (5 * GIB, 0),
        (5 * GIB + 1, 0),  # 0.0014 micros: rounded down
        (5 * GIB + GIB // 2, 750_000),  # half of an odd price
        (6 * GIB, 1_500_001),
        (6 * GIB - 1, 1_500_000),
        (25 * GIB, 30_000_020),
    ],
)
def test_day_costs_what_is_beyond_the_free_bytes_rounded_down(stored_bytes, micros):
    assert PRICE.cost_of_day(stored_bytes) == micros


def test_storage_costs_nothing_unless_the_operator_says_so():
    assert price_of(Settings()) is None
    assert price_of(Settings(storage_price=Decimal("0.01"), money="off")) is None
    assert price_of(Settings(storage_price=Decimal("0.01"))) == StoragePrice(10_000, 5 * GIB, 7)
    assert usage.quotas_of(Settings()).unpaid_days is None
    assert usage.quotas_of(Settings(storage_price=Decimal("0.01"))).unpaid_days == 7


# ── charging ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def day_is_charged_once_however_often_and_after_a_crash(truth):
    truth.give(2, kind=Kind.PROMOTIONAL)
    truth.give(100)
    store(truth, 7 * GIB)
    with Session(truth.engine) as session:  # the hub dies before the commit
        charge_owner(session, truth.renter, PRICE, truth.now)
        session.rollback()
    assert charged(truth) == {}
    for _ in range(3):
        charge(truth)
    store(truth, 9 * GIB)
    charge(truth)
    assert charged(truth) == {"2026-01-02": (3_000_002, True)}
    assert truth.balances() == {Kind.AVAILABLE: 102 * CREDIT - 3_000_002}
    earned = truth.run(lambda session: balance(session, platform(Platform.STORAGE)))
    assert earned == 1_000_002, "promotional credit goes back to the subsidy"
    truth.move(days=1)
    charge(truth)
    assert charged(truth)["2026-01-03"] == (6_000_004, True)
    assert books(truth).balanced, books(truth).problems


def test_entry_says_what_was_stored_and_for_how_much(truth):
    truth.give(100)
    store(truth, 7 * GIB + GIB // 2)
    charge(truth)
    entry = truth.run(lambda session: session.scalars(select(EntryRow).where(EntryRow.kind == "storage")).one())
    assert entry.note == (
        "2026-01-02: 7.5 GB stored, 5 GB of it free; the rest at 1.500001 credits for a GB and day, rounded down."
    )
    about = {"day": "2026-01-02", "bytes": 15 * GIB // 2, "free_bytes": 5 * GIB, "price_micros": 1_500_001}
    assert entry.details == about


def what_cannot_be_paid_is_told_once_and_taken_when_it_can(truth):
    truth.give(4)
    store(truth, 7 * GIB)
    for _ in range(3):  # 3.000002 each: the first is paid, the other two are not
        charge(truth)
        charge(truth)
        truth.move(days=1)
    assert [paid for _, paid in charged(truth).values()] == [True, False, False]
    assert truth.balances() == {Kind.AVAILABLE: 999_998}
    assert len(notices(truth)) == 1
    (notice,) = notices(truth)
    assert (notice["micros"], notice["refused_from"]) == (3_000_002, "2026-01-06")
    assert truth.run(usage.find_stored, truth.renter).unpaid_since == "2026-01-03"
    truth.give(2.1)
    store(truth, 0)
    charge(truth)
    assert [paid for _, paid in charged(truth).values()] == [True, True, False]
    truth.give(3)
    charge(truth)
    assert all(paid for _, paid in charged(truth).values())
    assert truth.run(usage.find_stored, truth.renter).unpaid_since is None
    assert len(notices(truth)) == 1
    assert books(truth).balanced, books(truth).problems


def uploads_are_refused_after_the_grace_and_not_before(truth):
    quotas = Quotas(unpaid_days=PRICE.grace_days)

    def upload():
        truth.run(usage.charge, truth.renter, Amount(1, 1), truth.now, quotas)

    store(truth, 6 * GIB)
    for _ in range(3):
        charge(truth)
        upload()
        truth.move(days=1)
    with pytest.raises(StorageUnpaid) as refused:
        upload()
    assert refused.value.status == 402
    assert "4.500003 credits for your storage could not be paid" in refused.value.message
    assert truth.run(usage.list_exceeding, truth.now, quotas) == [truth.renter]
    assert truth.run(usage.find_stored, truth.renter).bytes == 6 * GIB + 3, "nothing is deleted"
    truth.give(4.5)
    with pytest.raises(StorageUnpaid):
        upload()
    truth.give(0.000003)
    upload()  # the credits are there: the next round takes them
    truth.run(usage.charge, truth.renter, Amount(1, 1), truth.now, Quotas())


def test_admins_pay_nothing(truth):
    truth.give(100)
    store(truth, 50 * GIB)
    admin = User(id=truth.renter, email="a@example.org", name="A", role="admin", created_at=truth.now)
    truth.run(lambda session: session.add(admin))
    charge(truth)
    assert charged(truth) == {}


def test_invariant_sees_charges_and_entries_that_do_not_match(truth):
    truth.give(100)
    store(truth, 7 * GIB)
    charge(truth)
    assert books(truth).balanced
    truth.run(lambda session: session.execute(update(StorageCharge).values(due_micros=1)) and None)
    assert "cost 1 micros; its entry moved 3000002" in books(truth).problems[0]
    truth.run(
        lambda session: session.execute(update(StorageCharge).values(due_micros=3_000_002, paid_at=None)) and None
    )
    assert "is not paid" in books(truth).problems[0]
    truth.run(lambda session: session.execute(delete(StorageCharge)) and None)
    assert books(truth).problems == ("1 entries paid for storage, and 0 charges are paid",)


def test_rounds_at_once_charge_once(hub_url):
    truth = Truth(hub_url)
    truth.give(100)
    store(truth, 7 * GIB)
    now = truth.now
    truth.close()

    async def story():
        db = open_database(hub_url)
        try:
            await asyncio.gather(*[db.run(charge_owner, ALICE, PRICE, now) for _ in range(8)])
        finally:
            db.close()

    asyncio.run(story())
    engine = durable_engine(hub_url)
    with Session(engine) as session:
        assert balances(session, ALICE)[Kind.AVAILABLE] == 100 * CREDIT - 3_000_002
        assert check(session, [charges_are_paid_once]).balanced
    engine.dispose()


# ── any life ─────────────────────────────────────────────────────────────────────────────────────────────────────────

DAYS = st.lists(
    st.tuples(
        st.one_of(st.integers(0, 30 * GIB), st.sampled_from((5 * GIB, 5 * GIB + 1, 6 * GIB))),
        st.sampled_from((0, 0, 1, 20)),
        st.integers(1, 3),
    ),
    max_size=12,
)


def check_any_life(truth, days, price_micros):
    """Each day so much is stored, so many credits come, and the round runs so often."""
    truth.begin_anew()
    price = StoragePrice(price_micros, 5 * GIB, 3)
    expected = given = 0
    for stored_bytes, credits, rounds in days:
        store(truth, stored_bytes)
        expected += max(0, stored_bytes - 5 * GIB) * price_micros // GIB
        if credits:
            truth.give(credits)
            given += credits * CREDIT
        for _ in range(rounds):
            charge(truth, price)
        truth.move(days=1)
    rows = charged(truth).values()
    paid = sum(micros for micros, is_paid in rows if is_paid)
    has = truth.balances().get(Kind.AVAILABLE, 0)
    assert sum(micros for micros, _ in rows) == expected
    assert has == given - paid >= 0
    assert truth.run(usage.unpaid_of, truth.renter) == expected - paid
    unpaid = [day for day, (_, is_paid) in charged(truth).items() if not is_paid]
    assert truth.run(usage.find_stored, truth.renter).unpaid_since == min(unpaid, default=None)
    if unpaid:
        assert charged(truth)[min(unpaid)][0] > has, "it could have been paid"


@pytest.mark.proof
@pytest.mark.parametrize("database", ["sqlite_hub", "postgres_hub"])
def test_charges_sum_to_the_daily_bytes_beyond_the_free_ones_times_the_price(request, database):
    truth = Truth(request.getfixturevalue(database))

    @settings(
        max_examples=figure(15 if database == "sqlite_hub" else 5, 1_000),
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(days=DAYS, price_micros=st.sampled_from((1, 10_000, 333_333, 1_500_001)))
    def live(days, price_micros):
        check_any_life(truth, days, price_micros)

    live()
    assert books(truth).balanced, books(truth).problems
    truth.close()


# ── in a hub ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_hub_charges_by_itself_shows_it_and_refuses_after_the_grace(hub_url):
    """Carol has no credits; Alice has plenty."""
    carol = "user_carol"

    async def story(pool):
        now = pool.clock.now()
        await pool.db.run(lambda session: session.add(Owner(id=carol, kind="user", created_at=now)))
        await pool.db.run(usage.count, {ALICE: Amount(8 * GIB, 1), carol: Amount(6 * GIB, 1)}, now)
        before = (await pool.call("GET", "wallet")).json()["spendable_micros"]
        await asyncio.sleep(3600)
        (entry,) = (await pool.call("GET", "wallet/entries?kind=storage")).json()["items"]
        assert (entry["change_micros"], entry["note"][11:25]) == (-3_000_000, " 8 GB stored, ")
        assert entry["lines"] == [{"source": "available", "destination": "pool", "micros": 3_000_000}]
        assert (await pool.call("GET", "wallet")).json()["spendable_micros"] == before - 3_000_000
        statement = (await pool.call("GET", f"wallet/statements/{now:%Y-%m}")).json()
        assert statement["totals"]["storage"] == -3_000_000
        shown = (await pool.call("GET", "me/storage", user=carol)).json()
        assert (shown["price_micros"], shown["free_bytes"]) == (CREDIT, 5 * GIB)
        assert (shown["cost_micros_per_day"], shown["unpaid_micros"]) == (CREDIT, CREDIT)
        assert (await pool.call("POST", "jobs", {"run": ["true"]}, user=carol)).status_code == 201
        pool.clock.wall_error_seconds += 86_400
        await asyncio.sleep(3600)
        pool.clock.wall_error_seconds += 86_400
        await asyncio.sleep(3600)
        for answer in (
            await pool.call("POST", "jobs", {"run": ["true"]}, user=carol),
            await pool.call("POST", "artifacts", {"digest": f"sha256:{'0' * 64}", "size_bytes": 1}, user=carol),
        ):
            assert (answer.status_code, answer.json()["error"]["code"]) == (402, "storage_unpaid"), answer.text
            assert "wallet top-up" in answer.json()["error"]["hint"]
        report = (await pool.call("GET", "admin/reports", user="user_admin")).json()
        assert report["totals"]["storage_micros"] == 9_000_000
        assert report["totals"]["fees_micros"] == 0
        await pool.db.run(usage.count, {ALICE: Amount(-8 * GIB, -1), carol: Amount(-6 * GIB, -1)}, pool.clock.now())

    chosen = {"storage_price": Decimal(1), "storage_grace_days": 2, "storage_limit_bytes_per_day": 0}
    play(hub_url, story, settings=chosen)


def test_nothing_is_charged_where_money_is_off_or_storage_is_free(sqlite_hub):
    async def story(pool):
        await pool.db.run(usage.count, {BOB: Amount(80 * GIB, 1)}, pool.clock.now())
        await asyncio.sleep(3600)
        await charges.charge_storage(pool.engine.context)
        assert pool.rows(StorageCharge) == []
        assert "storage_price" not in pool.settings.model_fields_set or pool.settings.money == "off"
        await pool.db.run(usage.count, {BOB: Amount(-80 * GIB, -1)}, pool.clock.now())

    play(sqlite_hub, story)
    play(sqlite_hub, story, settings={"money": "off", "storage_price": Decimal(1)})


# ── bugs ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def days_are_charged_again(plant):
    plant.setattr(charges, "day_of", lambda now, numbers=iter(range(1, 99)): f"2026-01-{next(numbers):02}")


def part_of_a_day_is_paid(plant):
    has_first = Pockets.first
    plant.setattr(Pockets, "first", lambda self, micros: has_first(self, min(micros, self.total)))
    plant.setattr(Pockets, "total", property(lambda self: 1 << 60))


def unpaid_days_are_forgotten(plant):
    pay = charges._pay

    def pay_today(session, owner_id, now):
        today = usage.day_of(now)
        session.execute(delete(StorageCharge).where(StorageCharge.paid_at.is_(None), StorageCharge.day < today))
        pay(session, owner_id, now)

    plant.setattr(charges, "_pay", pay_today)


def owners_are_told_in_every_round(plant):
    find = usage.find_stored

    def never_unpaid(session, owner_id):
        stored = find(session, owner_id)
        return usage.Stored(*[getattr(stored, name) for name in list(usage.Stored.__dataclass_fields__)[:-1]])

    plant.setattr(charges, "find_stored", never_unpaid)


def unpaid_storage_is_never_refused(plant):
    plant.setattr(usage, "_is_overdue", lambda stored, now, quotas: False)


def unpaid_storage_is_refused_at_once(plant):
    plant.setattr(usage, "_is_overdue", lambda stored, now, quotas: stored.unpaid_since is not None)


def promotional_credit_becomes_income(plant):
    plant.setattr(charges, "SUBSIDY", platform(Platform.STORAGE))


MUTANTS = {
    day_is_charged_once_however_often_and_after_a_crash: [days_are_charged_again, promotional_credit_becomes_income],
    what_cannot_be_paid_is_told_once_and_taken_when_it_can: [
        part_of_a_day_is_paid,
        unpaid_days_are_forgotten,
        owners_are_told_in_every_round,
    ],
    uploads_are_refused_after_the_grace_and_not_before: [
        unpaid_storage_is_never_refused,
        unpaid_storage_is_refused_at_once,
    ],
}


@each_check(MUTANTS)
def test_without_a_bug_the_check_holds(truth, check):
    check(truth)


@pytest.fixture
def on_sqlite(sqlite_hub):
    made = Truth(sqlite_hub)
    yield made
    made.close()


@each_mutant(MUTANTS)
def test_each_bug_is_noticed(on_sqlite, monkeypatch, check, mutant):
    mutant(monkeypatch)
    with pytest.raises((AssertionError, PoolError, pytest.fail.Exception)):
        check(on_sqlite)
