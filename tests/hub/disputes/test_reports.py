"""What operators read of their pool: all money that came and went is in it, and each kind under its own name."""

from datetime import timedelta

from sqlalchemy.orm import Session
from support.engine import ADMIN
from support.fake_stripe import paying
from support.till import CAROL, CREDIT, DAVE, Till, play_with_stripe

from computepool.hub.ledger.accounts import Kind, Platform, platform
from computepool.hub.ledger.journal import balance

BEFORE = 3_000_000
"""What the people of every such pool have been granted."""
MONEY = ("paid_in", "paid_out", "withdrawn", "returned")


async def reported(till: Till) -> dict[str, int]:
    today = till.pool.clock.now().date()
    path = f"admin/reports?since={today - timedelta(days=3)}&until={today + timedelta(days=1)}"
    totals = (await till.ask("GET", path, user=ADMIN))["totals"]
    return {name: totals[f"{name}_micros"] // CREDIT - (BEFORE if name == "paid_in" else 0) for name in MONEY}


async def by_hand(till: Till, route: str, credits: int, **more: object) -> None:
    asked = {"user": CAROL, "credits": credits, "note": "in cash", **more}
    await till.ask("POST", f"admin/{route}", asked, user=ADMIN, status=201)


def outside(till: Till) -> int:
    """What the ledger knows of money outside: what was paid out, less what was paid in."""
    with Session(till.pool.db.engine) as session:
        return balance(session, platform(Platform.CLEARING)) // CREDIT + BEFORE


def test_all_money_that_came_and_went_is_reported_under_its_own_name(hub_url):
    async def story(till: Till) -> None:
        world = till.stripe.world
        payment = await till.pay(100)
        await till.tell()
        await by_hand(till, "grants", 50)
        await by_hand(till, "grants", 7, promotional=True)
        assert await reported(till) == {"paid_in": 150, "paid_out": 0, "withdrawn": 0, "returned": 0}
        await by_hand(till, "withdrawals", 20)
        await by_hand(till, "withdrawals", 7, promotional=True)
        assert (await reported(till))["withdrawn"] == 20, "a present that is taken back is no money"
        refund = paying.create_refund(world, {"payment_intent": payment, "amount": "3000"})
        await till.tell()
        assert (await reported(till))["returned"] == 30
        paying.fail_refund(world, refund["id"])
        await till.tell()
        assert (await reported(till))["returned"] == 0
        disputed = paying.open_dispute(world, payment)
        await till.tell()
        assert await reported(till) == {"paid_in": 150, "paid_out": 0, "withdrawn": 20, "returned": 100}
        assert outside(till) == 20 + 100 - 150
        paying.end_dispute(world, disputed["id"], won=True)
        await till.tell()
        assert (await reported(till))["returned"] == 0

    play_with_stripe(hub_url, story)


def test_what_was_taken_back_of_a_cash_out_was_not_paid_out(sqlite_hub):
    async def story(till: Till) -> None:
        till.give(DAVE, Kind.EARNINGS, 600, "earned")
        till.stripe.world.add_funds(10**9)
        await till.onboard(DAVE)
        made = await till.ask("POST", "wallet/cash-outs", {"credits": 600}, user=DAVE, status=201)
        await till.ask("POST", f"admin/cash-outs/{made['id']}/approve", {}, user=ADMIN)
        assert (await reported(till))["paid_out"] == 600
        path = f"admin/cash-outs/{made['id']}/reverse"
        await till.ask("POST", path, {"credits": 200, "note": "a dispute"}, user=ADMIN, status=201)
        assert await reported(till) == {"paid_in": 0, "paid_out": 400, "withdrawn": 0, "returned": 0}
        assert outside(till) == 400

    play_with_stripe(sqlite_hub, story)
