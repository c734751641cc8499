"""Earnings become money: who may, how much, each step once."""

import asyncio
import itertools
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy.orm import Session
from support.engine import ADMIN, ALICE, BOB, Pool, play
from support.rented import CREDIT, Rented

from computepool.hub.core.tables import AuditRow, OutboxRow
from computepool.hub.ledger.accounts import Kind, Platform, account, platform
from computepool.hub.ledger.entries import Entry, Posting
from computepool.hub.ledger.freezing import freeze, thaw
from computepool.hub.ledger.journal import balance, balances, post
from computepool.hub.payments.cash_out_rows import NEXT, OPEN, CashOutState, find_cash_out, move_cash_out
from computepool.hub.payments.safe_earnings import Risky, divide
from computepool.hub.trust.tables import AuditRecordRow

HOST = "user_hosting"
CHEAP = {"cash_out_min": 10}


class Desk:
    """A pool in which a host has earned something, long ago."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.past = Rented(pool.url)
        self.past.now = pool.clock.now() - timedelta(days=40)

    def earn(self, credits: float, *, days_ago: float = 40, host: str = HOST) -> Any:
        """What the host gets: its renter pays a quarter more."""
        self.past.now = self.pool.clock.now() - timedelta(days=days_ago)
        self.past.pay_in("user_renting", credits * 1.25, f"for {self.past.now}")
        return self.past.work("user_renting", host, credits * 1.25)

    async def ask(self, method: str, path: str, body: object = None, *, user: str = HOST, status: int = 200, **more):
        answer = await self.pool.call(method, path, body, user=user, **more)
        assert answer.status_code == status, answer.text
        return answer.json()

    async def request(self, credits: object, *, status: int = 201, **more):
        return await self.ask("POST", "wallet/cash-outs", {"credits": credits}, status=status, **more)

    async def decide(self, cash_out_id: str, what: str, status: int = 200, **body):
        return await self.ask("POST", f"admin/cash-outs/{cash_out_id}/{what}", body, user=ADMIN, status=status)

    async def can(self) -> dict:
        return (await self.ask("GET", "wallet/cash-outs"))["can"]

    def has(self, user: str = HOST) -> dict[str, float]:
        self.past.all_adds_up()
        return self.past.credits(user)

    def run(self, fn, *args, **kwargs):
        return self.past.run(fn, *args, **kwargs)


def play_desk(url, story, **settings):
    async def whole(pool: Pool) -> None:
        desk = Desk(pool)
        try:
            await story(desk)
        finally:
            desk.past.close()

    play(url, whole, settings=CHEAP | settings)


def test_earnings_are_asked_for_approved_and_paid(hub_url):
    async def story(desk: Desk) -> None:
        desk.earn(100)
        clearing = desk.run(balance, platform(Platform.CLEARING))
        made = await desk.request("60.5")
        assert (made["state"], made["credits"], made["amount"]) == ("requested", "60.5", "60.50 INR")
        assert desk.has() == {"earnings": 39.5, "cashing_out": 60.5}
        await desk.decide(made["id"], "approve")
        assert desk.has() == {"earnings": 39.5, "cashing_out": 60.5}
        paid = await desk.decide(made["id"], "paid", reference="UTR 42", note="by bank")
        assert (paid["state"], paid["reference"], paid["decided_by"]) == ("paid", "UTR 42", ADMIN)
        assert desk.has() == {"earnings": 39.5}
        assert desk.run(balance, platform(Platform.CLEARING)) - clearing == 60_500_000
        (own,) = (await desk.ask("GET", "wallet/cash-outs"))["items"]
        assert own["state"] == "paid"
        assert (await desk.ask("GET", f"wallet/cash-outs/{made['id']}"))["reference"] == "UTR 42"

    play_desk(hub_url, story)


def test_each_step_has_an_audit_record_and_a_notice_for_the_mailer(sqlite_hub):
    async def story(desk: Desk) -> None:
        desk.earn(100)
        with desk.pool.db.held("write_mails"):  # which takes the notices
            first, second = await desk.request(20), await desk.request(30)
            await desk.decide(first["id"], "approve")
            await desk.decide(first["id"], "paid", reference="x")
            await desk.decide(second["id"], "reject", note="send your bank account first")
            rows = desk.pool.rows(OutboxRow)
        steps = [f"cash_out.{step}" for step in ("requested", "requested", "approved", "paid", "rejected")]
        audits = [row for row in desk.pool.rows(AuditRow) if row.action.startswith("cash_out.")]
        assert [row.action for row in audits] == steps
        assert [row.actor for row in audits] == [HOST, HOST, ADMIN, ADMIN, ADMIN]
        mails = [row for row in rows if row.topic == f"mail/{HOST}"]
        assert [row.payload["action"] for row in rows if row.topic == "mail/admins"] == ["cash_out.requested"] * 2
        assert [row.payload["action"] for row in mails] == steps
        assert mails[-1].payload["note"] == "send your bank account first"

    play_desk(sqlite_hub, story)


def test_rejected_credits_come_back_and_every_end_is_the_end(hub_url):
    async def story(desk: Desk) -> None:
        desk.earn(100)
        made = await desk.request(50)
        assert (await desk.decide(made["id"], "reject", note="no"))["state"] == "rejected"
        assert desk.has() == {"earnings": 100}
        for what, body in (("approve", {}), ("paid", {"reference": "x"}), ("reject", {"note": "again"})):
            refused = await desk.decide(made["id"], what, 409, **body)
            assert refused["error"]["code"] == "cash_out_state"
        assert desk.has() == {"earnings": 100}
        approved = await desk.request(50)
        early = (await desk.decide(approved["id"], "paid", 409, reference="x"))["error"]
        assert early["message"] == f"{approved['id']} is not approved yet, so it cannot be paid."
        assert early["hint"] == f"Approve it first: computepool admin cash-outs approve {approved['id']}"
        await desk.decide(approved["id"], "approve")
        twice = (await desk.decide(approved["id"], "approve", 409))["error"]
        assert twice["message"] == f"{approved['id']} is approved already."
        await desk.decide(approved["id"], "reject", note="the bank does not know them")
        assert desk.has() == {"earnings": 100}
        await desk.decide("cashout_none", "approve", 404)
        await desk.decide(made["id"], "reject", 422)

    play_desk(hub_url, story)


def test_a_request_is_taken_back_before_it_is_decided(hub_url):
    async def story(desk):
        assert (await desk.can())["actions"]["request"]["allowed"] is False
        desk.earn(100)
        assert (await desk.can())["actions"]["request"] == {"allowed": True, "reason": None}
        asked = await desk.request(40)
        assert asked["actions"]["cancel"]["allowed"]
        path = f"wallet/cash-outs/{asked['id']}/cancel"
        await desk.ask("POST", path, user=ALICE, status=404)
        canceled = await desk.ask("POST", path)
        assert (canceled["state"], canceled["actions"]["cancel"]["allowed"]) == ("canceled", False)
        assert desk.has()["earnings"] == 100
        assert (await desk.ask("POST", path, status=409))["error"]["code"] == "cash_out_state"
        await desk.decide(asked["id"], "approve", 409)
        approved = await desk.request(40)
        await desk.decide(approved["id"], "approve")
        assert (await desk.ask("POST", f"wallet/cash-outs/{approved['id']}/cancel", status=409))["error"]
        assert desk.has()["cashing_out"] == 40

    play_desk(hub_url, story)


def test_a_top_up_is_quoted_in_both_directions(sqlite_hub):
    async def story(desk):
        by_credits = await desk.ask("GET", "wallet/top-ups/quote?credits=100")
        assert by_credits["message"] == "100 credits = 50.00 EUR"
        assert (by_credits["amount_minor"], by_credits["is_exact"]) == (5000, True)
        assert by_credits["actions"]["top_up"]["allowed"] is False, "this pool has no processor"
        by_amount = await desk.ask("GET", "wallet/top-ups/quote?amount=50")
        assert by_amount == by_credits
        between = await desk.ask("GET", "wallet/top-ups/quote?credits=0.33")
        assert (between["credits"], between["amount"], between["is_exact"]) == ("0.34", "0.17 EUR", False)
        for wrong in (
            "",
            "?credits=1&amount=1",
            "?credits=0",
            "?amount=0.001",
            "?amount=1e9",
            "?amount=-5",
            "?amount=x",
        ):
            assert (await desk.ask("GET", f"wallet/top-ups/quote{wrong}", status=422))["error"]["code"] == "bad_amount"
        payments = await desk.ask("GET", "wallet/payments")
        assert payments["actions"]["redeem_voucher"]["allowed"]
        assert payments["payout_account"]["actions"]["begin"]["reason"]

    play_desk(sqlite_hub, story, currency="eur", credit_value="0.5")


def test_the_same_request_twice_is_one(hub_url):
    async def story(desk: Desk) -> None:
        desk.earn(100)
        headers = {"Idempotency-Key": "once"}
        twice = await asyncio.gather(*(desk.request(60, headers=headers) for _ in range(2)))
        assert len({made["id"] for made in twice}) == 1
        assert desk.has() == {"earnings": 40, "cashing_out": 60}
        await desk.request(50, headers=headers, status=409)
        assert (await desk.request(60, status=409))["error"]["code"] == "not_cashable"

    play_desk(hub_url, story)


def test_amounts_that_are_none_are_refused(sqlite_hub):
    async def story(desk: Desk) -> None:
        desk.earn(100)
        for credits in (0, -5, "-5", "0.0000001", "1e30", 2**63, "many", None, True, float(2**70)):
            await desk.request(credits, status=422)
        assert desk.has() == {"earnings": 100}

    play_desk(sqlite_hub, story)


def test_only_what_nobody_can_take_back_is_paid_out(hub_url):
    async def story(desk: Desk) -> None:
        held = desk.earn(100, days_ago=29)
        can = await desk.can()
        assert (can["cashable_micros"], [one["micros"] for one in can["later"]]) == (0, [100 * CREDIT])
        refused = await desk.request(50, status=409)
        assert refused["error"]["code"] == "not_cashable"
        assert "give them back" in refused["error"]["hint"]
        # An audit that found its node right speaks for what came before.
        valid = AuditRecordRow(id=held.node_id, valid_in_a_row=1, guilty=0, last_valid_at=desk.pool.clock.now())
        desk.run(lambda session: session.add(valid))
        assert (await desk.can())["cashable_micros"] == 100 * CREDIT
        recent = desk.earn(10, days_ago=6)
        can = await desk.can()
        assert can["cashable_micros"] == 100 * CREDIT
        finished_at = desk.past.attempt(recent).finished_at
        assert finished_at is not None
        assert [one["at"][:19] for one in can["later"]] == [f"{finished_at + timedelta(days=7):%Y-%m-%dT%H:%M:%S}"]
        await desk.request(100)

    play_desk(hub_url, story)


def test_hold_back_is_the_operators(sqlite_hub):
    async def story(desk: Desk) -> None:
        desk.earn(100, days_ago=40)
        assert (await desk.can())["cashable_micros"] == 0
        desk.earn(50, days_ago=51)
        can = await desk.can()
        assert (can["cashable_micros"], can["hold_back_days"]) == (50 * CREDIT, 50)

    play_desk(sqlite_hub, story, cash_out_hold_back_days=50)


def test_presents_are_never_paid_out_nor_what_was_earned_with_them(hub_url):
    async def story(desk: Desk) -> None:
        desk.past.pay_in("user_renting", 125, "present", Kind.PROMOTIONAL)
        desk.past.pay_in(HOST, 500, "present", Kind.PROMOTIONAL)
        desk.past.pay_in(HOST, 500, "bought", Kind.AVAILABLE)
        desk.past.work("user_renting", HOST, 125)
        assert desk.has() == {"promotional": 600, "available": 500}
        assert (await desk.request(100, status=409))["error"]["code"] == "not_cashable"

    play_desk(hub_url, story)


def test_less_than_the_minimum_waits(sqlite_hub):
    async def story(desk: Desk) -> None:
        desk.earn(600)
        refused = await desk.request("499.999999", status=422)
        assert refused["error"]["message"] == "A cash-out is at least 500 credits."
        await desk.request(500)

    play_desk(sqlite_hub, story, cash_out_min=500)


def test_debts_come_first(hub_url):
    async def story(desk: Desk) -> None:
        desk.earn(100)
        made = await desk.request(60)
        owes = Posting(account(HOST, Kind.DEBT), account(ALICE, Kind.AVAILABLE), 30 * CREDIT)
        desk.run(post, Entry("owes", "test", (owes,)), desk.pool.clock.now())
        assert (await desk.can())["cashable_micros"] == 10 * CREDIT
        assert (await desk.decide(made["id"], "approve", 409))["error"]["code"] == "owner_owes"
        listed = await desk.ask("GET", "admin/cash-outs?state=requested", user=ADMIN)
        assert listed["items"][0]["debt_micros"] == 30 * CREDIT
        await desk.decide(made["id"], "reject", note="you owe 30")
        assert desk.has() == {"earnings": 70}

    play_desk(hub_url, story)


def test_nobody_is_paid_out_while_the_ledger_does_not_add_up(hub_url):
    async def story(desk: Desk) -> None:
        desk.earn(100)
        before, sent = await desk.request(20), await desk.request(20)
        await desk.decide(sent["id"], "approve")
        desk.run(freeze, ["something is wrong"], desk.pool.clock.now())
        assert (await desk.request(20, status=503))["error"]["code"] == "cash_outs_frozen"
        await desk.decide(before["id"], "approve", 503)
        assert (await desk.can())["frozen"]
        await desk.decide(sent["id"], "paid", reference="it was gone already")
        desk.run(thaw, desk.pool.clock.now())
        await desk.decide(before["id"], "approve")

    play_desk(hub_url, story)


def test_nobody_sees_or_decides_about_anothers(sqlite_hub):
    async def story(desk: Desk) -> None:
        desk.earn(100)
        made = await desk.request(50)
        await desk.ask("GET", f"wallet/cash-outs/{made['id']}", user=BOB, status=404)
        assert (await desk.ask("GET", "wallet/cash-outs", user=BOB))["items"] == []
        await desk.ask("GET", f"wallet/cash-outs?owner_id={HOST}", user=BOB, status=403)
        body = {"credits": 10, "owner_id": HOST}
        await desk.ask("POST", "wallet/cash-outs", body, user=BOB, status=403)
        await desk.ask("POST", f"admin/cash-outs/{made['id']}/approve", {}, status=403)

    play_desk(sqlite_hub, story)


def test_pool_without_money_says_so(sqlite_hub):
    async def story(desk: Desk) -> None:
        for method, path, body in (
            ("POST", "wallet/cash-outs", {"credits": 1}),
            ("GET", "wallet/cash-outs", None),
            ("POST", "wallet/vouchers", {"code": "SOMETHING-OR-OTHER"}),
            ("GET", "disputes", None),
            ("POST", "jobs/job_1/dispute", {"reason": "no good"}),
        ):
            assert (await desk.ask(method, path, body, status=404))["error"]["code"] == "money_off"

    play_desk(sqlite_hub, story, money="off")


def test_many_at_once_never_take_out_more_than_there_is(hub_url):
    async def story(desk: Desk) -> None:
        desk.earn(100)
        answers = await asyncio.gather(
            *(desk.pool.call("POST", "wallet/cash-outs", {"credits": 15}, user=HOST) for _ in range(20))
        )
        assert sorted(answer.status_code for answer in answers) == [201] * 6 + [409] * 14
        assert desk.has() == {"earnings": 10, "cashing_out": 90}

    play_desk(hub_url, story)


# ── states ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_only_the_steps_of_the_table_are_taken(sqlite_hub):
    async def story(desk: Desk) -> None:
        desk.earn(100)
        made, now = await desk.request(50), desk.pool.clock.now()
        for state, to in itertools.product(CashOutState, CashOutState):
            if to is CashOutState.REQUESTED:
                continue
            with Session(desk.past.engine) as session:  # and never committed
                for step in _way_to(state):
                    assert move_cash_out(session, made["id"], step, now)
                assert move_cash_out(session, made["id"], to, now) == (to in NEXT[state])
                row = find_cash_out(session, made["id"])
                assert row is not None
                assert (row.ended_at is None) == (CashOutState(row.state) in OPEN)

    play_desk(sqlite_hub, story)


def _way_to(state: CashOutState) -> list[CashOutState]:
    if state is CashOutState.REQUESTED:
        return []
    return [state] if state in NEXT[CashOutState.REQUESTED] else [CashOutState.APPROVED, state]


# ── what is safe ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_what_was_spent_counts_as_what_would_have_come_last():
    early, late = datetime(2026, 1, 2, tzinfo=UTC), datetime(2026, 1, 3, tzinfo=UTC)
    risky = [Risky("a", 30, late), Risky("b", 20, early), Risky("c", 10, None)]
    assert divide(100, risky).micros == 40
    assert divide(60, risky).later == ((early, 20), (late, 30))
    spent = divide(35, risky)
    assert (spent.micros, spent.later, spent.unknown_micros) == (0, ((early, 20), (late, 5)), 10)
    assert divide(-5, risky).micros == divide(0, risky).micros == 0


def test_running_work_is_not_cashed_out(sqlite_hub):
    async def story(desk: Desk) -> None:
        held = desk.earn(100)
        ended = desk.past.attempt(held)
        desk.past.change_attempt(held, state="running", finished_at=None)
        can = await desk.can()
        assert (can["cashable_micros"], can["unknown_micros"]) == (0, 100 * CREDIT)
        desk.past.change_attempt(held, state=ended.state, finished_at=ended.finished_at)

    play_desk(sqlite_hub, story)


def test_balances_of_a_host_are_all_there(sqlite_hub):
    """What a host spent of its earnings is not cashable, whenever they were earned."""

    async def story(desk: Desk) -> None:
        desk.earn(100, days_ago=40)
        desk.earn(50, days_ago=3)
        spend = Posting(account(HOST, Kind.EARNINGS), platform(Platform.FEES), 120 * CREDIT)
        desk.run(post, Entry("spent", "test", (spend,)), desk.pool.clock.now())
        assert desk.run(balances, HOST)[Kind.EARNINGS] == 30 * CREDIT
        assert (await desk.can())["cashable_micros"] == 0

    play_desk(sqlite_hub, story)
