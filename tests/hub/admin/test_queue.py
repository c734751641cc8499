"""What needs a person is one list, the longest waiting first, with what can be done about each."""

from datetime import timedelta
from typing import Any

from support.engine import ADMIN, ALICE, BOB, play
from support.money import give_credits
from support.scripted_agent import add_agent

from computepool.hub.ledger.accounts import Kind
from computepool.hub.ledger.freezing import freeze
from computepool.hub.payments.tables import DifferenceRow
from computepool.hub.reputation.tables import ReputationEvent


def add_differences(session, now):
    for number in range(5):
        session.add(
            DifferenceRow(
                movement_id=f"pi_{number}",
                kind="amount",
                words=f"number {number}",
                found_at=now + timedelta(seconds=number),
            )
        )


def test_queue_lists_all_that_waits_for_an_operator(hub_url):
    async def story(pool):
        pool.tampered = True  # the ledger is frozen by hand
        agent = await add_agent(pool, owner=BOB)
        job_id = await pool.submit(max_runtime="10m", name="training")
        work = await agent.take_offer()
        await agent.update(work, "running")
        await pool.settle(300)
        await agent.finish(work)
        await pool.call("POST", f"jobs/{job_id}/dispute", {"reason": "it computed nothing"})
        await pool.settle(10)
        await pool.db.run(give_credits, BOB, pool.clock.now(), 900, kind=Kind.EARNINGS)
        asked = await pool.call("POST", "wallet/cash-outs", {"credits": 600}, user=BOB)
        assert asked.status_code == 201, asked.text
        await pool.settle(10)
        await pool.db.run(add_differences, pool.clock.now())
        await pool.settle(10)
        events = pool.rows(ReputationEvent)
        assert events
        told = (await pool.call("GET", "admin/queue", user=ADMIN)).json()
        assert [one["kind"] for one in told["items"]] == ["dispute", "cash_out", *["payment_difference"] * 5]
        dispute, cash_out = told["items"][:2]
        assert (dispute["title"], dispute["detail"]) == ("A renter disputes the job training.", "it computed nothing")
        assert (dispute["owner_id"], dispute["actions"]["refund"]["allowed"]) == (ALICE, True)
        assert (await pool.call("GET", dispute["path"].removeprefix("/api/v1/"), user=ADMIN)).status_code == 200
        assert cash_out["amount_micros"] == 600_000_000
        assert cash_out["actions"]["mark_paid"]["reason"] == "It has to be approved first."
        assert (told["total"], told["counts"]["payment_difference"], told["counts"]["mail"]) == (7, 5, 0)

        found: list[Any] = []
        cursor = ""
        while cursor is not None:
            more = f"&cursor={cursor}" if cursor else ""
            page = (await pool.call("GET", f"admin/queue?limit=2{more}", user=ADMIN)).json()
            found, cursor = found + page["items"], page["next"]
        assert found == told["items"]
        only = (await pool.call("GET", "admin/queue?kind=cash_out", user=ADMIN)).json()
        assert [one["id"] for one in only["items"]] == [cash_out["id"]]

        await pool.db.run(freeze, ["it does not add up"], pool.clock.now())
        frozen = (await pool.call("GET", "admin/queue", user=ADMIN)).json()
        assert frozen["items"][-1]["kind"] == "ledger"
        assert "does not add up" in frozen["items"][1]["actions"]["approve"]["reason"]
        assert (await pool.call("GET", "admin/queue", user=ALICE)).status_code == 403

        pool.settings = pool.settings.model_copy(update={"money": "off"})
        await pool.restart()
        free = (await pool.call("GET", "admin/queue", user=ADMIN)).json()
        assert (free["items"], sorted(free["counts"])) == ([], ["accusation", "contest", "mail"])

    play(hub_url, story)
