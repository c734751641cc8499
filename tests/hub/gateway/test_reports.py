"""What agents report: checked, fenced, repeatable. A stale attempt changes nothing: not state, logs, artifacts."""

import asyncio
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from support.engine import BOB, play
from support.scripted_agent import add_agent, digest

from computepool.hub.artifacts.parts import outputs_folder
from computepool.hub.artifacts.tables import Artifact
from computepool.hub.jobs.tables import Attempt
from computepool.protocol.messages import (
    Finished,
    Gone,
    Goodbye,
    LogAck,
    LogChunk,
    Offer,
    Refused,
    ReportAck,
    Stop,
    Update,
    UploadFile,
    UploadGrant,
    UploadRequest,
)
from computepool.protocol.receipt import EndReason, OutputRef
from computepool.protocol.signing import Signed, key_id_of, sign
from computepool.protocol.states import IsolationLevel

REPORTS = {
    "update": lambda agent, work, ref: Update(**ref, sequence=1, state="running"),
    "log": lambda agent, work, ref: LogChunk(**ref, offset=0, data=b"stale"),
    "upload": lambda agent, work, ref: UploadRequest(
        **ref, request=1, files=(UploadFile(path="out.txt", size_bytes=5, digest=digest(b"stale")),)
    ),
    "finished": lambda agent, work, ref: agent.finished(work).model_copy(update=ref),
    "gone": lambda agent, work, ref: Gone(**ref, reason="stale"),
}


async def running(pool, agent=None, **fields):
    agent = agent or await add_agent(pool, **fields)
    await pool.submit()
    work = await agent.take_offer()
    await agent.update(work, "running")
    return agent, work


def everything(pool):
    """The truth, the store and the memory."""
    memory = [
        (node.traits.node_id, sorted(node.attempts), node.free.cpu_millis) for node in pool.engine.scheduler.fleet
    ]
    return pool.truth(), dict(pool.store.objects), sorted(memory), len(pool.engine.scheduler.queue)


# ── stale ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("kind", REPORTS)
def test_report_with_a_wrong_fence_is_refused_and_changes_nothing(hub_url, kind):
    async def story(pool):
        agent, work = await running(pool)
        await agent.write_log(work, b"good\n")
        before = everything(pool)
        for fence in (work.fence - 1, work.fence + 1, 0, -1, 2**80):
            ref = {"attempt_id": work.id, "fence": fence}
            answer = await agent.answer_to(REPORTS[kind](agent, work, ref))
            assert isinstance(answer, Refused), answer
            assert answer.code == "stale_lease"
            assert everything(pool) == before
        assert isinstance(await agent.finish(work), ReportAck)

    play(hub_url, story)


@pytest.mark.parametrize("kind", REPORTS)
def test_report_about_anothers_attempt_is_refused_and_changes_nothing(hub_url, kind):
    """Another node, which learnt the attempt's id and fence."""

    async def story(pool):
        agent, work = await running(pool)
        thief = await add_agent(pool, name="thief", owner=BOB)
        before = everything(pool)
        ref = {"attempt_id": work.id, "fence": work.fence}
        report = REPORTS[kind](thief, work, ref)
        answer = await thief.answer_to(report)
        assert isinstance(answer, Refused), answer
        assert everything(pool) == before
        answer = await thief.answer_to(report.model_copy(update={"attempt_id": "attempt_of_nobody"}))
        assert isinstance(answer, Refused)
        assert everything(pool) == before
        for nonsense in ("", "../../etc/passwd", "\0"):
            await thief.send(report.model_copy(update={"attempt_id": nonsense}))
            assert (await thief.expect(Goodbye)).code == "malformed"
            await thief.connect()
        assert everything(pool) == before
        assert isinstance(await agent.finish(work), ReportAck)

    play(hub_url, story)


@pytest.mark.parametrize("kind", [kind for kind in REPORTS if kind != "gone"])
@pytest.mark.parametrize("given", [False, True], ids=["waits", "given to another"])
def test_report_about_a_lost_attempt_changes_nothing_unless_it_is_a_result(sqlite_hub, kind, given):
    """On the same link, which was silent for too long."""

    async def story(pool):
        agent, work = await running(pool)
        await agent.write_log(work, b"good\n")
        await pool.settle(150)
        spare = await add_agent(pool, name="spare") if given else None
        if spare is not None:
            await spare.take_offer()
        before = everything(pool)
        ref = {"attempt_id": work.id, "fence": work.fence}
        report = REPORTS[kind](agent, work, ref)
        answer = await agent.answer_to(report)
        if kind != "finished":
            assert isinstance(answer, Refused), answer
            assert everything(pool) == before
            return
        assert isinstance(answer, ReportAck)
        assert pool.attempt(work.id).state == ("superseded" if given else "succeeded")
        if given:
            assert pool.slice_of(work).state == "running"

    play(sqlite_hub, story)


def test_update_that_races_with_the_loss_of_its_lease_does_not_revive_it(sqlite_hub):
    """It was checked in memory, and then waited for its transaction while the sweep gave the attempt up."""

    async def story(pool):
        agent, work = await running(pool)
        with pool.db.held("report") as waits:
            await agent.send(Update(**work.ref.model_dump(), sequence=9, state="finishing"))
            await waits.wait()
            agent.works.clear()
            await pool.settle(150)
            assert pool.attempt(work.id).state == "lost"
        assert isinstance(await agent.expect(Refused), Refused)
        assert pool.attempt(work.id).state == "lost"

    play(sqlite_hub, story)


def test_outputs_of_a_late_result_do_not_count(sqlite_hub):
    async def story(pool):
        agent, work = await running(pool)
        content = b"late"
        file = UploadFile(path="out.txt", size_bytes=len(content), digest=digest(content))
        grant = await agent.answer_to(UploadRequest(**work.ref.model_dump(), request=1, files=(file,)))
        assert isinstance(grant, UploadGrant)
        pool.store.put(grant.targets[0].urls[0].removeprefix("memory:"), content)
        await pool.settle(150)
        spare = await add_agent(pool, name="spare")
        again = await spare.take_offer()
        ref = OutputRef(path="out.txt", digest=digest(content), size_bytes=len(content))
        assert isinstance(await agent.finish(work, outputs=(ref,)), ReportAck)
        assert pool.attempt(work.id).state == "superseded"
        assert [row.state for row in pool.rows(Artifact)] == ["uploading"]
        await spare.finish(again)
        assert (await pool.call("GET", f"jobs/{work.manifest.job_id}/artifacts")).json()["items"] == []

    play(sqlite_hub, story)


# ── manifests ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_node_sees_only_manifests_that_are_leased_to_it(sqlite_hub):
    async def story(pool):
        agents = [await add_agent(pool, name=f"n{i}", owner=owner) for i, owner in enumerate(["user_alice", BOB, BOB])]
        for agent in agents:
            agent.beat_on()
        jobs = [await pool.submit(resources={"cpus": 1}) for _ in range(12)]
        await pool.settle(200)
        for agent in agents:
            offers = [command for command in agent.commands if isinstance(command, Offer)]
            assert {agent.open(offer.manifest).node_id for offer in offers} <= {agent.node_id}
            leased = {row.id for row in pool.rows(Attempt, node_id=agent.node_id)}
            assert {agent.open(offer.manifest).attempt_id for offer in offers} == leased
        assert len(jobs) == 12

    play(sqlite_hub, story)


def test_manifest_of_one_node_does_not_open_on_another(sqlite_hub):
    async def story(pool):
        agent, work = await running(pool)
        other = await add_agent(pool, name="other")
        with pytest.raises(Exception, match="not for this node"):
            other.open(work.offer.manifest)
        await pool.settle(301)
        with pytest.raises(Exception, match="expired"):
            agent.open(work.offer.manifest)

    play(sqlite_hub, story)


# ── twice ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_every_report_may_come_twice(hub_url):
    async def story(pool):
        agent = await add_agent(pool)
        job_id = await pool.submit()
        work = await agent.take_offer()
        update = Update(**work.ref.model_dump(), sequence=1, state="running")
        chunk = LogChunk(**work.ref.model_dump(), offset=0, data=b"once\n")
        for _ in range(3):
            assert isinstance(await agent.answer_to(update), ReportAck)
            assert (await agent.answer_to(chunk)).offset == 5
        work.log = b"once\n"
        finished = agent.finished(work)
        first = await agent.answer_to(finished)
        assert isinstance(first, ReportAck)
        before = everything(pool)
        for _ in range(3):
            assert await agent.answer_to(finished) == first
        assert everything(pool) == before
        view = await pool.job(job_id)
        assert (view.state, view.slices[0].attempts[0].log_bytes) == ("succeeded", 5)

    play(hub_url, story)


def test_reports_of_one_attempt_are_handled_in_order(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool)
        job_id = await pool.submit()
        work = await agent.take_offer()
        await agent.send(Update(**work.ref.model_dump(), sequence=1, state="running"))
        for start in range(0, 500, 5):
            await agent.send(LogChunk(**work.ref.model_dump(), offset=start, data=b"line\n"))
        work.log = b"line\n" * 100
        await agent.send(agent.finished(work))
        await agent.expect(ReportAck, lambda ack: ack.sequence == 1)
        await agent.expect(ReportAck)
        assert (await pool.job(job_id)).state == "succeeded"

    play(sqlite_hub, story)


def test_reports_of_other_attempts_do_not_wait(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool)
        await pool.submit(slices=2)
        works = [await agent.take_offer() for _ in range(2)]
        with pool.db.held("end_attempt") as waits:
            await agent.send(agent.finished(works[0]))
            await waits.wait()
            assert isinstance(await agent.update(works[1], "running"), ReportAck)

    play(sqlite_hub, story)


# ── receipts ─────────────────────────────────────────────────────────────────────────────────────────────────────────

WRONG: dict[str, Any] = {
    "another attempt": {"attempt_id": "attempt_other"},
    "another fence": {"fence": 1},
    "another node": {"node_id": "node_other"},
    "another job": {"job_id": "job_other"},
    "another spec": {"spec_digest": "sha256:other"},
    "another manifest": {"manifest_digest": "sha256:other"},
    "a longer log": {"log_bytes": 10_000},
    "a shorter log": {"log_bytes": 1},
    "a different log": {"log_digest": "sha256:" + "0" * 64},
    "outputs that never came": {"outputs": (OutputRef(path="x", digest="sha256:1", size_bytes=1),)},
}


@pytest.mark.parametrize("claim", WRONG)
def test_receipt_that_does_not_match_is_the_hosts_failure(sqlite_hub, claim):
    async def story(pool):
        agent, work = await running(pool)
        await agent.write_log(work, b"hello\n")
        assert isinstance(await agent.finish(work, **WRONG[claim]), ReportAck)
        row = pool.attempt(work.id)
        assert (row.state, row.verdict) == ("failed", "host")
        assert row.reason in ("receipt_mismatch", "outputs_missing")
        assert row.detail
        assert pool.slice_of(work).state in ("queued", "running")  # tried again

    play(sqlite_hub, story)


def test_receipt_signed_by_somebody_else_is_the_hosts_failure(sqlite_hub):
    async def story(pool):
        agent, work = await running(pool)
        assert isinstance(await agent.finish(work, key=Ed25519PrivateKey.generate()), ReportAck)
        assert pool.attempt(work.id).reason == "bad_receipt"
        work = await agent.take_offer()
        nonsense = Signed(type="receipt", key_id="k", body="{}", signature="AAAA")
        await agent.answer_to(Finished(**work.ref.model_dump(), sequence=1, receipt=nonsense))
        assert pool.attempt(work.id).reason == "bad_receipt"

    play(sqlite_hub, story)


def test_attempt_that_never_started_has_no_isolation(sqlite_hub):
    async def story(pool):
        agent, work = await running(pool)
        await agent.finish(work, isolation=None, exit_code=None, reason=EndReason.SANDBOX, detail="no source path")
        row = pool.attempt(work.id)
        assert (row.verdict, row.detail, row.isolation) == ("host", "no source path", None)
        work = await agent.take_offer()
        await agent.finish(work, isolation=None, exit_code=0)
        assert pool.attempt(work.id).reason == "receipt_mismatch"

    play(sqlite_hub, story)


def test_strangers_job_that_ran_below_its_level_is_not_accepted(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool, owner=BOB)
        job_id = await pool.submit()
        work = await agent.take_offer()
        assert (work.manifest.own, work.manifest.isolation) == (False, "bubblewrap")
        await agent.finish(work, isolation=IsolationLevel.PROCESS)
        row = pool.attempt(work.id)
        assert (row.verdict, row.detail) == ("host", "it ran at process, below bubblewrap")
        work = await agent.take_offer()
        await agent.finish(work, isolation=IsolationLevel.BUBBLEWRAP)
        assert (await pool.job(job_id)).state == "succeeded"

    play(sqlite_hub, story)


def test_what_a_host_writes_into_a_receipt_cannot_jam_its_end(postgres_hub):
    """Zero bytes and huge numbers: a database would refuse them, and the job would hang for ever."""

    async def story(pool):
        agent, work = await running(pool)
        await agent.finish(work, exit_code=None, reason=EndReason.SANDBOX, detail="broken\0pipe\x1b[2J")
        assert pool.attempt(work.id).detail == "broken pipe [2J"
        work = await agent.take_offer()
        receipt = agent.receipt(work).model_dump_json().replace('"exit_code":0', f'"exit_code":{2**40}')
        signed = sign(agent.key, key_id_of(agent.public), "receipt", receipt.encode())
        await agent.answer_to(Finished(**work.ref.model_dump(), sequence=1, receipt=signed))
        assert pool.attempt(work.id).reason == "bad_receipt"
        work = await agent.take_offer()
        assert isinstance(await agent.gone(work, "gone\0gone"), ReportAck)
        assert pool.attempt(work.id).detail == "gone gone"

    play(postgres_hub, story)


def test_receipt_and_what_it_says_is_kept(sqlite_hub):
    async def story(pool):
        agent, work = await running(pool)
        await agent.write_log(work, b"hello\n")
        await agent.finish(work)
        items = (await pool.call("GET", f"jobs/{work.manifest.job_id}/receipts")).json()["items"]
        assert [(item["attempt_id"], item["verdict"], item["node"]["id"]) for item in items] == [
            (work.id, "ok", agent.node_id)
        ]
        assert items[0]["manifest"] == work.offer.manifest.model_dump()
        row = pool.attempt(work.id)
        assert (row.log_bytes, row.log_digest, row.isolation) == (6, digest(b"hello\n"), "bubblewrap")

    play(sqlite_hub, story)


# ── logs, outputs, gone ──────────────────────────────────────────────────────────────────────────────────────────────


def test_log_with_a_gap_is_asked_for_from_where_it_ends(sqlite_hub):
    async def story(pool):
        agent, work = await running(pool)
        await agent.write_log(work, b"12345")
        answer = await agent.answer_to(LogChunk(**work.ref.model_dump(), offset=100, data=b"x"))
        assert isinstance(answer, LogAck)
        assert answer.offset == 5

    play(sqlite_hub, story)


def test_log_beyond_the_limit_is_refused(sqlite_hub):
    async def story(pool):
        agent, work = await running(pool)
        pool.engine.logs._limit_bytes = 4096  # the real one is a gigabyte
        answer = await agent.answer_to(LogChunk(**work.ref.model_dump(), offset=0, data=b"x" * 5000))
        assert isinstance(answer, Refused)
        assert answer.code == "log_limit"

    play(sqlite_hub, story)


def test_outputs_are_granted_stored_and_listed(sqlite_hub):
    async def story(pool):
        agent, work = await running(pool)
        content = b"result"
        file = UploadFile(path="a/out.txt", size_bytes=6, digest=digest(content))
        grant = await agent.answer_to(UploadRequest(**work.ref.model_dump(), request=4, files=(file,)))
        assert (grant.request, grant.refused, len(grant.targets)) == (4, None, 1)
        pool.store.put(grant.targets[0].urls[0].removeprefix("memory:"), content)
        ref = OutputRef(path="a/out.txt", digest=digest(content), size_bytes=6)
        await agent.finish(work, outputs=(ref,))
        (item,) = (await pool.call("GET", f"jobs/{work.manifest.job_id}/artifacts")).json()["items"]
        assert (item["path"], item["size_bytes"], item["slice"], item["attempt"]) == ("a/out.txt", 6, 0, 1)
        assert item["downloads"][0].startswith(f"memory:{outputs_folder(work.id)}")

    play(sqlite_hub, story)


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "a/../../b", "", "a\0b"])
def test_output_that_leads_elsewhere_is_refused_with_a_word(sqlite_hub, path):
    async def story(pool):
        agent, work = await running(pool)
        file = UploadFile(path=path, size_bytes=1, digest=digest(b"x"))
        answer = await agent.answer_to(UploadRequest(**work.ref.model_dump(), request=1, files=(file,)))
        assert isinstance(answer, UploadGrant)
        assert answer.refused
        assert pool.rows(Artifact) == []

    play(sqlite_hub, story)


@pytest.mark.parametrize(
    ("reason", "verdict"),
    [("the agent was restarted", "host"), ("owner", "owner"), ("the agent was stopped", "owner")],
)
def test_gone_attempt_is_queued_again_at_once(sqlite_hub, reason, verdict):
    async def story(pool):
        agent, work = await running(pool)
        assert isinstance(await agent.gone(work, reason), ReportAck)
        row = pool.attempt(work.id)
        assert (row.state, row.verdict, row.detail) == ("lost", verdict, reason)
        again = await agent.take_offer()
        assert again.manifest.attempt_number == 2
        assert isinstance(await agent.answer_to(Gone(**work.ref.model_dump(), reason=reason)), ReportAck)  # once more
        assert pool.slice_of(work).state == "running"

    play(sqlite_hub, story)


def test_report_that_the_hub_fails_at_gets_no_answer_and_hurts_no_other(sqlite_hub):
    async def story(pool):
        agent, work = await running(pool)
        real = pool.db.run

        async def failing(fn, *args, **kwargs):
            if fn.__name__ == "end_attempt":
                raise OSError("the disk is full")
            return await real(fn, *args, **kwargs)

        pool.db.run = failing
        finished = agent.finished(work)
        await agent.send(finished)
        await pool.settle()
        assert agent.unread(ReportAck) == []
        await agent.heartbeat()
        pool.db.run = real
        assert isinstance(await agent.answer_to(finished), ReportAck)

    play(sqlite_hub, story)


def test_flood_of_reports_is_bounded(sqlite_hub):
    async def story(pool):
        agent, work = await running(pool)
        with pool.db.held("report"):
            for sequence in range(200):
                await agent.send(Update(**work.ref.model_dump(), sequence=sequence, state="finishing"))
            await pool.settle()
            assert agent.pipe.to_hub.qsize() > 100  # the rest waits in the link, not in the hub's memory
        await asyncio.sleep(1)
        assert agent.pipe.to_hub.qsize() == 0

    play(sqlite_hub, story)


def test_stopped_attempt_ends_as_canceled(sqlite_hub):
    async def story(pool):
        agent, work = await running(pool)
        assert (await pool.cancel(work.manifest.job_id)).state == "running"
        stop = await agent.expect(Stop)
        assert (stop.attempt_id, stop.fence, stop.reason) == (work.id, work.fence, "canceled")
        await agent.finish(work, exit_code=None, reason=EndReason.CANCELED)
        view = await pool.job(work.manifest.job_id)
        assert (view.state, view.verdict, view.reason) == ("canceled", "renter", "canceled")

    play(sqlite_hub, story)


def test_owners_eviction_while_the_line_was_down_is_still_the_owners(hub_url):
    """The agent claims what it gave back until the hub has heard why."""

    async def story(pool):
        agent, work = await running(pool)
        await agent.disconnect()
        await agent.connect()  # it still names the attempt
        assert isinstance(await agent.gone(work, "owner"), ReportAck)
        attempt = pool.attempt(work.id)
        assert (attempt.verdict, attempt.reason) == ("owner", "taken_back_by_owner")

    play(hub_url, story)


def test_node_that_does_not_want_a_job_now_does_not_make_it_fail(sqlite_hub):
    async def story(pool):
        agent, work = await running(pool)
        agent.beat_on()
        for _ in range(12):
            await agent.finish(work, exit_code=None, isolation=None, reason=EndReason.DECLINED, started_at=None)
            await pool.settle(70)
            work = await agent.take_offer()
        assert (await pool.job(work.manifest.job_id)).state == "running"

    play(sqlite_hub, story)
