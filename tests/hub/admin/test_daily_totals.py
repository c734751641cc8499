"""Daily totals equal the sum of their rows, on both databases, also when rows come late or change their day."""

import math
import random
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import select, update
from sqlalchemy.orm import Session
from support.engine import ADMIN, ALICE, BOB, play
from support.scripted_agent import add_agent

from computepool.hub.core.ids import new_id
from computepool.hub.core.records import record
from computepool.hub.figures.daily import VERSION, start_of
from computepool.hub.figures.rollups import DailyFigures, read_days
from computepool.hub.figures.tables import DailyTotals
from computepool.hub.figures.work import WorkSum, sum_work
from computepool.hub.jobs.tables import Attempt, Job, Slice
from computepool.hub.ledger.accounts import Kind, Platform, account, platform
from computepool.hub.ledger.entries import Entry, Posting
from computepool.hub.ledger.journal import post
from computepool.hub.ledger.tables import EntryRow, PostingRow

DAYS = 5
ENDS = (("succeeded", "ok"), ("failed", "renter"), ("failed", "host"), ("canceled", "renter"))


def write_some(session: Session, rng: random.Random, now: datetime, node_id: str, count: int) -> None:
    """Jobs, attempts and entries of the last days, in no order: some are older than what was counted already."""
    for _ in range(count):
        at = now - timedelta(seconds=rng.uniform(0, DAYS * 86_400))
        began = at + (now - at) * rng.random() / 2
        ended = began + (now - began) * rng.random()
        state, verdict = rng.choice(ENDS)
        gpus = rng.choice((0, 1, 4))
        resources = {"resources": {"gpu": {"count": gpus}}} if gpus else {"resources": {}}
        job_id = new_id("job", at, rng.getrandbits)
        is_check = rng.random() < 0.2
        session.add(
            Job(
                id=job_id,
                owner_id=rng.choice((ALICE, BOB)),
                submitted_by=ALICE,
                name="work",
                state=state,
                verdict=verdict,
                spec=resources,
                spec_digest="sha256:0",
                priority=0,
                retries_allowed=0,
                slice_count=rng.randint(1, 9),
                slices_left=0,
                created_at=at,
                finished_at=ended,
                rerun_of="job_other" if is_check else None,
                simulated=rng.random() < 0.3,
            )
        )
        session.flush()
        session.add(
            Slice(
                job_id=job_id,
                index=0,
                state=state,
                fence=1,
                attempts=1,
                failures=0,
                losses=0,
                avoid=[],
                finished_at=ended,
            )
        )
        session.flush()
        attempt_id = new_id("attempt", began, rng.getrandbits)
        starts = rng.random() < 0.8
        session.add(
            Attempt(
                id=attempt_id,
                job_id=job_id,
                slice_index=0,
                number=rng.choice((1, 1, 2)),
                fence=1,
                node_id=node_id,
                own=rng.random() < 0.2,
                price={"gpus": gpus} if gpus else {"cpu_millis": rng.choice((500, 3000))},
                earned_micros=rng.randint(0, 10**9),
                state="lost" if verdict == "host" else state,
                verdict=verdict,
                manifest="",
                leased_at=began,
                started_at=began + (ended - began) / 3 if starts else None,
                exited_at=began + (ended - began) / 2 if rng.random() < 0.5 else None,
                rested_seconds=rng.choice((0, 1.25)),
                finished_at=ended,
                log_bytes=0,
            )
        )
        for action, subject, when in (
            ("job.submitted", job_id, at),
            (f"job.{state}", job_id, ended),
            ("attempt.leased", attempt_id, began),
            (f"attempt.{state}", attempt_id, ended),
        ):
            record(session, action, subject, when)
        pays = Posting(platform(Platform.CLEARING), account(ALICE, Kind.AVAILABLE), rng.randint(1, 10**9))
        if rng.random() < 0.5:
            pays = Posting(account(ALICE, Kind.AVAILABLE), platform(Platform.FEES), rng.randint(1, 1000))
        post(session, Entry(f"test/{job_id}", rng.choice(("top_up", "settle")), (pays,)), at)


def take_one_back(session: Session, rng: random.Random, now: datetime) -> None:
    """A lost attempt goes on: it ended on no day at all."""
    lost = session.scalars(select(Attempt).where(Attempt.state == "lost").order_by(Attempt.id)).all()
    if lost:
        one = rng.choice(lost)
        one.state, one.finished_at, one.verdict = "running", None, None
        record(session, "attempt.taken_back", one.id, now)


def sums_of(session: Session, begin: datetime) -> dict[str, int]:
    """The day's rows, one by one."""
    end = begin + timedelta(days=1)
    jobs = {one.id: one for one in session.scalars(select(Job))}
    attempts: list[Any] = list(session.scalars(select(Attempt)))

    def on_day(at: datetime | None) -> bool:
        return at is not None and begin <= at < end

    submitted = [one for one in jobs.values() if on_day(one.created_at) and one.rerun_of is None]
    ended = [one for one in jobs.values() if on_day(one.finished_at) and one.rerun_of is None]
    over = [one for one in attempts if on_day(one.finished_at)]
    ran = [
        (one, max(timedelta(0), (one.exited_at or one.finished_at) - one.started_at - rest))
        for one in over
        if one.started_at is not None
        for rest in [timedelta(seconds=one.rested_seconds)]
    ]
    gpus = {id: (one.spec["resources"].get("gpu") or {}).get("count", 0) for id, one in jobs.items()}
    first = [one for one in attempts if on_day(one.leased_at) and one.number == 1 and not jobs[one.job_id].rerun_of]
    waits = [one.leased_at - jobs[one.job_id].created_at for one in first]
    starts = [one.started_at - one.leased_at for one, _ in ran]
    postings = [
        (one, entry.kind)
        for one, entry in session.execute(
            select(PostingRow, EntryRow).join(EntryRow, EntryRow.id == PostingRow.entry_id)
        )
        if on_day(entry.created_at)
    ]
    fees, clearing = platform(Platform.FEES), platform(Platform.CLEARING)
    second = timedelta(seconds=1)
    return {
        "jobs": len(submitted),
        "simulated_jobs": sum(one.simulated for one in submitted),
        "simulated_succeeded": sum(one.simulated and one.state == "succeeded" for one in ended),
        "slices": sum(one.slice_count for one in submitted),
        "renters": len({one.owner_id for one in submitted}),
        **{f"ended {state}": sum(one.state == state for one in ended) for state, _ in ENDS},
        **{f"verdict {verdict}": sum(one.verdict == verdict for one in over) for _, verdict in ENDS},
        "attempts": len(over),
        "nodes": len({one.node_id for one in over}),
        "running_seconds": sum((time for _, time in ran), timedelta()) // second,
        "gpu_seconds": sum((time * gpus[one.job_id] for one, time in ran), timedelta()) // second,
        "waits": len(waits),
        "wait_seconds": sum(waits, timedelta()) // second,
        "wait_most_seconds": max(waits, default=timedelta()) // second,
        "start_seconds": sum(starts, timedelta()) // second,
        "start_most_seconds": max(starts, default=timedelta()) // second,
        "fees_micros": sum(one.micros for one, _ in postings if one.destination == fees),
        "paid_in_micros": sum(
            one.micros for one, kind in postings if one.source == clearing and kind in ("top_up", "grant")
        ),
    }


def work_of(session: Session, begin: datetime) -> WorkSum:
    """For others, of all owners together."""
    found, core_millis, end = WorkSum(), 0, begin + timedelta(days=1)
    attempts: list[Any] = list(session.scalars(select(Attempt).where(Attempt.own.is_(False))))
    for attempt in attempts:
        if attempt.finished_at is None or not begin <= attempt.finished_at < end:
            continue
        seconds = 0.0
        if attempt.started_at is not None:
            ran = (attempt.exited_at or attempt.finished_at) - attempt.started_at
            seconds = (ran - timedelta(seconds=attempt.rested_seconds)) / timedelta(seconds=1)
        whole, is_ok = max(0, math.floor(seconds + 0.5)), int(attempt.verdict == "ok")
        core_millis += is_ok * whole * attempt.price.get("cpu_millis", 0)
        found += WorkSum(is_ok, is_ok, is_ok * whole * attempt.price.get("gpus", 0), 0, attempt.earned_micros)
    return replace(found, core_seconds=core_millis // 1000)


def compare(session: Session, now: datetime) -> None:
    first = (now - timedelta(days=DAYS)).date()
    stored, _ = read_days(session, first, first + timedelta(days=DAYS + 4))
    assert sum(one.jobs for one in stored.values()) > 0
    for number in range(DAYS + 4):
        day = first + timedelta(days=number)
        totals, sums = stored.get(day), sums_of(session, start_of(day))
        work = sum_work(session, day, day + timedelta(days=1))
        assert work.get((BOB, False), WorkSum()) == work_of(session, start_of(day)), day
        for name, value in sums.items():
            group, _, key = name.partition(" ")
            if key:
                counts = getattr(totals, "ended" if group == "ended" else "attempts_by_verdict", {})
                assert counts.get(key, 0) == value, (day, name)
            else:
                assert getattr(totals, name, 0) == value, (day, name)


def test_daily_totals_are_the_sum_of_their_rows_also_when_rows_come_late(hub_url):
    async def story(pool):
        pool.tampered = True  # rows by hand: jobs without holds
        rng = random.Random(17)
        node_id = (await add_agent(pool, owner=BOB)).node_id
        figures = pool.engine.figures
        for _ in range(4):
            now = pool.clock.now()
            await pool.db.run(write_some, rng, now, node_id, 30)
            await pool.db.run(take_one_back, rng, now)
            await figures.refresh(for_reader=False)
            await pool.db.read(compare, now)
            everything = await pool.db.read(sum_work, None, None)
            assert figures.now.work["30d"] == figures.now.work["all"] == everything
            await pool.settle(1200)  # so long that numbers are settled: the next rows are late
        # A hub that starts again counts what it missed, and a day of an older version anew.
        await pool.db.run(write_some, rng, pool.clock.now(), node_id, 10)
        await pool.db.run(lambda session: session.execute(update(DailyTotals).values(version=0)))
        again = DailyFigures(pool.engine.context)
        await again.tick()
        await pool.db.read(compare, pool.clock.now())
        assert {row.version for row in pool.rows(DailyTotals)} == {VERSION}
        # Nothing new: nothing is counted.
        before = pool.db.commits.count("store_days")
        await again.refresh(for_reader=False)
        assert pool.db.commits.count("store_days") == before

    play(hub_url, story)


def test_overview_of_a_year_takes_a_handful_of_statements_and_says_no_word_of_money_where_there_is_none(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool, owner=BOB)
        await pool.submit(max_runtime="10m")
        work = await agent.take_offer()
        await agent.update(work, "running")
        await pool.settle(300)
        await agent.finish(work)
        assert (await pool.call("GET", "admin/overview", user=ALICE)).status_code == 403
        told = (await pool.call("GET", "admin/overview?days=365", user=ADMIN)).json()
        assert (len(told["days"]), told["days"][-1]) == (365, told["today"])
        today = told["today"]
        assert (today["jobs"], today["ended"], today["attempts_by_verdict"]) == (1, {"succeeded": 1}, {"ok": 1})
        assert 300 <= today["running_seconds"] <= 302
        assert today["gpu_seconds"] == 0
        assert today["spent_micros"] > today["fees_micros"] > 0
        assert told["totals"]["jobs"] == 1
        assert told["before"]["jobs"] == 0
        await pool.settle(1)
        before = pool.db.statements
        await pool.call("GET", "admin/overview?days=365", user=ADMIN)
        await pool.call("GET", "admin/reports", user=ADMIN)
        assert pool.db.statements - before <= 24
        pool.settings = pool.settings.model_copy(update={"money": "off"})
        await pool.restart()
        free = (await pool.call("GET", "admin/overview", user=ADMIN)).json()
        assert (free["today"]["jobs"], free["today"]["spent_micros"]) == (1, None)

    play(sqlite_hub, story)
