"""A node's speed and memory are measured, not believed."""

import asyncio
import secrets
import time

import pytest
from support.engine import play
from support.examinee import GFLOPS, Examinee
from support.scripted_agent import add_agent

from computepool.agent.benchmark.devices import PythonDevice
from computepool.agent.benchmark.worker import Prover
from computepool.hub.core.tables import AuditRow
from computepool.hub.gateway import exam_plan, examiner
from computepool.hub.market import tiers
from computepool.hub.nodes import challenge
from computepool.hub.nodes.benchmarks import Benchmark, hardware_digest
from computepool.protocol.benchmark import (
    BenchmarkDeclined,
    BenchmarkFilled,
    BenchmarkReady,
    BenchmarkRequest,
    BenchmarkReveal,
    BenchmarkTask,
    Opening,
)
from computepool.protocol.capacity import SIMULATED, Capacity, Gpu
from computepool.protocol.challenge import column_of_b

GIB = 1024**3


@pytest.fixture
def short_days(monkeypatch):
    """Stories do not last for days."""
    monkeypatch.setattr(examiner, "ROUTINE_SECONDS", (1800.0, 5400.0))
    monkeypatch.setattr(examiner, "RETRY_SECONDS", (150.0, 450.0))


def card(name="strange-card", memory_bytes=1 * GIB, driver="1"):
    return Gpu(id="GPU-1", name=name, slug=name, memory_bytes=memory_bytes, vendor="nvidia", driver=driver)


async def examined(pool, kind=Examinee, gpus=(), seconds=400, **traits):
    agent = await add_agent(pool, gpus=gpus)
    agent.beat_on()
    examinee = kind(agent, **traits)
    examinee.start()
    await pool.settle(seconds)
    return agent, examinee


async def seen(pool, agent):
    return (await pool.call("GET", f"nodes/{agent.node_id}")).json()["benchmark"]


# ── an honest node ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_honest_node_is_measured_by_the_hubs_clock(hub_url):
    async def story(pool):
        agent, examinee = await examined(pool)
        (row,) = pool.rows(Benchmark)
        (device,) = row.figures["devices"]
        assert (row.node_id, row.mark, device["device"]) == (agent.node_id, "matches", "cpu")
        assert 0.8 * GFLOPS < device["gflops"] <= GFLOPS
        assert (row.tier_millis, row.tier_basis) == (800, "card")
        assert row.figures["line"]["up_bytes_per_second"] == pytest.approx(1e6, rel=0.05)
        assert row.figures["line"]["down_bytes_per_second"] == pytest.approx(1e6, rel=0.05)
        assert examinee.over[0].words == device["words"]
        assert len(pool.rows(AuditRow, action="node.benchmark")) == 1
        found = await seen(pool, agent)
        assert (found["mark"], found["tier"], found["devices"]) == ("matches", 0.8, row.figures["devices"])
        listed = (await pool.call("GET", "nodes")).json()["items"]
        assert [one["benchmark"] for one in listed] == [found]

    play(hub_url, story)


def test_unknown_card_has_the_tier_of_its_speed(sqlite_hub):
    async def story(pool):
        agent, _ = await examined(pool, gpus=(card(),))
        found = await seen(pool, agent)
        assert (found["mark"], found["tier"], found["tier_basis"]) == ("matches", 1.0, "measured")
        assert [one["device"] for one in found["devices"]] == ["cpu", "GPU-1"]

    play(sqlite_hub, story)


def test_claimed_time_counts_for_nothing(sqlite_hub):
    """Who says that it took no time is as slow as the hub saw."""

    class Boaster(Examinee):
        async def fill(self, task):
            await super().fill(task)
            return BenchmarkFilled(challenge_id=task.challenge_id, seconds=0.000_001)

    async def story(pool):
        agent, _ = await examined(pool, Boaster)
        (device,) = (await seen(pool, agent))["devices"]
        assert device["gflops"] <= GFLOPS < device["reported_gflops"]

    play(sqlite_hub, story)


# ── cheats ───────────────────────────────────────────────────────────────────────────────────────────────────────────


class Guesser(Examinee):
    """Computes nothing, and answers with whatever."""

    def compute(self, task):
        self._prover.fill(secrets.token_bytes(32), task.size, 1, 1)
        self._task_seen = task

    def reveal(self, question):
        rows = secrets.token_bytes(64).translate(bytes(value % 127 for value in range(256)))
        shown = [
            Opening(rows=(rows,) * (one.round + 1), digests=bytes(64 * 8), path=(bytes(32),) * 2)
            for one in question.places
        ]
        return BenchmarkReveal(challenge_id=question.challenge_id, openings=tuple(shown))


class OtherSeed(Examinee):
    """Had everything computed beforehand, for a seed of its own."""

    def compute(self, task):
        self._prover.fill(b"computed beforehand".ljust(32), task.size, task.rounds, task.segments)


class RowsOnly(Examinee):
    """Commits to something else, and computes only the rows that are asked for."""

    async def digest(self, question):
        answer = await super().digest(question)
        return answer.model_copy(update={"root": secrets.token_bytes(32)})


class HalfOfTheRows(Examinee):
    """Every second row is right, and so is what was committed to: of what it has."""

    def compute(self, task):
        super().compute(task)
        for states in self.device._states:
            for state in states:
                for row in range(0, task.size, 2):
                    state[row] = bytes(task.size)


class OtherRows(Examinee):
    """Commits rightly, and shows the neighbours of the rows."""

    def reveal(self, question):
        moved = tuple(one.model_copy(update={"row": one.row ^ 1}) for one in question.places)
        return super().reveal(question.model_copy(update={"places": moved}))


class Forgetful(Examinee):
    """Shows fewer rows than were asked for."""

    def reveal(self, question):
        answer = super().reveal(question)
        return answer.model_copy(update={"openings": answer.openings[:-1]})


class Late(Examinee):
    async def fill(self, task):
        answer = await super().fill(task)
        await asyncio.sleep(600)
        return answer


class Replayer(Examinee):
    """Answers the second challenge with what it answered the first."""

    kept: tuple[Opening, ...] = ()

    def reveal(self, question):
        answer = super().reveal(question)
        if self.kept:
            return BenchmarkReveal(challenge_id=question.challenge_id, openings=self.kept)
        self.kept = answer.openings
        return answer


CHEATS = [
    (Guesser, "not what was committed to"),
    (OtherSeed, "not the product"),
    (RowsOnly, "not what was committed to"),
    (HalfOfTheRows, "not the product"),
    (OtherRows, "not the product"),
    (Forgetful, "23 were shown"),
    (Late, "did not answer in time"),
]


async def is_caught(pool, kind, words):
    agent, _ = await examined(pool, kind, seconds=900)
    found = await seen(pool, agent)
    assert found["mark"] == "failed", found
    assert words in found["words"]


@pytest.mark.parametrize(("kind", "words"), CHEATS, ids=lambda each: getattr(each, "__name__", ""))
def test_cheat_is_caught(sqlite_hub, kind, words):
    play(sqlite_hub, lambda pool: is_caught(pool, kind, words))


@pytest.mark.usefixtures("short_days")
def test_replayed_answer_is_caught(sqlite_hub):
    async def story(pool):
        agent, _ = await examined(pool, Replayer)
        assert (await seen(pool, agent))["mark"] == "matches"
        await pool.settle(5600)
        assert (await seen(pool, agent))["mark"] == "failed"

    play(sqlite_hub, story)


async def slow_card_under_a_big_name_is_flagged(pool):
    agent, _ = await examined(pool, gpus=(card("rtx-4090"),))
    found = await seen(pool, agent)
    assert found["mark"] == "too_slow"
    assert "much slower than rtx-4090" in found["words"]
    assert (found["tier"], found["tier_basis"]) == (1.0, "measured")


def test_slow_card_under_a_big_name_is_flagged(sqlite_hub):
    play(sqlite_hub, slow_card_under_a_big_name_is_flagged)


def test_memory_that_cannot_be_filled_is_flagged(sqlite_hub):
    async def story(pool):
        agent, _ = await examined(pool, gpus=(card(memory_bytes=24 * GIB),), room_bytes=64 * 1024)
        found = await seen(pool, agent)
        assert found["mark"] == "failed"
        assert "24.0 GiB" in found["words"]

    play(sqlite_hub, story)


class Understating(Examinee):
    """Says that it is slow, and is asked for little: then nobody sees how little memory it has."""

    async def fill(self, task):
        self.compute(task)
        await asyncio.sleep(0.5)
        return BenchmarkFilled(challenge_id=task.challenge_id, seconds=0.5)


def test_memory_is_answered_for_by_who_says_that_it_is_slow(sqlite_hub):
    async def story(pool):
        agent, _ = await examined(pool, Understating, gpus=(card(memory_bytes=24 * GIB),))
        found = await seen(pool, agent)
        assert (found["mark"], "24.0 GiB" in found["words"]) == ("failed", True)

    play(sqlite_hub, story)


class Recomputing(Examinee):
    """Kept nothing of it: computes all of it again when it is to be read."""

    async def digest(self, question):
        task = next(one for one in reversed(self.asked) if isinstance(one, BenchmarkTask))
        await self.fill(task)
        return await super().digest(question)


async def memory_that_is_computed_again_is_flagged(pool):
    agent, _ = await examined(pool, Recomputing, gpus=(card(),))
    found = await seen(pool, agent)
    assert found["mark"] == "failed"
    assert "does not hold what it says" in found["words"]


def test_memory_that_is_computed_again_is_flagged(sqlite_hub):
    play(sqlite_hub, memory_that_is_computed_again_is_flagged)


def test_answers_to_questions_that_nobody_asked_change_nothing(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool)
        await agent.send(BenchmarkFilled(challenge_id="bench_1", seconds=1))
        await agent.send(BenchmarkDeclined(challenge_id="bench_1", reason="no"))
        await pool.settle(1)
        assert (await agent.heartbeat()).renewed == ()
        assert pool.rows(Benchmark) == []

    play(sqlite_hub, story)


# ── when ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_old_agent_that_does_not_answer_is_unverified_and_works(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool)
        agent.beat_on()
        await pool.settle(10_000)
        assert pool.rows(Benchmark) == []
        assert (await seen(pool, agent))["mark"] == "unverified"
        await pool.submit()
        await agent.run_next()

    play(sqlite_hub, story)


def test_node_that_works_or_is_used_by_its_owner_is_left_alone(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool)
        agent.beat_on()
        examinee = Examinee(agent)
        examinee.start()
        await pool.submit()
        work = await agent.take_offer()
        await pool.settle(600)
        assert examinee.asked == []
        await agent.update(work, "running")
        await agent.finish(work)
        agent.state = "paused"
        await pool.settle(600)
        assert examinee.asked == []
        agent.state = "online"
        await pool.settle(600)
        assert examinee.asked
        assert (await seen(pool, agent))["mark"] == "matches"

    play(sqlite_hub, story)


def requests(examinee):
    return sum(isinstance(one, BenchmarkRequest) for one in examinee.asked)


@pytest.mark.usefixtures("short_days")
def test_it_comes_again_about_daily_and_not_because_a_line_broke(sqlite_hub):
    async def story(pool):
        agent, examinee = await examined(pool)
        for _ in range(5):
            await agent.disconnect()
            await agent.connect()
            await pool.settle(300)
        assert requests(examinee) == 1
        await pool.settle(4 * 3600)
        assert 3 <= requests(examinee) <= 8

    play(sqlite_hub, story)


def test_it_comes_again_when_a_driver_changed(sqlite_hub):
    async def story(pool):
        agent, examinee = await examined(pool, gpus=(card(),))
        assert requests(examinee) == 2
        await agent.disconnect()
        agent.capacity = agent.capacity.model_copy(update={"gpus": (card(driver="2"),)})
        await agent.connect()
        assert (await seen(pool, agent))["mark"] == "unverified"
        await pool.settle(400)
        assert requests(examinee) == 4
        assert (await seen(pool, agent))["mark"] == "matches"

    play(sqlite_hub, story)


def test_simulated_node_is_not_examined(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool, connect=False, tags=(SIMULATED,))
        agent.capacity = agent.capacity.model_copy(update={"simulated": True})
        await agent.connect()
        agent.beat_on()
        examinee = Examinee(agent)
        examinee.start()
        await pool.settle(3000)
        assert examinee.asked == []

    play(sqlite_hub, story)


def test_decline_is_asked_again_and_missing_program_is_told(sqlite_hub):
    class Shy(Examinee):
        def ready(self, request):
            if requests(self) == 1:
                return BenchmarkDeclined(challenge_id=request.challenge_id, reason="a job has come")
            if request.device != "cpu":
                reason = "PyTorch is not installed"
                return BenchmarkDeclined(challenge_id=request.challenge_id, reason=reason, retry=False)
            return super().ready(request)

    async def story(pool):
        agent, _ = await examined(pool, Shy, gpus=(card("rtx-3090"),))
        assert pool.rows(Benchmark) == []
        await pool.settle(4 * 3600)
        found = await seen(pool, agent)
        assert (found["mark"], found["words"]) == ("unverified", "GPU-1: PyTorch is not installed")
        assert (found["tier"], found["tier_basis"]) == (2.5, "claimed")

    play(sqlite_hub, story)


def test_hardware_is_the_same_whatever_is_cached_or_free():
    one = Capacity(cpus=2, memory_bytes=1, disk_bytes=1, gpus=(card(),))
    assert hardware_digest(one) == hardware_digest(one.model_copy(update={"disk_bytes": 7}))
    assert hardware_digest(one) != hardware_digest(one.model_copy(update={"gpus": (card(driver="2"),)}))


# ── the plan ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def plan(backend="torch", gflops=40_000.0, room_bytes=23 * GIB, claimed_bytes=24 * GIB):
    ready = BenchmarkReady(challenge_id="c", backend=backend, gflops=gflops, room_bytes=room_bytes)
    return exam_plan.make_plan(ready, b"s" * 32, claimed_bytes)


def test_memory_of_a_card_is_asked_for_whole():
    made = plan()
    assert made.asked_all
    assert 22 * GIB < made.filled_bytes <= 23 * GIB
    assert 1 < made.expected_seconds < 15


def test_slow_card_is_asked_for_what_it_can_do_in_time():
    made = plan(gflops=1000)
    assert not made.asked_all
    assert made.expected_seconds <= 15


def test_slow_card_is_not_blamed_for_what_was_not_asked():
    assert not exam_plan.memory_is_answered_for(plan(gflops=1000), 14.0)
    assert exam_plan.memory_is_answered_for(plan(gflops=1000), 2.0)
    assert exam_plan.memory_is_answered_for(plan(), 2.0)


def test_processor_is_busy_for_two_seconds():
    made = plan("numpy", 100, GIB // 2, None)
    assert 1 < made.expected_seconds <= 2


# ── the check itself ─────────────────────────────────────────────────────────────────────────────────────────────────


def answered(size=24, rounds=3, segments=2):
    task = BenchmarkTask(challenge_id="c", seed=b"s" * 32, size=size, rounds=rounds, segments=segments)
    prover, nonce = Prover(PythonDevice()), b"n" * 32
    prover.fill(task.seed, size, rounds, segments)
    root = prover.digest(nonce)
    places = challenge.draw_places(task, 8, secrets.randbits)
    shown = [prover.open(one.segment, one.round, one.row) for one in places]
    return task, nonce, root, places, [Opening(rows=tuple(a), digests=b, path=tuple(c)) for a, b, c in shown]


def test_one_changed_number_is_found():
    for _ in range(20):
        task, nonce, root, places, openings = answered()
        challenge.check_reveal(task, nonce, root, places, openings, secrets.randbits)
        which, where = secrets.randbelow(8), secrets.randbelow(task.size)
        rows = [bytearray(row) for row in openings[which].rows]
        rows[-1][where] = (rows[-1][where] + 1 + secrets.randbelow(125)) % 127
        openings[which] = openings[which].model_copy(update={"rows": tuple(map(bytes, rows))})
        with pytest.raises(challenge.Caught):
            challenge.check_reveal(task, nonce, root, places, openings, secrets.randbits)


def test_another_nonce_is_found():
    task, _, root, places, openings = answered()
    with pytest.raises(challenge.Caught, match="committed"):
        challenge.check_reveal(task, b"m" * 32, root, places, openings, secrets.randbits)


def test_numbers_outside_the_field_are_refused():
    task, nonce, root, places, openings = answered()
    openings[0] = openings[0].model_copy(update={"rows": tuple(bytes([200]) * task.size for _ in openings[0].rows)})
    with pytest.raises(challenge.Caught, match="not one of this task"):
        challenge.check_reveal(task, nonce, root, places, openings, secrets.randbits)


def test_product_with_b_is_what_it_should_be():
    task = answered()[0]
    vector = [secrets.randbelow(127) for _ in range(task.size)]
    columns = [column_of_b(task.seed, j, task.size) for j in range(task.size)]
    expected = [sum((columns[j][i] - 63) * vector[j] for j in range(task.size)) % 127 for i in range(task.size)]
    assert challenge._b_times(task, [vector]) == [expected]


@pytest.mark.slow
def test_largest_check_takes_well_under_a_second():
    """Of random rows: what is wrong is found at the first, so the product with B is what is timed, and 200 rows."""
    task = BenchmarkTask(challenge_id="c", seed=b"s" * 32, size=2048, rounds=16, segments=1)
    began = time.process_time()
    vectors = [[secrets.randbelow(127) for _ in range(2048)] for _ in range(challenge.VECTORS)]
    products = challenge._b_times(task, vectors)
    for _ in range(200):
        for vector, product in zip(vectors, products, strict=True):
            sum(map(int.__mul__, vector, product))
    assert time.process_time() - began < 1.5


# ── bugs put in on purpose ───────────────────────────────────────────────────────────────────────────────────────────


def rows_are_not_checked(patch):
    patch.setattr(challenge, "_check_chain", lambda task, place, opening, vectors, products: opening.rows[-1])


def commitment_is_not_checked(patch):
    patch.setattr(challenge, "_check_commitment", lambda task, root, place, opening: None)


def time_does_not_matter(patch):
    patch.setattr(examiner, "is_late", lambda fill, digest: False)


def names_are_believed(patch):
    patch.setattr(tiers, "TOO_SLOW", 0.0)


def commitment_holds(pool):
    return is_caught(pool, RowsOnly, "not what was committed to")


def products_hold(pool):
    return is_caught(pool, OtherSeed, "not the product")


@pytest.mark.parametrize(
    ("check", "mutant"),
    [
        (products_hold, rows_are_not_checked),
        (commitment_holds, commitment_is_not_checked),
        (memory_that_is_computed_again_is_flagged, time_does_not_matter),
        (slow_card_under_a_big_name_is_flagged, names_are_believed),
    ],
    ids=lambda each: each.__name__,
)
def test_mutant_is_found(sqlite_hub, monkeypatch, check, mutant):
    mutant(monkeypatch)
    with pytest.raises(AssertionError):
        play(sqlite_hub, check)
