"""Canceling at every moment of a job's life."""

import time

import pytest
from support.pool import TINY

from computepool.client.pool import Pool as Client

pytestmark = pytest.mark.slow

CANCELED = 130


def test_queued_job_is_canceled_at_once(pool):
    waiting = pool.submit("true")
    done = pool.cli("cancel", waiting.id, "-y", "--json").expect(0)
    assert done.json["state"] == "canceled"
    assert "over already" in pool.cli("cancel", waiting.id, "-y").expect(0).err
    # A machine that comes later finds nothing to do.
    pool.join_without_bubblewrap("alpha")
    later = pool.submit("true")
    pool.until_state(later.id, "succeeded")
    assert pool.client.job(waiting.id).slices[0].attempts == ()


@pytest.mark.engine("bwrap")
def test_running_job_sees_sigterm_and_may_say_goodbye(pool):
    pool.join("alpha")
    script = (
        "import signal, sys, time\n"
        "def leave(*_):\n"
        "    print('saving', flush=True); time.sleep(0.2); print('saved', flush=True); sys.exit(0)\n"
        "signal.signal(signal.SIGTERM, leave)\n"
        "print('ready', flush=True)\n"
        "while True: time.sleep(1)\n"
    )
    following = pool.begin("run", "--name", "polite", "--", "python3", "-c", script)
    pool.until(lambda: "ready" in following.shown, "the job is ready")
    pool.cli("cancel", "polite", "-y").expect(0)
    assert following.wait(30) == CANCELED, following.said()
    job = pool.client.job(pool.client.find_job("polite"))
    assert (job.state, job.reason) == ("canceled", "canceled")
    assert pool.log_of(job.id) == b"ready\nsaving\nsaved\n"


@pytest.mark.engine("bwrap")
def test_deaf_job_and_all_it_started_are_killed_after_the_grace(pool):
    pool.join("alpha")
    script = "trap '' TERM; (trap '' TERM; while :; do sleep 0.1; done) & echo ready; while :; do sleep 0.1; done"
    job = pool.submit("sh", "-c", script, name="deaf")
    pool.until(lambda: pool.log_of(job.id), "the job is ready")
    began = time.monotonic()
    pool.client.cancel(job.id)
    assert pool.until_state(job.id, "canceled", seconds=40).state == "canceled"
    # It had its grace, and not much more.
    assert 5 < time.monotonic() - began < 30
    pool.until(lambda: not [command for command in pool.leftovers().values() if "sleep" in command], "all are gone", 10)


def test_job_is_canceled_while_it_prepares(pool):
    """At whatever moment of leasing, fetching and unpacking the cancel comes, it ends canceled, once."""
    pool.join_without_bubblewrap("alpha")
    work = pool.folder / "work"
    work.mkdir()
    for number in range(300):
        (work / f"{number}.txt").write_text(f"{number}\n" * 200)
    bundle = pool.client.upload(_packed(work))
    for delay in (0.0, 0.01, 0.03, 0.06, 0.1):
        job = pool.client.submit({**TINY, "run": ["sleep", "60"], "workdir": "."}, bundle=bundle)
        time.sleep(delay)
        pool.client.cancel(job.id)
        ended = pool.until_state(job.id, "canceled")
        assert len(ended.slices[0].attempts) <= 1
        assert all(attempt.state == "canceled" for attempt in ended.slices[0].attempts)


def _packed(folder):
    from computepool.client.bundle import pack

    target = folder.with_suffix(".tar.gz")
    pack(folder, target)
    return target


def test_cancel_that_comes_as_the_job_ends_changes_nothing_that_is_over(pool):
    pool.join_without_bubblewrap("alpha")
    ends = set()
    for delay in (0.0, 0.02, 0.05, 0.1, 0.2, 0.4):
        job = pool.submit("true")
        time.sleep(delay)
        with Client(home=pool.home) as client:
            client.cancel(job.id)
        ended = pool.until_state(job.id, "canceled", "succeeded")
        (attempt,) = ended.slices[0].attempts or (None,)
        if attempt is not None:
            assert (attempt.state == "succeeded") == (ended.state == "succeeded")
        ends.add(ended.state)
        assert pool.client.cancel(job.id).state == ended.state
    assert "succeeded" in ends
