"""Bugs put in on purpose where the hub keeps checkpoints: the guard of a race that lasts for milliseconds."""

import pytest
from support.engine import play
from support.scripted_agent import add_agent

from computepool.hub.jobs import checkpoints
from computepool.hub.jobs.errors import StaleLease
from computepool.hub.jobs.repository import AttemptView
from computepool.protocol.states import ATTEMPT_ENDED, ATTEMPT_LIVE


async def stale_attempts_checkpoint_does_not_count(pool):
    """Promise 9: its slice is another's by the time that the transaction begins."""
    late = await add_agent(pool, name="late")
    await pool.submit()
    old = await late.take_offer()
    await late.update(old, "running")
    await late.gone(old)
    new = await late.take_offer()
    assert new.manifest.job_id == old.manifest.job_id

    def save(session, work, number):
        now = pool.engine.context.now()
        node_id = work.manifest.node_id
        checkpoints.save(session, work.id, work.fence, node_id, number, [], 1.0, now)
        return checkpoints.find_newest(session, work.manifest.job_id, work.manifest.slice_index)

    with pytest.raises(StaleLease):
        await pool.engine.context.db.run(save, old, 1)
    newest = await pool.engine.context.db.run(save, new, 1)
    assert newest.attempt_id == new.id  # the control


def fences_of_checkpoints_are_not_checked(patch):
    patch.setattr(AttemptView, "is_current", property(lambda self: True))
    patch.setattr(checkpoints, "ATTEMPT_LIVE", ATTEMPT_LIVE | ATTEMPT_ENDED)


def test_check_holds(sqlite_hub):
    play(sqlite_hub, stale_attempts_checkpoint_does_not_count)


def test_mutant_is_found(sqlite_hub, monkeypatch):
    fences_of_checkpoints_are_not_checked(monkeypatch)
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        play(sqlite_hub, stale_attempts_checkpoint_does_not_count)
