"""Every write of a state is guarded: each pair of states, on both databases."""

import itertools

import pytest
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from computepool.hub.jobs import repository
from computepool.hub.jobs.errors import StaleLease
from computepool.protocol.states import (
    ATTEMPT_ENDED,
    ATTEMPT_NEXT,
    JOB_FINAL,
    JOB_NEXT,
    AttemptState,
    JobState,
)


def put(session, table, state, ended, where):
    finished_at = "'2026-01-01 00:00:00'" if state in ended else "NULL"
    session.execute(text(f"UPDATE {table} SET state = '{state}', finished_at = {finished_at} WHERE {where}"))


def read(session, table, where):
    return session.execute(text(f"SELECT state, finished_at FROM {table} WHERE {where}")).one()


def undone(truth, body):
    """Try something and leave nothing behind."""
    with Session(truth.engine) as session:
        session.begin()
        body(session)
        session.rollback()


def test_attempt_moves_only_along_the_table(truth):
    held = truth.lease(truth.add_job())
    where = f"id = '{held.id}'"

    def each_pair(session):
        for before, after in itertools.product(AttemptState, AttemptState):
            put(session, "attempts", before, ATTEMPT_ENDED, where)
            allowed = after in ATTEMPT_NEXT[before]
            try:
                repository.move_attempt(session, held.id, held.fence, after, truth.now)
                assert allowed, f"{before} → {after}"
            except StaleLease:
                assert not allowed, f"{before} → {after}"
            state, finished_at = read(session, "attempts", where)
            assert state == (after if allowed else before)
            assert (finished_at is not None) == (state in ATTEMPT_ENDED)

    undone(truth, each_pair)


def test_attempt_moves_only_with_its_fence(truth):
    held = truth.lease(truth.add_job())

    def each_fence(session):
        for fence in (held.fence - 1, held.fence + 1, 0, -1, 2**62):
            with pytest.raises(StaleLease):
                repository.move_attempt(session, held.id, fence, AttemptState.RUNNING, truth.now)
        assert read(session, "attempts", f"id = '{held.id}'").state == "leased"

    undone(truth, each_fence)


def test_slice_moves_only_along_the_table_and_with_its_fence(truth):
    held = truth.lease(truth.add_job())
    where = f"job_id = '{held.job_id}'"

    def each_pair(session):
        for before, after, fence in itertools.product(JobState, JobState, (held.fence, held.fence + 1, 0)):
            put(session, "slices", before, JOB_FINAL, where)
            allowed = after in JOB_NEXT[before] and fence == held.fence
            moved = repository.move_slice(session, held.job_id, 0, fence, after, truth.now)
            assert moved == allowed, f"{before} → {after} with fence {fence}"
            state, finished_at = read(session, "slices", where)
            assert state == (after if allowed else before)
            assert (finished_at is not None) == (state in JOB_FINAL)

    undone(truth, each_pair)


def test_job_moves_only_along_the_table(truth):
    job_id = truth.add_job()
    where = f"id = '{job_id}'"

    def each_pair(session):
        for before, after in itertools.product(JobState, JobState):
            put(session, "jobs", before, JOB_FINAL, where)
            allowed = after in JOB_NEXT[before]
            assert repository.move_job(session, job_id, after, truth.now) == allowed, f"{before} → {after}"
            assert read(session, "jobs", where).state == (after if allowed else before)

    undone(truth, each_pair)


@pytest.mark.parametrize(("table", "final"), [("jobs", "succeeded"), ("slices", "failed"), ("attempts", "lost")])
def test_database_itself_ties_the_end_to_its_time(truth, table, final):
    held = truth.lease(truth.add_job())
    where = f"id = '{held.id}'" if table == "attempts" else f"{'id' if table == 'jobs' else 'job_id'} = '{held.job_id}'"
    for change in (f"state = '{final}'", "finished_at = '2026-01-01 00:00:00'"):
        statement = text(f"UPDATE {table} SET {change} WHERE {where}")
        with pytest.raises(IntegrityError):
            undone(truth, lambda session, statement=statement: session.execute(statement))


def test_slices_cannot_end_more_often_than_there_are(truth):
    job_id = truth.add_job(slices=2)

    def count_down(session):
        assert repository.take_slices_off(session, job_id, 1) == 1
        assert repository.take_slices_off(session, job_id, 1) == 0
        with pytest.raises(AssertionError, match="more slices than it has"):
            repository.take_slices_off(session, job_id, 1)

    undone(truth, count_down)
