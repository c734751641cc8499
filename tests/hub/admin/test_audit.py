"""The audit search: by actor, action, subject, text and time, in pages, by indexes."""

from datetime import timedelta
from typing import Any

from sqlalchemy import event, insert
from sqlalchemy.orm import Session
from support.engine import ADMIN, ALICE, BOB, play

from computepool.hub.admin import audit
from computepool.hub.admin.audit import AuditSearch, search_audit
from computepool.hub.core.tables import AuditRow

MANY = 30_000


def fill(session: Session, now) -> None:
    """What nodes and the hub do all day; and few things that people did."""
    rows = [
        {
            "at": now - timedelta(seconds=MANY - number),
            "actor": "hub" if number % 3 else f"node_{number % 50:026}",
            "action": ("attempt.leased", "attempt.running", "attempt.succeeded")[number % 3],
            "subject": f"attempt_{number:026}",
            "details": {"number": number},
        }
        for number in range(MANY)
    ]
    for place, action in ((10, "cash_out.approved"), (20, "cash_out.rejected"), (MANY - 5, "setting.changed")):
        rows[place] |= {"actor": ALICE, "action": action, "subject": BOB, "details": {"reason": "the Quarterly audit"}}
    session.execute(insert(AuditRow), rows)


def test_audit_is_searched_in_pages_and_without_walking_through_all_of_it(hub_url, monkeypatch):
    monkeypatch.setattr(audit, "WINDOW", 10_000)

    async def story(pool):
        now = pool.clock.now()
        await pool.db.run(fill, now)

        async def find(query):
            items: list[Any] = []
            cursor, pages = "", 0
            while True:
                more = f"&cursor={cursor}" if cursor else ""
                page = (await pool.call("GET", f"admin/audit?{query}{more}", user=ADMIN)).json()
                items, cursor, pages = items + page["items"], page["next"], pages + 1
                if cursor is None:
                    return items, pages

        def actions(found):
            return [one["action"] for one in found[0]]

        by_alice = ["setting.changed", "cash_out.rejected", "cash_out.approved"]
        assert actions(await find(f"actor={ALICE}")) == by_alice
        assert actions(await find(f"actor={ALICE}&order=at&limit=1")) == by_alice[::-1]
        assert actions(await find("action=cash_out.")) == by_alice[1:]
        assert actions(await find(f"action=cash_out.&subject={BOB}&limit=1")) == by_alice[1:]
        assert actions(await find("action=nothing")) == []
        found, pages = await find("q=quarterly+AUDIT&limit=2")
        assert [one["action"] for one in found] == by_alice
        assert pages > 3, "each page looks through a part"
        # What every job records, and what a node did, has no index: a page looks through a part.
        recent = (now - timedelta(seconds=600)).isoformat().replace("+00:00", "Z")
        leased, _ = await find(f"action=attempt.leased&since={recent}&limit=150")
        assert len(leased) == 200
        by_node, pages = await find(f"actor=node_{7:026}&limit=500")
        assert len(by_node) == len([number for number in range(0, MANY, 3) if number % 50 == 7])
        assert pages > 2
        assert await find("actor=node_unknown") == ([], 4)
        since, until = (now - timedelta(seconds=seconds) for seconds in (100, 50))
        span = f"since={since.isoformat()}&until={until.isoformat()}".replace("+00:00", "Z")
        found, _ = await find(f"{span}&limit=20")
        assert len(found) == 50
        assert [one["id"] for one in found] == sorted((one["id"] for one in found), reverse=True)
        known = (await pool.call("GET", "admin/audit/actions", user=ADMIN)).json()["items"]
        assert {"attempt.leased", "cash_out.approved", "setting.changed"} <= set(known)
        assert (await pool.call("GET", "admin/audit", user=ALICE)).status_code == 403
        other = (await pool.call("GET", "admin/audit?limit=1", user=ADMIN)).json()["next"]
        assert (await pool.call("GET", f"admin/audit?order=at&cursor={other}", user=ADMIN)).status_code == 422

    play(hub_url, story)


def test_no_search_reads_the_whole_audit(sqlite_hub):
    async def story(pool):
        await pool.db.run(fill, pool.clock.now())
        plans: list[str] = []

        def explain(connection, cursor, statement, parameters, context, executemany):
            if statement.startswith("SELECT") and "audit" in statement:
                driver = connection.connection.driver_connection
                plans.extend(row[-1] for row in driver.execute(f"EXPLAIN QUERY PLAN {statement}", parameters))

        event.listen(pool.db.engine, "before_cursor_execute", explain)
        try:
            for asked in (
                AuditSearch(),
                AuditSearch(actor=ALICE),
                AuditSearch(action="attempt."),
                AuditSearch(action="cash_out."),
                AuditSearch(subject=BOB),
                AuditSearch(since=pool.clock.now() - timedelta(hours=1)),
            ):
                await pool.db.read(search_audit, asked, None, 50)
        finally:
            event.remove(pool.db.engine, "before_cursor_execute", explain)
        assert plans
        assert [plan for plan in plans if plan.startswith("SCAN audit") and "USING" not in plan] == []
        assert any("ix_audit_actor" in plan for plan in plans)
        assert any("ix_audit_action" in plan for plan in plans)
        assert [plan for plan in plans if plan.startswith("SCAN audit USING INDEX ix_audit_a")] == []

    play(sqlite_hub, story)
