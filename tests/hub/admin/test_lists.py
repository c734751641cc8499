"""Lists for operators: filtered, ordered and counted, in as many statements for many rows as for one."""

from datetime import timedelta

from support.engine import ADMIN, ALICE, BOB, play

from computepool.hub.accounts.tables import User
from computepool.hub.core.owners import Owner
from computepool.hub.mail.tables import Mail
from computepool.hub.payments.cash_out_rows import CashOutRow
from computepool.hub.payments.tables import TopUpRow


def add_rows(session, now, hosts):
    for number in range(hosts):
        owner_id, at = f"user_host{number}", now + timedelta(seconds=number)
        session.add(Owner(id=owner_id, kind="user", created_at=now))
        session.flush()
        state, ended_at = ("requested", None) if number % 2 else ("rejected", at)
        session.add(
            CashOutRow(
                id=f"cashout_{number}",
                owner_id=owner_id,
                micros=5_000_000,
                state=state,
                asked_by=owner_id,
                created_at=at,
                ended_at=ended_at,
            )
        )
        session.add(
            TopUpRow(
                id=f"topup_{number}",
                owner_id=ALICE if number else BOB,
                way="checkout",
                micros=5_000_000,
                minor=500,
                currency="inr",
                state="paid" if number else "failed",
                payment_id="pi_1" if number else None,
                words="",
                created_at=at,
                ended_at=at,
            )
        )


def add_mail(session, now):
    session.add(User(id=ALICE, email="alice@example.org", name="Alice", role="user", created_at=now))
    session.flush()
    about = {"address": "alice@example.org", "message_id": "<1@hub>", "subject": "News", "body": "All of it."}
    times = dict.fromkeys(("noticed_at", "created_at", "tried_at", "next_try_at", "ended_at"), now)
    session.add(Mail(id="mail_1", user_id=ALICE, notices=1, state="given_up", tries=9, words="550", **about, **times))


def test_cash_outs_and_top_ups_of_everybody_are_listed_in_few_statements(hub_url):
    async def story(pool):
        pool.tampered = True  # cash-outs without their credits
        await pool.db.run(add_rows, pool.clock.now(), 6)

        async def ask(path):
            before = pool.db.statements
            answer = (await pool.call("GET", f"admin/{path}", user=ADMIN)).json()
            return answer, pool.db.statements - before

        one, few = await ask("cash-outs?limit=1")
        everything, many = await ask("cash-outs?order=created_at")
        assert many == few
        assert ([row["id"] for row in everything["items"]], everything["total"]) == (
            [f"cashout_{n}" for n in range(6)],
            6,
        )
        assert one["items"][0]["admin_actions"]["approve"]["allowed"]
        assert "Rejected" in everything["items"][0]["admin_actions"]["approve"]["reason"]
        mine, _ = await ask("cash-outs?owner_id=user_host3&state=requested")
        assert ([row["id"] for row in mine["items"]], mine["total"]) == (["cashout_3"], 1)

        paid, _ = await ask(f"top-ups?owner_id={ALICE}&state=paid&limit=2")
        assert ([row["id"] for row in paid["items"]], paid["total"]) == (["topup_5", "topup_4"], 5)
        assert "takes no cards" in paid["items"][0]["admin_actions"]["refund"]["reason"]
        more, _ = await ask(f"top-ups?owner_id={ALICE}&state=paid&limit=9&cursor={paid['next']}")
        assert [row["id"] for row in more["items"]] == ["topup_3", "topup_2", "topup_1"]
        assert (await ask("payments/requests?kind=refund"))[0]["items"] == []
        for path in ("payments/events", "payments/requests", "payments/differences", "vouchers"):
            found, _ = await ask(path)
            assert found["total"] == len(found["items"]), path
        disputes, _ = await ask("disputes?kind=job&order=opened_at")
        assert (disputes["items"], disputes["total"]) == ([], 0)

    play(hub_url, story)


def test_operators_see_who_redeemed_a_voucher_and_send_a_mail_again(sqlite_hub):
    async def story(pool):
        await pool.db.run(add_mail, pool.clock.now())
        body = {"credits": 5, "code": "SPRING-2027-LAB", "uses": 3}
        made = (await pool.call("POST", "admin/vouchers", body, user=ADMIN)).json()
        await pool.call("POST", "wallet/vouchers", {"code": "SPRING-2027-LAB"})
        found = (await pool.call("GET", f"admin/vouchers/{made['id']}/redemptions", user=ADMIN)).json()
        assert [(one["user_id"], one["email"]) for one in found["items"]] == [(ALICE, "alice@example.org")]
        assert (await pool.call("GET", "admin/vouchers/voucher_1/redemptions", user=ADMIN)).status_code == 404

        waiting = (await pool.call("GET", "admin/queue?kind=mail", user=ADMIN)).json()["items"]
        assert [(one["id"], one["actions"]["resend"]["allowed"]) for one in waiting] == [("mail_1", True)]
        again = (await pool.call("POST", "admin/mails/mail_1/resend", user=ADMIN)).json()
        assert (again["state"], again["actions"]["resend"]["allowed"]) == ("waiting", False)
        await pool.settle(5)
        mails = (await pool.call("GET", f"admin/mails?user_id={ALICE}", user=ADMIN)).json()
        assert ([one["state"] for one in mails["items"]], mails["total"]) == (["logged"], 1)
        refused = (await pool.call("POST", "admin/mails/mail_1/resend", user=ADMIN)).json()
        assert refused["error"]["code"] == "mail_not_given_up"
        unknown = (await pool.call("POST", "admin/mails/mail_2/resend", user=ADMIN)).json()
        assert unknown["error"]["code"] == "no_such_mail"

    play(sqlite_hub, story)
