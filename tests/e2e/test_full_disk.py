"""The node's disk is full: the job is told so and tried again, the agent lives on."""

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOMY = "7G"
"""More than what an agent never offers; memory is only used for what is written."""


class TinyDisk:
    """A file system in memory whose size can be changed under its users."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def resize(self, size: str) -> None:
        subprocess.run(["mount", "-o", f"remount,size={size}", str(self.place)], check=True, capture_output=True)

    def fill(self) -> None:
        """Nothing more fits."""
        used = sum(path.lstat().st_blocks * 512 for path in self.place.rglob("*"))
        self.resize(str(max(used, 4096)))


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[TinyDisk]:
    place = tmp_path / "disk"
    place.mkdir()
    if os.getuid() != 0:
        pytest.skip("full disk: only root can mount a small one")
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={ROOMY},mode=700", "computepool-test", str(place)],
        capture_output=True,
        text=True,
        check=False,
    )
    if made.returncode:
        pytest.skip(f"full disk: this machine does not let us mount one: {made.stderr.strip()}")
    try:
        yield TinyDisk(place)
    finally:
        with contextlib.suppress(subprocess.CalledProcessError):
            subprocess.run(["umount", "-l", str(place)], check=True, capture_output=True)


def test_full_disk_of_a_node_is_told_and_the_job_goes_on_when_there_is_room(disk, pool):
    # The home is on the small disk, so spool, journal and the jobs' folders are.
    (pool.folder / "alpha").symlink_to(disk.place)
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

    assert pool.until(given_up, "the first attempt fails", 40) == "node_disk"
    first = pool.client.job(job.id).slices[0].attempts[0]
    assert first.verdict == "host"
    assert "disk" in (first.detail or ""), first
    shown = pool.cli("show", job.id).expect(0).text
    assert "disk" in shown
    assert agent.link == "websocket", "the agent is alive"

    disk.resize(ROOMY)
    done = pool.until_state(job.id, "succeeded", seconds=60)
    assert done.slices[0].newest.number > 1
    assert pool.log_of(job.id).endswith(b"xxx\nend\n")
    assert len(pool.log_of(job.id)) == 200 * 10_001 + 4
