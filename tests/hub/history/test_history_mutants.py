"""Bugs put in on purpose into history: each check must find its own, or it proves nothing."""

import math
import random
from datetime import timedelta

import pytest
from support.engine import BOB, play
from support.planted import each_check, each_mutant
from support.scripted_agent import add_agent

from computepool.hub.api import history as routes
from computepool.hub.history import metrics, recorder, repository, series
from computepool.hub.history.recorder import History
from computepool.hub.history.repository import HistoryKind
from computepool.hub.history.series import Cell, Series
from computepool.hub.nodes.tables import Node
from computepool.protocol.messages import AttemptUsage, NodeReport
from computepool.protocol.telemetry import MachineLoad, UsageSample

# ── checks ───────────────────────────────────────────────────────────────────────────────────────────────────────────


async def _usage(pool, attempt_id):
    now = pool.clock.now()
    return await pool.engine.history.read(HistoryKind.ATTEMPT, attempt_id, now - timedelta(days=1), now, 3600)


def _only(found):
    assert len(found) == 1
    (bucket,) = found.buckets.values()
    return bucket


async def samples_count_once_wherever_they_are(pool):
    agent = await add_agent(pool)
    await pool.submit()
    work = await agent.take_offer()
    await pool.settle(1)
    for number, watts in enumerate((10, 30, 20)):
        one = UsageSample(age_seconds=0, power_watts=watts)
        usage = AttemptUsage(attempt_id=work.id, fence=work.fence, first=number, samples=(one,))
        for _ in range(2):  # each is heard twice
            await agent.send(NodeReport(usage=(usage,)))
        await agent.heartbeat()
        if number < 2:
            await pool.engine.history.write()
        await pool.settle(1)
    expected = {5: Cell(3, 600, 100, 300)}
    assert _only(await _usage(pool, work.id)) == expected
    await pool.engine.history.write()
    assert _only(await _usage(pool, work.id)) == expected


async def only_its_node_tells_of_an_attempt(pool):
    agent, other = await add_agent(pool), await add_agent(pool, owner=BOB)
    await pool.submit()
    work = await agent.take_offer()
    one = UsageSample(age_seconds=0, cpus=1)
    for fence, sender in ((work.fence, other), (work.fence + 1, agent)):
        usage = AttemptUsage(attempt_id=work.id, fence=fence, first=0, samples=(one,))
        await sender.send(NodeReport(usage=(usage,)))
        await sender.heartbeat()
    assert not await _usage(pool, work.id)


async def strangers_see_no_telemetry(pool):
    agent = await add_agent(pool)
    assert (await pool.call("GET", f"nodes/{agent.node_id}/telemetry", user=BOB)).status_code == 404


async def flood_of_reports_is_thinned(pool):
    for _ in range(100):
        pool.engine.history.hear("node_1", [], {}, NodeReport(machine=MachineLoad(cpu=0.5)))
        await pool.settle(0.1)
    now = pool.clock.now()
    found = await pool.engine.history.read(HistoryKind.NODE, "node_1", now - timedelta(days=1), now, 3600)
    assert _only(found)[1].samples <= 3


async def no_number_is_no_sample(pool):
    assert metrics.stored_values({metrics.NodeMetrics.CPU: float("nan")}) == {}
    assert metrics.stored_values({metrics.NodeMetrics.CPU: 1e9}) == {1: 10_000}


async def old_hours_become_days_without_loss(pool):
    rng, whole = random.Random(5), Series(3600)
    start = (int(pool.clock.now().timestamp()) // 86_400 - 20) * 86_400
    parts = []
    for second in range(0, 2 * 86_400, 1800):
        part = Series(900)
        part.add(start + second, {1: rng.randrange(10_000)})
        parts.append(repository.Delta(HistoryKind.NODE, "node_1", part))
        whole.merge(part)
    for delta in parts:
        await pool.db.run(repository.add_samples, [delta])
    await pool.engine.history.tidy()
    now = pool.clock.now()
    found = await pool.engine.history.read(HistoryKind.NODE, "node_1", now - timedelta(days=30), now, 60)
    assert found.buckets == whole.buckets


# ── mutants ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def repeated_samples_count(monkeypatch):
    class Forgetful(recorder.Track):
        @property
        def next_number(self):
            return 0

        @next_number.setter
        def next_number(self, number):
            """Forgets it."""

    monkeypatch.setattr(recorder, "Track", Forgetful)


def stored_samples_stay_in_memory(monkeypatch):
    whole = History._write

    async def keeps(self, tracks):
        before = [(track, track.pending) for track in tracks]
        await whole(self, tracks)
        for track, pending in before:
            track.pending = pending

    monkeypatch.setattr(History, "_write", keeps)


def write_replaces_what_is_stored(monkeypatch):
    monkeypatch.setattr(repository, "merged", lambda part, _known: part)


def least_is_too_low(monkeypatch):
    def add(one, other):
        return Cell(one.samples + other.samples, one.total + other.total, 0, max(one.most, other.most))

    monkeypatch.setattr(Cell, "__add__", add)


def anybody_tells_of_an_attempt(monkeypatch):
    whole = History._hear_attempt

    def believes(self, node_id, fences, usage):
        whole(self, node_id, {usage.attempt_id: usage.fence}, usage)

    monkeypatch.setattr(History, "_hear_attempt", believes)


def telemetry_is_everybodys(monkeypatch):
    monkeypatch.setattr(routes, "load_node", lambda session, _caller, node_id: session.get_one(Node, node_id))


def every_report_is_a_sample(monkeypatch):
    monkeypatch.setattr(recorder, "NODE_PAUSE_SECONDS", 0.0)


def anything_is_a_number(monkeypatch):
    def stored(self, value):
        return 0 if math.isnan(value) else round(value / self.step)

    monkeypatch.setattr(metrics.Metric, "stored", stored)


def merged_rows_are_not_added(monkeypatch):
    whole = repository._add

    def adds(session, kind, parts):
        if kind is not HistoryKind.NODE_DAY:
            whole(session, kind, parts)

    monkeypatch.setattr(repository, "_add", adds)


def bytes_lose_the_sum(monkeypatch):
    whole = series._numbers

    def numbers(some, codes):
        rounded = {
            index: {code: cell._replace(total=cell.samples * cell.least) for code, cell in bucket.items()}
            for index, bucket in some.buckets.items()
        }
        return whole(Series(some.step, rounded), codes)

    monkeypatch.setattr(series, "_numbers", numbers)


MUTANTS = {
    samples_count_once_wherever_they_are: [
        repeated_samples_count,
        stored_samples_stay_in_memory,
        write_replaces_what_is_stored,
        least_is_too_low,
        bytes_lose_the_sum,
    ],
    only_its_node_tells_of_an_attempt: [anybody_tells_of_an_attempt],
    strangers_see_no_telemetry: [telemetry_is_everybodys],
    flood_of_reports_is_thinned: [every_report_is_a_sample],
    no_number_is_no_sample: [anything_is_a_number],
    old_hours_become_days_without_loss: [merged_rows_are_not_added],
}


@each_check(MUTANTS)
def test_check_holds(sqlite_hub, check):
    play(sqlite_hub, check)


@each_mutant(MUTANTS)
def test_planted_bug_is_found(sqlite_hub, check, mutant, monkeypatch):
    mutant(monkeypatch)
    with pytest.raises(AssertionError):
        play(sqlite_hub, check)
