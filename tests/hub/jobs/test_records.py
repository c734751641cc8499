"""Outbox and audit rows are written in the transaction of every transition: together, or not at all."""

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session
from support.engine import play
from support.scripted_agent import add_agent
from support.truth import FAILED, LOST, OK

from computepool.hub.core.records import write_records
from computepool.hub.core.tables import AuditRow, OutboxRow
from computepool.protocol.receipt import EndReason
from computepool.protocol.states import AttemptState


def test_every_transition_is_recorded_in_its_own_commit(hub_url):
    """After each commit: if any state is not what it was, there are new rows in both."""

    async def story(pool):
        seen = {"truth": pool.truth(), "rows": _count(pool)}
        changes = []

        def check(name):
            truth, rows = pool.truth(), _count(pool)
            if truth != seen["truth"]:
                changes.append(name)
                assert rows[0] > seen["rows"][0], f"{name} changed a state and told nobody"
                assert rows[1] > seen["rows"][1], f"{name} changed a state and left no trace"
            seen.update(truth=truth, rows=rows)

        pool.db.after_commit = check
        agent = await add_agent(pool)
        job_id = await pool.submit(slices=2, retries=2, resources={"cpus": 2})
        await agent.run_next()
        work = await agent.take_offer()
        await agent.update(work, "preparing")
        await agent.update(work, "running")
        await agent.finish(work, exit_code=1)
        work = await agent.take_offer()
        await agent.gone(work)
        work = await agent.take_offer()
        await agent.disconnect()
        await pool.settle(150)
        await agent.connect()
        await agent.finish(work, exit_code=None, reason=EndReason.SANDBOX)
        work = await agent.take_offer()
        await pool.cancel(job_id)
        await agent.finish(work, exit_code=None, reason=EndReason.CANCELED)
        assert (await pool.job(job_id)).state == "canceled"
        await pool.cancel(await pool.submit(resources={"cpus": 64}))
        assert {"store", "lease", "report", "end_attempt", "reconcile", "_cancel"} <= set(changes)
        changes.clear()
        for state in ("paused", "online"):
            agent.state = state
            await agent.heartbeat()
            await pool.settle()
        await pool.call("POST", f"nodes/{agent.node_id}/drain")
        await pool.call("POST", f"nodes/{agent.node_id}/resume")
        await pool.call("PATCH", f"nodes/{agent.node_id}", {"name": "better"})
        await agent.disconnect()
        await pool.settle(60)
        await agent.connect()
        await pool.call("POST", f"nodes/{agent.node_id}/ban")
        moves, written = ["_move_node"] * 2, ["_drain", "_move_node"] * 2
        assert changes == [*moves, *written, "_change", "_move_node", "reconcile", "_ban"]

    play(hub_url, story)


ACTS = {
    "end": lambda truth, held: truth.end(held, OK),
    "lose": lambda truth, held: truth.end(held, LOST),
    "cancel": lambda truth, held: truth.cancel(held.job_id),
    "report": lambda truth, held: truth.report(held, AttemptState.RUNNING),
    "take back": lambda truth, held: truth.take_back(held),
    "submit": lambda truth, held: truth.add_job(),
}


@pytest.mark.parametrize("what", ACTS)
def test_transition_that_is_rolled_back_leaves_no_record(truth, what, monkeypatch):
    held = truth.lease(truth.add_job(retries=1))
    if what == "take back":
        truth.end(held, LOST)
    before, records = truth.states(held), truth.count_records()
    real = truth.run

    def fail_at_the_commit(fn, *args, **kwargs):
        def act(session):
            fn(session, *args, **kwargs)
            write_records(session)
            raise OSError("the disk is full")

        return real(act)

    with monkeypatch.context() as patch:
        patch.setattr(truth, "run", fail_at_the_commit)
        with pytest.raises(OSError, match="disk"):
            ACTS[what](truth, held)
    assert truth.states(held) == before
    assert truth.count_records() == records


def test_audit_says_who_did_what(truth):
    held = truth.lease(truth.add_job())
    truth.report(held, AttemptState.RUNNING)
    truth.end(held, FAILED)
    with Session(truth.engine) as session:
        rows = session.scalars(select(AuditRow).where(AuditRow.subject == held.id).order_by(AuditRow.id)).all()
        assert [(row.actor, row.action) for row in rows] == [
            ("hub", "attempt.leased"),
            ("node_1", "attempt.running"),
            ("node_1", "attempt.failed"),
        ]
        place = {"job": held.job_id, "slice": 0, "node": "node_1"}
        assert rows[-1].details == {**place, "verdict": "renter", "reason": "exited"}
        topics = {row.topic.partition("/")[0] for row in session.scalars(select(OutboxRow))}
        assert "owner" in topics
        assert "job" not in topics  # only for those who listen now


def _count(pool):
    return len(pool.rows(OutboxRow)), len(pool.rows(AuditRow))
