"""What the processor paid a host is taken back: asked for by an operator, and credited once it is there."""

from typing import Any

from sqlalchemy.orm import Session
from support.engine import ADMIN
from support.fake_stripe import hosting
from support.till import CAROL, CREDIT, DAVE, Till, play_with_stripe

from computepool.hub.core.tables import AuditRow, OutboxRow
from computepool.hub.ledger.accounts import Kind, Platform, account, platform
from computepool.hub.ledger.entries import Entry, Posting
from computepool.hub.ledger.journal import balance, post
from computepool.hub.payments.cash_out_rows import CashOutRow
from computepool.hub.payments.tables import RequestRow


async def paid(till: Till, credits: int = 600) -> str:
    """A cash-out that Stripe has paid; its id."""
    till.give(DAVE, Kind.EARNINGS, credits, f"earned {till.pool.clock.now()}")
    till.stripe.world.add_funds(10**9)
    await till.onboard(DAVE)
    made = await till.ask("POST", "wallet/cash-outs", {"credits": credits}, user=DAVE, status=201)
    await till.ask("POST", f"admin/cash-outs/{made['id']}/approve", {}, user=ADMIN)
    name: str = made["id"]
    return name


async def reverse(till: Till, name: str, credits: object = None, *, status: int = 201, key: str = "") -> Any:
    body, headers = {"credits": credits, "note": "the dispute"}, {"Idempotency-Key": key} if key else {}
    path = f"admin/cash-outs/{name}/reverse"
    answer = await till.pool.call("POST", path, body, user=ADMIN, headers=headers)
    assert answer.status_code == status, answer.text
    return answer.json()


def owe(till: Till, credits: int) -> None:
    """A dispute's refund after the host was paid: the renter has it, the host owes it."""
    with Session(till.pool.db.engine) as session, session.begin():
        owes = Posting(account(DAVE, Kind.DEBT), account(CAROL, Kind.AVAILABLE), credits * CREDIT)
        post(session, Entry("owes", "test", (owes,)), till.pool.clock.now())


def clearing(till: Till) -> int:
    with Session(till.pool.db.engine) as session:
        return balance(session, platform(Platform.CLEARING)) // CREDIT


def test_what_is_taken_back_fills_debts_first(hub_url):
    async def story(till: Till) -> None:
        name = await paid(till)
        owe(till, 250)
        before = clearing(till)
        done = await reverse(till, name, 200)
        assert (done["state"], done["credits"], done["cash_out_id"]) == ("done", "200", name)
        assert till.has(DAVE) == {"debt": -50}
        rest = await reverse(till, name)
        assert (rest["state"], rest["credits"]) == ("done", "400")
        await till.tell()  # Stripe tells of both once more, and that is all it is
        assert till.has(DAVE) == {"earnings": 350}
        assert before - clearing(till) == 600
        (transfer,) = till.stripe.world.all("transfer")
        assert transfer["amount_reversed"] == 600_00
        shown = await till.ask("GET", f"wallet/cash-outs/{name}", user=DAVE)
        assert (shown["state"], shown["returned_micros"]) == ("paid", 600 * CREDIT)
        refused = await reverse(till, name, status=409)
        assert (refused["error"]["code"], "0 credits" in refused["error"]["message"]) == ("nothing_left", True)

    play_with_stripe(hub_url, story)


def test_what_is_taken_back_goes_to_the_pool_that_bore_the_debt(hub_url):
    async def story(till: Till) -> None:
        name = await paid(till)
        owe(till, 250)
        body = {"user": DAVE, "note": "gone"}
        await till.ask("POST", "admin/ledger/write-offs", body, user=ADMIN, status=201)
        assert till.has(DAVE) == {}
        await reverse(till, name, 200)
        assert till.has(DAVE) == {}
        await reverse(till, name)
        await till.tell()
        assert till.has(DAVE) == {"earnings": 350}, "as if it had still been owed"

    play_with_stripe(hub_url, story)


def test_each_is_recorded_and_the_host_reads_why(sqlite_hub):
    async def story(till: Till) -> None:
        name = await paid(till)
        with till.pool.db.held("write_mails"):  # which takes the notices
            await reverse(till, name, 200)
            notices = [row.payload for row in till.rows(OutboxRow) if row.topic == f"mail/{DAVE}"]
        (asked,) = till.rows(AuditRow, action="cash_out.reversal_asked")
        assert (asked.actor, asked.subject, asked.details["note"]) == (ADMIN, name, "the dispute")
        (told,) = [one for one in notices if one["action"] == "cash_out.returned"]
        assert (told["returned_micros"], told["note"]) == (200 * CREDIT, "the dispute")
        (shown,) = (await till.ask("GET", "wallet/cash-outs", user=DAVE))["items"]
        assert (shown["returned_micros"], shown["note"]) == (200 * CREDIT, "the dispute")
        (entry,) = (await till.ask("GET", "wallet/entries?kind=cash_out_returned", user=DAVE))["items"]
        assert entry["note"] == "the dispute"

    play_with_stripe(sqlite_hub, story)


def test_the_same_key_twice_is_once(hub_url):
    async def story(till: Till) -> None:
        name = await paid(till)
        first, again = [await reverse(till, name, 200, key="once") for _ in range(2)]
        assert first == again
        assert len(till.stripe.world.all("transfer_reversal")) == 1
        assert till.has(DAVE) == {"earnings": 200}
        await reverse(till, name, 300, key="once", status=409)

    play_with_stripe(hub_url, story)


def test_lost_answer_is_taken_back_once_and_counts_as_asked_for(sqlite_hub):
    async def story(till: Till) -> None:
        name = await paid(till)
        till.stripe.is_down = True
        assert (await reverse(till, name, 200))["state"] == "waiting"
        assert till.has(DAVE) == {}
        refused = await reverse(till, name, 401, status=409)
        assert "400 credits can still be taken back; 200" in refused["error"]["message"]
        till.stripe.is_down = False
        till.stripe.next_faults = ["lost"]
        await till.later(700)
        await till.later(700)
        await till.tell()
        assert till.has(DAVE) == {"earnings": 200}
        assert len(till.stripe.world.all("transfer_reversal")) == 1
        await reverse(till, name, 401, status=409)
        await reverse(till, name, 400)
        assert till.has(DAVE) == {"earnings": 600}

    play_with_stripe(sqlite_hub, story)


def test_nothing_moves_if_the_hosts_account_lacks_it(hub_url):
    async def story(till: Till) -> None:
        name = await paid(till)
        owe(till, 250)
        before = clearing(till)
        (host,) = till.stripe.world.all("account")
        hosting.empty(till.stripe.world, host["id"])
        with till.pool.db.held("write_mails"):
            refused = await reverse(till, name, 200)
            assert [row.payload["action"] for row in till.rows(OutboxRow, topic="mail/admins")][-1:] == [
                "cash_out.not_returned"
            ]
        assert refused["state"] == "refused"
        assert "Insufficient available funds in the connected account." in refused["message"]
        await till.later(90_000)
        assert (till.has(DAVE), clearing(till)) == ({"debt": -250}, before)
        host["is_empty"] = False
        await reverse(till, name, 600)
        assert till.has(DAVE) == {"earnings": 350}

    play_with_stripe(hub_url, story)


def test_what_cannot_be_taken_back_is_refused_in_words(sqlite_hub):
    async def story(till: Till) -> None:
        name = await paid(till)
        assert (await reverse(till, name, 601, status=409))["error"]["code"] == "nothing_left"
        assert (await reverse(till, name, "0.001", status=422))["error"]["code"] == "bad_amount"
        assert (await reverse(till, "cashout_none", status=404))["error"]["code"] == "no_such_cash_out"
        await till.ask("POST", f"admin/cash-outs/{name}/reverse", {"note": "mine"}, user=DAVE, status=403)
        await till.ask("POST", f"admin/cash-outs/{name}/reverse", {"credits": 1}, user=ADMIN, status=422)
        till.give(DAVE, Kind.EARNINGS, 600, "more")
        other = await till.ask("POST", "wallet/cash-outs", {"credits": 600}, user=DAVE, status=201)
        assert (await reverse(till, other["id"], status=409))["error"]["code"] == "cash_out_state"
        assert len(till.rows(RequestRow, kind="reversal")) == 0

        till.pool.settings = till.pool.settings.model_copy(update={"stripe_secret_key": None})
        await till.pool.restart()
        assert (await reverse(till, name, status=409))["error"]["code"] == "no_payment_processor"
        await till.ask("POST", f"admin/cash-outs/{other['id']}/approve", {}, user=ADMIN)
        await till.ask("POST", f"admin/cash-outs/{other['id']}/paid", {"reference": "UTR"}, user=ADMIN)
        by_hand = (await reverse(till, other["id"], status=409))["error"]
        assert by_hand["code"] == "paid_by_hand"
        assert f"computepool admin grant {DAVE}" in by_hand["hint"]
        assert [row.returned_micros for row in till.rows(CashOutRow)] == [0, 0]

    play_with_stripe(sqlite_hub, story)


def test_credits_are_worth_what_they_were_when_they_were_paid(sqlite_hub):
    async def story(till: Till) -> None:
        name = await paid(till)
        till.pool.settings = till.pool.settings.model_copy(update={"credit_value": till.pool.settings.credit_value * 2})
        await till.pool.restart()
        await reverse(till, name, 200)
        (taken,) = till.stripe.world.all("transfer_reversal")
        assert (taken["amount"], till.has(DAVE)) == (200_00, {"earnings": 200})

    play_with_stripe(sqlite_hub, story)
