"""A log of 200,000 lines: its size, its last lines with their numbers, and all of it in one answer."""

import re

from support.engine import ALICE, BOB, play
from support.memory_store import MemoryStore
from support.scripted_agent import add_agent

from computepool.hub.artifacts.log_lines import LogLines
from computepool.hub.artifacts.logs import LogStore
from computepool.hub.core.bulk import BulkLane

LINES = [f"{number:06d} \x1b[32m{'x' * (number % 37)}\x1b[0m\n".encode() for number in range(1, 200_001)]
LOG = b"".join(LINES) + b"and no newline"
CHUNK_BYTES = 250_001


async def ask(pool, path, status=200, user=ALICE, **query):
    answer = await pool.call("GET", path, params=query or None, user=user)
    assert answer.status_code == status, answer.text[:1000]
    return answer


def first_of(answer):
    return int(answer.headers["X-First-Line"]), int(answer.headers["X-First-Offset"])


def watch_reads(pool):
    """The lengths of what is read from the store from now on."""
    lengths = []

    def read(key, start, length):
        lengths.append(length)
        return MemoryStore.read(pool.store, key, start, length)

    pool.store.read = read
    return lengths


async def check_backwards(pool, path):
    """From the end to the beginning: every byte once, every first line with its number."""
    end = len(LOG)
    while end:
        answer = await ask(pool, path, before=end)
        line, offset = first_of(answer)
        assert answer.content == LOG[offset:end]
        assert offset == 0 or LOG[offset - 1 : offset] == b"\n"
        assert answer.content.startswith(f"{line:06d} ".encode())
        assert (answer.headers["X-Next-Offset"], answer.headers["X-Log-Bytes"]) == (str(end), str(len(LOG)))
        end = offset


async def check_whole(pool, job_id):
    info = (await ask(pool, f"jobs/{job_id}/logs/info")).json()
    assert (info["bytes"], info["lines"], info["attempt"]) == (len(LOG), len(LINES) + 1, 1)
    tail = await ask(pool, f"jobs/{job_id}/logs", tail=3)
    assert tail.content == b"".join(LINES[-2:]) + b"and no newline"
    assert first_of(tail) == (199_999, len(LOG) - len(tail.content))
    middle = sum(map(len, LINES[:100_000]))
    found = await ask(pool, f"jobs/{job_id}/logs", tail=10, before=middle)
    assert found.content == b"".join(LINES[99_990:100_000])
    assert first_of(found)[0] == 99_991
    cut = await ask(pool, f"jobs/{job_id}/logs", before=len(LINES[0]) - 1, limit=3)  # a line longer than the limit
    assert (cut.content, first_of(cut)) == (LINES[0][-4:-1], (1, len(LINES[0]) - 4))
    await check_backwards(pool, f"jobs/{job_id}/logs")
    return info


def test_lines_are_numbered_while_the_log_grows_and_after_a_restart(sqlite_hub):
    async def story(pool):
        job_id = await pool.submit()
        info = (await ask(pool, f"jobs/{job_id}/logs/info")).json()
        assert (info["attempt"], info["bytes"], info["lines"], info["url"], info["attempts"]) == (0, 0, 0, None, [])
        assert first_of(await ask(pool, f"jobs/{job_id}/logs", tail=5)) == (1, 0)
        agent = await add_agent(pool)
        work = await agent.take_offer()
        await agent.update(work, "running")
        for start in range(0, len(LOG), CHUNK_BYTES):
            await agent.write_log(work, LOG[start : start + CHUNK_BYTES])
            tail = await ask(pool, f"jobs/{job_id}/logs", tail=1)
            assert first_of(tail)[0] == LOG[: start + CHUNK_BYTES - 1].count(b"\n") + 1
        info = await check_whole(pool, job_id)
        assert not info["complete"]
        assert [(each["number"], each["state"]) for each in info["attempts"]] == [(1, "running")]

        await agent.finish(work)
        await pool.settle()
        assert len(pool.store.objects) == 1  # sealed
        assert (await check_whole(pool, job_id))["complete"]

        pool.engine.logs.forget(work.id)
        reads = watch_reads(pool)
        assert (await ask(pool, f"jobs/{job_id}/logs/info")).json()["lines"] == len(LINES) + 1
        assert reads == [1]  # the last byte: the number is in the object's name

    play(sqlite_hub, story)


def test_log_is_one_answer_and_a_file_to_keep(sqlite_hub):
    async def story(pool):
        job_id = await pool.submit()
        agent = await add_agent(pool)
        work = await agent.take_offer()
        await agent.update(work, "running")
        for start in range(0, len(LOG), CHUNK_BYTES):
            await agent.write_log(work, LOG[start : start + CHUNK_BYTES])
        raw = f"jobs/{job_id}/logs/raw"
        whole = await ask(pool, raw)
        assert whole.content == LOG
        assert (whole.headers["Content-Length"], whole.headers["X-Log-Complete"]) == (str(len(LOG)), "0")
        await agent.finish(work)
        await pool.settle()
        rest = await ask(pool, raw, after=5_000_000)
        assert rest.content == LOG[5_000_000:]
        assert (rest.headers["X-Next-Offset"], rest.headers["X-Log-Complete"]) == (str(len(LOG)), "1")
        assert (await ask(pool, raw, after=10, before=20)).content == LOG[10:20]
        assert (await ask(pool, raw, after=10**9)).content == b""
        head = await pool.call("HEAD", raw)
        assert (head.status_code, head.content, head.headers["Content-Length"]) == (200, b"", str(len(LOG)))
        await ask(pool, raw, user=BOB, status=404)
        await ask(pool, raw, slice=1, status=404)
        await ask(pool, f"jobs/{job_id}/logs", status=422, after=1, tail=1)

        url = (await ask(pool, f"jobs/{job_id}/logs/info")).json()["url"]
        file = await ask(pool, f"http://hub.test{url}", user=None)
        assert file.content == LOG
        assert file.headers["Content-Disposition"] == f"attachment; filename*=UTF-8''{job_id}-slice0-attempt1.log"
        assert file.headers["Content-Security-Policy"] == "sandbox"
        assert (await pool.call("DELETE", f"jobs/{job_id}")).status_code == 204
        await ask(pool, f"http://hub.test{url}", user=None, status=404)

    play(sqlite_hub, story)


def test_lines_of_a_log_that_an_older_hub_stored_are_counted_once(sqlite_hub):
    async def story(pool):
        logs = LogStore(pool.store, pool.engine.context.offload, 10**9)
        for start in range(0, len(LOG), CHUNK_BYTES):
            await logs.append("attempt_a", start, LOG[start : start + CHUNK_BYTES])
        for key in list(pool.store.objects):
            pool.store.objects[re.sub(r"-\d+$", "", key)] = pool.store.objects.pop(key)
        logs = LogStore(pool.store, pool.engine.context.offload, 10**9)
        lines = LogLines(logs, BulkLane())
        assert await lines.count("attempt_a", len(LOG)) == len(LINES) + 1
        piece = await lines.last_before("attempt_a", 4_000_000, 2, 1000)
        assert piece.data.startswith(f"{piece.line:06d}".encode())
        reads = watch_reads(pool)
        assert await lines.count("attempt_a", len(LOG)) == len(LINES) + 1
        assert sum(reads) < 2 * 1024**2
        await logs.seal("attempt_a")
        assert await lines.count("attempt_a", len(LOG)) == len(LINES) + 1

    play(sqlite_hub, story)
