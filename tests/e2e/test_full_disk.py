"""The node's disk is full: the job is told so and tried again, the agent lives on."""

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


def test_full_disk_of_a_node_is_told_and_the_job_goes_on_when_there_is_room(disk, pool):
    # The home is on the small disk, so spool, journal and the jobs' folders are.
    (pool.folder / "alpha").symlink_to(disk.path)
    agent = pool.join_without_bubblewrap("alpha")
    flag = pool.folder / "go"
    script = (
        f"while [ ! -e {flag} ]; do sleep 0.05; done; "
        "i=0; while [ $i -lt 200 ]; do head -c 10000 /dev/zero | tr '\\0' x; echo; i=$((i+1)); done; echo end"
    )
    job = pool.submit("sh", "-c", script)
    pool.until_running(job.id)
    disk.fill()
    flag.touch()

    def given_up() -> str | None:
        first = pool.client.job(job.id).slices[0].attempts[0]
        return first.reason if first.state == "failed" else None

    assert pool.until(given_up, "the first attempt fails") == "node_disk"
    first = pool.client.job(job.id).slices[0].attempts[0]
    assert first.verdict == "host"
    assert "disk" in (first.detail or ""), first
    shown = pool.cli("show", job.id).expect(0).text
    assert "disk" in shown
    assert agent.link == "websocket", "the agent is alive"

    disk.resize(ROOMY)
    done = pool.until_state(job.id, "succeeded")
    assert done.slices[0].newest.number > 1
    # Before it, a shell may say that it cannot name its folder: see support/small_disks.py.
    assert pool.log_of(job.id).endswith((b"x" * 10_000 + b"\n") * 200 + b"end\n")
