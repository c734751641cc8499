"""A result that others proved wrong is replaced, and what is delivered instead can be verified like any other."""

import hashlib

from support.checked_work import CAROL, DAVE, add_agents, answer, judged_by
from support.engine import BOB, play

from computepool.client.receipts import read_receipt
from computepool.hub.jobs.tables import Attempt
from computepool.protocol.spec import parse_spec
from computepool.protocol.verification import INSTEAD, Evidence, verify

SAME = {"deterministic": True, "outputs": ["out"]}


async def verified(pool, job_id):
    """What a client finds, of outputs and papers as the API hands them out."""
    outputs = (await pool.call("GET", f"jobs/{job_id}/artifacts")).json()["items"]
    assert [one["digest"] for one in outputs] == ["sha256:" + hashlib.sha256(b"right").hexdigest()]
    page = (await pool.call("GET", f"jobs/{job_id}/receipts")).json()
    keys = list(pool.engine.keyring.public)
    spec = (await pool.call("GET", f"jobs/{job_id}")).json()["spec"]
    items = [read_receipt(item) for item in page["items"]]
    number = INSTEAD if any(item.instead for item in items) else 1
    assert [one["attempt"] for one in outputs] == [number]
    evidence = {(0, number): Evidence({one["path"]: one["digest"] for one in outputs})}
    checks = verify(items, hub_keys=keys, job_id=job_id, spec=parse_spec(spec), succeeded=[0], evidence=evidence)
    assert all(check.passed for check in checks), [check for check in checks if not check.passed]
    return items


def test_outputs_that_an_audit_corrected_are_verified(hub_url):
    async def story(pool):
        (bob,) = await add_agents(pool, BOB)
        carol, dave = await add_agents(pool, CAROL, DAVE, connect=False)
        job_id = await pool.submit(**SAME)
        await answer(bob, b"wrong")
        await judged_by(pool, carol, b"right")
        (before,) = (await pool.call("GET", f"jobs/{job_id}/receipts")).json()["items"]
        assert before["instead"] is None
        await judged_by(pool, dave, b"right")
        (item,) = await verified(pool, job_id)
        assert item.instead.node.id in (carol.node_id, dave.node_id)

    play(hub_url, story)


def test_outputs_that_replicas_chose_are_verified(hub_url):
    async def story(pool):
        agents = await add_agents(pool, BOB, CAROL, DAVE)
        job_id = await pool.submit(**SAME, verify={"replicas": 3})
        await pool.settle(1)
        root = pool.rows(Attempt, job_id=job_id)[0]
        for agent in agents:
            await answer(agent, b"wrong" if agent.node_id == root.node_id else b"right")
        assert (await pool.job(job_id)).state == "succeeded"
        (item,) = await verified(pool, job_id)
        assert item.instead is not None
        assert item.instead.node.id != root.node_id

    play(hub_url, story)


def test_outputs_that_nobody_replaced_need_nothing_more(sqlite_hub):
    async def story(pool):
        bob, carol = await add_agents(pool, BOB, CAROL)
        job_id = await pool.submit(**SAME, verify={"replicas": 2})
        await answer(bob)
        await answer(carol)
        (item,) = await verified(pool, job_id)
        assert item.instead is None

    play(sqlite_hub, story)
