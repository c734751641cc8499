"""The books are summed up on a schedule, and nobody is paid out while they do not add up."""

import pytest
import structlog
from sqlalchemy import update
from sqlalchemy.orm import Session
from starlette.requests import Request
from support.engine import ADMIN, ALICE, BOB, play
from support.scripted_agent import add_agent

from computepool.hub.api.health import check_reader, write_metrics
from computepool.hub.core.errors import Forbidden, Unauthenticated
from computepool.hub.core.tables import AuditRow
from computepool.hub.ledger.freezing import is_frozen
from computepool.hub.ledger.holds import HoldRow
from computepool.hub.ledger.tables import BalanceRow
from computepool.hub.wallet.checking import CHECK_SECONDS, FIRST_SECONDS
from computepool.hub.wallet.views import LedgerReport


def last_of(pool) -> LedgerReport | None:
    report: LedgerReport | None = pool.engine.ledger.last
    return report


async def work_once(pool):
    agent = await add_agent(pool, owner=BOB)
    await pool.submit()
    await agent.run_next()


def tamper(session: Session, micros: int) -> None:
    change = update(BalanceRow).where(BalanceRow.account == f"{ALICE}/available")
    session.execute(change.values(micros=BalanceRow.micros + micros))


def test_check_finds_the_books_balanced(hub_url):
    async def story(pool):
        await work_once(pool)
        report = (await pool.call("GET", "admin/ledger/check", user=ADMIN)).json()
        assert report["balanced"] is True
        assert report["problems"] == []
        assert report["entries"] == 5, "three grants, a hold, and its settlement"
        assert report["cash_outs_frozen"] is False
        assert sum(report["platform"].values()) < 0, "what people have"
        assert (await pool.call("GET", "admin/ledger/check")).status_code == 403

    play(hub_url, story)


def test_a_wrong_balance_is_found_freezes_cash_outs_and_thaws_when_it_is_right_again(hub_url):
    async def story(pool):
        await work_once(pool)
        await pool.db.run(tamper, 1)
        structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(40))
        with structlog.testing.capture_logs() as logs:
            report = await pool.engine.ledger.check()
        assert [one["event"] for one in logs if one["log_level"] == "error"] == ["ledger.unbalanced"]
        assert not report.balanced
        assert report.cash_outs_frozen
        assert f"{ALICE}/available" in report.problems[0]
        assert await pool.db.read(is_frozen)
        await pool.engine.ledger.check()
        assert [row.action for row in pool.rows(AuditRow, subject="ledger")] == ["ledger.frozen"], "once"
        await pool.db.run(tamper, -1)
        assert (await pool.engine.ledger.check()).balanced
        assert not await pool.db.read(is_frozen)
        assert [row.action for row in pool.rows(AuditRow, subject="ledger")] == ["ledger.frozen", "ledger.thawed"]

    play(hub_url, story)


def test_a_hold_that_nothing_is_set_aside_for_is_found(hub_url):
    """What jobs know of money is checked as well."""

    async def story(pool):
        await work_once(pool)
        pool.tampered = True
        await pool.db.run(lambda session: session.execute(update(HoldRow).values(resolved_at=None)) and None)
        report = await pool.engine.ledger.check()
        assert any("open holds" in problem for problem in report.problems)

    play(hub_url, story)


def test_books_are_checked_soon_after_the_start_and_every_hour(sqlite_hub):
    async def story(pool):
        assert last_of(pool) is None
        await pool.settle(FIRST_SECONDS + 1)
        first = last_of(pool)
        assert first is not None
        await pool.settle(CHECK_SECONDS - 2)
        assert last_of(pool) is first
        await pool.db.run(tamper, 1)
        pool.tampered = True
        await pool.settle(2)
        second = last_of(pool)
        assert second is not None
        assert not second.balanced

    play(sqlite_hub, story)


def test_a_check_that_fails_is_tried_again(sqlite_hub):
    async def story(pool):
        real, pool.engine.ledger._look = pool.engine.ledger._look, None
        await pool.settle(FIRST_SECONDS + 1)
        assert last_of(pool) is None
        pool.engine.ledger._look = real
        await pool.settle(CHECK_SECONDS)
        assert last_of(pool) is not None

    play(sqlite_hub, story)


def test_without_money_nothing_is_checked(sqlite_hub):
    async def story(pool):
        await pool.settle(CHECK_SECONDS)
        assert last_of(pool) is None
        assert "ledger" not in write_metrics(pool.engine)

    play(sqlite_hub, story, settings={"money": "off"})


# ── the metric ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_metrics_say_whether_the_books_balance(hub_url):
    async def story(pool):
        await work_once(pool)
        await pool.engine.ledger.check()
        await pool.settle(30)
        lines = write_metrics(pool.engine).splitlines()
        assert "computepool_ledger_balanced 1" in lines
        assert any(line.startswith("computepool_ledger_check_age_seconds 30") for line in lines)
        assert "computepool_nodes_online 1" in lines
        assert 'computepool_ledger_platform_micros{account="clearing"} -3000000000000' in lines
        names = {line.split()[2] for line in lines if line.startswith("# TYPE")}
        assert {line.split()[0].partition("{")[0] for line in lines if not line.startswith("#")} == names
        await pool.db.run(tamper, 5)
        pool.tampered = True
        await pool.engine.ledger.check()
        assert "computepool_ledger_balanced 0" in write_metrics(pool.engine).splitlines()

    play(hub_url, story)


def test_metrics_are_for_this_machine_and_for_admins(sqlite_hub):
    async def story(pool):
        def asked(host, token=None, **headers):
            sent = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
            if token:
                sent.append((b"authorization", f"Bearer {token}".encode()))
            request = Request({"type": "http", "client": (host, 1) if host else None, "headers": sent})
            check_reader(request, pool.engine.directory.authenticate)

        asked("127.0.0.1")
        asked("::1")
        for host, headers in (
            ("192.168.1.5", {}),
            ("127.0.0.1", {"x_forwarded_for": "1.2.3.4"}),
            ("127.0.0.1", {"forwarded": "for=1.2.3.4"}),
            ("unix", {}),
            (None, {}),
        ):
            with pytest.raises(Unauthenticated):
                asked(host, **headers)
            asked(host, pool.token(ADMIN), **headers)
            with pytest.raises(Forbidden):
                asked(host, pool.token(ALICE), **headers)
        answer = await pool.client.get("http://hub.test/metrics")
        assert (answer.status_code, answer.headers["content-type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")

    play(sqlite_hub, story)
