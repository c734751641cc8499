"""The agent is killed with kill -9, stopped or drained: no process stays behind, no job hangs, no result is lost."""

import signal

import pytest
from support.children import processes_with

pytestmark = pytest.mark.slow

LINGERING = """
if [ $COMPUTEPOOL_ATTEMPT -gt 1 ]; then echo second try; exit 0; fi
sleep {mark} &
(setsid sh -c 'sleep {mark}' &) &
(trap '' TERM HUP INT; sleep {mark}) &
echo started; sleep {mark}
"""


@pytest.fixture(params=["bubblewrap", "process"])
def agent(request, pool):
    """Both ways to run a job must end all of it."""
    if request.param == "process":
        return pool.join_without_bubblewrap("alpha")
    from support.engines import require

    require("bwrap")
    return pool.join("alpha")


def test_killed_agent_leaves_no_process_and_its_job_is_requeued_at_its_return(pool, agent):
    mark = f"86{agent.pid:05}"
    job = pool.submit("sh", "-c", LINGERING.format(mark=mark))
    pool.until(lambda: pool.log_of(job.id), "the job runs")
    sleepers = [f"sleep\0{mark}", f"sleep {mark}"]
    pool.until(lambda: len(processes_with(sleepers)) >= 4, "all of its processes run")

    agent.kill()
    pool.until(lambda: not processes_with(sleepers), "nothing of the job is left, with nobody to look after it")
    assert pool.client.job(job.id).state == "running"

    agent.start()
    done = pool.until_state(job.id, "succeeded")
    first, second = done.slices[0].attempts
    assert (first.state, second.state) == ("lost", "succeeded")
    assert first.reason == "agent_restarted", "the lease had not ended"
    assert pool.log_of(job.id) == b"second try\n"
    assert processes_with(sleepers) == {}


def test_result_that_the_killed_agent_could_not_tell_is_told_by_the_next_one(pool):
    agent = pool.join_without_bubblewrap("alpha")
    flag = pool.folder / "go"
    script = f'while [ ! -e {flag} ]; do sleep 0.05; done; seq 1 1000; echo kept >"$COMPUTEPOOL_OUTPUT/result"'
    job = pool.submit("sh", "-c", script)
    pool.until_running(job.id)
    pool.kill_hub()
    flag.touch()
    pool.until(lambda: _states(agent) == ["finishing"], "the job ended, and nobody was told")
    agent.kill()
    agent.start(wait=False)
    pool.start_hub()
    done = pool.until_state(job.id, "succeeded")
    assert len(done.slices[0].attempts) == 1
    assert pool.log_of(job.id) == b"".join(b"%d\n" % number for number in range(1, 1001))
    (output,) = pool.client.download_outputs(job.id, pool.folder / "fetched")
    assert output.path.read_text() == "kept\n"


def _states(agent):
    status = agent.status()
    return [attempt["state"] for attempt in status["attempts"]] if status else None


def test_drained_agent_finishes_what_it_has_and_takes_nothing_new(pool):
    agent = pool.join_without_bubblewrap("alpha")
    flag = pool.folder / "go"
    job = pool.submit("sh", "-c", f"while [ ! -e {flag} ]; do sleep 0.05; done; echo finished")
    pool.until_running(job.id)
    agent.child.signal(signal.SIGTERM)
    pool.until(lambda: (agent.status() or {}).get("state") == "draining", "it drains")
    later = pool.submit("true")
    assert later.state == "queued"
    flag.touch()
    assert agent.child.wait() == 0, agent.child.said()
    assert pool.client.job(job.id).state == "succeeded"
    assert pool.log_of(job.id) == b"finished\n"
    assert pool.client.job(later.id).state == "queued"


def test_paused_machine_is_its_owners_at_once_and_the_job_goes_elsewhere(pool):
    alpha = pool.join_without_bubblewrap("alpha")
    flag = pool.folder / "go"
    job = pool.submit("sh", "-c", f"while [ ! -e {flag} ]; do sleep 0.05; done; echo $COMPUTEPOOL_ATTEMPT")
    pool.until_running(job.id)
    beta = pool.join_without_bubblewrap("beta")
    paused = pool.cli("agent", "pause", "--home", str(alpha.home), "--json").expect(0)
    assert paused.json["state"] == "paused"
    pool.until(lambda: _states(alpha) in (["suspended"], []), "it stands still")
    # A moment to change one's mind; then the job has to go.
    pool.until(lambda: _states(alpha) == [], "nothing runs there any more")
    flag.touch()
    done = pool.until_state(job.id, "succeeded")
    assert done.slices[0].newest.node_id == beta.node_id
    pool.cli("agent", "resume", "--home", str(alpha.home)).expect(0)
