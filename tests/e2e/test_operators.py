"""What people do to a pool at work: drain, ban, replace or copy a machine, change keys, restore a backup."""

import contextlib
import os
import shutil
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from support.children import processes_with
from support.pool import Agent, Pool, path_without, running_pool

pytestmark = pytest.mark.slow

UNWANTED = 78
"""Exit code of an agent that its hub sent away."""
LOST_SECONDS = 150
PASSPHRASE = {"COMPUTEPOOL_BACKUP_PASSPHRASE": "correct horse battery"}


@pytest.fixture(scope="module", params=["@operators"])
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pool]:
    """One hub for the tests that leave it as it is; each has machines of its own, and names them."""
    with running_pool(tmp_path_factory.mktemp("pool")) as pool:
        yield pool


@contextlib.contextmanager
def machines(pool: Pool, *names: str) -> Iterator[list[Agent]]:
    """Bare ones, each with its own name as a tag; gone at the end."""
    joined = [pool.join(name, words=["--tag", name], PATH=path_without("bwrap")) for name in names]
    try:
        yield joined
    finally:
        for agent in joined:
            agent.stop()


def waiting_for(flag: Path, then: str = "true") -> list[str]:
    return ["sh", "-c", f"while [ ! -e {flag} ]; do sleep 0.05; done; {then}"]


def attempt_ids(agent: Agent) -> list[str]:
    return [attempt["attempt_id"] for attempt in (agent.status() or {"attempts": []})["attempts"]]


def states_of(job) -> list[str]:
    return [attempt.state for attempt in job.slices[0].attempts]


def test_drained_node_finishes_what_it_has_and_takes_nothing_new_until_it_is_resumed(shared):
    flag = shared.folder / "drain-go"
    with machines(shared, "drainy") as (agent,):
        job = shared.submit(*waiting_for(flag, "echo finished"), where={"tags": ["drainy"]})
        shared.until_running(job.id)
        assert shared.cli("node", "drain", "drainy", "--json").expect(0).json["state"] == "draining"
        later = shared.submit("true", where={"tags": ["drainy"]})
        flag.touch()
        assert states_of(shared.until_state(job.id, "succeeded")) == ["succeeded"]
        assert shared.log_of(job.id) == b"finished\n"
        assert agent.link == "websocket", "a drained node stays connected"
        assert shared.client.job(later.id).state == "queued"
        assert "drain" in shared.cli("why", later.id).expect(0).text
        shared.cli("node", "resume", "drainy").expect(0)
        shared.until_state(later.id, "succeeded")


def test_banned_node_is_dismissed_for_good_and_its_job_goes_elsewhere(shared):
    mark = f"87{os.getpid():06}"
    with machines(shared, "banned") as (banned,):
        script = f"if [ $COMPUTEPOOL_ATTEMPT -gt 1 ]; then echo elsewhere; else sleep {mark}; fi"
        job = shared.submit("sh", "-c", script, where={"tags": ["banned"]})
        shared.until_running(job.id)
        with machines(shared, "other"):
            shared.cli("node", "tags", "other", "other", "banned").expect(0)
            assert shared.cli("node", "ban", "banned", "-y", "--json").expect(0).json["state"] == "banned"
            done = shared.until_state(job.id, "succeeded")
            assert states_of(done) == ["lost", "succeeded"]
            assert done.slices[0].attempts[0].reason == "node_banned", "the lease had not ended"
            assert done.slices[0].newest.node_name == "other"
            assert shared.log_of(job.id) == b"elsewhere\n"
        assert banned.ended() == UNWANTED
        assert banned.child is not None
        assert "taken out of the pool" in banned.child.shown
        shared.until(lambda: not processes_with([f"sleep\0{mark}"]), "nothing goes on for nobody")
        banned.start(wait=False)
        assert banned.ended() == UNWANTED, "and it does not come back"


def test_machine_that_replaces_another_takes_its_place_and_the_other_is_out(shared):
    with machines(shared, "old") as (old,):
        old_id = old.node_id
        old.kill()  # the machine is gone; its keys with it
        new = Agent(shared, "new", {"PATH": path_without("bwrap")})
        new.needs_no_sandbox()
        shared.agents.append(new)
        words = [*shared.join_words(), "--name", "new", "--tag", "old", "--replace", old_id]
        new.run("join", shared.url, *words)
        listed = {node.id: node.state for node in shared.client.nodes()}
        assert listed[new.node_id] == "online"
        assert listed.get(old_id, "banned") == "banned"
        done = shared.until_state(shared.submit("true", where={"tags": ["old"]}).id, "succeeded")
        assert done.slices[0].newest.node_name == "new"
        old.start(wait=False)
        assert old.ended() == UNWANTED
        new.stop()


def test_copy_of_a_machine_is_refused_and_recorded_and_the_first_one_works_on(shared):
    ledger = shared.folder / "cloned.txt"
    with machines(shared, "first") as (first,):
        copy = Agent(shared, "copy", first.environment)
        shared.agents.append(copy)
        shutil.copytree(first.home, copy.home, ignore=shutil.ignore_patterns("*.sock", "*.lock"))
        copy.start(wait=False)
        shared.until(lambda: "Another agent is connected" in str((copy.status() or {}).get("trouble")), "it is refused")
        job = shared.submit("sh", "-c", f"echo ran >>{ledger}", where={"tags": ["first"]})
        assert states_of(shared.until_state(job.id, "succeeded")) == ["succeeded"]
        assert ledger.read_text() == "ran\n"
        assert (first.link, copy.link) == ("websocket", None)
        with contextlib.closing(sqlite3.connect(f"file:{shared.home / 'pool.db'}?mode=ro", uri=True)) as database:
            query = "SELECT count(*) FROM audit WHERE action = 'node.cloned' AND subject = ?"
            shared.until(lambda: database.execute(query, [first.node_id]).fetchone()[0] == 1, "it is recorded, once")
        # Once the first one is gone, whoever has its key is that machine.
        first.stop()
        shared.until(lambda: copy.link == "websocket", "the copy is let in")
        shared.until_state(shared.submit("true", where={"tags": ["first"]}).id, "succeeded")
        copy.stop()


def test_node_that_replaced_its_key_goes_on_and_its_copy_is_turned_away(shared):
    with machines(shared, "keyed") as (agent,):
        copy = Agent(shared, "keyed-copy", agent.environment)
        shared.agents.append(copy)
        shutil.copytree(agent.home, copy.home, ignore=shutil.ignore_patterns("*.sock", "*.lock"))
        copy.start(wait=False)
        shared.until(lambda: "agent rotate-key" in str((copy.status() or {}).get("trouble")), "it is told what to do")
        before = shared.until_state(shared.submit("true", where={"tags": ["keyed"]}).id, "succeeded")
        shared.until(lambda: shared.client.node_document(agent.node_id)["clone_seen_at"], "its owner is told")
        copy.stop()
        listed = shared.cli("nodes").expect(0)
        assert "keyed: A second agent with this node's key was refused" in listed.err
        assert "second agent" in shared.cli("node", "show", agent.node_id).expect(0).text.replace("\n", " ")
        home = ("--home", str(agent.home))
        assert "agent stop" in shared.cli("agent", "rotate-key", *home).expect(1).err, "not under a running agent"
        agent.stop()
        old = agent.files.identity()
        key_id = shared.cli("agent", "rotate-key", *home).expect(0).text.strip()
        assert key_id == agent.files.identity().key_id
        # As if it had been killed before it heard of the hub's answer.
        agent.files.save_identity(old, agent.files.identity())
        copy.start(wait=False)
        assert copy.ended() == UNWANTED
        agent.start()
        after = shared.until_state(shared.submit("true", where={"tags": ["keyed"]}).id, "succeeded")
        for job in (before, after):
            assert shared.cli("verify", job.id, "--json").expect(0).json["verified"]
        signers = [shared.client.receipts(job.id)[0].receipt.key_id for job in (before, after)]
        assert signers[0] != signers[1] == key_id
        assert "keyed: A second agent" not in shared.cli("nodes").expect(0).err


def test_keys_are_rotated_under_an_agent_that_pinned_them(pool):
    """The signing key, and the secret that seals it."""
    agent = pool.join_without_bubblewrap("alpha")
    before = set(agent.files.node().trusted_keys)
    first = pool.until_state(pool.submit("true").id, "succeeded")
    announced = pool.cli("hub", "keys", "announce").expect(0).text.strip()
    assert "alpha" in pool.cli("hub", "keys", "rotate").expect(1).err, "nobody has heard of the next key yet"
    assert pool.hub.stop() == 0
    pool.start_hub()
    pool.until(lambda: announced in agent.files.node().trusted_keys, "the agent pins the next key")
    assert announced not in before
    assert pool.hub.stop() == 0
    assert pool.cli("hub", "keys", "rotate").expect(0).text.strip() == announced
    secret = (pool.home / "secret.key").read_text()
    told = pool.cli("hub", "keys", "rotate-secret").expect(0).err
    assert "Goes on: nodes, personal tokens" in told
    assert (pool.home / "secret.key").read_text() != secret
    pool.start_hub()
    assert "A hub is already running" in pool.cli("hub", "keys", "rotate-secret").expect(1).err
    listed = pool.cli("hub", "keys", "list", "--json").expect(0).json
    assert [(key["id"], key["state"]) for key in listed] == [(announced, "current"), (*before, "retired")]
    second = pool.until_state(pool.submit("echo", "signed anew").id, "succeeded")
    signers = [pool.cli("verify", job.id, "--json").expect(0).json for job in (first, second)]
    assert all(each["verified"] for each in signers), "what the old key signed holds too"
    keys = [pool.client.receipts(job.id)[0].manifest.key_id for job in (first, second)]
    assert keys == [*before, announced]
    later = datetime.now(UTC) + timedelta(days=30)
    pool.until(lambda: set(agent.files.node().keys_at(later)) == {announced}, "the agent hears when the old key ends")


def test_restored_hub_goes_on_with_what_ran_at_the_backup_and_ends_what_came_after(pool):
    agent = pool.join_without_bubblewrap("alpha")
    ledger, flag = pool.folder / "ledger.txt", pool.folder / "go"
    over = pool.until_state(pool.submit("sh", "-c", f"echo over >>{ledger}").id, "succeeded")
    old = pool.submit(*waiting_for(flag, f"echo old >>{ledger}; echo done"))
    pool.until_running(old.id)
    pool.cli("hub", "backup", "pool.backup", environment=PASSPHRASE).expect(0)
    after = pool.submit(*waiting_for(flag, f"echo after >>{ledger}"))
    pool.until_running(after.id)
    assert len(attempt_ids(agent)) == 2

    pool.kill_hub()
    elsewhere = pool.folder / "restored"
    told = pool.cli("hub", "restore", "pool.backup", "--home", str(elsewhere), environment=PASSPHRASE).expect(0)
    assert "artifacts and logs" in told.err
    shutil.copytree(pool.home / "artifacts", elsewhere / "artifacts")
    shutil.copy(pool.home / "credentials.json", elsewhere)
    pool.home = elsewhere
    pool.start_hub()

    pool.until(lambda: len(attempt_ids(agent)) == 1, "what the hub does not know of is ended")
    flag.touch()
    done = pool.until_state(old.id, "succeeded")
    assert states_of(done).count("succeeded") == 1
    assert pool.log_of(old.id) == b"done\n"
    assert pool.client.job(over.id).state == "succeeded"
    assert {job.id for job in pool.client.jobs(limit=100)} == {over.id, old.id}
    pool.until(lambda: attempt_ids(agent) == [], "nothing is left over")
    assert sorted(ledger.read_text().splitlines()) == ["old", "over"]
    # Fences begin beyond whatever the lost hub gave out.
    fresh = pool.until_state(pool.submit("true").id, "succeeded")
    assert fresh.slices[0].newest.fence > max(attempt.fence for attempt in done.slices[0].attempts)


@pytest.mark.proof(long=True)
def test_job_of_an_agent_that_never_returns_runs_on_another_node(pool):
    """In real time, so only in `./dev prove`: the constants are what is promised, and cannot be set.

    Every run has the same in virtual time: tests/hub/test_mutants.py, tests/simulation.
    """
    dead = pool.join_without_bubblewrap("dead")
    job = pool.submit("sh", "-c", "if [ $COMPUTEPOOL_ATTEMPT -gt 1 ]; then echo again; else sleep 1000; fi")
    pool.until_running(job.id)
    pool.join_without_bubblewrap("alive")
    dead.kill()
    done = pool.until_state(job.id, "succeeded", takes=LOST_SECONDS)
    assert states_of(done) == ["lost", "succeeded"]
    assert done.slices[0].newest.node_name == "alive"
    assert pool.log_of(job.id) == b"again\n"
