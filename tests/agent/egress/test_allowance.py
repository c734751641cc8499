"""How fast and how much: the pace, a job's cap, and the host's month."""

import asyncio
import json
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from support.egress import WEB, Site, echo, internet, names, proxy, server

from computepool.agent.egress import Allowance, EgressLimits, TokenBucket
from computepool.agent.egress.allowance import BLOCK_BYTES, count_for_strangers, for_strangers

MEGABYTE = 1 << 20


class SetClock:
    def __init__(self, *date: int) -> None:
        self.date = datetime(*date, tzinfo=UTC)  # type: ignore[arg-type, misc]
        self.seconds = 0.0

    def now(self) -> datetime:
        return self.date

    def monotonic(self) -> float:
        return self.seconds


def allowance_in(folder: Path, clock: SetClock, limit_bytes: int | None = None) -> Allowance:
    return Allowance(folder / "allowance.json", clock, limit_bytes=limit_bytes, offload=asyncio.to_thread)


def test_month_has_an_end_and_says_how_much_is_left(tmp_path):
    async def story():
        allowance = allowance_in(tmp_path, SetClock(2026, 5, 31), 100)
        assert await allowance.take(60)
        assert (allowance.used_bytes, allowance.left_bytes) == (60, 40)
        assert not await allowance.take(41)
        assert allowance.used_bytes == 60
        assert await allowance.take(40)
        assert allowance.left_bytes == 0
        allowance.limit_bytes = 150
        assert allowance.left_bytes == 50

    asyncio.run(story())


def test_each_month_counts_by_itself_also_when_the_clock_jumps(tmp_path):
    async def story():
        clock = SetClock(2026, 5, 31)
        allowance = allowance_in(tmp_path, clock, 100)
        assert await allowance.take(100)
        clock.date = datetime(2026, 6, 1, tzinfo=UTC)
        assert await allowance.take(30)
        clock.date = datetime(2026, 5, 1, tzinfo=UTC)
        assert not await allowance.take(1)
        clock.date = datetime(2026, 6, 2, tzinfo=UTC)
        assert allowance.used_bytes == 30

    asyncio.run(story())


def test_orderly_end_keeps_the_exact_count(tmp_path):
    async def story():
        clock = SetClock(2026, 5, 31)
        first = allowance_in(tmp_path, clock)
        assert first.left_bytes is None
        assert await first.take(12_345)
        await first.close()
        assert allowance_in(tmp_path, clock).used_bytes == 12_345
        await first.close()  # again: nothing more to write

    asyncio.run(story())


def test_crash_never_gives_bytes_back(tmp_path):
    async def story():
        clock = SetClock(2026, 5, 31)
        allowance = allowance_in(tmp_path, clock)
        for _ in range(50):
            assert await allowance.take(MEGABYTE)
            found = allowance_in(tmp_path, clock).used_bytes  # what an agent finds that was killed just now
            assert allowance.used_bytes <= found <= allowance.used_bytes + BLOCK_BYTES

    asyncio.run(story())


def test_two_who_take_at_once_cannot_both_have_the_last_bytes(tmp_path):
    async def story():
        allowance = allowance_in(tmp_path, SetClock(2026, 5, 31), 100)
        taken = await asyncio.gather(*(allowance.take(60) for _ in range(5)))
        assert sorted(taken) == [False] * 4 + [True]

    asyncio.run(story())


def test_broken_file_counts_from_zero_and_old_months_are_dropped(tmp_path):
    async def story():
        file = tmp_path / "allowance.json"
        for text in ("", "[]", "{}", '{"used_bytes": {"2026-05": "x"}}'):
            file.write_text(text)
            assert allowance_in(tmp_path, SetClock(2026, 5, 1)).used_bytes == 0
        file.write_text(json.dumps({"used_bytes": {f"{year}-01": 1 for year in range(1990, 2026)}}))
        allowance = allowance_in(tmp_path, SetClock(2026, 5, 1))
        await allowance.take(1)
        await allowance.close()
        assert len(json.loads(file.read_text())["used_bytes"]) == 24
        assert file.stat().st_mode & 0o077 == 0

    asyncio.run(story())


def test_used_up_allowance_is_refused_in_words_and_ends_what_runs(tmp_path):
    async def story():
        lines: list[str] = []
        allowance = allowance_in(tmp_path, SetClock(2026, 5, 31), 100_000)
        site = Site(b"x" * 70_000)
        more = {"allowance": allowance, "tell": lines.append}
        async with server(site) as port, proxy(internet(port), names(site_example=WEB), **more) as (egress, client):
            place = f"site.example:{port}"
            assert (await client.get(place)).endswith(site.body)
            cut = await client.get(place)
            assert len(cut) < 70_000
            allowance.limit_bytes = allowance.used_bytes
            answer = await client.get(place)
            assert b" 403 " in answer
            assert b"data allowance for the month is used up" in answer
            assert egress.bytes_in + egress.bytes_out == allowance.used_bytes
        assert len(lines) == 1
        assert len(site.requests) == 2  # the last one did not get that far

    asyncio.run(story())


def test_jobs_cap_ends_what_runs_and_refuses_what_comes():
    async def story():
        async with server(echo) as port:
            limits = EgressLimits(cap_bytes=300_000)
            async with proxy(internet(port), names(site_example=WEB), limits=limits) as (egress, client):
                _, reader, writer = await client.connect(f"site.example:{port}")
                writer.write(b"x" * 400_000)
                got = 0
                with suppress(ConnectionResetError):  # how it ends depends on what was still on its way
                    while some := await reader.read(65_536):
                        got += len(some)
                writer.transport.abort()
                assert got < 300_000
                assert 0 < egress.bytes_in + egress.bytes_out <= 300_000
                answer, *_, writer = await client.connect(f"site.example:{port}")
                assert b"403 Refused: this job has used the data that one job may use" in answer
                writer.close()

    asyncio.run(story())


def test_pace_is_kept_over_all_connections_of_a_job():
    async def story():
        loop = asyncio.get_running_loop()
        # Its clock stands still: the bucket is not filled again, however slow the machine is.
        bucket = TokenBucket(1_000_000, lambda: 0.0, burst_bytes=50_000)
        site = Site(b"x" * 150_000)
        known = names(site_example=WEB)
        async with server(site) as port, proxy(internet(port), known, bucket=bucket) as (egress, client):
            started = loop.time()
            answers = await asyncio.gather(*(client.get(f"site.example:{port}") for _ in range(3)))
            took = loop.time() - started
        assert all(answer.endswith(site.body) for answer in answers)
        assert bucket._level == 50_000 - egress.bytes_in - egress.bytes_out
        assert took > 0.35  # 450 kB, of which 50 at once

    asyncio.run(story())


def test_what_has_passed_already_is_counted_beyond_the_end_and_outlives_a_crash(tmp_path):
    async def story():
        clock = SetClock(2026, 5, 31)
        allowance = allowance_in(tmp_path, clock, 100)
        allowance.note(70)
        allowance.note(70)
        assert (allowance.used_bytes, allowance.left_bytes) == (140, 0)
        assert not await allowance.take(1)
        for _ in range(5):
            allowance.note(BLOCK_BYTES)
            assert allowance._booking is not None
            await allowance._booking
        assert allowance_in(tmp_path, clock).used_bytes >= allowance.used_bytes
        await allowance.close()
        assert allowance_in(tmp_path, clock).used_bytes == allowance.used_bytes == 140 + 5 * BLOCK_BYTES

    asyncio.run(story())


def test_only_what_is_moved_for_strangers_counts(tmp_path):
    async def story():
        allowance = allowance_in(tmp_path, SetClock(2026, 5, 31))

        async def attempt(own):
            for_strangers.set(not own)
            count_for_strangers(allowance, 10)
            # What it starts beside itself is moved for the same.
            await asyncio.create_task(moved())

        async def moved():
            count_for_strangers(allowance, 1)

        await asyncio.gather(*(asyncio.create_task(attempt(own)) for own in (True, False, True, False)))
        count_for_strangers(allowance, 100)
        assert allowance.used_bytes == 22
        await allowance.close()

    asyncio.run(story())
