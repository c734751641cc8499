"""Files with holes: they take no room on the disk, and must not take the node's time and disk either."""

import hashlib
import os
import threading

import pytest
from support.waiting import patience

from computepool.agent.outputs import Interrupted, OutputsRefused, collect
from computepool.agent.snapshots import FILES, copy_files, hash_files, look_at

MIB = 1 << 20


@pytest.fixture
def job(tmp_path):
    for name in ("work", "output", "checkpoint"):
        (tmp_path / "job" / name).mkdir(parents=True)
    return tmp_path / "job"


def write_hollow(path, size, *pieces):
    """A file of this size with only these pieces in it: (where, what)."""
    with path.open("wb") as file:
        file.truncate(size)
        for at, data in pieces:
            file.seek(at)
            file.write(data)


def test_outputs_larger_than_the_jobs_disk_are_refused_before_they_are_read(job):
    write_hollow(job / "output/first", 6 * MIB)
    write_hollow(job / "work/second", 1 << 42)
    with pytest.raises(OutputsRefused, match=r"larger than the job's disk .* ask for more disk"):
        collect(job, ["second"], limit_bytes=10 * MIB)
    write_hollow(job / "work/second", 4 * MIB)
    assert len(collect(job, ["second"], limit_bytes=10 * MIB).files) == 2
    with pytest.raises(OutputsRefused):
        collect(job, ["second"], limit_bytes=10 * MIB - 1)


def test_collecting_ends_soon_after_it_was_told_to(job):
    write_hollow(job / "output/huge", 1 << 42)
    stop = threading.Event()
    ends = []

    def work():
        try:
            collect(job, (), stop=stop)
        except Interrupted:
            ends.append("interrupted")

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    stop.set()
    thread.join(patience())
    assert ends == ["interrupted"]


def test_checkpoint_larger_than_the_jobs_disk_is_refused(job):
    write_hollow(job / "checkpoint/a", 6 * MIB)
    write_hollow(job / "checkpoint/b", 4 * MIB)
    assert len(look_at(job, "checkpoint", 10 * MIB)) == 2
    with pytest.raises(OutputsRefused, match="ask for more disk"):
        look_at(job, "checkpoint", 10 * MIB - 1)


@pytest.mark.parametrize(
    "pieces",
    [
        (),
        ((0, b"begin"),),
        ((3 * MIB + 7, b"x" * 3 * MIB),),
        ((0, b"a"), (20 * MIB, b"b"), (64 * MIB - 1, b"c")),
        tuple((at, b"block") for at in range(0, MIB, 8192)),
    ],
)
def test_copy_of_a_checkpoint_has_the_same_content_and_the_same_holes(job, tmp_path, pieces):
    source = job / "checkpoint/model"
    write_hollow(source, 64 * MIB, *pieces)
    paths = list(look_at(job, "checkpoint"))
    copy_files(job, "checkpoint", paths, tmp_path / "staging")
    [file] = hash_files(tmp_path / "staging", FILES, paths).values()
    assert file.size_bytes == 64 * MIB
    assert file.digest == f"sha256:{hashlib.sha256(source.read_bytes()).hexdigest()}"
    copy = tmp_path / "staging" / FILES / "model"
    assert copy.stat().st_blocks <= source.stat().st_blocks + 64


def test_copy_of_a_whole_file_is_whole(job, tmp_path):
    data = os.urandom(3 * MIB + 5)
    (job / "checkpoint/model").write_bytes(data)
    (job / "checkpoint/empty").write_bytes(b"")
    copy_files(job, "checkpoint", list(look_at(job, "checkpoint")), tmp_path / "staging")
    assert (tmp_path / "staging" / FILES / "model").read_bytes() == data
    assert (tmp_path / "staging" / FILES / "empty").read_bytes() == b""
