"""A whole hub with a mail server: what happens in it reaches the people whom it concerns."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy.orm import Session
from support.checked_work import add_agents, answer, trust
from support.engine import ADMIN, ALICE, BOB, Pool, play
from support.fake_stripe import paying
from support.fake_stripe.server import KEY, fake_stripe
from support.fake_stripe.webhooks import SECRET
from support.mail_server import MailServer, mail_server
from support.mailing import ADA, Office
from support.rented import CREDIT, Rented
from support.scripted_agent import add_agent
from support.till import CAROL, play_with_stripe

from computepool.hub.accounts.tables import User
from computepool.hub.api.health import write_metrics
from computepool.hub.core.http import Role
from computepool.hub.core.settings import Settings
from computepool.hub.core.tables import OutboxRow
from computepool.hub.doctor import doctor
from computepool.hub.jobs.tables import Job
from computepool.hub.ledger.freezing import freeze
from computepool.hub.mail.background import SETTLE_SECONDS
from computepool.hub.payments import moving

SOON = SETTLE_SECONDS + 1


def settings_of(server: MailServer, **more: Any) -> dict[str, Any]:
    return {"smtp_url": server.url, "public_url": "https://pool.example.org", **more}


def introduce(session: Session, now: Any, *people: str) -> None:
    """They have an address."""
    for one in people:
        role = Role.ADMIN if one == ADMIN else Role.USER
        address = f"{one.removeprefix('user_')}@example.org"
        session.add(User(id=one, email=address, name=one, role=role, created_at=now))


async def met(pool: Pool, *people: str) -> None:
    await pool.db.run(introduce, pool.clock.now(), *people)


def told(server: MailServer, who: str) -> list[str]:
    return [one.subject for one in server.inbox if one.to == f"{who.removeprefix('user_')}@example.org"]


def test_renter_hears_of_the_end_of_a_job_that_asks_for_it(hub_url, server):
    async def story(pool: Pool) -> None:
        await met(pool, ALICE)
        agent = await add_agent(pool)
        for name, notify in (("loud", ["email"]), ("quiet", [])):
            await pool.submit(name=name, notify=notify)
            await agent.run_next()
        await pool.submit(name="bad", notify=["email"])
        await agent.run_next(exit_code=3)
        await pool.settle(SOON)
        (one,) = server.inbox
        assert one.subject == "Job loud succeeded. And 1 more"
        assert "Job bad failed." in one.text
        assert "quiet" not in one.text
        canceled = await pool.submit(name="unwanted", notify=["email"], where={"tags": ["none"]})
        await pool.cancel(canceled)
        await pool.settle(SOON)
        assert server.inbox[-1].subject == "Job unwanted was canceled."
        lines = write_metrics(pool.engine).splitlines()
        assert "computepool_mails_sent_total 2" in lines
        assert "computepool_mails_waiting 0" in lines

    play(hub_url, story, settings=settings_of(server))


def test_hidden_jobs_that_check_a_result_tell_nobody(sqlite_hub, server):
    async def story(pool: Pool) -> None:
        await met(pool, ALICE)
        agents = await add_agents(pool, "user_carol", "user_dave", "user_erin")
        await trust(pool, *agents)
        spec: dict[str, Any] = {
            "deterministic": True,
            "verify": {"replicas": 3},
            "outputs": ["out"],
            "notify": ["email"],
        }
        await pool.submit(name="checked", **spec)
        await asyncio.gather(*(answer(one) for one in agents))
        await pool.settle(SOON)
        assert told(server, ALICE) == ["Job checked succeeded."]

    play(sqlite_hub, story, settings=settings_of(server))


def test_each_step_of_a_cash_out_is_mailed_once_to_those_whom_it_concerns(hub_url, server):
    host = "user_hosting"

    async def story(pool: Pool) -> None:
        past = Rented(pool.url)
        past.now = pool.clock.now() - timedelta(days=40)
        past.pay_in("user_renting", 125, "a long time ago")
        past.work("user_renting", host, 125)
        past.close()
        await met(pool, host, ADMIN)

        async def ask(path: str, user: str, **body: Any) -> dict:
            reply = await pool.call("POST", path, body, user=user)
            assert reply.is_success, reply.text
            await pool.settle(SOON)
            return reply.json()

        made = await ask("wallet/cash-outs", host, credits="50")
        await ask(f"admin/cash-outs/{made['id']}/approve", ADMIN)
        await pool.restart()
        await ask(f"admin/cash-outs/{made['id']}/paid", ADMIN, reference="UTR 42", note="by bank")
        await pool.restart()
        await pool.settle(600)
        amount = "50 credits (50.00 INR)"
        assert told(server, host) == [
            f"Your cash-out of {amount} was requested.",
            f"Your cash-out of {amount} was approved.",
            f"Your cash-out of {amount} was paid.",
        ]
        assert told(server, ADMIN) == [f"A cash-out of {amount} waits for your approval."]
        assert len({one.message["Message-ID"] for one in server.inbox}) == 4
        assert f"computepool admin cash-outs approve {made['id']}" in server.inbox[0].text + server.inbox[1].text

    play(hub_url, story, settings=settings_of(server, cash_out_min=10))


def cheated(past: Rented, renter: str, host: str) -> str:
    """A host has spent what it gives back: eighty of a hundred. The job."""
    past.pay_in(renter, 100, "a long time ago")
    held = past.work(renter, host, 100)
    past.work(host, "user_other", 80)
    past.find_guilty(held, host)
    return held.job_id


def test_renter_hears_what_is_owed_to_them_and_when_it_comes(hub_url, server):
    """Once that it is, with the first part that comes and with the last; whoever owes it hears nothing of it."""

    async def story(pool: Pool) -> None:
        renter, host = "user_renting", "user_hosting"
        past = Rented(pool.url)
        past.now = pool.clock.now() - timedelta(hours=1)
        job_id = cheated(past, renter, host)
        past.close()
        await met(pool, renter, host, ADMIN)
        await pool.restart()
        await pool.settle(SOON)
        for number, credits in enumerate((30, 10, 15, 25)):
            await pool.db.run(moving.credit, f"top-up/{number}", "top_up", host, credits * CREDIT, pool.clock.now())
            await pool.settle(120)
        assert told(server, renter) == [
            "A host owes you 80 credits (80.00 INR).",
            "You got 30 credits (30.00 INR) that a host owed you.",
            "You got 25 credits (25.00 INR) that a host owed you.",
        ]
        assert all(job_id in one.text for one in server.inbox)
        assert "The host still owes you 50 credits (50.00 INR)." in server.inbox[1].text
        assert told(server, host) == []

    play(hub_url, story, settings=settings_of(server))


def test_pool_without_money_tells_nobody_of_old_debts(sqlite_hub, server):
    async def story(pool: Pool) -> None:
        past = Rented(pool.url)
        past.now = pool.clock.now() - timedelta(hours=1)
        cheated(past, "user_renting", "user_hosting")
        past.close()
        await met(pool, "user_renting", ADMIN)
        await pool.restart()
        await pool.settle(SOON)
        assert server.inbox == []
        assert not [row for row in pool.rows(OutboxRow) if row.topic.startswith("mail/")]

    play(sqlite_hub, story, settings=settings_of(server, money="off"))


def test_renter_of_a_replica_is_told_of_the_job_that_they_know(sqlite_hub, server):
    office = Office(sqlite_hub, server.url)
    office.know(ADA)
    past = Rented(sqlite_hub)
    past.renter = ADA
    root, replica = past.add_job(), past.add_job()
    past.run(lambda session: setattr(session.get_one(Job, replica), "rerun_of", root))
    past.close()
    for action in ("restitution.owed", "restitution.paid", "dispute.about_you"):
        office.tell(ADA, action, "attempt_1", job=replica, owed_micros=0)
        office.work()
    assert [(root in one.text, replica in one.text) for one in server.inbox] == [
        (True, False),
        (True, False),
        (False, True),
    ], "a host knows the one that it ran, and must not know the other"
    office.close()


def test_host_hears_of_a_ban_and_not_of_their_own(sqlite_hub, server):
    async def story(pool: Pool) -> None:
        await met(pool, ALICE)
        theirs, own = await add_agent(pool, name="one"), await add_agent(pool, name="two")
        await pool.call("POST", f"nodes/{own.node_id}/ban", user=ALICE)
        await pool.call("POST", f"nodes/{theirs.node_id}/ban", user=ADMIN)
        await pool.settle(SOON)
        (one,) = server.inbox
        assert one.subject == "Your machine was banned."
        assert f"one ({theirs.node_id})" in one.text

    play(sqlite_hub, story, settings=settings_of(server))


def test_admins_hear_that_the_ledger_is_frozen(sqlite_hub, server):
    async def story(pool: Pool) -> None:
        await met(pool, ADMIN)
        await pool.db.run(freeze, ["the sum is 1 micro"], pool.clock.now())
        await pool.settle(SOON)
        assert told(server, ADMIN) == ["The ledger does not add up. Cash-outs are frozen."]

    play(sqlite_hub, story, settings=settings_of(server))


@pytest.mark.parametrize(
    ("card", "subject"),
    [
        (paying.NEEDS_BANK, "Your bank wants you to confirm a top-up of 200 credits (200.00 INR)."),
        (paying.DECLINED, "Automatic top-ups have stopped."),
    ],
)
def test_automatic_top_up_that_needs_its_person_is_mailed(sqlite_hub, server, card, subject):
    async def story(till: Any) -> None:
        await met(till.pool, CAROL)
        await till.save_card(card)
        plan = {"plan": "automatic", "below": "50", "amount": "200", "monthly": "1000"}
        await till.ask("PUT", "wallet/plan", plan)
        await till.payments.work()
        await till.tell()
        await till.pool.settle(SOON)
        assert told(server, CAROL) == [subject]

    play_with_stripe(sqlite_hub, story, smtp_url=server.url)


def test_operator_sees_what_became_of_mails_and_sends_a_test(sqlite_hub, server):
    async def story(pool: Pool) -> None:
        await met(pool, ALICE, BOB)
        server.to_recipient = lambda address: "550 5.1.1 unknown" if address.startswith("bob") else "250 ok"
        for user in (ALICE, BOB):
            job = await pool.submit(user=user, notify=["email"])
            await pool.cancel(job, user=user)
        await pool.settle(SOON)
        shown = (await pool.call("GET", "admin/mails", user=ADMIN)).json()
        assert (shown["where"], shown["waiting"], shown["away"]) == (server.url, 0, None)
        assert {one["address"]: one["state"] for one in shown["items"]} == {
            "alice@example.org": "sent",
            "bob@example.org": "given_up",
        }
        (lost,) = (await pool.call("GET", "admin/mails?state=given_up", user=ADMIN)).json()["items"]
        assert "550 5.1.1" in lost["words"]
        sent = await pool.call("POST", "admin/mails/test", {"address": "me@example.org"}, user=ADMIN)
        assert sent.json() == {"address": "me@example.org", "where": server.url, "answer": "250 taken"}
        assert server.inbox[-1].to == "me@example.org"
        refused = await pool.call("POST", "admin/mails/test", {"address": "bob@example.org"}, user=ADMIN)
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "mail_not_sent")
        assert "550 5.1.1" in refused.json()["error"]["message"]
        nonsense = await pool.call("POST", "admin/mails/test", {"address": "me"}, user=ADMIN)
        assert nonsense.status_code == 422
        for path in ("admin/mails", "admin/mails/test"):
            method = "GET" if path == "admin/mails" else "POST"
            assert (await pool.call(method, path, {"address": "me@example.org"}, user=ALICE)).status_code == 403

    play(sqlite_hub, story, settings=settings_of(server))


# ── doctor ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def checked(name: str, tmp_path, **settings: Any) -> Any:
    made = Settings(home=tmp_path, public_url="https://pool.example.org", **settings)
    return next(one for one in doctor(made) if one.name == name)


def test_doctor_signs_in_to_the_mail_server_and_sends_nothing(tmp_path, server):
    found = checked("mail", tmp_path, smtp_url=server.url)
    assert found.ok
    assert "mails are from computepool@pool.example.org" in found.message
    assert server.asked == 0
    server.stop()
    away = checked("mail", tmp_path, smtp_url=server.url)
    assert not away.ok
    assert "COMPUTEPOOL_SMTP_URL" in away.hint
    with mail_server(passwords=True) as closed:
        url = f"smtp://me:hunter2@127.0.0.1:{closed.port}?starttls=never"
        wrong = checked("mail", tmp_path, smtp_url=url)
        assert not wrong.ok
        assert "does not accept user and password" in wrong.message
        assert "hunter2" not in wrong.message + wrong.hint
    assert "written to the log" in checked("mail", tmp_path).message


def test_doctor_asks_stripe_whether_it_takes_the_key(tmp_path):
    with fake_stripe() as stripe:
        keys = {"stripe_secret_key": KEY, "stripe_webhook_secret": SECRET, "stripe_api_url": stripe.url}
        good = checked("payments", tmp_path, **keys)
        assert good.ok
        assert good.message.startswith("Stripe accepts the key, which is for tests: no real money moves;")
        wrong = checked("payments", tmp_path, **keys | {"stripe_secret_key": "sk_live_another"})
        assert not wrong.ok
        assert "does not accept the hub's key" in wrong.message
        assert "COMPUTEPOOL_STRIPE_SECRET_KEY" in wrong.hint
        stripe.is_down = True
        assert "no connection" in checked("payments", tmp_path, **keys).message
    assert "by hand" in checked("payments", tmp_path).message
    assert "without money" in checked("payments", tmp_path, money="off").message


def test_doctor_asks_stripe_whether_it_has_the_currency(tmp_path):
    with fake_stripe() as stripe:
        keys = {"stripe_secret_key": KEY, "stripe_webhook_secret": SECRET, "stripe_api_url": stripe.url}
        assert "a credit is worth 1 EUR" in checked("payments", tmp_path, **keys, currency="EUR").message
        wrong = checked("payments", tmp_path, **keys, currency="xxx")
        assert (wrong.ok, wrong.message) == (False, "Stripe: Invalid currency: xxx.")
        assert "COMPUTEPOOL_CURRENCY" in wrong.hint


def test_doctor_says_what_a_credit_is_worth_where_nobody_can_be_asked(tmp_path):
    found = checked("payments", tmp_path, currency="xxx", credit_value="2.5")
    assert found.message == "none: credits are granted and hosts paid by hand; a credit is worth 2.5 XXX"
