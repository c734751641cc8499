"""Once a day both sides are laid beside each other: every planted mismatch is found and told (promise 18)."""

import itertools

import pytest
from sqlalchemy import delete, update
from sqlalchemy.orm import Session
from support.engine import ADMIN
from support.fake_stripe import paying
from support.planted import each_check, each_mutant
from support.till import CAROL, DAVE, Till, play_with_stripe

from computepool.hub.core.tables import AuditRow
from computepool.hub.payments import reconcile
from computepool.hub.payments.stripe_provider import StripeProvider
from computepool.hub.payments.tables import DifferenceRow, MovementRow, ReconciliationRow, RequestRow

DAY = 24 * 3600


async def ordinary_day(till: Till) -> dict[str, str]:
    """Payments, a refund, a chargeback lost and one won, a pay-out: of which everything was told. By name, its id."""
    world = till.stripe.world
    till.keep_results()
    world.add_funds(100_000_00)
    payments = [await till.pay(100) for _ in range(6)]
    await till.tell()
    refund = paying.create_refund(world, {"payment_intent": payments[0], "amount": "3000"})
    lost, won = (paying.open_dispute(world, one)["id"] for one in payments[1:3])
    paying.end_dispute(world, lost, won=False)
    paying.end_dispute(world, won, won=True)
    await till.onboard(DAVE)
    await till.payments.send(await till.pay_out("cashout_1", DAVE, 500))
    await till.tell()
    return {
        "paid": payments[3],
        "changed": payments[4],
        "other": payments[5],
        "refund": refund["id"],
        "withdrawn": f"{lost}/withdrawn",
        "reinstated": f"{won}/reinstated",
        "transfer": world.all("transfer")[0]["id"],
    }


def every_mismatch_is_found(url: str) -> None:
    async def story(till: Till) -> None:
        known = await ordinary_day(till)
        await till.later(2 * DAY)
        assert till.rows(DifferenceRow) == [], "nothing differs on an ordinary day"
        world = till.stripe.world
        untold = await till.pay(40)  # its message is lost
        foreign = paying.succeed(world, paying.create_intent(world, {"amount": "700", "currency": "inr"}))["id"]
        till.told = len(world.events)
        expected = {(untold, "missing_here"), (foreign, "missing_here")}
        await till.pay(1)
        await till.tell(till.stripe.world.events[till.told :])
        with Session(till.pool.db.engine) as session, session.begin():
            session.execute(update(MovementRow).where(MovementRow.id == known["changed"]).values(minor=99))
            session.execute(update(MovementRow).where(MovementRow.id == known["other"]).values(currency="usd"))
            expected |= {(known["changed"], "amount"), (known["other"], "currency")}
            for name in ("refund", "withdrawn", "reinstated", "transfer"):
                session.execute(delete(MovementRow).where(MovementRow.id == known[name]))
                expected.add((known[name], "missing_here"))
        charge = world.get("payment_intent", known["paid"])["latest_charge"]
        lines = world.objects["balance_transaction"]
        gone = next(name for name, line in lines.items() if line["source"] == charge)
        del lines[gone]  # as if somebody else's money had been credited
        expected.add((known["paid"], "missing_there"))
        till.pool.clock.skip(60)
        found = await till.ask("POST", "admin/payments/reconcile?days=5", user=ADMIN)
        told = await till.ask("GET", "admin/payments/differences?everything=true", user=ADMIN)
        assert {(one["movement"], one["kind"]) for one in told["items"]} == expected
        audited = {row.subject for row in till.rows(AuditRow, action="payment.difference")}
        assert audited == {name[:40] for name, _ in expected}
        assert found["last"]["differences"] == len(expected)

    play_with_stripe(url, story)


def test_lost_message_is_found_told_and_healed_by_the_next_morning(hub_url):
    async def story(till: Till) -> None:
        await till.pay(100)
        assert till.has() == {}
        await till.later(2 * DAY)
        assert till.has() == {"available": 100}
        (difference,) = till.rows(DifferenceRow)
        assert (difference.kind, difference.there_minor) == ("missing_here", 10000)
        assert difference.settled_at is not None
        assert (await till.ask("GET", "admin/payments/differences", user=ADMIN))["items"] == []
        await till.tell()
        assert till.has() == {"available": 100}

    play_with_stripe(hub_url, story)


def test_request_that_is_stuck_for_days_is_told(sqlite_hub):
    async def story(till: Till) -> None:
        await till.top_up(10)
        row = till.rows(RequestRow)[0]
        with Session(till.pool.db.engine) as session, session.begin():
            later = till.pool.clock.now().replace(year=2027)
            session.execute(
                update(RequestRow).where(RequestRow.id == row.id).values(state="waiting", next_try_at=later, words="no")
            )
        await till.later(4 * DAY)
        (difference,) = till.rows(DifferenceRow)
        assert (difference.kind, difference.movement_id) == ("stuck", row.key)
        shown = await till.ask("GET", "admin/payments/differences", user=ADMIN)
        path = f"admin/payments/differences/{shown['items'][0]['id']}/settle"
        await till.ask("POST", path, user=CAROL, status=403)
        assert (await till.ask("POST", path, user=ADMIN))["items"] == []
        await till.ask("POST", "admin/payments/differences/999/settle", user=ADMIN, status=404)

    play_with_stripe(sqlite_hub, story)


def test_reconciliation_waits_for_stripe_and_then_covers_the_whole_time(sqlite_hub):
    async def story(till: Till) -> None:
        await till.later(2 * DAY)
        till.stripe.is_down = True
        await till.later(2 * DAY)
        till.stripe.is_down = False
        await till.pay(100)  # never told
        await till.later(2 * DAY)
        assert till.has() == {"available": 100}
        runs = till.rows(ReconciliationRow)
        assert all(one.until == other.since for one, other in itertools.pairwise(runs))

    play_with_stripe(sqlite_hub, story)


def compare_only_names(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = reconcile.compare

    def loose(*args):
        return [one for one in whole(*args) if one.kind not in ("amount", "currency")]

    monkeypatch.setattr(reconcile, "compare", loose)


def trust_the_ledger(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = reconcile.compare
    monkeypatch.setattr(
        reconcile, "compare", lambda *args: [one for one in whole(*args) if one.kind != "missing_there"]
    )


def trust_the_processor_too_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if a list ended with its first page."""
    listing = StripeProvider.list_movements

    def short(self, since, until):
        return iter(list(listing(self, since, until))[:5])

    monkeypatch.setattr(StripeProvider, "list_movements", short)


MUTANTS = {every_mismatch_is_found: [compare_only_names, trust_the_ledger, trust_the_processor_too_little]}


@pytest.mark.proof
@each_check(MUTANTS)
def test_reconciliation_finds_every_planted_mismatch(sqlite_hub, check):
    check(sqlite_hub)


@pytest.mark.proof
def test_reconciliation_finds_every_planted_mismatch_on_postgresql(postgres_hub):
    every_mismatch_is_found(postgres_hub)


@each_mutant(MUTANTS)
def test_bug_put_in_on_purpose_is_found(sqlite_hub, check, mutant, monkeypatch):
    mutant(monkeypatch)
    with pytest.raises(AssertionError):
        check(sqlite_hub)
