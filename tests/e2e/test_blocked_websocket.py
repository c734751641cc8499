"""A network that lets HTTP through and WebSockets not: the agent polls, and goes back when it may."""

import pytest
from support.pool import path_without
from support.wall import wall_before

pytestmark = pytest.mark.slow

PROBE_SECONDS = 400
"""While polling, the WebSocket is tried again every four to six minutes."""


@pytest.fixture
def wall(pool):
    with wall_before(pool.port) as wall:
        yield wall


@pytest.fixture
def agent(pool, wall):
    agent = pool.join("alpha", url=wall.url, PATH=path_without("bwrap"))
    assert agent.link == "long_poll"
    assert wall.refused
    return agent


def test_agent_behind_a_wall_polls_and_its_jobs_run(pool, agent):
    done = pool.cli("run", "--", "sh", "-c", "seq 1 2000; echo kept >$COMPUTEPOOL_OUTPUT/result").expect(0)
    assert done.text.splitlines() == [str(number) for number in range(1, 2001)]
    (result,) = (pool.folder / "outputs").glob("*/result")
    assert result.read_text() == "kept\n"
    running = pool.submit("sleep", "60")
    pool.until_running(running.id)
    pool.client.cancel(running.id)
    pool.until_state(running.id, "canceled")
    assert agent.link == "long_poll"
    assert pool.hub.stop() == 0


def test_polling_job_survives_a_restart_and_the_agent_returns_to_the_websocket(pool, wall, agent):
    flag = pool.folder / "go"
    script = f"i=0; while [ ! -e {flag} ]; do echo line $i; i=$((i+1)); sleep 0.1; done; echo end $i"
    job = pool.submit("sh", "-c", script)
    pool.until(lambda: b"line 5\n" in pool.log_of(job.id), "the job prints")
    wall.blocks = False
    pool.kill_hub()
    pool.start_hub()
    pool.until(lambda: agent.link == "websocket", "the agent uses the WebSocket")
    flag.touch()
    done = pool.until_state(job.id, "succeeded")
    assert len(done.slices[0].attempts) == 1
    lines = pool.log_of(job.id).decode().splitlines()
    assert lines == [*(f"line {number}" for number in range(len(lines) - 1)), f"end {len(lines) - 1}"]


@pytest.mark.proof(long=True)
def test_agent_finds_out_by_itself_that_the_wall_is_gone(pool, wall, agent):
    wall.blocks = False
    pool.until(lambda: agent.link == "websocket", "the agent uses the WebSocket", PROBE_SECONDS)
    assert pool.cli("run", "--", "echo", "through").expect(0).out == b"through\n"
