"""Canceling at every moment of a job's life."""

import time
from collections.abc import Iterator

import pytest
from support.pool import TINY, Pool, running_pool

from computepool.client.bundle import pack

pytestmark = pytest.mark.slow

CANCELED = 130


@pytest.fixture(scope="module", params=["@cancel"])
def sandboxed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pool]:
    """One hub and one machine with bubblewrap."""
    with running_pool(tmp_path_factory.mktemp("pool")) as pool:
        pool.join("alpha")
        yield pool


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
def test_running_job_sees_sigterm_and_may_say_goodbye(sandboxed):
    pool = sandboxed
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
    assert following.wait() == CANCELED, following.said()
    job = pool.client.job(pool.client.find_job("polite"))
    assert (job.state, job.reason) == ("canceled", "canceled")
    assert pool.log_of(job.id) == b"ready\nsaving\nsaved\n"


@pytest.mark.engine("bwrap")
def test_deaf_job_and_all_it_started_are_killed_after_the_grace(sandboxed):
    pool = sandboxed
    script = "trap '' TERM; (trap '' TERM; while :; do sleep 0.1; done) & echo ready; while :; do sleep 0.1; done"
    job = pool.submit("sh", "-c", script, name="deaf")
    pool.until(lambda: pool.log_of(job.id), "the job is ready")
    began = time.monotonic()
    pool.client.cancel(job.id)
    pool.until_state(job.id, "canceled")
    assert time.monotonic() - began > 5, "it had its grace"
    pool.until(lambda: not [command for command in pool.leftovers().values() if "sleep" in command], "all are gone")


def test_whenever_the_cancel_comes_there_is_one_end(pool):
    """While it is leased, fetched, unpacked or run, and as it ends."""
    pool.join_without_bubblewrap("alpha")
    work = pool.folder / "work"
    work.mkdir()
    for number in range(300):
        (work / f"{number}.txt").write_text(f"{number}\n" * 200)
    bundle = pack(work, pool.folder / "work.tar.gz")
    for delay in (0.0, 0.01, 0.03, 0.06, 0.1):
        job = pool.client.submit({**TINY, "run": ["sleep", "60"], "workdir": "."}, bundle=bundle)
        time.sleep(delay)
        pool.client.cancel(job.id)
        ended = pool.until_state(job.id, "canceled")
        assert [attempt.state for attempt in ended.slices[0].attempts] in ([], ["canceled"])

    ends = set()
    for wait in (0.0, 0.01, 0.02, 0.04, 0.08, 0.2, None):
        job = pool.submit("true")
        if wait is None:
            pool.until_state(job.id, "succeeded")
        else:
            time.sleep(wait)
        pool.client.cancel(job.id)
        ended = pool.until_state(job.id, "canceled", "succeeded")
        assert [attempt.state for attempt in ended.slices[0].attempts] in ([], [ended.state])
        assert pool.client.cancel(job.id).state == ended.state
        ends.add(ended.state)
    assert "succeeded" in ends
