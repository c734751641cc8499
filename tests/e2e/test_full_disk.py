"""The node's disk is full while a job writes its log: the job and the agent go on."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.small_disks import SmallDisk, small_disk

pytestmark = [pytest.mark.slow, pytest.mark.engine("small-disk")]

ROOMY = "7G"
"""More than what an agent never offers; memory is only used for what is written."""


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "disk", ROOMY) as disk:
        yield disk


def test_job_on_a_full_disk_ends_with_a_gap_in_its_log_that_is_told(disk, pool):
    # The home is on the small disk, so spool, journal and the jobs' folders are.
    (pool.folder / "alpha").symlink_to(disk.path)
    agent = pool.join_without_bubblewrap("alpha")
    flag, written = pool.folder / "go", pool.folder / "written"
    script = (
        f"echo begin; while [ ! -e {flag} ]; do sleep 0.05; done; "
        f"i=0; while [ $i -lt 200 ]; do head -c 10000 /dev/zero | tr '\\0' x; echo; i=$((i+1)); done; touch {written}"
    )
    job = pool.submit("sh", "-c", script)
    pool.until_running(job.id)
    disk.fill()
    flag.touch()
    pool.until(written.exists, "the job has written its log")
    assert agent.link == "websocket", "the agent is alive"

    disk.resize(ROOMY)
    done = pool.until_state(job.id, "succeeded")
    # Nobody is blamed for a disk that was full for a moment: the job goes on, and its log says what is missing.
    assert [(one.state, one.verdict) for one in done.slices[0].attempts] == [("succeeded", "ok")]
    log = pool.log_of(job.id)
    assert b"begin\n" in log
    assert b"bytes of the log were dropped here" in log
    assert log.count(b"x") < 200 * 10_000
