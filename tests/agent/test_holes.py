"""Files with holes: they take no room on the disk, and must not take the node's time and disk either."""

import asyncio
import hashlib
import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from computepool.agent import outputs, snapshots
from computepool.agent.outputs import OutputsRefused
from computepool.agent.pieces import in_pieces, run_through
from computepool.agent.ports import offload_to_threads
from computepool.agent.snapshots import FILES

MIB = 1 << 20


def collect(*arguments, **options):
    return run_through(outputs.collect(*arguments, **options))


def look_at(*arguments):
    return run_through(snapshots.look_at(*arguments))


def copy_files(*arguments):
    return run_through(snapshots.copy_files(*arguments))


def hash_files(*arguments):
    return run_through(snapshots.hash_files(*arguments))


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


def test_files_that_take_long_to_read_do_not_keep_a_thread(job):
    """The next job's files need it."""
    write_hollow(job / "output/huge", 1 << 42)

    async def story():
        alone = ThreadPoolExecutor(1)
        asyncio.get_running_loop().set_default_executor(alone)
        reading = asyncio.ensure_future(in_pieces(offload_to_threads, outputs.collect(job, ())))
        for _ in range(3):
            assert await offload_to_threads(lambda: "another") == "another"
        assert not reading.done()
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)

    asyncio.run(story())


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
