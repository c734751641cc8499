"""Bugs put in on purpose: the checks of what an owner is promised must find them, or they prove nothing."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from support.owner_cases import AWAY, Machine, gpu
from support.planted import each_check, each_mutant
from support.watching import in_virtual_time

from computepool.agent.owner import causes, decide, watch
from computepool.agent.owner.causes import Cause
from computepool.agent.owner.hours import Hours, parse_hours
from computepool.agent.owner.ladder import Ladder, Reaction, hardest
from computepool.agent.owner.pauses import PauseBook
from computepool.agent.owner.policy import Policy
from computepool.agent.owner.policy_file import PolicyFile
from computepool.agent.owner.readings import Idle, Paused, Unknown

# ── checks ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def owner_comes_first(folder):
    machine = Machine()
    assert machine.decision.strangers_welcome
    assert machine.look(idle=Idle(0)).reaction is Reaction.SUSPEND
    assert not machine.decision.strangers_welcome
    machine.look(899, idle=Idle(899))
    assert not machine.decision.strangers_welcome


def unseen_owner_comes_first(folder):
    assert not Machine("", replace(AWAY, idle=Unknown("no tool"))).decision.strangers_welcome
    assert not Machine("", replace(AWAY, seat=Unknown("no tool"), idle=Idle(0))).decision.strangers_welcome


def owner_who_stays_is_rid_of_the_work(folder):
    machine = Machine()
    for _ in range(22):
        machine.look(30, idle=Idle(0))
    assert machine.decision.reaction is Reaction.EVICT


def one_touch_does_not_evict(folder):
    machine = Machine()
    machine.look(idle=Idle(0))
    assert machine.look(700, idle=Idle(700)).reaction is Reaction.SUSPEND


def own_jobs_are_held_back_by_a_pause_alone(folder):
    decision = Machine("", replace(AWAY, idle=Idle(0), on_battery=True, full_screen="game")).decision
    assert decision.welcomes((), own=True)
    assert decision.reaction_for((), own=True) is Reaction.NONE
    paused = Machine("", replace(AWAY, paused=Paused())).decision
    assert not paused.welcomes((), own=True)


def work_does_not_flap(folder):
    machine = Machine()
    seen = [machine.look(1, full_screen="mpv" if step % 7 == 0 else None).reaction for step in range(1, 60)]
    assert sum(one is not before for one, before in zip(seen[1:], seen, strict=False)) <= 1
    heat = [machine.look(100, full_screen=None, cpu_celsius=94.0 + step % 2).reaction for step in range(10)]
    assert heat[1:] == [Reaction.SUSPEND] * 9


def other_gpu_goes_on(folder):
    game = gpu(foreign_bytes=2**34)
    decision = Machine("", replace(AWAY, gpus=(game, gpu(id="GPU-b")))).decision
    assert decision.gpus_in_use == ("GPU-a",)
    assert decision.reaction_for(("GPU-b",), own=False) is Reaction.NONE
    assert decision.reaction_for(("GPU-a", "GPU-b"), own=False) is Reaction.SUSPEND


def nights_pass_midnight(folder):
    assert parse_hours("mon 22:00-07:00").are_open(datetime(2026, 3, 3, 6, tzinfo=UTC), UTC)


def broken_file_forgets_nothing(folder):
    file = PolicyFile(folder)
    file.path.write_text('start.hours = "sat"')
    file.refresh()
    file.path.write_text("broken = [")
    for one in (file, PolicyFile(folder)):
        one.refresh()
        assert one.policy.start.hours.text == "sat"
    (folder / "policy.last-good.toml").unlink()
    alone = PolicyFile(folder)
    alone.refresh()
    assert not alone.policy.welcome.strangers


class Wall:
    def now(self):
        return datetime(2026, 1, 1, tzinfo=UTC)

    def monotonic(self):
        return 1000.0


def pause_survives_a_restart(folder):
    book = PauseBook(folder, Wall(), lambda: "boot")
    book.pause(600)
    book.save()
    current = PauseBook(folder, Wall(), lambda: "boot").current()
    assert current is not None
    assert current.remaining_seconds == 600


def return_is_noticed_within_a_second(folder):
    async def story(desk, watching):
        desk.working = True
        watching.look_again()
        for _ in range(5):
            await asyncio.sleep(33.3)
            assert watching.decision.strangers_welcome
            desk.touch()
            await asyncio.sleep(1)
            assert watching.decision.reaction is Reaction.SUSPEND

    in_virtual_time(folder, story, 'start.after_idle = "20s"')


def hanging_keyboard_counts_as_used(folder):
    async def story(desk, watching):
        desk.working = True
        watching.look_again()
        await asyncio.sleep(5)
        desk.hanging.add("idle")
        await asyncio.sleep(5)
        assert Cause.UNSEEN in watching.decision.causes

    in_virtual_time(folder, story)


# ── mutants ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def idle_time_is_not_waited_for(patch):
    patch.setattr(causes, "_input", lambda place: None)


def unknown_is_idle(patch):
    real = causes.last_used

    def careless(place):
        found = real(place)
        return Idle(1e9) if isinstance(found, Unknown) else found

    patch.setattr(causes, "last_used", careless)


def unknown_seat_is_none(patch):
    real = decide._seat_and_problems
    patch.setattr(
        decide, "_seat_and_problems", lambda policy, readings: (readings.seat is True, *real(policy, readings)[1:])
    )


def ladder_stays_on_its_first_step(patch):
    patch.setattr(Ladder, "at", lambda self, seconds: self.steps[0].reaction)


def ladder_begins_at_its_end(patch):
    patch.setattr(Ladder, "at", lambda self, seconds: self.steps[-1].reaction)


def time_counts_without_the_owner(patch):
    real = causes._input

    def careless(place):
        held = real(place)
        return None if held is None else replace(held, seen_at=None)

    patch.setattr(causes, "_input", careless)


def own_jobs_are_treated_as_strangers(patch):
    patch.setattr(decide.Decision, "welcomes", lambda self, gpus, own: self.strangers_welcome)


def own_jobs_ignore_a_pause(patch):
    patch.setattr(decide.Decision, "welcomes", lambda self, gpus, own: True)


def nothing_settles(patch):
    patch.setattr(decide, "SETTLE_SECONDS", 0.0)


def heat_has_no_hysteresis(patch):
    patch.setattr(causes, "COOLER_CELSIUS", 0.0)


def mildest_reaction_wins(patch):
    patch.setattr(decide, "hardest", lambda *found: min(found, key=lambda one: one.rank))


def gpus_are_not_looked_at(patch):
    patch.setattr(causes, "_gpu", lambda place: None)


def one_gpu_speaks_for_all(patch):
    patch.setattr(decide.Decision, "reaction_for", lambda self, gpus, own: hardest(*self.gpu_reactions.values()))


def yesterday_is_over(patch):
    def careless(self, instant, zone=None):
        local = instant.astimezone(zone)
        minute = local.hour * 60 + local.minute
        return any(
            local.weekday() in span.days and span.start_minute <= minute < span.end_minute for span in self.spans
        )

    patch.setattr(Hours, "are_open", careless)


def broken_file_is_the_default(patch):
    patch.setattr(PolicyFile, "_remembered", lambda self: Policy())


def last_good_is_not_kept(patch):
    patch.setattr(PolicyFile, "_remember", lambda self: None)


def pause_is_kept_in_memory(patch):
    patch.setattr(PauseBook, "save", lambda self: None)


def looks_are_far_between(patch):
    patch.setattr(watch, "ALERT_SECONDS", 5.0)


def looks_may_take_for_ever(patch):
    patch.setattr(watch, "HUNG_SECONDS", 500.0)


MUTANTS: dict[Any, list[Any]] = {
    owner_comes_first: [idle_time_is_not_waited_for],
    unseen_owner_comes_first: [unknown_is_idle, unknown_seat_is_none],
    owner_who_stays_is_rid_of_the_work: [ladder_stays_on_its_first_step],
    one_touch_does_not_evict: [time_counts_without_the_owner, ladder_begins_at_its_end],
    own_jobs_are_held_back_by_a_pause_alone: [own_jobs_are_treated_as_strangers, own_jobs_ignore_a_pause],
    work_does_not_flap: [nothing_settles, heat_has_no_hysteresis],
    other_gpu_goes_on: [gpus_are_not_looked_at, one_gpu_speaks_for_all, mildest_reaction_wins],
    nights_pass_midnight: [yesterday_is_over],
    broken_file_forgets_nothing: [broken_file_is_the_default, last_good_is_not_kept],
    pause_survives_a_restart: [pause_is_kept_in_memory],
    return_is_noticed_within_a_second: [looks_are_far_between],
    hanging_keyboard_counts_as_used: [looks_may_take_for_ever],
}


@each_check(MUTANTS)
def test_promise_holds(tmp_path, check):
    check(tmp_path)


@each_mutant(MUTANTS)
def test_planted_bug_is_found(tmp_path, monkeypatch, check, mutant):
    mutant(monkeypatch)
    with pytest.raises(AssertionError):
        check(tmp_path)
