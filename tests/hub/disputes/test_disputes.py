"""A renter wants money back: what can be disputed, what operators see, and who gives what back."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy.orm import Session
from support.engine import ADMIN, BOB, Pool, play
from support.rented import CREDIT, Rented
from support.truth import FAILED, LOST

from computepool.hub.core.tables import AuditRow, OutboxRow
from computepool.hub.disputes.tables import Dispute
from computepool.hub.ledger.accounts import Kind, Platform, account, platform
from computepool.hub.ledger.entries import Entry, Posting
from computepool.hub.ledger.journal import balance, post
from computepool.hub.payments.cash_out_rows import CashOutRow
from computepool.hub.payments.hooks import Chargeback
from computepool.hub.trust.restitution import carry_out
from computepool.hub.trust.tables import Check, Clawback

RENTER, HOST, OTHER = "user_renting", "user_hosting", "user_other_host"


class Court:
    """A pool in which jobs have ended."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.past = Rented(pool.url)
        self.past.now = pool.clock.now() - timedelta(days=1)
        self.past.know(RENTER, HOST, OTHER)

    def work(self, credits: float = 100, *, paid: float | None = None, kind: Kind = Kind.AVAILABLE, **how: Any) -> Any:
        self.past.pay_in(RENTER, credits if paid is None else paid, f"{self.past.now}/{kind}", kind)
        return self.past.work(RENTER, HOST, credits, **how)

    async def ask(self, method: str, path: str, body: object = None, *, user: str = RENTER, status: int = 200, **more):
        answer = await self.pool.call(method, path, body, user=user, **more)
        assert answer.status_code == status, answer.text
        return answer.json()

    async def dispute(self, job_id: str, *, status: int = 201, reason: str = "the output is empty", **more):
        return await self.ask("POST", f"jobs/{job_id}/dispute", {"reason": reason}, status=status, **more)

    async def resolve(self, dispute_id: str, outcome: str, *, status: int = 200, note: str = "seen", **more):
        body = {"outcome": outcome, "note": note, **more}
        return await self.ask("POST", f"admin/disputes/{dispute_id}/resolve", body, user=ADMIN, status=status)

    def has(self, user: str) -> dict[str, float]:
        self.past.all_adds_up()
        return self.past.credits(user)

    def fees(self) -> float:
        return self.past.run(balance, platform(Platform.FEES)) / CREDIT

    def spent(self) -> float:
        """As the renter's limits count it."""
        return self.pool.engine.scheduler.limits.spent(RENTER, self.past.now.date()) / CREDIT

    def spend(self, user: str, kind: Kind, credits: float) -> None:
        gone = Posting(account(user, kind), platform(Platform.WRITE_OFF), round(credits * CREDIT))
        self.past.run(post, Entry(f"spent/{user}/{kind}", "test", (gone,)), self.past.now)


def play_court(url, story, **settings):
    async def whole(pool: Pool) -> None:
        court = Court(pool)
        try:
            await story(court)
        finally:
            court.past.close()

    play(url, whole, settings=settings)


@pytest.mark.parametrize(
    ("outcome", "credits", "left"), [("full", None, 0), ("partial", "25", 75), ("none", None, 100)]
)
def test_what_comes_back_counts_against_no_limit_of_the_renter(sqlite_hub, outcome, credits, left):
    async def story(court: Court) -> None:
        await court.pool.settle(3 * 3600)  # so that it was in this month
        court.past.now = court.pool.clock.now() - timedelta(hours=1)
        held = court.work(100)
        await court.pool.restart()  # the hub learns what was spent
        before = court.spent()
        opened = await court.dispute(held.job_id)
        await court.resolve(opened["id"], outcome, **({"credits": credits} if credits else {}))
        assert (before, court.spent()) == (100, left)
        await court.pool.restart()
        assert court.spent() == left

    play_court(sqlite_hub, story)


def test_full_refund_takes_back_what_the_host_got_and_the_fee(hub_url):
    async def story(court: Court) -> None:
        fees = court.fees()
        held = court.work(100)
        assert (court.has(RENTER), court.has(HOST), court.fees() - fees) == ({}, {"earnings": 80}, 20)
        opened = await court.dispute(held.job_id)
        assert (opened["state"], opened["micros"]) == ("open", 100 * CREDIT)
        done = await court.resolve(opened["id"], "full", note="nothing was computed")
        assert (done["refunded_micros"], done["owed_micros"]) == (100 * CREDIT, 0)
        assert (court.has(RENTER), court.has(HOST), court.fees() - fees) == ({"available": 100}, {}, 0)
        (own,) = (await court.ask("GET", "disputes"))["items"]
        assert (own["outcome"], own["note"]) == ("full", "nothing was computed")
        assert (await court.resolve(opened["id"], "full", status=409))["error"]["code"] == "dispute_resolved"
        row = court.past.attempt(held)
        assert (row.cost_micros, row.earned_micros) == (0, 0)

    play_court(hub_url, story)


def test_partial_refund_takes_the_fee_on_that_part(hub_url):
    async def story(court: Court) -> None:
        fees = court.fees()
        opened = await court.dispute(court.work(100).job_id)
        refused = await court.resolve(opened["id"], "partial", credits="100.000001", status=422)
        assert refused["error"]["code"] == "more_than_was_paid"
        await court.resolve(opened["id"], "partial", status=422)
        await court.resolve(opened["id"], "full", credits=5, status=422)
        await court.resolve(opened["id"], "partial", credits="25")
        assert (court.has(RENTER), court.has(HOST), court.fees() - fees) == ({"available": 25}, {"earnings": 60}, 15)

    play_court(hub_url, story)


def test_no_refund_leaves_everything_as_it_was(sqlite_hub):
    async def story(court: Court) -> None:
        opened = await court.dispute(court.work(100).job_id)
        await court.resolve(opened["id"], "none", note="the log shows what was asked for")
        assert (court.has(RENTER), court.has(HOST)) == ({}, {"earnings": 80})

    play_court(sqlite_hub, story)


def test_host_who_spent_it_owes_it(hub_url):
    async def story(court: Court) -> None:
        opened = await court.dispute(court.work(100).job_id)
        court.spend(HOST, Kind.EARNINGS, 50)
        done = await court.resolve(opened["id"], "full")
        assert done["owed_micros"] == 50 * CREDIT
        assert (court.has(RENTER), court.has(HOST)) == ({"available": 100}, {"debt": -50})
        court.past.work(RENTER, HOST, 100)
        assert court.has(HOST) == {"earnings": 30}, "later earnings pay it first"

    play_court(hub_url, story)


def test_credits_keep_their_colour(hub_url):
    async def story(court: Court) -> None:
        court.past.pay_in(RENTER, 30, "present", Kind.PROMOTIONAL)
        held = court.work(100, paid=70)
        assert court.has(HOST) == {"promotional": 24, "earnings": 56}
        opened = await court.dispute(held.job_id)
        await court.resolve(opened["id"], "partial", credits=80)
        assert court.has(RENTER) == {"promotional": 10, "available": 70}, "presents come back last"
        assert court.has(HOST) == {"promotional": 16}

    play_court(hub_url, story)


def test_several_hosts_give_back_in_proportion(hub_url):
    async def story(court: Court) -> None:
        court.past.pay_in(RENTER, 100, "both")
        first = court.past.begin(RENTER, HOST, 75, slices=2)
        second = court.past.go_on(first.job_id, 1, OTHER, 25)
        court.past.finish(first)
        court.past.finish(second)
        opened = await court.dispute(first.job_id)
        await court.resolve(opened["id"], "partial", credits=40)
        assert (court.has(HOST), court.has(OTHER)) == ({"earnings": 36}, {"earnings": 12})
        assert court.has(RENTER) == {"available": 40}

    play_court(hub_url, story)


def test_what_a_check_took_back_is_not_given_back_again(hub_url):
    async def story(court: Court) -> None:
        held, kept = court.work(100), court.work(40)
        opened = await court.dispute(held.job_id)

        def find_guilty(session):
            now = court.past.now
            session.add(
                Check(
                    id="check_1",
                    subject=held.id,
                    kind="audit",
                    job_id=held.job_id,
                    slice_index=0,
                    state="guilty",
                    spec_digest="x",
                    asked=2,
                    created_at=now,
                )
            )
            session.flush()
            session.add(
                Clawback(
                    attempt_id=held.id,
                    check_id="check_1",
                    node_id=held.node_id,
                    host_id=HOST,
                    renter_id=RENTER,
                    micros=100 * CREDIT,
                    state="pending",
                    created_at=now,
                )
            )

        court.past.run(find_guilty)
        assert court.past.run(carry_out, held.id, court.past.now)
        assert court.has(RENTER) == {"available": 100}
        facts = await court.ask("GET", f"admin/disputes/{opened['id']}", user=ADMIN)
        assert facts["refundable_micros"] == 0
        done = await court.resolve(opened["id"], "full")
        assert done["refunded_micros"] == 0
        assert (court.has(RENTER), court.has(HOST)) == ({"available": 100}, {"earnings": 32})
        other = await court.dispute(kept.job_id)
        await court.resolve(other["id"], "full")
        assert (court.has(RENTER), court.has(HOST)) == ({"available": 140}, {})

    play_court(hub_url, story)


def test_what_cannot_be_disputed_is_said_in_words(hub_url):
    async def story(court: Court) -> None:
        court.past.pay_in(RENTER, 1000, "all")
        runs = court.past.begin(RENTER, HOST, 10)
        assert (await court.dispute(runs.job_id, status=409))["error"]["code"] == "job_not_finished"
        free = court.past.work(RENTER, HOST, 10, LOST)
        court.past.cancel(free.job_id)
        assert (await court.dispute(free.job_id, status=409))["error"]["code"] == "nothing_paid"
        court.past.now = court.pool.clock.now() - timedelta(days=8)
        old = court.past.work(RENTER, HOST, 10)
        assert (await court.dispute(old.job_id, status=409))["error"]["code"] == "too_late_to_dispute"
        late = await court.dispute(old.job_id, user=ADMIN)
        assert late["state"] == "open", "an operator may"
        court.past.now = court.pool.clock.now()
        failed = court.past.work(RENTER, HOST, 10, FAILED)
        await court.dispute(failed.job_id, user=BOB, status=404)
        await court.dispute(failed.job_id, reason="", status=422)
        opened = await court.dispute(failed.job_id)
        again = await court.dispute(failed.job_id, status=409)
        assert again["error"]["code"] == "disputed_before"
        assert opened["id"] in again["error"]["message"]
        await court.ask("GET", f"disputes/{opened['id']}", user=BOB, status=404)
        await court.ask("GET", "admin/disputes", status=403)

    play_court(hub_url, story)


def test_dispute_sent_twice_is_one(sqlite_hub):
    async def story(court: Court) -> None:
        held = court.work()
        headers = {"Idempotency-Key": "once"}
        twice = await asyncio.gather(*(court.dispute(held.job_id, headers=headers) for _ in range(2)))
        assert twice[0] == twice[1]
        assert len(court.pool.rows(Dispute)) == 1

    play_court(sqlite_hub, story)


def test_two_operators_at_once_give_back_once(hub_url):
    async def story(court: Court) -> None:
        opened = await court.dispute(court.work(100).job_id)
        body = {"outcome": "full", "note": "seen"}
        path = f"admin/disputes/{opened['id']}/resolve"
        answers = await asyncio.gather(*(court.pool.call("POST", path, body, user=ADMIN) for _ in range(5)))
        assert sorted(answer.status_code for answer in answers) == [200, 409, 409, 409, 409]
        assert court.has(RENTER) == {"available": 100}

    play_court(hub_url, story)


def test_what_is_disputed_is_not_cashed_out(hub_url):
    async def story(court: Court) -> None:
        court.past.now = court.pool.clock.now() - timedelta(days=40)
        held = court.work(100)
        can = (await court.ask("GET", "wallet/cash-outs", user=HOST))["can"]
        assert can["cashable_micros"] == 80 * CREDIT
        opened = await court.dispute(held.job_id, user=ADMIN)
        can = (await court.ask("GET", "wallet/cash-outs", user=HOST))["can"]
        assert (can["cashable_micros"], can["unknown_micros"]) == (0, 80 * CREDIT)
        await court.resolve(opened["id"], "none")
        can = (await court.ask("GET", "wallet/cash-outs", user=HOST))["can"]
        assert can["cashable_micros"] == 80 * CREDIT

    play_court(hub_url, story)


def test_operator_sees_what_it_takes_to_decide(hub_url):
    async def story(court: Court) -> None:
        held = court.work(100)
        opened = await court.dispute(held.job_id, reason="it wrote zeros")
        facts = await court.ask("GET", f"admin/disputes/{opened['id']}", user=ADMIN)
        assert facts["dispute"]["reason"] == "it wrote zeros"
        assert facts["refundable_micros"] == 100 * CREDIT
        assert [one["id"] for one in facts["jobs"]] == [held.job_id]
        (attempt,) = facts["attempts"]
        assert (attempt["verdict"], attempt["cost_micros"], attempt["host_micros"]) == ("ok", 100 * CREDIT, 80 * CREDIT)
        assert attempt["log"] == f"/api/v1/jobs/{held.job_id}/logs?slice=0&attempt=1"
        (node,) = facts["nodes"]
        assert (node["owner_id"], node["earnings_micros"], node["refunded_before"]) == (HOST, 80 * CREDIT, 0)
        assert 0 < node["reliability"]["lower"] < 1
        (listed,) = (await court.ask("GET", "admin/disputes?state=open", user=ADMIN))["items"]
        assert listed["id"] == opened["id"]
        await court.ask("GET", "admin/disputes/dispute_none", user=ADMIN, status=404)

    play_court(hub_url, story)


def test_both_sides_are_told(sqlite_hub):
    async def story(court: Court) -> None:
        with court.pool.db.held("write_mails"):  # which takes the notices
            opened = await court.dispute(court.work(100).job_id)
            await court.resolve(opened["id"], "partial", credits=10, note="half of it was there")
            rows = court.pool.rows(OutboxRow)
        told = [(row.topic, row.payload["action"]) for row in rows if "dispute" in str(row.payload)]
        assert (f"mail/{RENTER}", "dispute.opened") in told
        assert (f"mail/{HOST}", "dispute.about_you") in told
        assert (f"mail/{RENTER}", "dispute.resolved") in told
        assert (f"mail/{HOST}", "dispute.decided_about_you") in told
        assert ("mail/admins", "dispute.opened") in told
        audits = [row for row in court.pool.rows(AuditRow) if row.subject == opened["id"]]
        assert [(row.action, row.actor) for row in audits] == [
            ("dispute.opened", RENTER),
            ("dispute.about_you", RENTER),
            ("dispute.resolved", ADMIN),
            ("dispute.decided_about_you", ADMIN),
        ]

    play_court(sqlite_hub, story)


# ── chargebacks ──────────────────────────────────────────────────────────────────────────────────────────────────────


async def take_back(court: Court, state: str, credits: int = 100) -> None:
    """The bank's word, and the ledger's entry that payments make of it."""
    now = court.pool.clock.now()
    news = Chargeback("dp_1", RENTER, "pi_1", credits * CREDIT, "fraudulent", state)  # type: ignore[arg-type]

    def hear(session):
        if state == "opened":
            taken = Posting(account(RENTER, Kind.DEBT), platform(Platform.CLEARING), credits * CREDIT)
            post(session, Entry("chargeback/dp_1", "chargeback", (taken,)), now)
        court.pool.engine.payments.hooks.on_chargeback(session, news, now)

    await court.pool.db.run(hear)


def test_chargeback_is_a_dispute_about_what_the_money_bought(hub_url):
    async def story(court: Court) -> None:
        court.work(60)
        court.work(40)
        await take_back(court, "opened")
        (opened,) = (await court.ask("GET", "admin/disputes?state=open", user=ADMIN))["items"]
        assert (opened["kind"], opened["bank"], opened["micros"]) == ("chargeback", "opened", 100 * CREDIT)
        can = (await court.ask("GET", "wallet/cash-outs", user=HOST))["can"]
        assert can["unknown_micros"] == 80 * CREDIT, "what it bought is held back"
        await take_back(court, "lost")
        facts = await court.ask("GET", f"admin/disputes/{opened['id']}", user=ADMIN)
        assert (facts["dispute"]["bank"], facts["refundable_micros"]) == ("lost", 100 * CREDIT)
        assert len(facts["jobs"]) == len(facts["attempts"]) == 2
        await court.resolve(opened["id"], "full", note="a stolen card")
        assert (court.has(RENTER), court.has(HOST)) == ({}, {}), "it pays what the renter owes"

    play_court(hub_url, story)


def test_chargeback_that_was_won_is_over(sqlite_hub):
    async def story(court: Court) -> None:
        court.work(100)
        await take_back(court, "opened")
        await take_back(court, "won")
        (row,) = court.pool.rows(Dispute)
        assert (row.state, row.outcome, row.bank) == ("resolved", "none", "won")
        assert (await court.ask("GET", "wallet/cash-outs", user=HOST))["can"]["unknown_micros"] == 0
        assert court.past.credits(HOST) == {"earnings": 80}

    play_court(sqlite_hub, story)


def test_no_more_comes_back_than_the_bank_took(sqlite_hub):
    async def story(court: Court) -> None:
        court.work(100)
        await take_back(court, "opened", credits=30)
        await take_back(court, "lost", credits=30)
        (row,) = court.pool.rows(Dispute)
        refused = await court.resolve(row.id, "partial", credits=31, status=422)
        assert refused["error"]["code"] == "more_than_was_paid"
        assert (await court.resolve(row.id, "full"))["refunded_micros"] == 30 * CREDIT
        assert court.has(RENTER) == {}

    play_court(sqlite_hub, story)


@pytest.mark.parametrize("days", [-1, 0, 367])
def test_report_is_about_some_days(sqlite_hub, days):
    async def story(court: Court) -> None:
        since = court.pool.clock.now().date()
        path = f"admin/reports?since={since}&until={since + timedelta(days=days)}"
        assert "1 to 366 days" in (await court.ask("GET", path, user=ADMIN, status=422))["error"]["message"]

    play_court(sqlite_hub, story)


def test_report_adds_up(hub_url):
    async def story(court: Court) -> None:
        begin = court.past.now
        court.past.pay_in("user_present", 10, "present", Kind.PROMOTIONAL)
        held = court.work(100, paid=200)
        court.past.days(1)
        court.past.work(RENTER, HOST, 50, FAILED)
        court.past.work(RENTER, HOST, 50, LOST)
        opened = await court.dispute(held.job_id)
        await court.resolve(opened["id"], "partial", credits=40)
        today = court.pool.clock.now().date()
        path = f"admin/reports?since={begin.date()}&until={today + timedelta(days=2)}"
        report = await court.ask("GET", path, user=ADMIN)
        first = report["days"][0]
        assert (first["day"], first["spent_micros"], first["fees_micros"]) == (
            str(begin.date()),
            100 * CREDIT,
            20 * CREDIT,
        )
        totals = report["totals"]
        assert totals["spent_micros"] == 150 * CREDIT
        assert totals["fees_micros"] == 22 * CREDIT
        assert totals["refunded_micros"] == 40 * CREDIT
        assert totals["paid_out_micros"] == 0
        assert report["due"] == {
            "requested": 0,
            "requested_micros": 0,
            "approved": 0,
            "approved_micros": 0,
            "open_disputes": 0,
        }
        (host,) = report["hosts"]
        assert (host["attempts"], host["ok"], host["lost"], host["refunded_attempts"]) == (3, 1, 1, 1)
        await court.ask("GET", "admin/reports?sinse=2026-01-01", user=ADMIN, status=422)
        await court.ask("GET", "admin/reports", status=403)

    play_court(hub_url, story)


def test_operator_is_told_of_what_a_processor_paid_a_host_who_owes(hub_url):
    async def story(court: Court) -> None:
        held, now = court.work(), court.pool.clock.now()
        made = await court.dispute(held.job_id)
        court.spend(HOST, Kind.EARNINGS, 80)
        ways = {"cashout_1": ("stripe", 31, 60), "cashout_2": ("stripe", 3, 50), "cashout_3": ("manual", 2, 60)}
        ways |= {"cashout_4": ("stripe", 1, 60)}
        for name, (way, days, credits) in ways.items():
            ended = {"created_at": now, "ended_at": now - timedelta(days=days), "note": "", "asked_by": HOST}
            returned = 30 * CREDIT if name == "cashout_4" else 0
            amounts = {"micros": credits * CREDIT, "returned_micros": returned}
            row = CashOutRow(id=name, owner_id=HOST, state="paid", way=way, **amounts, **ended)
            court.past.run(Session.add, row)
        path = f"admin/disputes/{made['id']}"
        assert (await court.ask("GET", path, user=ADMIN))["paid_out"] == [], "nothing is owed yet"
        await court.resolve(made["id"], "full")
        assert court.has(HOST) == {"debt": -80}
        told = (await court.ask("GET", path, user=ADMIN))["paid_out"]
        assert [(one["cash_out_id"], one["way"], one["micros"] // CREDIT) for one in told] == [
            ("cashout_4", "stripe", 30),
            ("cashout_2", "stripe", 50),
        ]

    play_court(hub_url, story)
