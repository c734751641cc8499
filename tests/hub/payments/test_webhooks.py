"""What Stripe tells: really Stripe's, kept first, applied once and in any order (promise 16)."""

import itertools
import random
from datetime import timedelta
from typing import Any

import pytest
from support.engine import ADMIN
from support.fake_stripe import hosting, paying
from support.fake_stripe.webhooks import SECRET, signed, twice_and_shuffled
from support.planted import each_check, each_mutant
from support.proofs import proving
from support.till import CAROL, DAVE, Till, play_with_stripe

from computepool.hub.ledger.accounts import Kind
from computepool.hub.payments import moving
from computepool.hub.payments.tables import EventRow, MovementRow


async def post(till: Till, body: bytes, headers: dict) -> tuple[int, str]:
    answer = await till.pool.client.post("payments/stripe/webhook", content=body, headers=headers)
    return answer.status_code, answer.json().get("error", {}).get("code", "")


def test_a_strangers_message_is_refused_and_not_kept(hub_url):
    async def story(till: Till) -> None:
        await till.pay(100)
        event, now = till.stripe.world.events[-1], till.pool.clock.now()
        body, headers = signed(event, now)
        mark = headers["Stripe-Signature"]
        for wrong in (
            {},
            {"Stripe-Signature": ""},
            {"Stripe-Signature": "nonsense"},
            {"Stripe-Signature": f"t=,{mark.split(',')[1]}"},
            {"Stripe-Signature": f"t={'9' * 40},v1=0"},
            {"Stripe-Signature": mark.replace("v1=", "v0=")},
            signed(event, now, "whsec_stranger")[1],
            signed(event, now - timedelta(seconds=301))[1],
            signed(event, now + timedelta(seconds=301))[1],
        ):
            assert await post(till, body, wrong) == (403, "bad_signature")
        assert await post(till, body.replace(b"complete", b"completa"), headers) == (403, "bad_signature")
        assert till.rows(EventRow) == []
        assert await post(till, body, signed(event, now - timedelta(seconds=299))[1]) == (200, "")

    play_with_stripe(hub_url, story)


def test_each_of_several_secrets_counts(sqlite_hub):
    async def story(till: Till) -> None:
        await till.pay(100)
        await till.hear(till.stripe.world.events[0], secret="whsec_connect")
        await till.hear(till.stripe.world.events[1])

    play_with_stripe(sqlite_hub, story, stripe_webhook_secret=f"whsec_connect, {SECRET}")


def test_body_that_is_no_event_is_refused_in_words(sqlite_hub):
    async def story(till: Till) -> None:
        wrong: list[Any] = [[], {}, {"id": 5, "type": "x"}, {"id": "x" * 200, "type": "x"}, "text"]
        for body in wrong:
            await till.hear(body, status=422)

    play_with_stripe(sqlite_hub, story)


def test_message_about_something_unknown_is_kept_and_can_be_replayed(hub_url):
    async def story(till: Till) -> None:
        world = till.stripe.world
        foreign = paying.create_intent(world, {"amount": "5000", "currency": "inr"})
        paying.succeed(world, foreign)
        ours = await till.pay(100)
        notes = world.get("payment_intent", ours)["metadata"]
        hub, notes["computepool_hub"] = notes["computepool_hub"], "hub_other"
        await till.tell()
        assert till.has() == {}, "neither was asked for by this hub"
        kept = await till.ask("GET", "admin/payments/events?state=unknown", user=ADMIN)
        assert {one["about"] for one in kept["items"]} >= {foreign["id"], ours}
        notes["computepool_hub"] = hub
        event = next(one for one in kept["items"] if one["about"] == ours)
        await till.ask("POST", f"admin/payments/events/{event['id']}/replay", user=ADMIN)
        await till.payments.work()
        assert till.has() == {"available": 100}
        await till.ask("POST", f"admin/payments/events/{event['id']}/replay", user=ADMIN)
        await till.payments.work()
        assert till.has() == {"available": 100}
        await till.ask("POST", "admin/payments/events/evt_none/replay", user=ADMIN, status=404)
        await till.ask("POST", f"admin/payments/events/{event['id']}/replay", status=403)

    play_with_stripe(hub_url, story)


def test_message_of_the_other_mode_or_of_another_kind_moves_nothing(sqlite_hub):
    async def story(till: Till) -> None:
        await till.pay(100)
        await till.tell([event | {"livemode": True} for event in till.stripe.world.events])
        assert till.has() == {}
        assert {row.state for row in till.rows(EventRow)} == {"ignored"}
        await till.tell([{"id": "evt_x", "type": "customer.created", "data": {"object": {"id": "cus_1"}}}])
        assert till.has() == {}

    play_with_stripe(sqlite_hub, story)


def test_payloads_are_kept_without_what_is_personal(sqlite_hub):
    async def story(till: Till) -> None:
        await till.pay(100)
        event = till.stripe.world.events[-1]
        event["data"]["object"]["customer_details"] = {"email": "carol@example.org"}
        await till.tell()
        assert "carol@example.org" not in str([row.payload for row in till.rows(EventRow)])

    play_with_stripe(sqlite_hub, story)


def test_payment_is_credited_even_if_the_hub_forgot_the_top_up(sqlite_hub):
    """A hub that was restored from yesterday's backup."""

    async def story(till: Till) -> None:
        payment = await till.pay(100)
        till.stripe.world.get("payment_intent", payment)["metadata"]["computepool_request"] = "top-up/topup_forgotten"
        await till.tell(till.stripe.world.events[-2:-1])
        assert till.has() == {"available": 100}

    play_with_stripe(sqlite_hub, story)


# ── refunds and chargebacks from the processor ───────────────────────────────────────────────────────────────────────


def test_refund_made_at_stripe_takes_the_credits_back(hub_url):
    async def story(till: Till) -> None:
        payment = await till.pay(100)
        await till.tell()
        refund = paying.create_refund(till.stripe.world, {"payment_intent": payment, "amount": "3000"})
        await till.tell()
        assert till.has() == {"available": 70}
        paying.fail_refund(till.stripe.world, refund["id"])
        await till.tell()
        assert till.has() == {"available": 100}

    play_with_stripe(hub_url, story)


def test_chargeback_takes_what_is_there_and_the_rest_is_owed(hub_url):
    async def story(till: Till) -> None:
        heard = []
        till.payments.hooks.on_chargeback = lambda session, told, now: heard.append((told.state, told.micros))
        payment = await till.pay(100)
        await till.tell()
        till.spend(CAROL, 70, "spent")
        till.give(CAROL, Kind.EARNINGS, 20, "earned")
        till.give(CAROL, Kind.PROMOTIONAL, 5, "present")
        dispute = paying.open_dispute(till.stripe.world, payment)
        await till.tell()
        assert till.has() == {"promotional": 5, "debt": -50}, "a present is nobody's money"
        await till.pay(60)
        await till.tell()
        assert till.has() == {"promotional": 5, "available": 10}, "whoever owes pays that first"
        paying.end_dispute(till.stripe.world, dispute["id"], won=True)
        await till.tell()
        assert till.has() == {"promotional": 5, "available": 90, "earnings": 20}
        await till.tell(till.stripe.world.events)
        assert till.has() == {"promotional": 5, "available": 90, "earnings": 20}
        assert heard == [("opened", 100_000_000), ("won", 100_000_000)]
        lost = paying.open_dispute(till.stripe.world, till.stripe.world.all("payment_intent")[-1]["id"])
        paying.end_dispute(till.stripe.world, lost["id"], won=False)
        await till.tell()
        await till.tell(till.stripe.world.events)
        assert [state for state, _ in heard] == ["opened", "won", "opened", "lost"]
        assert till.has() == {"promotional": 5, "available": 30, "earnings": 20}

    play_with_stripe(hub_url, story)


def test_operator_sends_unspent_credits_back_to_the_card(hub_url):
    async def story(till: Till) -> None:
        await till.pay(100)
        await till.tell()
        top_up = (await till.ask("GET", "wallet/top-ups"))["items"][0]["id"]
        asked = {"credits": 40, "note": "changed their mind"}
        path = f"admin/top-ups/{top_up}/refund"
        await till.ask("POST", path, asked, status=403)
        made = await till.ask("POST", path, asked, user=ADMIN, status=201)
        assert made["state"] == "done"
        assert till.has() == {"available": 60}
        await till.tell()
        assert till.has() == {"available": 60}, "the message tells the same once more"
        too_much = await till.ask("POST", path, asked | {"credits": 61}, user=ADMIN, status=409)
        assert too_much["error"]["code"] == "insufficient_credits"
        till.give(CAROL, Kind.AVAILABLE, 40, "elsewhere")
        refused = await till.ask("POST", path, asked | {"credits": 61}, user=ADMIN, status=201)
        assert refused["state"] == "refused"
        assert "greater than unrefunded amount" in refused["message"]
        assert till.has() == {"available": 100}, "what could not be sent is there again"

    play_with_stripe(hub_url, story)


# ── promise 16 ───────────────────────────────────────────────────────────────────────────────────────────────────────


def histories(till: Till, payment: str) -> None:
    """A payment's whole life at Stripe, which it tells in six messages."""
    world = till.stripe.world
    paying.create_refund(world, {"payment_intent": payment, "amount": "3000"})
    refund = paying.create_refund(world, {"payment_intent": payment, "amount": "2000"})
    paying.fail_refund(world, refund["id"])
    paying.end_dispute(world, paying.open_dispute(world, payment)["id"], won=True)


INTERESTING = (
    "checkout.session.completed",
    "payment_intent.succeeded",
    "charge.refunded",
    "refund.failed",
    "charge.dispute.funds_withdrawn",
    "charge.dispute.funds_reinstated",
)


def six_of(events: list[dict]) -> list[dict]:
    first = {event["type"]: event for event in reversed(events)}
    return [first[kind] for kind in INTERESTING]


def any_order_gives_the_same_ledger(url: str) -> None:
    """All orders of up to six messages, each told twice. Every order has a payment of its own."""

    async def story(till: Till) -> None:
        orders = [order for n in range(1, 7) for order in itertools.permutations(range(6), n)]
        if not proving():
            orders = [*random.Random(16).sample(orders, 6), tuple(range(6)), tuple(reversed(range(6)))]
        expected = 0
        for order in orders:
            before = len(till.stripe.world.events)
            payment = await till.pay(100)
            histories(till, payment)
            events = six_of(till.stripe.world.events[before:])
            for number in (*order, *reversed(order)):
                await till.tell([events[number]])
            expected += 70
            assert till.has(whole=False) == {"available": expected}, order
            assert len(till.rows(MovementRow, subject_id=payment)) == 5 or len(order) < 6, order
            till.forget()
        assert till.has() == {"available": expected}

    play_with_stripe(url, story)


def any_moment_gives_the_same_ledger(url: str) -> None:
    """Messages arrive while the history goes on, twice and shuffled, and Stripe is away now and then."""

    async def story(till: Till) -> None:
        world, chance = till.stripe.world, random.Random(160)
        for turn in range(1, 4 if not proving() else 60):
            before = len(world.events)
            payment = await till.pay(100)
            refund = dispute = {}
            for step in range(5):
                if step == 1:
                    refund = paying.create_refund(world, {"payment_intent": payment, "amount": "3000"})
                if step == 2:
                    dispute = paying.open_dispute(world, payment)
                if step == 3:
                    paying.fail_refund(world, refund["id"])
                if step == 4:
                    paying.end_dispute(world, dispute["id"], won=True)
                till.stripe.is_down = chance.random() < 0.3
                some = chance.sample(world.events[before:], chance.randrange(len(world.events) - before))
                await till.tell(twice_and_shuffled(some, chance))
                till.stripe.is_down = False
            await till.tell(twice_and_shuffled(world.events[before:], chance))
            await till.later(300)
            assert till.has() == {"available": 100 * turn}

    play_with_stripe(url, story)


def credit_each_message(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if every message were money."""
    number = itertools.count()
    credit = moving.credit

    def again(session, key, *rest, **details):
        credit(session, f"{key}/{next(number)}", *rest, **details)

    monkeypatch.setattr(moving, "is_new", lambda *_: True)
    monkeypatch.setattr(moving, "credit", again)


def forget_failed_refunds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moving, "give_back", lambda *_, **__: None)


MUTANTS = {
    any_order_gives_the_same_ledger: [credit_each_message, forget_failed_refunds],
    any_moment_gives_the_same_ledger: [credit_each_message],
}


@pytest.mark.proof
@pytest.mark.timeout(3600)
@each_check(MUTANTS)
def test_webhooks_are_applied_once_and_in_any_order(sqlite_hub, check):
    check(sqlite_hub)


def test_webhooks_are_applied_once_and_in_any_order_on_postgresql(postgres_hub):
    any_moment_gives_the_same_ledger(postgres_hub)


@each_mutant(MUTANTS)
def test_bug_put_in_on_purpose_is_found(sqlite_hub, check, mutant, monkeypatch):
    mutant(monkeypatch)
    with pytest.raises(AssertionError):
        check(sqlite_hub)


# ── hosts' accounts ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_host_says_where_money_goes_on_stripes_pages(hub_url):
    async def story(till: Till) -> None:
        shown = await till.ask("GET", "wallet/payout-account", user=DAVE)
        assert shown["state"] == "none"
        begun = await till.ask("POST", "wallet/payout-account", {"country": "IN"}, user=DAVE)
        assert begun["state"] == "incomplete"
        assert begun["url"].startswith("https://connect.fake.test/setup/acct_")
        again = await till.ask("POST", "wallet/payout-account", {"country": "IN"}, user=DAVE)
        assert again["url"] != begun["url"], "a link is good once"
        (account,) = till.stripe.world.all("account")
        assert (account["type"], account["country"]) == ("express", "IN")
        hosting.onboard(till.stripe.world, account["id"], is_ready=False)
        await till.tell()
        assert (await till.ask("GET", "wallet/payout-account", user=DAVE))["state"] == "checking"
        hosting.onboard(till.stripe.world, account["id"])
        await till.tell()
        assert (await till.ask("GET", "wallet/payout-account", user=DAVE))["state"] == "ready"
        hosting.close_account(till.stripe.world, account["id"])
        await till.tell()
        assert (await till.ask("GET", "wallet/payout-account", user=DAVE))["state"] == "gone"
        anew = await till.ask("POST", "wallet/payout-account", {"country": "IN"}, user=DAVE)
        assert anew["state"] == "incomplete"
        assert len(till.stripe.world.all("account")) == 1
        await till.ask("POST", "wallet/payout-account", {"country": "IN"}, user=DAVE)
        assert len(till.stripe.world.all("account")) == 1

    play_with_stripe(hub_url, story)
