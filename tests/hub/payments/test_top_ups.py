"""Credits for money: on Stripe's page, with a saved card, and what is said when it cannot be done."""

import pytest
from support.engine import ADMIN, play
from support.fake_stripe import paying
from support.till import CAROL, CREDIT, DAVE, Till, add_people, play_with_stripe

from computepool.hub.core.tables import AuditRow
from computepool.hub.payments.tables import RequestRow, TopUpRow


def test_top_up_is_paid_on_stripes_page_and_credited_once(hub_url):
    async def story(till: Till) -> None:
        made = await till.top_up("100.50")
        assert made["state"] == "open"
        assert made["url"].startswith("https://checkout.fake.test/")
        assert made["amount"] == "100.50 INR"
        page = till.stripe.world.all("checkout.session")[0]
        assert page["amount_total"] == 10050
        assert page["success_url"].endswith("/wallet"), "a page of the web app"
        assert till.has() == {}, "nothing was paid yet"
        paying.complete_page(till.stripe.world, page["id"])
        await till.tell()
        assert till.has() == {"available": 100}
        shown = await till.ask("GET", f"wallet/top-ups/{made['id']}")
        assert (shown["state"], shown["url"]) == ("paid", None)
        await till.tell(till.stripe.world.events)
        assert till.has() == {"available": 100}, "told twice, credited once"
        assert [row.action for row in till.rows(AuditRow, action="payment.credited")] == ["payment.credited"]

    play_with_stripe(hub_url, story)


def test_same_request_twice_is_one_top_up(hub_url):
    async def story(till: Till) -> None:
        first, second = [
            await till.pool.call(
                "POST", "wallet/top-ups", {"credits": 5}, headers={"Idempotency-Key": "one"}, user=CAROL
            )
            for _ in range(2)
        ]
        assert first.json()["id"] == second.json()["id"]
        assert len(till.stripe.world.all("checkout.session")) == 1
        other = await till.pool.call(
            "POST", "wallet/top-ups", {"credits": 6}, headers={"Idempotency-Key": "one"}, user=CAROL
        )
        assert other.status_code == 409

    play_with_stripe(hub_url, story)


@pytest.mark.parametrize(
    ("credits", "words"),
    [
        (0, "more than 0"),
        (-5, "below zero"),
        ("-5", "below zero"),
        ("ten", "not an amount"),
        (True, ""),
        ([1], ""),
        ("0.001", "smallest unit of INR"),
        ("0.0000001", "finer than a millionth"),
        (2**63, "more than 1000000000 credits"),
        (1_000_000, "too much for one payment"),
        ("NaN", "not an amount"),
    ],
)
def test_bad_amounts_are_refused_in_words_and_leave_nothing(sqlite_hub, credits, words):
    async def story(till: Till) -> None:
        answer = await till.pool.call("POST", "wallet/top-ups", {"credits": credits}, user=CAROL)
        assert answer.status_code == 422
        assert words in answer.json()["error"]["message"]
        assert till.rows(TopUpRow) == till.rows(RequestRow) == []

    play_with_stripe(sqlite_hub, story)


def test_amount_that_stripe_does_not_take_fails_in_its_words(sqlite_hub):
    async def story(till: Till) -> None:
        made = await till.top_up("0.10")
        assert made["state"] == "failed"
        assert "at least 0.50" in made["message"]

    play_with_stripe(sqlite_hub, story)


def test_credit_may_be_worth_something_else(sqlite_hub):
    async def story(till: Till) -> None:
        payment = await till.pay(3)
        assert till.stripe.world.get("payment_intent", payment)["amount"] == 375
        await till.tell()
        assert till.has() == {"available": 3}

    play_with_stripe(sqlite_hub, story, currency="usd", credit_value="1.25")


def test_saved_card_pays_at_once(hub_url):
    async def story(till: Till) -> None:
        answer = await till.pool.call("POST", "wallet/top-ups", {"credits": 50, "card": "saved"}, user=CAROL)
        assert answer.json()["error"]["code"] == "no_saved_card"
        await till.save_card()
        shown = await till.ask("GET", "wallet/payments")
        assert shown["card"] == "visa ending in 4242"
        made = await till.top_up(50, card="saved")
        assert made["state"] == "paid"
        assert till.has() == {"available": 50}
        await till.tell()
        assert till.has() == {"available": 50}
        await till.ask("DELETE", "wallet/card", status=204)
        assert (await till.ask("GET", "wallet/payments"))["card"] is None

    play_with_stripe(hub_url, story)


def test_card_is_saved_with_a_payment_if_the_person_wants_that(sqlite_hub):
    async def story(till: Till) -> None:
        await till.pay(10)
        await till.tell()
        assert (await till.ask("GET", "wallet/payments"))["card"] is None
        await till.pay(10, save_card=True)
        await till.tell()
        assert (await till.ask("GET", "wallet/payments"))["card"] == "visa ending in 4242"

    play_with_stripe(sqlite_hub, story)


def test_card_that_is_declined_fails_in_words(sqlite_hub):
    async def story(till: Till) -> None:
        await till.save_card(paying.DECLINED)
        made = await till.top_up(50, card="saved")
        assert made["state"] == "failed"
        assert "Your card was declined." in made["message"]
        assert till.has() == {}

    play_with_stripe(sqlite_hub, story)


def test_card_that_needs_its_bank_gives_the_address_to_confirm(hub_url):
    async def story(till: Till) -> None:
        await till.save_card(paying.NEEDS_BANK)
        made = await till.top_up(50, card="saved")
        assert made["state"] == "requires_action"
        assert made["url"].startswith("https://hooks.fake.test/3d_secure/")
        await till.tell()
        assert till.has() == {}
        paying.pass_bank(till.stripe.world, till.stripe.world.all("payment_intent")[-1]["id"])
        await till.tell()
        assert till.has() == {"available": 50}
        failed = await till.top_up(50, card="saved")
        paying.pass_bank(till.stripe.world, till.stripe.world.all("payment_intent")[-1]["id"], ok=False)
        await till.tell()
        shown = await till.ask("GET", f"wallet/top-ups/{failed['id']}")
        assert shown["state"] == "failed"
        assert till.has() == {"available": 50}

    play_with_stripe(hub_url, story)


def test_page_that_nobody_paid_on_expires(sqlite_hub):
    async def story(till: Till) -> None:
        made = await till.top_up(50)
        paying.expire_page(till.stripe.world, till.stripe.world.all("checkout.session")[0]["id"])
        await till.tell()
        shown = await till.ask("GET", f"wallet/top-ups/{made['id']}")
        assert (shown["state"], shown["url"]) == ("expired", None)

    play_with_stripe(sqlite_hub, story)


def test_top_ups_are_their_owners_alone(sqlite_hub):
    async def story(till: Till) -> None:
        made = await till.top_up(50)
        await till.ask("GET", f"wallet/top-ups/{made['id']}", user=DAVE, status=404)
        assert (await till.ask("GET", "wallet/top-ups", user=DAVE))["items"] == []
        assert [one["id"] for one in (await till.ask("GET", "wallet/top-ups"))["items"]] == [made["id"]]
        await till.top_up(50, owner_id=DAVE, status=403)

    play_with_stripe(sqlite_hub, story)


def test_without_a_processor_the_api_says_whom_to_ask_and_an_operator_grants(hub_url):
    async def story(pool) -> None:
        await pool.db.run(add_people, pool.clock.now())
        answer = await pool.call("POST", "wallet/top-ups", {"credits": 100}, user=CAROL)
        assert answer.status_code == 409
        error = answer.json()["error"]
        assert error["code"] == "no_payment_processor"
        assert f"computepool admin grant {CAROL} 100 --note WHY" in error["message"]
        shown = (await pool.call("GET", "wallet/payments", user=CAROL)).json()
        assert shown["provider"] == "manual"
        assert shown["payout_account"]["state"] == "by_hand"
        hook = await pool.call("POST", "payments/stripe/webhook", {"id": "evt_1"}, user=None)
        assert hook.status_code == 404
        asked = {"user": CAROL, "credits": "100", "note": "paid in cash"}
        assert (await pool.call("POST", "admin/grants", asked)).status_code == 403
        made = await pool.call("POST", "admin/grants", asked, user=ADMIN, headers={"Idempotency-Key": "g1"})
        assert made.status_code == 201
        assert made.json()["available_micros"] == 100 * CREDIT
        again = await pool.call("POST", "admin/grants", asked, user=ADMIN, headers={"Idempotency-Key": "g1"})
        assert again.json() == made.json(), "the same grant, once"
        back = await pool.call("POST", "admin/withdrawals", asked | {"credits": 30}, user=ADMIN)
        assert back.json()["available_micros"] == 70 * CREDIT
        more = await pool.call("POST", "admin/withdrawals", asked | {"credits": 71}, user=ADMIN)
        assert more.json()["error"]["code"] == "insufficient_credits"
        present = await pool.call("POST", "admin/grants", asked | {"promotional": True}, user=ADMIN)
        assert present.json()["promotional_micros"] == 100 * CREDIT
        for wrong in ({"credits": 0}, {"user": "user_nobody"}, {"user": "owner_platform"}, {"note": ""}):
            refused = await pool.call("POST", "admin/grants", asked | wrong, user=ADMIN)
            assert refused.status_code in (404, 422), wrong
        actions = [row.action for row in pool.rows(AuditRow) if row.action.startswith("credits.")]
        assert actions == ["credits.granted", "credits.withdrawn", "credits.granted"]

    play(hub_url, story)


def test_pool_without_money_has_no_top_ups(sqlite_hub):
    async def story(pool) -> None:
        calls = [
            ("POST", "wallet/top-ups", {"credits": 5}),
            ("GET", "wallet/top-ups", None),
            ("GET", "wallet/payments", None),
            ("POST", "wallet/card", None),
            ("PUT", "wallet/plan", {"plan": "none"}),
            ("POST", "wallet/payout-account", {}),
            ("POST", "admin/grants", {"user": CAROL, "credits": 5, "note": "x"}),
        ]
        for method, path, body in calls:
            answer = await pool.call(method, path, body, user=ADMIN)
            assert (answer.status_code, answer.json()["error"]["code"]) == (404, "money_off"), path

    play(sqlite_hub, story, settings={"money": "off"})
