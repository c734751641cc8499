"""Machines of three owners, one of which delivers what nobody computed: real processes, and real cheating."""

import os
import shutil
import tempfile
from pathlib import Path

import httpx
import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session
from support.pool import TINY, Agent
from support.waiting import patience

from computepool.client.pool import Pool as Client
from computepool.hub.core.db import durable_engine
from computepool.hub.jobs.tables import Attempt, Job
from computepool.hub.trust.tables import Check, Clawback

pytestmark = pytest.mark.slow

CHEATING_BWRAP = """#!/bin/sh
[ "$1" = --args ] || exec {bwrap} "$@"
arguments=$2
shift 3
exec {bwrap} --args "$arguments" -- /bin/sh -c '
    [ -n "$COMPUTEPOOL_OUTPUT" ] || exec "$@"
    sleep 1
    echo 41 >"$COMPUTEPOOL_OUTPUT/answer.txt"
' - "$@"
"""
"""A host's own: it passes every test that an agent makes of its sandbox, and runs no job. It waits, and makes it up."""
COMPUTE = 'sleep 1; echo 42 >"$COMPUTEPOOL_OUTPUT/answer.txt"'
SAME = {**TINY, "run": ["sh", "-c", COMPUTE], "deterministic": True}


def join_as(pool, owner, **environment):
    """Somebody else's machine, with an account of its own."""
    person = {"email": f"{owner}@example.org", "password": "correct horse battery", "name": owner}
    answer = httpx.post(f"{pool.url}/api/v1/auth/register", json=person, timeout=patience())
    session = answer.raise_for_status().json()
    with Client(pool.url, session["access_token"], pool.folder) as client:
        token = client.join_token().token
    agent = Agent(pool, owner, environment)
    pool.agents.append(agent)
    agent.run("join", pool.url, "--token", token, "--name", owner, wait=False)
    return agent


@pytest.fixture
def folder_of_all():
    """That every account of this machine may look into: sandboxes are not started as root."""
    with tempfile.TemporaryDirectory(prefix="computepool-tests-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


def cheating_path(folder):
    """A machine's programs, with another bwrap in front."""
    script = folder / "bwrap"
    script.write_text(CHEATING_BWRAP.format(bwrap=shutil.which("bwrap")))
    script.chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


def answer_of(pool, job_id, folder):
    pool.client.download_outputs(job_id, pool.folder / folder)
    return (pool.folder / folder / "answer.txt").read_text()


def assert_two_judges_shared_what_the_slice_paid(pool, job_id):
    """Else one person's accounts that judge each other make credits out of nothing."""
    engine = durable_engine(f"sqlite:///{pool.home / 'pool.db'}")
    with Session(engine) as session:
        earned = session.scalars(select(Attempt.earned_micros).where(Attempt.job_id == job_id)).one()
        reruns = select(Attempt.earned_micros).join(Job, Job.id == Attempt.job_id).where(Job.rerun_of == job_id)
        paid = session.scalars(reruns).all()
        assert len(paid) == 2
        assert 0 < sum(paid) <= earned
        assert session.scalars(select(Check.kind).where(Check.job_id == job_id)).all() == ["audit"]
        assert session.scalars(select(Clawback)).all() == []
    engine.dispose()


@pytest.mark.engine("bwrap")
def test_a_cheating_host_is_found_out_and_the_renter_gets_what_is_right(pool, folder_of_all):
    join_as(pool, "bob")
    carol = join_as(pool, "carol", PATH=cheating_path(folder_of_all))
    for agent in (*pool.agents, join_as(pool, "dave")):
        pool.until(lambda agent=agent: agent.link is not None, f"{agent.name} has a line")

    # Alone, the cheater's word counts at first: nobody has computed the same. Then two others do.
    audited = pool.client.submit({**SAME, "where": {"node": carol.node_id}})
    # Two have to agree, and if the cheater is one of them, the third decides.
    replicated = pool.client.submit({**SAME, "verify": {"replicas": 2}})

    def accused():
        found = pool.cli("admin", "accusations", "list", "--json").expect(0).json["items"]
        return next((accusation for accusation in found if accusation["kind"] == "audit"), None)

    accusation = pool.until(accused, "carol is accused")
    assert (accusation["node_id"], accusation["job_id"]) == (carol.node_id, audited.id)
    assert answer_of(pool, audited.id, "accused") == "41\n", "an accusation replaces nothing"
    assert_two_judges_shared_what_the_slice_paid(pool, audited.id)
    assert pool.client.call("GET", f"/nodes/{carol.node_id}")["state"] == "online", "nobody is punished yet"
    pool.cli("admin", "accusations", "confirm", accusation["id"]).expect(0)
    (found,) = pool.client.call("GET", "/admin/audits?state=guilty")["items"]
    assert found["id"] == accusation["check_id"]
    assert found["given_back_micros"] > 0
    assert answer_of(pool, audited.id, "audited") == "42\n"
    pool.until_state(replicated.id, "succeeded")
    assert answer_of(pool, replicated.id, "replicated") == "42\n"
    for job, folder in ((audited, "audited"), (replicated, "replicated")):
        record = pool.cli("verify", job.id, "-o", folder, "--json").expect(0).json
        assert record["verified"] is True
        assert "outputs" in {check["check"] for check in record["checks"]}
    attempt = pool.client.job(audited.id).slices[0].newest
    assert (attempt.verdict, attempt.reason) == ("host", "wrong_result")
