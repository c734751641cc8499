"""Ends of attempts, in every order in which they can come (promises 1, 9 and 10)."""

from datetime import timedelta

import pytest
from support.truth import CANCELED, FAILED, LIVE, LOST, OK

from computepool.hub.jobs import service
from computepool.hub.jobs.ending import Applied
from computepool.hub.jobs.errors import StaleLease
from computepool.hub.jobs.policy import Ending
from computepool.protocol.states import AttemptState, Verdict
from computepool.protocol.timing import LOST_LIMIT

A = AttemptState


def everything(truth, held):
    rows = truth.attempt(held), truth.slice(held.job_id), truth.job(held.job_id)
    return [{name: value for name, value in vars(row).items() if name[0] != "_"} for row in rows]


LIVE_STATES = sorted(LIVE)


# ── one end ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("state", LIVE_STATES)
def test_attempt_can_succeed_from_every_live_state(truth, state):
    held = truth.lease(truth.add_job())
    truth.force(held, state)
    ended = truth.end(held, OK)
    assert (ended.applied, ended.job_final, ended.requeued) == (Applied.APPLIED, True, None)
    assert truth.states(held) == ("succeeded", "succeeded", "succeeded")
    job = truth.job(held.job_id)
    assert (job.verdict, job.exit_code, job.slices_left, job.message) == ("ok", 0, 0, None)


def test_failure_without_retries_ends_the_job_and_says_why(truth):
    held = truth.lease(truth.add_job())
    truth.end(held, FAILED)
    assert truth.states(held) == ("failed", "failed", "failed")
    job = truth.job(held.job_id)
    assert (job.verdict, job.exit_code, job.reason) == ("renter", 1, "exited")
    assert job.message == "The command ended with exit code 1."


def test_failure_with_retries_waits_and_then_runs_again_with_a_greater_fence(truth):
    first = truth.lease(truth.add_job(retries=1))
    ended = truth.end(first, FAILED)
    assert ended.requeued is not None
    assert ended.requeued.avoid == ()
    assert ended.requeued.retry_at == truth.now + timedelta(seconds=1)
    assert truth.states(first) == ("failed", "queued", "running")
    second = truth.lease(first.job_id)
    assert second.fence > first.fence
    truth.end(second, OK)
    assert truth.states(second) == ("succeeded", "succeeded", "succeeded")
    assert truth.attempt(first).state == "failed"


def test_lost_attempt_queues_its_slice_again_and_the_node_is_avoided(truth):
    held = truth.lease(truth.add_job())
    ended = truth.end(held, LOST)
    assert ended.requeued is not None
    assert ended.requeued.avoid == ("node_1",)
    assert truth.states(held) == ("lost", "queued", "running")
    part = truth.slice(held.job_id)
    assert (part.failures, part.losses, part.avoid) == (0, 1, ["node_1"])


def test_node_is_not_avoided_for_what_was_not_its_doing(truth):
    held = truth.lease(truth.add_job())
    ended = truth.end(held, Ending(Verdict.HUB, "hub_downtime", lost=True))
    assert ended.requeued is not None
    assert ended.requeued.avoid == ()


@pytest.mark.parametrize("asked", [True, False])
def test_only_one_that_was_told_to_make_room_was_preempted(truth, asked):
    held = truth.lease(truth.add_job())
    if asked:
        truth.run(service.ask_to_leave, [(held.id, held.fence)], truth.now)
    ended = truth.end(held, Ending(Verdict.PREEMPTED, "preempted", lost=True))
    part = truth.slice(held.job_id)
    assert ended.requeued is not None
    assert (part.verdict, part.losses, part.avoid) == (("preempted", 0, []) if asked else ("host", 1, ["node_1"]))


def test_slice_lost_ten_times_fails_and_says_so(truth):
    job_id = truth.add_job(retries=5)
    for number in range(1, LOST_LIMIT + 1):
        held = truth.lease(job_id)
        ended = truth.end(held, LOST)
        assert (ended.requeued is None) == (number == LOST_LIMIT)
    assert truth.states(held) == ("lost", "failed", "failed")
    job = truth.job(job_id)
    assert (job.verdict, job.message) == (
        "host",
        "10 attempts were lost (the last one: lease_expired), so the job was not tried again.",
    )


def test_losses_do_not_use_up_the_renters_retries(truth):
    job_id = truth.add_job(retries=1)
    for how in (LOST, FAILED, LOST, LOST):
        assert truth.end(truth.lease(job_id), how).requeued is not None
    assert truth.end(truth.lease(job_id), FAILED).requeued is None


def test_what_a_host_writes_is_stored_readable(truth):
    held = truth.lease(truth.add_job())
    truth.end(held, Ending(Verdict.RENTER, "start_failed", detail="no such\0file\n\x1b[31m" + "x" * 1000))
    detail = truth.attempt(held).detail
    assert detail is not None
    assert detail.startswith("no such file  [31mxxx")
    assert len(detail) == 500
    assert "no such file" in (truth.job(held.job_id).message or "").lower()


# ── twice, late, or not theirs ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("first", [OK, FAILED, CANCELED])
@pytest.mark.parametrize("second", [OK, FAILED, CANCELED, LOST])
def test_second_end_changes_nothing(truth, first, second):
    """Rescue never overwrites a completion, nor anything else an end."""
    held = truth.lease(truth.add_job())
    truth.end(held, first)
    before = everything(truth, held)
    records = truth.count_records()
    truth.move(seconds=5)
    ended = truth.end(held, second, facts={"log_bytes": 99})
    assert (ended.applied, ended.requeued, ended.job_final) == (Applied.DUPLICATE, None, False)
    assert everything(truth, held) == before
    assert truth.count_records() == records


@pytest.mark.parametrize("how", [OK, FAILED, CANCELED, LOST])
def test_end_with_a_stale_fence_or_from_another_node_is_refused(truth, how):
    held = truth.lease(truth.add_job())
    for wrong in ({"fence": held.fence - 1}, {"fence": held.fence + 1}, {"node_id": truth.add_node("node_other")}):
        with pytest.raises(StaleLease):
            truth.end(held, how, **wrong)
    assert truth.states(held) == ("leased", "running", "running")


def test_end_of_an_attempt_that_never_was_is_refused(truth):
    held = truth.lease(truth.add_job())
    with pytest.raises(StaleLease):
        truth.end(type(held)("attempt_of_nobody", held.fence, held.node_id, held.job_id, 0))


@pytest.mark.parametrize("how", [OK, FAILED, CANCELED, LOST])
@pytest.mark.parametrize("replacement", [None, OK, FAILED, LOST])
def test_late_result_after_a_requeue_is_superseded_and_never_counts(truth, how, replacement):
    """The slice was given to another, who still runs, or has ended: the late one is kept, not paid."""
    late = truth.lease(truth.add_job(), node_id="node_1")
    truth.end(late, LOST)
    other = truth.lease(late.job_id, node_id="node_2")
    if replacement is not None:
        truth.end(other, replacement)
    before = truth.states(other)
    if how is LOST:
        assert truth.end(late, how).applied is Applied.SUPERSEDED  # nothing can become of it any more
    else:
        ended = truth.end(late, how, facts={"receipt": "late", "log_bytes": 5})
        assert (ended.applied, ended.requeued, ended.job_final) == (Applied.SUPERSEDED, None, False)
        assert truth.attempt(late).receipt == "late"
    assert truth.states(other) == before
    row = truth.attempt(late)
    assert (row.state, row.log_bytes, row.verdict) == ("superseded", 0, "host")


def test_superseded_attempt_stays_so(truth):
    late = truth.lease(truth.add_job())
    truth.end(late, LOST)
    truth.end(truth.lease(late.job_id, node_id="node_2"), OK)
    assert truth.end(late, OK).applied is Applied.SUPERSEDED
    assert truth.end(late, OK).applied is Applied.DUPLICATE


@pytest.mark.parametrize(("how", "expected"), [(OK, "succeeded"), (FAILED, "failed"), (CANCELED, "canceled")])
def test_late_finish_counts_while_nobody_else_has_the_slice(truth, how, expected):
    held = truth.lease(truth.add_job())
    truth.end(held, LOST)
    ended = truth.end(held, how)
    assert (ended.applied, ended.job_final) == (Applied.APPLIED, True)
    assert truth.states(held) == (expected, expected, expected)
    part = truth.slice(held.job_id)
    assert (part.losses, part.avoid) == (0, [])


def test_late_failure_with_retries_left_waits_for_its_next_try(truth):
    held = truth.lease(truth.add_job(retries=1))
    truth.end(held, LOST)
    ended = truth.end(held, FAILED)
    assert ended.requeued is not None
    part = truth.slice(held.job_id)
    assert (part.state, part.failures, part.losses) == ("queued", 1, 0)


def test_losing_twice_counts_once(truth):
    held = truth.lease(truth.add_job())
    truth.end(held, LOST)
    assert truth.end(held, LOST).applied is Applied.DUPLICATE
    assert truth.slice(held.job_id).losses == 1


# ── taken back ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_lost_attempt_that_still_runs_is_taken_back(truth):
    held = truth.lease(truth.add_job())
    truth.report(held, A.RUNNING)
    truth.end(held, LOST)
    assert truth.take_back(held)
    assert truth.states(held) == ("running", "running", "running")
    part, row = truth.slice(held.job_id), truth.attempt(held)
    assert (part.losses, part.avoid, part.retry_at, part.verdict) == (0, [], None, None)
    assert (row.verdict, row.reason, row.finished_at) == (None, None, None)
    assert row.started_at is not None
    truth.end(held, OK)
    assert truth.states(held) == ("succeeded", "succeeded", "succeeded")


def test_lost_attempt_is_not_taken_back_from_another(truth):
    held = truth.lease(truth.add_job())
    truth.end(held, LOST)
    other = truth.lease(held.job_id, node_id="node_2")
    assert not truth.take_back(held)
    assert truth.states(other) == ("leased", "running", "running")
    truth.end(other, OK)
    assert not truth.take_back(held)
    assert truth.attempt(held).state == "lost"


@pytest.mark.parametrize("how", [OK, FAILED, None])
def test_only_a_lost_attempt_is_taken_back(truth, how):
    held = truth.lease(truth.add_job())
    if how is not None:
        truth.end(held, how)
    before = truth.states(held)
    assert not truth.take_back(held)
    assert truth.states(held) == before


def test_slice_that_was_taken_back_cannot_be_leased_with_what_the_queue_remembers(truth):
    held = truth.lease(truth.add_job())
    truth.end(held, LOST)
    assert truth.take_back(held)
    assert truth.try_to_lease(held.job_id, node_id="node_2", previous_fence=held.fence) is None


# ── reports on the way ───────────────────────────────────────────────────────────────────────────────────────────────


def test_reports_move_forward_and_older_ones_are_no_news(truth):
    held = truth.lease(truth.add_job())
    for state in (A.PREPARING, A.RUNNING, A.PREPARING, A.RUNNING, A.FINISHING, A.RUNNING, A.FINISHING):
        truth.report(held, state)
    assert truth.states(held) == ("finishing", "running", "running")


def test_attempt_started_when_it_first_ran_not_after_a_pause(truth):
    held = truth.lease(truth.add_job())
    truth.report(held, A.RUNNING)
    began = truth.now
    for state in (A.SUSPENDED, A.RUNNING):
        truth.move(minutes=1)
        truth.report(held, state)
    assert truth.attempt(held).started_at == began
    assert truth.job(held.job_id).started_at == began


@pytest.mark.parametrize("state", [A.PREPARING, A.RUNNING, A.SUSPENDED, A.FINISHING])
def test_report_with_a_stale_fence_or_from_another_node_is_refused(truth, state):
    held = truth.lease(truth.add_job())
    for wrong in ({"fence": held.fence - 1}, {"fence": held.fence + 1}, {"node_id": truth.add_node("node_other")}):
        with pytest.raises(StaleLease):
            truth.report(held, state, **wrong)
    assert truth.states(held) == ("leased", "running", "running")


@pytest.mark.parametrize("state", [A.PREPARING, A.RUNNING, A.SUSPENDED, A.FINISHING])
def test_report_of_an_attempt_that_was_given_up_does_not_revive_it(truth, state):
    """Its slice waits: two live attempts of it would follow."""
    held = truth.lease(truth.add_job())
    truth.end(held, LOST)
    with pytest.raises(StaleLease):
        truth.report(held, state)
    assert truth.states(held) == ("lost", "queued", "running")


@pytest.mark.parametrize("how", [OK, FAILED, CANCELED])
def test_report_after_the_end_is_refused_or_no_news(truth, how):
    held = truth.lease(truth.add_job())
    truth.end(held, how)
    before = truth.states(held)
    with pytest.raises(StaleLease):
        truth.report(held, A.RUNNING)
    assert truth.states(held) == before


# ── leases ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_slice_is_leased_once(truth):
    job_id = truth.add_job()
    assert truth.try_to_lease(job_id) is not None
    assert truth.try_to_lease(job_id) is None
    assert truth.try_to_lease(job_id, previous_fence=0) is None


def test_lease_with_an_old_memory_of_the_slice_gets_nothing(truth):
    held = truth.lease(truth.add_job())
    truth.end(held, LOST)
    assert truth.try_to_lease(held.job_id, previous_fence=0) is None
    assert truth.try_to_lease(held.job_id, previous_fence=held.fence) is not None
