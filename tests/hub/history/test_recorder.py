"""What is stored of samples: exact, once, bounded, and no write for each report."""

import random
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import select
from support.engine import BOB, play
from support.scripted_agent import add_agent
from support.small_hub import HandClock

from computepool.hub.history.metrics import (
    ATTEMPT_METRICS,
    GPUS_RECORDED,
    NODE_METRICS,
    AttemptMetrics,
    NodeMetrics,
    PoolMetrics,
    stored_values,
)
from computepool.hub.history.recorder import (
    NODE_PAUSE_SECONDS,
    POOL,
    RECENT_BUCKETS,
    WRITE_SECONDS,
    History,
    usage_values,
)
from computepool.hub.history.repository import (
    ATTEMPT_BUCKETS,
    COARSE_STEP,
    DAY_SECONDS,
    FINE_DAYS,
    FINEST,
    HOUR_SECONDS,
    Delta,
    HistoryKind,
    add_samples,
    merge_old,
)
from computepool.hub.history.series import Cell, Series, bounded, encode
from computepool.hub.history.tables import HistoryChunk
from computepool.protocol.messages import AttemptUsage, GpuLoad, Heartbeat, NodeReport
from computepool.protocol.telemetry import MachineLoad, UsageSample

NODE_DAY_LIMIT_BYTES = 50_000
NODE_SAMPLES = int(FINEST[HistoryKind.NODE] / NODE_PAUSE_SECONDS)
ROW_BYTES = 160
"""What a row takes beside its data: its key twice, in the table and in two indexes, and the database's own header."""


def aggregate(samples, step):
    found: dict[tuple[int, int], list[int]] = {}
    for at, values in samples:
        for code, value in values.items():
            found.setdefault((int(at // step), code), []).append(value)
    return {key: (len(values), sum(values), min(values), max(values)) for key, values in found.items()}


def cells(series):
    return {(index, code): tuple(cell) for index, bucket in series.buckets.items() for code, cell in bucket.items()}


async def whole_of(pool, kind, subject, step=1, days=1):
    now = pool.clock.now()
    return await pool.engine.history.read(kind, subject, now - timedelta(days=days), now + timedelta(days=1), step)


def sample(rng, age=0.0):
    return UsageSample(
        age_seconds=age,
        cpus=rng.choice([None, rng.uniform(0, 8)]),
        memory_bytes=rng.randrange(2**34),
        gpu=rng.choice([None, rng.random()]),
        power_watts=rng.uniform(0, 400),
        network_bytes_per_second=rng.uniform(0, 1e7),
    )


@pytest.mark.parametrize("seed", range(3))
def test_usage_is_the_aggregate_of_its_samples_with_late_and_repeated_batches_and_restarts(hub_url, seed):
    rng = random.Random(seed)

    async def story(pool):
        agent = await add_agent(pool)
        await pool.submit(max_runtime="10h")
        work = await agent.take_offer()
        await agent.update(work, "running")
        agent.beat_on()
        taken, number, last = [], 0, None
        for _ in range(60):
            await pool.settle(rng.choice([10, 30, 90]))
            ages = sorted((rng.uniform(0, 25) for _ in range(rng.randint(1, 3))), reverse=True)
            samples = tuple(sample(rng, age) for age in ages)
            now = pool.clock.now().timestamp()
            taken += [(now - one.age_seconds, stored_values(usage_values(one))) for one in samples]
            usage = AttemptUsage(attempt_id=work.id, fence=work.fence, first=number, samples=samples)
            number += len(samples)
            for message in [usage, *rng.choice([[], [usage], [last or usage]])]:
                await agent.send(NodeReport(usage=(message,)))
            last = usage
            await agent.heartbeat()  # until here everything was heard
            if rng.random() < 0.1:
                await pool.engine.history.write()
            if rng.random() < 0.03:
                await pool.restart()
                await agent.connect()
                last = None
        found = await whole_of(pool, HistoryKind.ATTEMPT, work.id)
        assert len(found) <= ATTEMPT_BUCKETS
        assert cells(found) == aggregate(taken, found.step)
        await pool.engine.history.write()
        assert cells(await whole_of(pool, HistoryKind.ATTEMPT, work.id)) == aggregate(taken, found.step)
        assert len(pool.rows(HistoryChunk, kind=HistoryKind.ATTEMPT)) == 1
        for step in (found.step * 3, HOUR_SECONDS * 2):
            wider = await whole_of(pool, HistoryKind.ATTEMPT, work.id, step)
            assert cells(wider) == aggregate(taken, wider.step)
            assert wider.step >= step

    play(hub_url, story)


def by_hand(pool, **settings):
    """A history of its own, whose time is moved by hand: days pass at once."""
    clock = HandClock()
    changed = pool.settings.model_copy(update=settings)
    return History(replace(pool.engine.context, clock=clock, settings=changed)), clock


async def read_all(history, clock, step, *, since_days=30.0, kind=HistoryKind.NODE, subject="node_1"):
    now = clock.now()
    return await history.read(kind, subject, now - timedelta(days=since_days), now + timedelta(days=1), step)


def test_telemetry_is_the_aggregate_of_its_samples_from_minutes_to_days(hub_url):
    rng = random.Random(4)

    async def story(pool):
        history, clock = by_hand(pool)
        taken = []
        for number in range(300):
            clock.move(seconds=rng.choice([8, 60, 300]))
            load = MachineLoad(cpu=rng.random(), memory_used_bytes=rng.randrange(2**35))
            report = NodeReport(machine=load, gpus=(GpuLoad(id="gpu-a", utilisation=rng.random()), GpuLoad(id="gpu-b")))
            history.hear("node_1", ["gpu-a"], {}, report)
            values = {
                NodeMetrics.CPU: load.cpu,
                NodeMetrics.MEMORY: load.memory_used_bytes,
                NodeMetrics.UTILISATION[0]: report.gpus[0].utilisation,
            }
            taken.append((clock.now().timestamp(), stored_values(values)))
            if number % 40 == 0:
                await history.write()
        for step in (900, 1000, HOUR_SECONDS, DAY_SECONDS):
            found = await read_all(history, clock, step, since_days=6)
            assert found.step >= step
            assert cells(found) == aggregate(taken, found.step)
        half_an_hour = clock.now() - timedelta(minutes=30)
        recent = await history.read(HistoryKind.NODE, "node_1", half_an_hour, clock.now(), 60)
        newest = [one for one in taken if one[0] // 60 > half_an_hour.timestamp() // 60]
        assert recent.step == 60
        assert set(cells(recent).items()) >= set(aggregate(newest, 60).items())
        await history.write()
        clock.move(days=FINE_DAYS + 2)
        await history.tidy()
        assert {row.kind for row in pool.rows(HistoryChunk, subject="node_1")} == {HistoryKind.NODE_DAY}
        found = await read_all(history, clock, 60)
        assert found.step == COARSE_STEP
        assert cells(found) == aggregate(taken, COARSE_STEP)

    play(hub_url, story)


def test_what_is_older_than_the_setting_is_forgotten(hub_url):
    async def story(pool):
        history, clock = by_hand(pool, keep_history_days=30)
        history.add_pool({PoolMetrics.QUEUE: 3})
        await history.write()
        clock.move(days=29)
        await history.tidy()
        assert len(await read_all(history, clock, 60, kind=HistoryKind.POOL, subject=POOL)) == 1
        history.add_pool({PoolMetrics.QUEUE: 4})
        await history.write()
        clock.move(days=2)
        await history.tidy()
        (row,) = pool.rows(HistoryChunk, kind=HistoryKind.POOL)
        assert row.start_at > clock.now() - timedelta(days=3)
        assert not pool.rows(HistoryChunk, kind=HistoryKind.POOL_DAY)

    play(hub_url, story)


def test_reports_write_nothing_until_their_time_and_heartbeats_never(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool)
        await pool.engine.history.write()
        before = len(pool.db.commits)
        for _ in range(20):
            await agent.send(NodeReport(machine=MachineLoad(cpu=0.5)))
            await agent.send(Heartbeat(cursor=agent.cursor))
            await pool.settle(10)
        assert "add_samples" not in pool.db.commits[before:]
        await pool.settle(WRITE_SECONDS)
        assert pool.db.commits[before:].count("add_samples") == 1

    play(sqlite_hub, story)


def test_write_that_fails_loses_no_sample(sqlite_hub):
    async def story(pool):
        history = pool.engine.history
        history.add_pool({})
        agent = await add_agent(pool)
        history.hear(agent.node_id, [], {}, NodeReport(machine=MachineLoad(cpu=0.5)))
        run = pool.db.run

        async def fails(fn, *args, **kwargs):
            if fn is add_samples:
                raise OSError("no database")
            return await run(fn, *args, **kwargs)

        pool.db.run = fails
        with pytest.raises(OSError, match="no database"):
            await history.write()
        pool.db.run = run
        await history.write()
        found = await whole_of(pool, HistoryKind.NODE, agent.node_id)
        assert [tuple(cell) for _, cell in sorted(cells(found).items())] == [(1, 5000, 5000, 5000)]

    play(sqlite_hub, story)


def test_row_that_cannot_be_read_keeps_no_other_from_being_written(hub_url):
    async def story(pool):
        history = pool.engine.history
        report = NodeReport(machine=MachineLoad(cpu=0.5))
        for node_id in ("node_1", "node_2"):
            history.hear(node_id, [], {}, report)
        await history.write()

        def break_one(session):
            row = session.scalars(select(HistoryChunk).filter_by(subject="node_1")).one()
            row.data = b"\x02nothing"

        await pool.db.run(break_one)
        await pool.settle(10)
        for node_id in ("node_1", "node_2"):
            history.hear(node_id, [], {}, report)
        await history.write()
        counts = [cells(await whole_of(pool, HistoryKind.NODE, node_id)) for node_id in ("node_1", "node_2")]
        assert [sum(cell[0] for cell in one.values()) for one in counts] == [1, 2]

    play(hub_url, story)


# ── agents are not trusted ───────────────────────────────────────────────────────────────────────────────────────────


def test_node_that_reports_too_often_is_sampled_at_its_pace(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool)
        for _ in range(200):
            pool.engine.history.hear(agent.node_id, [], {}, NodeReport(machine=MachineLoad(cpu=0.5)))
            await pool.settle(0.5)
        found = await whole_of(pool, HistoryKind.NODE, agent.node_id)
        count = sum(cell[0] for cell in cells(found).values())
        assert 1 < count <= 100 / NODE_PAUSE_SECONDS + 2

    play(sqlite_hub, story)


def test_usage_of_an_attempt_that_the_node_does_not_hold_is_dropped(sqlite_hub):
    async def story(pool):
        agent, other = await add_agent(pool), await add_agent(pool, owner=BOB)
        await pool.submit()
        work = await agent.take_offer()
        usage = AttemptUsage(
            attempt_id=work.id, fence=work.fence, first=0, samples=(UsageSample(age_seconds=0, cpus=1),)
        )
        await other.send(NodeReport(usage=(usage,)))
        await other.heartbeat()
        stale = usage.model_copy(update={"fence": work.fence + 1})
        await agent.send(NodeReport(usage=(stale,)))
        await agent.heartbeat()
        assert not await whole_of(pool, HistoryKind.ATTEMPT, work.id)
        await agent.send(NodeReport(usage=(usage,)))
        await agent.heartbeat()
        await other.send(NodeReport(usage=(usage.model_copy(update={"first": 1}),)))
        await other.heartbeat()
        found = await whole_of(pool, HistoryKind.ATTEMPT, work.id)
        assert cells(found)
        assert sum(cell[0] for cell in cells(found).values()) == 1

    play(sqlite_hub, story)


def test_samples_that_come_after_the_end_of_their_attempt_count(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool)
        await pool.submit()
        work = await agent.take_offer()
        await agent.update(work, "running")
        one = UsageSample(age_seconds=0, cpus=1)
        usage = AttemptUsage(attempt_id=work.id, fence=work.fence, first=0, samples=(one,))
        await agent.send(NodeReport(usage=(usage,)))
        await agent.finish(work)
        await agent.send(NodeReport(usage=(usage.model_copy(update={"first": 1}),)))
        await agent.heartbeat()
        found = await whole_of(pool, HistoryKind.ATTEMPT, work.id)
        assert sum(cell[0] for cell in cells(found).values()) == 2

    play(sqlite_hub, story)


# ── the bound ────────────────────────────────────────────────────────────────────────────────────────────────────────


def noise(rng, metrics, step, start, seconds, samples):
    """The most that an encoding can take: least, greatest and sum of each bucket are as long as they get, and random,
    so that nothing of them can be compressed."""
    series = Series(step)
    for place in range(start // step, (start + seconds) // step):
        bucket = series.buckets[place] = {}
        for code, metric in metrics.items():
            least = rng.randrange(metric.most // 4, metric.most // 2)
            most = rng.randrange(least + metric.most // 4, metric.most + 1)
            total = rng.randrange(samples * (least + most) // 2, samples * most)
            bucket[code] = Cell(samples, total, least, most)
    return series


def test_noise_takes_more_than_samples_that_agents_can_send():
    """So the bounds below are bounds."""
    rng = random.Random(0)
    worst = len(encode(noise(rng, NODE_METRICS, 900, 0, HOUR_SECONDS, NODE_SAMPLES)))
    for values in (lambda metric: metric.most, lambda metric: rng.randrange(metric.most + 1), lambda metric: 0):
        series = Series(900)
        for number in range(4 * NODE_SAMPLES):
            series.add(number * NODE_PAUSE_SECONDS, {code: values(metric) for code, metric in NODE_METRICS.items()})
        assert len(encode(series)) < worst


def test_node_with_the_worst_numbers_stays_within_its_bound():
    rng = random.Random(1)
    hours = [noise(rng, NODE_METRICS, 900, hour * HOUR_SECONDS, HOUR_SECONDS, NODE_SAMPLES) for hour in range(24)]
    assert len(NODE_METRICS) == 5 + 4 * GPUS_RECORDED
    assert 30_000 < sum(len(encode(hour)) + ROW_BYTES for hour in hours) <= NODE_DAY_LIMIT_BYTES


def test_year_of_a_thousand_nodes_stays_within_its_bound(hub_url):
    """Rows as they are stored, of a node with the worst numbers: a day of hours, and the day that becomes of them."""
    rng = random.Random(2)

    async def story(pool):
        now = pool.clock.now()
        day = int(now.timestamp()) // DAY_SECONDS * DAY_SECONDS - (FINE_DAYS + 2) * DAY_SECONDS

        def store(session):
            worst = noise(rng, NODE_METRICS, FINEST[HistoryKind.NODE], day, DAY_SECONDS, NODE_SAMPLES)
            add_samples(session, [Delta(HistoryKind.NODE, "node_worst", worst)])

        await pool.db.run(store)
        fine = pool.rows(HistoryChunk, kind=HistoryKind.NODE)
        fine_bytes = sum(len(row.data) + ROW_BYTES for row in fine)
        assert len(fine) == 24
        assert fine_bytes <= NODE_DAY_LIMIT_BYTES
        assert await pool.db.run(merge_old, now, 500) == 24
        (coarse,) = pool.rows(HistoryChunk, subject="node_worst")
        coarse_bytes = len(coarse.data) + ROW_BYTES
        assert coarse_bytes <= 12_000
        days = pool.settings.keep_history_days
        year = 1_000 * ((FINE_DAYS + 1) * fine_bytes + (days - FINE_DAYS) * coarse_bytes)
        assert year <= 5 * 10**9

    play(hub_url, story)


def test_usage_of_one_attempt_is_bounded_however_long_it_runs():
    longest = noise(random.Random(3), ATTEMPT_METRICS, 10, 0, 10 * 3 * ATTEMPT_BUCKETS, 2**14)
    found = bounded(longest, ATTEMPT_BUCKETS)
    assert found.step == 40
    assert len(encode(found)) + ROW_BYTES <= 16_000
    assert AttemptMetrics.CPUS.code in next(iter(found.buckets.values()))


def test_memory_of_a_silent_node_is_given_back(sqlite_hub):
    async def story(pool):
        history = pool.engine.history
        history.hear("node_gone", [], {}, NodeReport(machine=MachineLoad(cpu=0.5)))
        await pool.settle(WRITE_SECONDS + 1)
        assert (HistoryKind.NODE, "node_gone") in history._tracks
        await pool.settle(60 * RECENT_BUCKETS + WRITE_SECONDS)
        assert (HistoryKind.NODE, "node_gone") not in history._tracks

    play(sqlite_hub, story)
