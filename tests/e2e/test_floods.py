"""Jobs that print more than anybody wants to read: nothing is lost or stalled, and the hub's memory stays small."""

import hashlib
import time
from statistics import median, quantiles

import pytest
from support.children import resident_bytes
from support.proofs import figure, proving

pytestmark = pytest.mark.slow

FLOOD_BYTES = figure(64_000_000, 990_000_000)
MOST_BYTES = 990_000_000
"""The flood ends between these two, when its neighbours are through."""
LIMIT_BYTES = 1_000_000_000
"""Most that is kept of one attempt's log."""
HUB_MAY_GROW_BYTES = 64 * 1024**2
NEIGHBOURS = figure(20, 100)
SLOWER = 5
"""So much slower a neighbour may be. Only measured by `./dev prove`, where nothing else uses the machine."""
# Every line is different, so that a byte that is lost, repeated or moved changes the digest.
FLOOD = """
import os, sys
least, most, over, size = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], 0
while size < least or size < most and not os.path.exists(over):
    data = b"".join(b"%099d\\n" % n for n in range(size // 100, size // 100 + 10_000))[: most - size]
    sys.stdout.buffer.write(data)
    size += len(data)
with open(over + ".size", "w") as file:
    file.write(str(size))
"""


def flood_digest(size: int) -> str:
    hasher, number = hashlib.sha256(), 0
    while size:
        data = b"".join(b"%099d\n" % n for n in range(number, number + 10_000))[:size]
        hasher.update(data)
        size, number = size - len(data), number + 10_000
    return hasher.hexdigest()


@pytest.mark.proof
def test_flood_arrives_whole_and_neither_stalls_neighbours_nor_fills_the_hub(pool):
    pool.join_without_bubblewrap("alpha")
    quiet = [_seconds_of_a_small_job(pool) for _ in range(NEIGHBOURS)]
    before = resident_bytes(pool.hub.pid)
    over = pool.folder / "over"
    flood = pool.submit("python3", "-c", FLOOD, str(FLOOD_BYTES), str(MOST_BYTES), str(over))
    pool.until_running(flood.id)
    peak, beside = before, []
    while not pool.client.job(flood.id).is_final:
        beside.append(_seconds_of_a_small_job(pool))
        peak = max(peak, resident_bytes(pool.hub.pid))
        if len(beside) == NEIGHBOURS:
            over.touch()
    assert peak - before <= HUB_MAY_GROW_BYTES, f"the hub grew by {(peak - before) / 1024**2:.0f} MB"
    # Neighbours come one after the other: had one waited for the flood to end, it would be the only one.
    assert len(beside) >= NEIGHBOURS, f"only {len(beside)} neighbours came through"
    if proving():
        assert median(beside) <= SLOWER * median(quiet), f"{median(beside):.3f} s beside, {median(quiet):.3f} s without"
        assert _p99(beside) <= 2 * _p99(quiet), f"{_p99(beside):.3f} s beside the flood, {_p99(quiet):.3f} s without"

    hasher, size = hashlib.sha256(), 0
    for chunk in pool.client.logs(flood.id):
        hasher.update(chunk.data)
        size += len(chunk.data)
    assert size == int(over.with_suffix(".size").read_text()) >= FLOOD_BYTES
    assert hasher.hexdigest() == flood_digest(size)
    assert resident_bytes(pool.hub.pid) - before <= HUB_MAY_GROW_BYTES


def _seconds_of_a_small_job(pool) -> float:
    began = time.monotonic()
    job = pool.submit("true")
    assert pool.client.wait(job.id).state == "succeeded"
    return time.monotonic() - began


def _p99(seconds: list[float]) -> float:
    return quantiles(seconds, n=100)[-1] if len(seconds) > 1 else seconds[0]


def test_one_line_of_ten_megabytes_and_binary_bytes_arrive_as_they_were(pool):
    pool.join_without_bubblewrap("alpha")
    script = (
        "import os, sys\n"
        "sys.stdout.buffer.write(bytes(range(256)) * 100)\n"
        "sys.stdout.buffer.write(b'x' * 10_000_000)\n"
        "sys.stdout.buffer.write(b'\\x1b]0;title\\x07\\xff\\xfe\\x00')\n"
    )
    done = pool.cli("run", "--", "python3", "-c", script).expect(0)
    assert done.out == bytes(range(256)) * 100 + b"x" * 10_000_000 + b"\x1b]0;title\x07\xff\xfe\x00"


@pytest.mark.proof
@pytest.mark.timeout(figure(240, 3600))
def test_log_beyond_the_limit_keeps_its_head_and_its_tail(pool):
    """In every run a short log, which is kept whole: the limit is one that nobody sets."""
    pool.join_without_bubblewrap("alpha")
    lines = figure(20_000, 13_000_000)
    job = pool.submit("python3", "-c", FLOOD, str(lines * 100), str(lines * 100), str(pool.folder / "over"))
    pool.until_state(job.id, "succeeded", takes=3000)
    head, tail, size = b"", b"", 0
    for chunk in pool.client.logs(job.id):
        head = head or chunk.data[:1000]
        tail = (tail + chunk.data)[-1000:]
        size += len(chunk.data)
    most = min(LIMIT_BYTES, lines * 100)
    assert most - 1000 < size <= most
    assert head.startswith(b"".join(b"%099d\n" % number for number in range(10)))
    assert tail.endswith(b"".join(b"%099d\n" % number for number in range(lines - 9, lines)))
