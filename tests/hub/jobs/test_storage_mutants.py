"""Each limit of storage and of the queue is held by a check that notices when the limit is switched off."""

from dataclasses import replace

import pytest
from support.checkpoints import running
from support.engine import ALICE, play
from support.planted import each_check, each_mutant
from support.stored import announced, ask, put_outputs, usage

import computepool.hub.engine
from computepool.hub.artifacts import checkpoints, outputs, repository
from computepool.hub.artifacts import usage as usage_module
from computepool.hub.artifacts.outputs import Outputs
from computepool.hub.core.owners import Owner
from computepool.hub.jobs.storage import StorageWatch
from computepool.hub.scheduling.open_jobs import OpenJobs
from computepool.hub.scheduling.queue import Queue
from computepool.protocol.receipt import OutputRef

KB = 1024
CAROL = "user_carol"
SETTINGS = {
    "storage_limit_bytes": 4096 * KB,
    "storage_limit_objects": 20,
    "storage_limit_bytes_per_day": 100 * KB,
    "limit_queued_slices": 100,
    "limit_queued_bytes": 1024 * KB,
}


async def slice_leaves_no_more_than_it_was_granted(pool):
    agent, work = await running(pool, resources={"disk": "1MB"})
    await put_outputs(pool, agent, work, a=b"a" * 500 * KB)
    assert (await ask(agent, work, b=b"b" * 600 * KB)).refused is not None
    assert (await ask(agent, work, "checkpoint", c=b"c" * 1100 * KB)).refused is not None
    for number in range(3):
        assert (await ask(agent, work, "checkpoint", c=b"%d" % number * 1000 * KB)).refused is None
    assert (await ask(agent, work, "checkpoint", c=b"3" * 200 * KB)).refused is not None
    assert usage(pool, ALICE).bytes == 3500 * KB


async def outputs_that_were_never_announced_reach_nobody(pool):
    agent, work = await running(pool)
    kept = await put_outputs(pool, agent, work, a=b"a")
    (strange,) = announced(b=b"b")
    named = (*kept, OutputRef(path="b", digest=strange.digest, size_bytes=1))
    await agent.finish(work, outputs=named)
    await pool.settle()
    job = await pool.job(work.manifest.job_id)
    assert job.slices[0].attempts[0].reason == "outputs_missing"
    assert (await pool.call("GET", f"jobs/{job.id}/artifacts")).json()["items"] == []
    assert usage(pool, ALICE).bytes == 0


async def account_stores_no_more_than_it_may(pool):
    async def store(user, size_bytes, digit):
        body = {"digest": f"sha256:{digit:f<64}", "size_bytes": size_bytes}
        answer = await pool.call("POST", "artifacts", body, user=user)
        return answer.json()["error"]["code"] if answer.is_error else None

    await pool.db.run(lambda session: session.add(Owner(id=CAROL, kind="user", created_at=pool.clock.now())))
    assert await store(CAROL, 60 * KB, "1") is None
    assert await store(CAROL, 60 * KB, "2") == "storage_daily_quota"
    assert await store(ALICE, 4000 * KB, "3") is None
    assert await store(ALICE, 100 * KB, "4") == "storage_quota"
    for number in range(19):
        assert await store(ALICE, 1, f"{number:02}") is None
    assert await store(ALICE, 1, "99") == "storage_quota"
    assert (usage(pool, ALICE).objects, usage(pool, CAROL).bytes) == (20, 60 * KB)


async def account_with_a_full_log_begins_nothing_new(pool):
    agent, work = await running(pool)
    for _ in range(18):
        await agent.write_log(work, b"x" * 250 * KB)
    await agent.finish(work)
    assert (await pool.call("POST", "jobs", {"run": ["true"]})).status_code == 413


async def account_queues_no_more_than_it_may(pool):
    async def submit(**spec):
        answer = await pool.call("POST", "jobs", {"run": ["true"], "resources": {"cpus": 4000}, **spec})
        return answer.json()["error"]["code"] if answer.is_error else None

    assert await submit(slices=85) is None
    assert await submit(slices=20) == "queue_full"
    large = {"env": {"LARGE": "x" * 100_000}}
    for _ in range(10):
        assert await submit(**large) is None
    assert await submit(**large) == "queue_full"


# ── bugs ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def outputs_ignore_what_was_granted(plant):
    grant = Outputs.grant
    plant.setattr(Outputs, "grant", lambda self, attempt, owner, files, disk=None: grant(self, attempt, owner, files))


def checkpoints_ignore_what_was_granted(plant):
    grant = checkpoints.grant_files

    def unlimited(*args, **options):
        return grant(*args, **{**options, "limit_bytes": 1 << 40})

    unlimited.__name__ = grant.__name__
    plant.setattr(checkpoints, "grant_files", unlimited)


def any_number_of_checkpoints(plant):
    plant.setattr(repository, "measure_checkpoint_files", lambda session, job_id, slice_index: 0)


def whatever_a_receipt_names_is_there(plant):
    async def nothing(self, attempt_id, named):
        return []

    plant.setattr(Outputs, "find_missing", nothing)
    plant.setattr(outputs, "_is_announced", lambda row, file: True)


def no_quota(plant):
    plant.setattr(usage_module, "why_exceeded", lambda session, stored, now, quotas: None)


def no_daily_quota(plant):
    own = usage_module.own_quotas
    plant.setattr(usage_module, "own_quotas", lambda stored, quotas: replace(own(stored, quotas), daily_bytes=None))


def nothing_is_counted(plant):
    found = usage_module.find_stored
    plant.setattr(usage_module, "_add", lambda session, owner_id, amount, now: found(session, owner_id))


def full_accounts_are_not_remembered(plant):
    plant.setattr(StorageWatch, "hear", lambda self, events: None)


def no_limit_of_the_queue(plant):
    plant.setattr(computepool.hub.engine, "check_queue", lambda settings, queue, briefs, job, brief: None)


def waiting_slices_are_not_counted(plant):
    plant.setattr(Queue, "count_of", lambda self, owner_id: 0)


def specs_are_not_counted(plant):
    plant.setattr(OpenJobs, "bytes_of", lambda self, owner_id: 0)


MUTANTS = {
    slice_leaves_no_more_than_it_was_granted: [
        outputs_ignore_what_was_granted,
        checkpoints_ignore_what_was_granted,
        any_number_of_checkpoints,
    ],
    outputs_that_were_never_announced_reach_nobody: [whatever_a_receipt_names_is_there],
    account_stores_no_more_than_it_may: [no_quota, no_daily_quota, nothing_is_counted],
    account_with_a_full_log_begins_nothing_new: [full_accounts_are_not_remembered],
    account_queues_no_more_than_it_may: [no_limit_of_the_queue, waiting_slices_are_not_counted, specs_are_not_counted],
}


@each_check(MUTANTS)
def test_without_a_bug_the_check_holds(hub_url, check):
    play(hub_url, check, settings=SETTINGS)


@each_mutant(MUTANTS)
def test_each_bug_is_noticed(sqlite_hub, monkeypatch, check, mutant):
    mutant(monkeypatch)
    with pytest.raises(AssertionError):
        play(sqlite_hub, check, settings=SETTINGS)
