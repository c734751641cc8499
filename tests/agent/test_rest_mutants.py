"""Bugs put in on purpose where the agent keeps leases (promise 12): where the simulation would need luck, these do not.

The rest of them are found there: tests/simulation/mutants.py.
"""

import asyncio
import functools
from typing import Any

import pytest
from support.lone_supervisor import LoneSupervisor, LoopClock, run_in_virtual_time
from support.planted import each_check, each_mutant
from support.waiting import A_MOMENT_SECONDS

from computepool.agent.agent import Agent
from computepool.agent.leases import Leases
from computepool.agent.resting import RestReason
from computepool.protocol.messages import HeartbeatAck
from computepool.protocol.timing import FREEZE_AFTER_SECONDS, LEASE_SECONDS

# ── checks ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def on_a_bench(check):
    @functools.wraps(check)
    def play(folder):
        async def story():
            clock = LoopClock()
            bench = LoneSupervisor(folder, clock)
            bench.listen()
            bench.supervisor.say_everything_again()
            bench.give(bench.hub.sign_manifest(bench.manifest("sleep", "60", network=True)))
            (attempt,) = bench.supervisor.attempts
            try:
                await check(bench, clock, attempt)
            finally:
                await bench.close()

        run_in_virtual_time(story())

    return play


def answer(bench, attempt):
    bench.supervisor.handle(HeartbeatAck(hub_time=bench.supervisor._shop.hub_time.now(), renewed=(attempt.ref,)))


@on_a_bench
async def late_answer_renews_from_its_own_heartbeat(bench, clock, attempt):
    """The hub heard the first; the second it may never hear."""
    bench.supervisor.heartbeat()
    clock.skipped += 30
    bench.supervisor.heartbeat()
    answer(bench, attempt)
    clock.skipped += FREEZE_AFTER_SECONDS - 29
    assert not attempt.has_lease(clock.monotonic())


@on_a_bench
async def answer_that_slept_with_the_machine_renews_nothing(bench, clock, attempt):
    """It lay in the line while the lid was closed."""
    bench.supervisor.heartbeat()
    clock.skipped += LEASE_SECONDS - 5
    bench.supervisor.leases.keep()
    await asyncio.sleep(0)
    assert attempt.rest.reasons == {RestReason.LEASE}
    answer(bench, attempt)
    await asyncio.sleep(0.01)
    assert attempt.rest.reasons == {RestReason.LEASE}


# ── bugs ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def answers_count_from_when_they_come(patch):
    patch.setattr(Leases, "answered", lambda self: self._clock.monotonic())


def answers_count_from_the_newest_heartbeat(patch):
    patch.setattr(Leases, "answered", lambda self: self._beats[-1])


def renewal_lets_go_whatever_its_age(patch):
    def careless(self, attempt, beat_at):
        attempt.renewed_monotonic = beat_at
        self._soon(attempt.rest.let_go(RestReason.LEASE))

    patch.setattr(Leases, "renewed", careless)


MUTANTS: dict[Any, list[Any]] = {
    late_answer_renews_from_its_own_heartbeat: [
        answers_count_from_when_they_come,
        answers_count_from_the_newest_heartbeat,
    ],
    answer_that_slept_with_the_machine_renews_nothing: [
        answers_count_from_when_they_come,
        renewal_lets_go_whatever_its_age,
    ],
}


@each_check(MUTANTS)
def test_check_holds(tmp_path, check):
    check(tmp_path)


@each_mutant(MUTANTS)
def test_mutant_is_found(tmp_path, monkeypatch, check, mutant):
    mutant(monkeypatch)
    with pytest.raises(AssertionError):
        check(tmp_path)


def test_fault_in_a_look_at_leases_does_not_end_the_looking(tmp_path, monkeypatch, caplog):
    """Nobody awaits these loops: one that ended would leave its agent without leases and time limits, unnoticed."""

    async def story():
        bench = LoneSupervisor(tmp_path)
        agent = Agent.__new__(Agent)
        agent._supervisor = bench.supervisor
        agent.owner = None
        looks = []

        def fail():
            looks.append("look")
            raise RuntimeError("planted")

        monkeypatch.setattr("computepool.agent.agent.LEASE_LOOK_SECONDS", 0.01)
        monkeypatch.setattr("computepool.agent.agent.TICK_SECONDS", 0.01)
        monkeypatch.setattr(bench.supervisor, "tick", fail)
        monkeypatch.setattr(bench.supervisor.leases, "keep", fail)
        monkeypatch.setattr(bench.supervisor.leases, "until_they_matter", lambda: asyncio.sleep(0))
        for loop in (agent._keep_leases(), agent._tick()):
            looks.clear()
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(loop, A_MOMENT_SECONDS)
            assert len(looks) > 1
        await bench.close()

    run_in_virtual_time(story())
    assert "planted" in caplog.text
