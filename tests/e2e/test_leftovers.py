"""What a job leaves in its folder harms neither the agent that ran it nor the next one."""

import pytest
from support.deep_folders import DIG, dig

from computepool.agent.folders import READY
from computepool.agent.sandbox.identity import SYSTEM_FOLDER, instance_of

pytestmark = [pytest.mark.slow, pytest.mark.engine("bwrap")]

LEVELS = 4_000


def test_nested_folders_are_removed_and_the_agent_starts_again(pool):
    agent = pool.join("alpha")
    places = [agent.files.attempts, SYSTEM_FOLDER / instance_of(agent.files.root) / "attempts"]
    attempts = next(place for place in places if (place / READY).is_dir())
    job = pool.submit("python3", "-c", DIG.format(levels=LEVELS))
    # A slow machine has time to count the folders, and ends it.
    pool.until_state(job.id, "succeeded", "failed")
    pool.until(lambda: [path.name for path in attempts.iterdir()] == [READY], "its folder is removed")

    agent.kill()
    leftover = attempts / "attempt_left"
    dig(leftover, LEVELS)
    agent.start()
    assert not leftover.exists()
    again = pool.submit("true")
    pool.until_state(again.id, "succeeded")
