"""Stripe is away for an hour: nothing is lost, everything is done later, and people are told."""

import pytest
from support.engine import ADMIN
from support.fake_stripe import paying
from support.fake_stripe.server import KEY
from support.scripted_agent import add_agent
from support.till import CAROL, DAVE, Till, play_with_stripe

from computepool.hub.payments import plans
from computepool.hub.payments.outgoing import LONGEST_WAIT, wait_after
from computepool.hub.payments.states import NEXT, TopUpState
from computepool.hub.payments.tables import EventRow, RequestRow


def test_hour_without_stripe_loses_nothing(hub_url):
    async def story(till: Till) -> None:
        till.keep_results()
        till.stripe.world.add_funds(10_000_00)
        await till.save_card()
        await till.onboard(DAVE)
        await till.pay(100)
        till.stripe.is_down = True
        await till.tell()
        pending = await till.top_up(30)
        assert (pending["state"], pending["url"]) == ("pending", None)
        assert "tries again automatically" in pending["message"]
        charged = await till.top_up(20, card="saved")
        assert charged["state"] == "pending"
        await till.pay_out("cashout_1", DAVE, 500)
        account = await till.ask("POST", "wallet/payout-account", {}, status=200)
        assert account["state"] == "pending"
        await till.later(3600)
        assert till.has() == {}
        assert till.paid == []
        waiting = await till.ask("GET", "admin/payments/requests?state=waiting", user=ADMIN)
        assert {one["kind"] for one in waiting["items"]} == {"checkout", "charge", "pay_out", "account"}
        assert all("no connection" in one["message"] for one in waiting["items"])
        till.stripe.is_down = False
        await till.later(LONGEST_WAIT.total_seconds() + 30)
        assert till.has() == {"available": 120}, "what was paid before, and what the saved card pays"
        assert [result.state for result in till.paid] == ["paid"]
        shown = await till.ask("GET", f"wallet/top-ups/{pending['id']}")
        assert shown["state"] == "open"
        assert shown["url"].startswith("https://checkout.fake.test/")
        assert till.rows(RequestRow, state="waiting") == till.rows(EventRow, state="received") == []
        assert len(till.stripe.world.all("payment_intent")) == 2, "nothing was charged twice"

    play_with_stripe(hub_url, story)


def test_hub_that_was_killed_goes_on_where_it_was(hub_url):
    async def story(till: Till) -> None:
        await till.save_card()
        till.stripe.next_faults = ["lost"]
        assert (await till.top_up(20, card="saved"))["state"] == "pending"
        await till.pool.restart(down_seconds=60)
        await till.later(60)
        assert till.has() == {"available": 20}
        assert len(till.stripe.world.all("payment_intent")) == 1

    play_with_stripe(hub_url, story)


@pytest.mark.parametrize("fault", ["unsent", "lost", "broken_before", "broken_after", "busy"])
def test_charge_is_made_once_whatever_goes_wrong(sqlite_hub, fault):
    async def story(till: Till) -> None:
        await till.save_card()
        till.stripe.next_faults = [fault]
        await till.top_up(20, card="saved")
        await till.later(2 * 3600, steps=8)
        assert till.stripe.fired[fault] == 1
        assert till.has() == {"available": 20}
        assert len(till.stripe.world.all("payment_intent")) == 1

    play_with_stripe(sqlite_hub, story)


def test_key_that_stripe_does_not_accept_loses_nothing(sqlite_hub, monkeypatch):
    async def story(till: Till) -> None:
        monkeypatch.setattr("support.fake_stripe.server.KEY", "sk_test_rolled")
        made = await till.top_up(20)
        assert made["state"] == "pending"
        (request,) = till.rows(RequestRow)
        assert "does not accept the hub's key" in request.words
        monkeypatch.setattr("support.fake_stripe.server.KEY", KEY)
        await till.later(60)
        assert (await till.ask("GET", f"wallet/top-ups/{made['id']}"))["state"] == "open"

    play_with_stripe(sqlite_hub, story)


def test_waits_grow_and_are_bounded():
    waits = [wait_after(tries).total_seconds() for tries in range(1, 40)]
    assert waits == sorted(waits)
    assert waits[0] == 10
    assert waits[-1] == LONGEST_WAIT.total_seconds()


def test_paid_is_the_end_of_a_top_up_and_can_follow_anything():
    assert NEXT[TopUpState.PAID] == frozenset()
    assert all(TopUpState.PAID in targets for state, targets in NEXT.items() if state is not TopUpState.PAID)
    assert set(NEXT) == set(TopUpState)


# ── charges that nobody asks for each time ───────────────────────────────────────────────────────────────────────────

PLAN = {"plan": "automatic", "below": 50, "amount": 100, "monthly": 250}


def test_saved_card_is_charged_below_the_threshold_and_never_above_the_monthly_limit(hub_url):
    async def story(till: Till) -> None:
        answer = await till.ask("PUT", "wallet/plan", PLAN, status=409)
        assert answer["error"]["code"] == "no_saved_card"
        await till.save_card()
        await till.ask("PUT", "wallet/plan", PLAN)
        await till.later(60)
        assert till.has() == {"available": 100}
        till.spend(CAROL, 40, "one")
        await till.later(60)
        assert till.has() == {"available": 60}, "not below yet"
        till.spend(CAROL, 40, "two")
        await till.later(60)
        assert till.has() == {"available": 120}
        till.spend(CAROL, 100, "three")
        await till.later(60)
        assert till.has() == {"available": 20}
        shown = await till.ask("GET", "wallet/payments")
        assert "monthly limit of 250 credits is used up" in shown["plan"]["stopped"]
        for wrong in (PLAN | {"monthly": 99}, PLAN | {"below": 0}, PLAN | {"amount": "0.001"}):
            await till.ask("PUT", "wallet/plan", wrong, status=422)
        await till.ask("PUT", "wallet/plan", {"plan": "none"})
        await till.later(60)
        assert till.has() == {"available": 20}

    play_with_stripe(hub_url, story)


def test_card_that_was_declined_is_not_tried_again_and_again(sqlite_hub):
    async def story(till: Till) -> None:
        await till.save_card(paying.DECLINED)
        await till.ask("PUT", "wallet/plan", PLAN)
        await till.later(3600)
        assert len(till.stripe.world.all("payment_intent")) == 1
        shown = await till.ask("GET", "wallet/payments")
        assert shown["plan"]["stopped"] == "Your card was declined."
        await till.save_card()
        await till.later(60)
        assert till.has() == {"available": 100}, "another card, another try"

    play_with_stripe(sqlite_hub, story)


def test_bank_that_wants_to_be_asked_gets_its_person(hub_url):
    """Nobody is there: the charge fails, and is made anew as one that somebody confirms."""

    async def story(till: Till) -> None:
        await till.save_card(paying.NEEDS_BANK)
        await till.ask("PUT", "wallet/plan", PLAN)
        await till.later(60)
        (top_up,) = (await till.ask("GET", "wallet/top-ups"))["items"]
        assert (top_up["state"], top_up["way"]) == ("requires_action", "automatic")
        assert top_up["url"].startswith("https://hooks.fake.test/3d_secure/")
        await till.later(3600)
        (intent,) = till.stripe.world.all("payment_intent")
        paying.pass_bank(till.stripe.world, intent["id"])
        await till.tell()
        assert till.has() == {"available": 100}

    play_with_stripe(hub_url, story)


def test_whoever_pays_by_the_job_is_charged_what_its_slices_lack(hub_url):
    """A real job on a stranger's machine: it waits, the card is charged, it begins."""

    async def story(till: Till) -> None:
        await add_agent(till.pool, owner=DAVE, name="alpha")
        await till.save_card()
        job_id = await till.pool.submit(user=CAROL, max_price=10, max_runtime="1h")
        await till.later(60)
        assert (await till.pool.job(job_id, user=CAROL)).state == "queued"
        assert till.stripe.world.all("payment_intent") == [], "nobody said that the card may be charged"
        await till.ask("PUT", "wallet/plan", {"plan": "per_job", "monthly": 100})
        lacking = till.pool.engine.lacking(CAROL)
        assert lacking.least_micros == lacking.most_micros > 0
        await till.later(60)
        (intent,) = till.stripe.world.all("payment_intent")
        assert intent["amount"] == till.payments.units.minor_of(till.payments.units.rounded_up(lacking.most_micros))
        await till.pool.settle()
        assert (await till.pool.job(job_id, user=CAROL)).state != "queued" or "held" in till.has()
        assert till.pool.engine.lacking(CAROL).least_micros == 0
        await till.later(60)
        assert len(till.stripe.world.all("payment_intent")) == 1

    play_with_stripe(hub_url, story)


def test_charge_for_a_job_is_in_whole_coins_and_within_the_month(sqlite_hub):
    async def story(till: Till) -> None:
        await till.save_card()
        await till.ask("PUT", "wallet/plan", {"plan": "per_job", "monthly": 20})
        context, units = till.pool.engine.context, till.payments.units

        async def cover(least: int, most: int) -> int | None:
            row = await till.pool.db.run(plans.cover, context, units, CAROL, plans.Lacking(least, most), "https://x")
            await till.payments.work()
            return None if row is None else row.params["minor"]

        assert await cover(7_300_001, 7_300_001) == 731, "no less than what lacks"
        assert await cover(5_000_000, 15_000_000) == 500, "there is no room for all of them"
        assert await cover(8_000_000, 8_000_000) is None
        assert "monthly limit of 20 credits" in (await till.ask("GET", "wallet/payments"))["plan"]["stopped"]

    play_with_stripe(sqlite_hub, story)
