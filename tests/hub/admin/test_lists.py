"""Lists for operators: filtered, ordered and counted, in as many statements for many rows as for one."""

from datetime import timedelta

from support import snapshots
from support.engine import ADMIN, ALICE, BOB, play

from computepool.hub.accounts.tables import User
from computepool.hub.core.owners import Owner
from computepool.hub.mail.tables import Mail
from computepool.hub.payments.cash_out_rows import CashOutRow
from computepool.hub.payments.tables import DifferenceRow, EventRow, RequestRow, TopUpRow
from computepool.hub.payments.vouchers import VoucherRow


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

        session.add(
            EventRow(
                id=f"evt_{number}",
                type="charge.refunded",
                payload={},
                state="applied",
                tries=1,
                next_try_at=now,
                words="",
                received_at=at,
            )
        )
        session.add(
            RequestRow(
                id=f"request_{number}",
                key=f"key {number}",
                kind="refund",
                owner_id=owner_id,
                params={},
                params_digest="",
                state="done",
                generation=1,
                tries=1,
                is_doubtful=False,
                next_try_at=now,
                words="",
                created_at=at,
            )
        )
        kind = "stuck" if number % 2 else "amount"
        session.add(DifferenceRow(movement_id=f"txn_{number}", kind=kind, words="", found_at=at))
        given_out = {"uses": 1, "used": number % 2, "note": "", "created_by": ADMIN, "created_at": at}
        session.add(VoucherRow(id=f"voucher_{number}", digest=f"{number}", micros=1_000_000, **given_out))
        session.flush()


def add_mail(session, now):
    session.add(User(id=ALICE, email="alice@example.org", name="Alice", role="user", created_at=now))
    session.flush()
    about = {"address": "alice@example.org", "message_id": "<1@hub>", "subject": "News", "body": "All of it."}
    times = dict.fromkeys(("noticed_at", "created_at", "tried_at", "next_try_at", "ended_at"), now)
    session.add(Mail(id="mail_1", user_id=ALICE, notices=1, state="given_up", tries=9, words="550", **about, **times))


async def walk(pool, path):
    """The rows of all pages, two a page."""
    found, cursor, user = [], "", ADMIN if path.startswith("admin") else ALICE
    while cursor is not None:
        answer = await pool.call("GET", f"{path}&limit=2{cursor and '&cursor=' + cursor}", user=user)
        assert answer.status_code == 200, answer.text
        page = answer.json()
        found += page["items"]
        cursor = page["next"]
    assert page["total"] == len(found), path
    return found


def test_lists_of_money_have_filters_orders_totals_and_few_statements(hub_url):
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
        for path, field, count in (
            ("admin/cash-outs?", "created_at", 6),
            (f"admin/top-ups?owner_id={ALICE}", "created_at", 5),
            ("admin/payments/events?state=applied", "received_at", 6),
            ("admin/payments/requests?kind=refund", "created_at", 6),
            ("admin/payments/differences?kind=stuck", "found_at", 3),
            ("admin/vouchers?", "created_at", 6),
            ("admin/vouchers?usable=true", "created_at", 3),
            ("admin/vouchers?usable=false", "created_at", 3),
            ("wallet/top-ups?state=paid", "created_at", 5),
            ("wallet/cash-outs?state=requested", "created_at", 0),
            ("disputes?", "opened_at", 0),
        ):
            walked = [await walk(pool, f"{path}&order={order}{field}") for order in ("-", "")]
            assert walked[0] == walked[1][::-1], path
            assert len(walked[0]) == count, path
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


SORTED_BY_NATURE = {
    "admin/audit": "a search in millions of records: not counted",
    "admin/settings/{name}/history": "the newest change is in force",
    "admin/users/{user}/sessions": "the newest sign-in first",
    "sessions": "the newest sign-in first",
    "tokens": "at most 50",
    "admin/queue": "the most urgent first",
    "admin/vouchers/{voucher_id}/redemptions": "the newest first",
    "notices": "the newest first",
    "jobs/{job_id}/artifacts": "by slice and path",
    "public/shares/{token}/outputs": "by slice and path",
    "jobs/{job_id}/receipts": "by slice and attempt",
    "jobs/{job_id}/verification": "by slice and attempt",
    "jobs/{job_id}/timeline": "the oldest first",
    "jobs/{job_id}/shares": "at most 20",
    "nodes/{node_id}/reliability": "the newest first",
    "teams/{team}/members": "who came first at the top",
    "wallet/entries": "the ledger's order",
}
"""Lists without an `order`, and why."""


def test_every_list_that_grows_has_pages_a_total_and_an_order():
    document = snapshots.load("openapi.json")
    schemas, without_order = document["components"]["schemas"], set()
    for path, operations in document["paths"].items():
        answer = operations.get("get", {}).get("responses", {}).get("200", {}).get("content", {})
        name = answer.get("application/json", {}).get("schema", {}).get("$ref", "").rpartition("/")[2]
        fields = schemas.get(name, {}).get("properties", {})
        if not {"items", "next"} <= fields.keys():
            continue
        asked = {parameter["name"] for parameter in operations["get"].get("parameters", [])}
        route = path.removeprefix("/api/v1/")
        if "order" in asked:
            assert {"limit", "cursor"} <= asked, route
            assert "total" in fields or route in SORTED_BY_NATURE, route
        else:
            without_order.add(route)
    assert without_order == SORTED_BY_NATURE.keys() - {"admin/audit"}
