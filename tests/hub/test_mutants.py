"""Bugs put in on purpose: for each promise, the check that keeps it must find them, or it proves nothing."""

import asyncio
from typing import Any

import pytest
from sqlalchemy import update
from support.engine import ALICE, BOB, play
from support.planted import each_check, each_mutant
from support.scripted_agent import add_agent

from computepool.hub.core.idempotency import claim
from computepool.hub.core.tables import AuditRow
from computepool.hub.gateway import polls, reports
from computepool.hub.gateway.line import NodeLine
from computepool.hub.jobs import ending, repository, service, submission
from computepool.hub.jobs.policy import Ending
from computepool.hub.jobs.receipts import find_order
from computepool.hub.jobs.tables import Attempt, Job, Slice
from computepool.hub.market import feasibility
from computepool.hub.scheduling import leases, memory
from computepool.hub.scheduling.fleet import give_room_back
from computepool.hub.scheduling.scheduler import Scheduler
from computepool.protocol.messages import Gone, LogChunk, Offer, PollRequest, Refused, Stop, Update
from computepool.protocol.states import ATTEMPT_ENDED, JOB_FINAL, AttemptState, JobState, Verdict

# ── checks ───────────────────────────────────────────────────────────────────────────────────────────────────────────


async def running(pool, **fields):
    agent = await add_agent(pool, name=fields.pop("name", "one"))
    await pool.submit(**fields)
    work = await agent.take_offer()
    await agent.update(work, "running")
    return agent, work


async def slice_succeeds_at_most_once(pool):
    """Promise 1: a late finish after a requeue."""
    late, work = await running(pool)
    await pool.settle(150)
    other = await add_agent(pool, name="two")
    again = await other.take_offer()
    await late.finish(work)
    await other.finish(again)
    verdicts = [row.verdict for row in pool.rows(Attempt)]
    assert verdicts.count("ok") == 1
    assert pool.attempt(work.id).state == "superseded"


async def same_key_is_one_job(pool):
    """Promise 8: the reply was lost, and the request comes again; or another one with its key."""
    first = await pool.call("POST", "jobs", {"run": "a"}, headers={"Idempotency-Key": "k"})
    again = await pool.call("POST", "jobs", {"run": "a"}, headers={"Idempotency-Key": "k"})
    assert first.json()["id"] == again.json()["id"]
    assert len(pool.rows(Job)) == 1
    changed = await pool.call("POST", "jobs", {"run": "b"}, headers={"Idempotency-Key": "k"})
    assert changed.status_code == 409


async def stale_attempt_changes_nothing(pool):
    """Promise 9: each report with a fence that is not the attempt's."""
    agent, work = await running(pool)

    def everything():
        node = pool.engine.scheduler.fleet.get(agent.node_id)
        return pool.truth(), dict(pool.store.objects), sorted(node.attempts), node.free.cpu_millis

    before = everything()
    ref = {"attempt_id": work.id, "fence": work.fence - 1}
    for report in (
        Update(**ref, sequence=1, state="finishing"),
        LogChunk(**ref, offset=0, data=b"stale"),
        Gone(**ref, reason="stale"),
        agent.finished(work).model_copy(update=ref),
    ):
        assert isinstance(await agent.answer_to(report), Refused), report
        assert everything() == before, report


async def given_up_attempt_stays_so(pool):
    """Promise 9: an update that was on its way when the sweep gave its attempt up."""
    agent, work = await running(pool)
    with pool.db.held("report") as waits:
        await agent.send(Update(**work.ref.model_dump(), sequence=9, state="finishing"))
        await waits.wait()
        agent.works.clear()
        await pool.settle(150)
    await pool.settle()
    assert (pool.attempt(work.id).state, pool.slice_of(work).state) == ("lost", "queued")


async def rescue_never_overwrites_a_completion(pool):
    """Promise 10: the sweep has decided to give it up, and then its result comes first."""
    agent, work = await running(pool)
    agent.works.clear()
    with pool.db.held("end_attempt") as waits:
        await waits.wait()  # the sweep, after 135 s
        await pool.db.run(lambda session: finish_by_hand(session, agent, work, pool.clock.now()))
    await pool.settle(20)
    assert pool.attempt(work.id).state == "succeeded"
    assert (await pool.job(work.manifest.job_id)).state == "succeeded"


def finish_by_hand(session, agent, work, now):
    REAL_END_ATTEMPT(session, work.id, work.fence, agent.node_id, Ending(Verdict.OK, "exited", 0), now)


async def healthy_job_survives_an_outage(pool):
    """Promise 11: the hub is away for a minute, and the agent takes its time to come back."""
    agent, work = await running(pool)
    await pool.restart(down_seconds=60)
    await pool.settle(60)
    await agent.connect()
    agent.beat_on()
    await pool.settle(200)
    assert pool.attempt(work.id).state == "running"
    assert pool.rows(AuditRow, action="attempt.lost") == []  # not even for a while


async def dead_agents_job_is_queued_again_in_time(pool):
    """Promise 13."""
    agent, work = await running(pool)
    agent.vanish()
    await pool.settle(150)
    assert pool.slice_of(work).state == "queued"


async def switch_of_links_neither_drops_nor_repeats(pool):
    """Promise 15."""
    agent = await add_agent(pool, cpus=4)
    await pool.submit()
    await agent.take_offer()
    agent.pipe.deaf = True
    job_id = await pool.submit()
    cursor = agent.cursor
    agent.cursor = 0  # count for ourselves whatever comes
    await agent.connect(proof={"cursor": cursor})
    await pool.settle()
    assert [command.number for command in agent.commands] == [1, 2]
    agent.pipe.deaf = True
    await pool.cancel(job_id)
    await agent.connect()
    await pool.settle()
    assert [type(command) for command in agent.commands] == [Offer, Offer, Stop]


async def real_work_and_pretended_work_never_meet(pool):
    """A simulated node takes only jobs that ask for one, and those go nowhere else, whatever tags others carry."""
    pretends = await add_agent(pool, name="sim", cpus=4, tags=("simulated",), simulated=True)
    real = await add_agent(pool, name="real", tags=("simulated",))
    await pool.submit(resources={"cpus": 3})
    await pool.submit(where={"tags": ["simulated"]})
    await pretends.take_offer()
    await pool.settle(1)
    offered = {attempt.job_id: attempt.node_id for attempt in pool.rows(Attempt)}
    jobs = {job.id: bool(job.spec.get("where", {}).get("tags")) for job in pool.rows(Job)}
    assert {jobs[job]: node for job, node in offered.items()} == {True: pretends.node_id}
    await pool.submit()
    await real.take_offer()


async def node_sees_only_its_own_manifests(pool):
    """Promise 22: over its own link, and over another's polled one."""
    alice = await add_agent(pool, owner=ALICE, name="alice")
    bob = await add_agent(pool, owner=BOB, name="bob")
    await pool.submit(where={"node": alice.node_id})
    await pool.settle()
    assert [type(command) for command in bob.commands] == []
    session = "s" * 32
    request = PollRequest(node_id=alice.node_id, session=session, start=0, received=0, wait_seconds=0)
    try:
        await pool.engine.polls.exchange(request.to_bytes(), "not signed by anybody")
    except Exception:
        return
    raise AssertionError("a poll that nobody signed was answered")


# ── mutants ──────────────────────────────────────────────────────────────────────────────────────────────────────────

REAL_END_ATTEMPT = ending.end_attempt


def writes_ignore_fences(patch):
    def move_attempt(session, attempt_id, fence, target, now, values=None):
        finished_at = now if target in ATTEMPT_ENDED else None
        row = {"state": target, "finished_at": finished_at, **(values or {})}
        session.execute(update(Attempt).where(Attempt.id == attempt_id).values(**row))

    def move_slice(session, job_id, index, fence, target, now, values=None):
        finished_at = now if target in JOB_FINAL else None
        row = {"state": target, "finished_at": finished_at, **(values or {})}
        session.execute(update(Slice).where(Slice.job_id == job_id, Slice.index == index).values(**row))
        return True

    patch.setattr(repository, "move_attempt", move_attempt)
    patch.setattr(repository, "move_slice", move_slice)
    patch.setattr(repository.AttemptView, "is_current", property(lambda self: True))
    patch.setattr(repository, "take_slices_off", lambda session, job_id, count: 0)


def late_results_are_not_superseded(patch):
    def generous(session, view, facts, now):
        row = {"state": "succeeded", "verdict": "ok"}
        session.execute(update(Attempt).where(Attempt.id == view.attempt_id).values(**row))
        return ending.Ended(ending.Applied.APPLIED, view.attempt_id, view.job_id, view.slice_index)

    patch.setattr(ending, "_too_late", generous)


def keys_are_not_claimed(patch):
    patch.setattr(submission, "claim", lambda *args: None)


def bodies_are_not_compared(patch):
    def careless(session, user_id, key, route, digest, *rest):
        return claim(session, user_id, key, route, "", *rest)

    patch.setattr(submission, "claim", careless)


def reports_are_not_fenced(patch):
    real = reports.Reports.handle

    async def careless(self, node, sign_key, message):
        held = node.attempts.get(message.attempt_id)
        fence = held.fence if held is not None else message.fence
        return await real(self, node, sign_key, message.model_copy(update={"fence": fence}))

    patch.setattr(reports.Reports, "handle", careless)


def ends_are_not_fenced(patch):
    def careless(session, attempt_id, fence, *rest, **named):
        row = session.get(Attempt, attempt_id)
        return REAL_END_ATTEMPT(session, attempt_id, row.fence if row else fence, *rest, **named)

    patch.setattr(ending, "end_attempt", careless)

    def any_order(session, attempt_id, node_id, fence):
        row = session.get(Attempt, attempt_id)
        return find_order(session, attempt_id, node_id, row.fence if row else fence)

    patch.setattr(reports, "find_order", any_order)


def stale_gone_frees_room(patch):
    real = leases.LeaseKeeper.lose

    async def careless(self, node, attempt_id, fence, ended):
        result = await real(self, node, attempt_id, fence, ended)
        if result is None:
            give_room_back(node, attempt_id)
        return result

    patch.setattr(leases.LeaseKeeper, "lose", careless)


def reports_revive_what_was_given_up(patch):
    def careless(session, attempt_id, fence, node_id, target, isolation, now):
        repository.move_attempt(session, attempt_id, fence, target, now)

    careless.__name__ = "report"
    patch.setattr(service, "report", careless)


def rescue_does_not_look(patch):
    def careless(session, attempt_id, fence, node_id, how, now, facts=None, **named):
        if not how.lost:
            return REAL_END_ATTEMPT(session, attempt_id, fence, node_id, how, now, facts, **named)
        row = session.get_one(Attempt, attempt_id)
        session.execute(update(Attempt).where(Attempt.id == attempt_id).values(state="lost", finished_at=now))
        place = (Slice.job_id == row.job_id, Slice.index == row.slice_index)
        session.execute(update(Slice).where(*place).values(state=JobState.QUEUED, finished_at=None))
        return ending.Ended(ending.Applied.APPLIED, attempt_id, row.job_id, row.slice_index)

    careless.__name__ = "end_attempt"
    patch.setattr(ending, "end_attempt", careless)


def start_forgets_whose_lease_it_was(patch):
    real = memory.load_fleet
    patch.setattr(memory, "load_fleet", lambda session, started_at: real(session, started_at - 1_000))


def start_queues_everything_again(patch):
    real = memory.load_queue

    def careless(session):
        briefs, waiting = real(session)
        live = session.query(Attempt).filter(Attempt.state.in_(("leased", "running")))
        live.update({"state": AttemptState.LOST, "finished_at": Attempt.leased_at}, synchronize_session=False)
        session.commit()
        return briefs, waiting

    patch.setattr(memory, "load_queue", careless)


def leases_never_end(patch):
    patch.setattr(leases, "REQUEUE_AFTER_SECONDS", 1e9)


def nobody_sweeps(patch):
    async def idle(self):
        await asyncio.sleep(1e9)

    patch.setattr(leases.LeaseKeeper, "run", idle)


def cursor_is_reset(patch):
    real = NodeLine.attach
    patch.setattr(NodeLine, "attach", lambda self, post, cursor, held: real(self, post, 0, held))
    patch.setattr(NodeLine, "seen", lambda self, cursor: None)


def unseen_is_forgotten(patch):
    def careless(self, attempt_id, command):
        if self._post is not None:
            self._post(command.to_bytes())

    patch.setattr(NodeLine, "_send", careless)


def everybody_hears_every_offer(patch):
    def careless(self, placements):
        for one in placements:
            for node in self.fleet:
                if node.line is not None:
                    node.line.offer(one.lease.attempt_id, one.manifest, {})

    patch.setattr(Scheduler, "_deliver", careless)


def polls_are_not_checked(patch):
    patch.setattr(polls, "_check_signature", lambda key, type, body, signature: None)


def gate_is_left_open(monkeypatch):
    rules = tuple(rule for rule in feasibility.RULES if rule[0] is not feasibility.Gate.SIMULATED)
    monkeypatch.setattr(feasibility, "RULES", rules)


MUTANTS: dict[Any, list[Any]] = {
    slice_succeeds_at_most_once: [writes_ignore_fences, late_results_are_not_superseded],
    same_key_is_one_job: [keys_are_not_claimed, bodies_are_not_compared],
    stale_attempt_changes_nothing: [reports_are_not_fenced, ends_are_not_fenced, stale_gone_frees_room],
    given_up_attempt_stays_so: [reports_revive_what_was_given_up],
    rescue_never_overwrites_a_completion: [rescue_does_not_look],
    healthy_job_survives_an_outage: [start_forgets_whose_lease_it_was, start_queues_everything_again],
    dead_agents_job_is_queued_again_in_time: [leases_never_end, nobody_sweeps],
    switch_of_links_neither_drops_nor_repeats: [cursor_is_reset, unseen_is_forgotten],
    real_work_and_pretended_work_never_meet: [gate_is_left_open],
    node_sees_only_its_own_manifests: [everybody_hears_every_offer, polls_are_not_checked],
}


@each_check(MUTANTS)
def test_check_holds(sqlite_hub, check):
    play(sqlite_hub, check)


@each_mutant(MUTANTS)
def test_mutant_is_found(sqlite_hub, monkeypatch, check, mutant):
    mutant(monkeypatch)
    with pytest.raises((AssertionError, TimeoutError)):
        play(sqlite_hub, check)
