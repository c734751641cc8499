"""What follows from a policy and from what the machine shows: each signal, alone and over time."""

from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from support.owner_cases import AWAY, NOON, Machine, gpu

from computepool.agent.owner.ladder import Reaction
from computepool.agent.owner.readings import CALLED, Idle, Paused, Readings, Unknown

GB = 1024**3
NOT_KNOWN = Unknown("no tool")


@pytest.mark.parametrize(
    ("policy", "changed", "welcome", "told"),
    [
        # keyboard and mouse
        ("", {}, True, "nobody was here for 1 hour"),
        ("", {"idle": Idle(180)}, False, "the keyboard or mouse was used 3 minutes ago; work starts after 15 minutes"),
        ("", {"idle": Idle(899)}, False, "14 minutes ago"),
        ("", {"idle": Idle(900)}, True, ""),
        ('start.after_idle = "0s"', {"idle": Idle(0)}, True, "available at any time"),
        ('start.after_idle = "0s"', {"idle": NOT_KNOWN}, True, "available at any time"),
        ('start.after_idle = "2h"', {}, False, "used 1 hour ago; work starts after 2 hours"),
        ("", {"idle": NOT_KNOWN}, False, "cannot tell whether somebody is using the machine: no tool"),
        # terminals
        ("", {"terminal": Idle(60, "terminal")}, False, "the terminal was used 1 minute ago"),
        ("", {"terminal": Idle(4000, "terminal")}, True, ""),
        ("", {"terminal": NOT_KNOWN}, True, ""),
        ("start.typing_over_ssh = false", {"terminal": Idle(60, "terminal")}, True, ""),
        ("", {"idle": NOT_KNOWN, "terminal": Idle(60, "terminal")}, False, "the terminal was used"),
        ("", {"idle": NOT_KNOWN, "terminal": Idle(4000, "terminal")}, False, "cannot tell"),
        # the seat
        ("", {"seat": False, "idle": Idle(0), "full_screen": "game"}, True, "available at any time"),
        ("", {"seat": False, "idle": NOT_KNOWN}, True, ""),
        ("", {"seat": NOT_KNOWN, "idle": Idle(0)}, False, "keyboard or mouse"),
        ('seat = "no"', {"seat": True, "idle": Idle(0)}, True, ""),
        ('seat = "yes"', {"seat": False, "idle": Idle(0)}, False, "keyboard or mouse"),
        # the screen
        ("", {"full_screen": "mpv"}, False, "mpv fills the screen"),
        ("", {"full_screen": ""}, False, "a program fills the screen"),
        ("", {"full_screen": NOT_KNOWN}, True, ""),
        ("start.during_full_screen = true", {"full_screen": "mpv"}, True, ""),
        # power, heat, network
        ("", {"on_battery": True}, False, "runs on its battery"),
        ("", {"on_battery": NOT_KNOWN}, True, ""),
        ("start.on_battery = true", {"on_battery": True}, True, ""),
        ("", {"cpu_celsius": 94.9}, True, ""),
        ("", {"cpu_celsius": 95.0}, False, "the processor has 95 °C; goes on at 90 °C"),
        ('start.max_cpu_temperature = "off"', {"cpu_celsius": 110.0}, True, ""),
        ("", {"cpu_celsius": NOT_KNOWN}, True, ""),
        ("", {"metered": True}, False, "the network is metered"),
        ("", {"metered": NOT_KNOWN}, True, ""),
        ("start.on_metered = true", {"metered": True}, True, ""),
        ('network.monthly_data = "1GB"', {"data_used_bytes": GB - 1}, True, ""),
        ('network.monthly_data = "1GB"', {"data_used_bytes": GB}, False, "the month's 1 GB of data are used up"),
        ('network.monthly_data = "1GB"', {"data_used_bytes": NOT_KNOWN}, True, ""),
        ("", {"data_used_bytes": 10**15}, True, ""),
        # hours; it is Wednesday noon
        ('start.hours = "22:00-07:00"', {}, False, "outside the hours 22:00-07:00; they begin Wed 22:00"),
        ('start.hours = "sat-sun"', {}, False, "they begin Sat 00:00"),
        ('start.hours = "wed 09:00-13:00"', {}, True, ""),
        # the owner's word
        ("", {"paused": Paused()}, False, "paused, until `computepool agent resume`"),
        ("", {"paused": Paused(remaining_seconds=7300)}, False, "paused for another 2 hours"),
        ("", {"paused": Paused(remaining_seconds=7199.9)}, False, "paused for another 2 hours"),
        ("", {"paused": Paused(remaining_seconds=5390)}, False, "paused for another 90 minutes"),
        ("welcome.strangers = false", {}, False, "only its owner's jobs are welcome"),
        # a server heeds all but the seat
        ("", {"seat": False, "on_battery": True}, False, "battery"),
    ],
)
def test_strangers_are_welcome_only_while_nothing_speaks_against_it(policy, changed, welcome, told):
    decision = Machine(policy, replace(AWAY, **changed)).decision
    assert decision.strangers_welcome is welcome, decision.reason
    assert told in decision.reason
    assert decision.availability().strangers is welcome
    assert decision.welcomes((), own=False) is welcome
    assert decision.own_welcome is ("paused" not in changed)


@pytest.mark.parametrize(
    ("policy", "changed", "reaction"),
    [
        ("", {}, "none"),
        ("", {"idle": Idle(1)}, "suspend"),
        ("", {"full_screen": "mpv"}, "suspend"),
        ("", {"idle": NOT_KNOWN}, "suspend"),
        ("", {"on_battery": True}, "suspend"),
        ("", {"cpu_celsius": 99.0}, "suspend"),
        ("", {"metered": True}, "suspend"),
        ("", {"paused": Paused()}, "suspend"),
        ('start.hours = "sat"', {}, "checkpoint"),
        ('network.monthly_data = "1GB"', {"data_used_bytes": GB}, "none"),
        ("welcome.strangers = false", {}, "none"),
        ('reactions.owner = ["cap_power 1m", "evict"]', {"idle": Idle(1)}, "cap_power"),
        ('reactions.owner = ["evict"]', {"idle": Idle(1)}, "evict"),
        # The hardest of several counts.
        ('start.hours = "sat"\nreactions.owner = ["none"]', {"idle": Idle(1)}, "checkpoint"),
    ],
)
def test_running_work_feels_the_first_step_at_once(policy, changed, reaction):
    decision = Machine(policy, replace(AWAY, **changed)).decision
    assert decision.reaction_for((), own=False) == reaction
    assert decision.reaction_for((), own=True) == (reaction if "paused" in changed else "none")


# ── over time ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_owner_who_stays_evicts_after_ten_minutes():
    machine = Machine()
    assert machine.look(idle=Idle(0.2)).reaction is Reaction.SUSPEND
    for _ in range(9):
        assert machine.look(60, idle=Idle(0.2)).reaction is Reaction.SUSPEND
    assert machine.look(60, idle=Idle(0.2)).reaction is Reaction.EVICT


def test_one_touch_of_the_mouse_suspends_and_does_not_evict():
    machine = Machine()
    machine.look(idle=Idle(0.2))
    for minute in range(1, 15):
        assert machine.look(60, idle=Idle(60.0 * minute)).reaction is Reaction.SUSPEND
        assert not machine.decision.strangers_welcome
    assert machine.look(60, idle=Idle(900)).reaction is Reaction.NONE
    assert machine.decision.strangers_welcome


def test_second_visit_begins_at_the_first_step_again():
    machine = Machine()
    machine.look(idle=Idle(0))
    assert machine.look(700, idle=Idle(0)).reaction is Reaction.EVICT
    assert machine.look(900, idle=Idle(900)).reaction is Reaction.NONE
    assert machine.look(5, idle=Idle(0)).reaction is Reaction.SUSPEND


def test_whole_ladder_is_climbed_in_order():
    machine = Machine('reactions.owner = ["cap_power 1m", "suspend 1m", "checkpoint 1m", "evict"]')
    machine.look(idle=Idle(0))
    seen = [machine.look(20, idle=Idle(0)).reaction.value for _ in range(11)]
    assert list(dict.fromkeys(seen)) == ["cap_power", "suspend", "checkpoint", "evict"]
    assert machine.decision.power_cap == 0.5


def test_hot_machine_must_cool_by_five_degrees():
    machine = Machine()
    seen = [machine.look(30, cpu_celsius=celsius).strangers_welcome for celsius in (94, 95, 94, 91, 90.1, 90, 94, 94.9)]
    assert seen == [True, False, False, False, False, True, True, True]


def test_hot_work_is_held_for_as_long_as_it_is_hot_and_never_evicted():
    machine = Machine()
    assert all(machine.look(600, cpu_celsius=96).reaction is Reaction.SUSPEND for _ in range(20))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"full_screen": "mpv"}, {"full_screen": None}),
        ({"on_battery": True}, {"on_battery": False}),
        ({"metered": True}, {"metered": False}),
        ({"idle": NOT_KNOWN}, {"idle": Idle(5000)}),
    ],
)
def test_what_came_and_went_must_be_gone_for_a_minute(before, after):
    machine = Machine()
    machine.look(10, **before)
    for _ in range(5):
        decision = machine.look(10, **after)
        assert not decision.strangers_welcome
        assert decision.reason.startswith("until ")
        assert decision.until is not None
    assert machine.look(11, **after).strangers_welcome


def test_flapping_signal_does_not_make_work_flap():
    machine = Machine()
    seen = [machine.look(1, full_screen="mpv" if second % 7 == 0 else None).reaction.value for second in range(1, 300)]
    assert [one for one, before in zip(seen[1:], seen, strict=False) if one != before] == ["suspend"]


def test_change_of_the_policy_needs_no_waiting():
    machine = Machine()
    machine.look(full_screen="mpv")
    machine.policy = Machine("start.during_full_screen = true").policy
    assert machine.look(1).strangers_welcome


def test_end_of_the_hours_saves_and_then_evicts():
    machine = Machine('start.hours = "09:00-12:10"')
    assert machine.decision.strangers_welcome
    assert machine.decision.until == NOON + timedelta(minutes=10)
    assert machine.look(600).reaction is Reaction.CHECKPOINT
    assert machine.look(301).reaction is Reaction.EVICT


def test_pause_counts_from_its_own_beginning():
    machine = Machine("", replace(AWAY, paused=Paused(since_seconds=700, remaining_seconds=100)))
    assert machine.decision.reaction is Reaction.EVICT
    assert machine.decision.own_reaction is Reaction.EVICT
    assert machine.look(paused=None).reaction is Reaction.NONE


def test_until_says_when_it_would_change():
    cases: list[tuple[dict[str, Any], datetime | None]] = [
        ({"idle": Idle(300)}, NOON + timedelta(seconds=600)),
        ({"paused": Paused(remaining_seconds=50)}, NOON + timedelta(seconds=50)),
        ({"idle": Idle(300), "paused": Paused(remaining_seconds=50)}, NOON + timedelta(seconds=600)),
        ({"full_screen": "mpv"}, None),
        ({}, None),
    ]
    for changed, until in cases:
        assert Machine("", replace(AWAY, **changed)).decision.until == until, changed
    used_up = replace(AWAY, data_used_bytes=GB)
    assert Machine('network.monthly_data = "1GB"', used_up).decision.until == datetime(2026, 4, 1, tzinfo=UTC)


def test_next_check_comes_no_later_than_the_next_change():
    assert Machine("", replace(AWAY, idle=Idle(890))).decision.next_check_seconds == pytest.approx(10)
    assert Machine("", replace(AWAY, paused=Paused(remaining_seconds=3))).decision.next_check_seconds == 3
    assert Machine("", replace(AWAY, paused=Paused(remaining_seconds=0.01))).decision.next_check_seconds == 0.5
    assert Machine().decision.next_check_seconds == 30


def test_what_cannot_be_read_is_never_passed_over_in_silence():
    everything = Readings(
        seat=NOT_KNOWN, idle=NOT_KNOWN, full_screen=NOT_KNOWN, on_battery=NOT_KNOWN, cpu_celsius=NOT_KNOWN,
        metered=NOT_KNOWN, data_used_bytes=NOT_KNOWN, gpus=(gpu(foreign_bytes=None),),
    )  # fmt: skip
    problems = Machine('network.monthly_data = "1GB"', everything).decision.problems
    assert set(CALLED) <= {field.name for field in fields(Readings)}
    for name in (*CALLED.values(), "GPU-a"):
        assert any(name in problem and "treated" in problem for problem in problems), name
    assert not any(key in problem for problem in problems for key in CALLED if "_" in key)


def test_what_is_not_asked_for_is_no_problem():
    quiet = 'seat = "no"\n[start]\non_battery = true\non_metered = true\nmax_cpu_temperature = "off"'
    unknown = replace(AWAY, seat=NOT_KNOWN, idle=NOT_KNOWN, full_screen=NOT_KNOWN, on_battery=NOT_KNOWN)
    assert Machine(quiet, replace(unknown, cpu_celsius=NOT_KNOWN, metered=NOT_KNOWN)).decision.problems == ()


def test_server_without_thermometer_is_in_no_trouble_unless_its_owner_counts_on_one():
    server = replace(AWAY, seat=False, cpu_celsius=NOT_KNOWN, metered=NOT_KNOWN)
    assert Machine("", server).decision.problems == ()
    (told,) = Machine("start.max_cpu_temperature = 80", server).decision.problems
    assert told.startswith("the processor's temperature: not known")
    assert len(Machine("", replace(server, seat=True)).decision.problems) == 2


# ── GPUs ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

TWO = replace(AWAY, gpus=(gpu(), gpu(id="GPU-b")))


def test_game_on_one_gpu_leaves_the_other_to_strangers():
    machine = Machine("", TWO)
    assert machine.decision.gpus_in_use == ()
    machine.look(gpus=(gpu(foreign_bytes=6 * GB, foreign_program="game.exe"), gpu(id="GPU-b")))
    decision = machine.decision
    assert decision.strangers_welcome
    assert decision.gpus_in_use == ("GPU-a",)
    assert "game.exe uses the GPU (6 GB" in decision.reason
    assert decision.availability().gpus_in_use == ("GPU-a",)
    assert decision.reaction_for(("GPU-a",), own=False) is Reaction.SUSPEND
    assert decision.reaction_for(("GPU-b",), own=False) is Reaction.NONE
    assert decision.reaction_for(("GPU-a", "GPU-b"), own=False) is Reaction.SUSPEND
    assert decision.reaction_for((), own=False) is Reaction.NONE
    assert decision.reaction_for(("GPU-a",), own=True) is Reaction.NONE
    assert [decision.welcomes((one,), own=False) for one in ("GPU-a", "GPU-b")] == [False, True]


def test_desktop_that_draws_windows_is_no_foreign_work():
    assert Machine("", replace(AWAY, gpus=(gpu(foreign_bytes=GB, utilisation=0.1),))).decision.gpus_in_use == ()


def test_busy_gpu_counts_as_used_after_ten_seconds_unless_the_work_is_ours():
    machine = Machine("", replace(AWAY, gpus=(gpu(foreign_bytes=None, utilisation=0.9),)))
    assert machine.decision.gpus_in_use == ()
    assert machine.look(5).gpus_in_use == ()
    assert machine.look(5).gpus_in_use == ("GPU-a",)
    assert "90 % busy" in machine.decision.gpu_reasons["GPU-a"]
    ours = Machine("", replace(AWAY, gpus=(gpu(foreign_bytes=None, utilisation=0.9, ours=True),)))
    assert ours.look(60).gpus_in_use == ()


def test_short_burst_on_a_gpu_is_forgiven():
    machine = Machine("", replace(AWAY, gpus=(gpu(utilisation=0.9),)))
    machine.look(8, gpus=(gpu(utilisation=0.1),))
    assert machine.look(8, gpus=(gpu(utilisation=0.9),)).gpus_in_use == ()


def test_hot_gpu_alone_is_held():
    machine = Machine("", TWO)
    machine.look(gpus=(gpu(temperature_celsius=87.0), gpu(id="GPU-b")))
    assert machine.decision.gpus_in_use == ("GPU-a",)
    assert machine.look(5, gpus=(gpu(temperature_celsius=83.0), gpu(id="GPU-b"))).gpus_in_use == ("GPU-a",)
    assert machine.look(5, gpus=(gpu(temperature_celsius=82.0), gpu(id="GPU-b"))).gpus_in_use == ()


def test_gpu_with_rules_of_its_own_works_while_its_owner_does_too():
    machine = Machine('[gpu."GPU-b"]\nafter_idle = "0s"\nduring_full_screen = true', TWO)
    decision = machine.look(idle=Idle(0), full_screen="game")
    assert decision.strangers_welcome
    assert decision.gpu_only
    assert decision.gpus_in_use == ("GPU-a",)
    assert decision.reason.startswith("only on GPU-b: elsewhere the keyboard or mouse was used")
    assert decision.reaction_for(("GPU-b",), own=False) is Reaction.NONE
    assert decision.reaction_for((), own=False) is Reaction.SUSPEND
    assert not decision.welcomes((), own=False)
    assert decision.welcomes(("GPU-b",), own=False)
    assert not decision.welcomes(("GPU-unheard-of",), own=False)
    assert machine.look(paused=Paused()).gpus_in_use == ("GPU-a", "GPU-b")


def test_gpu_that_is_kept_is_never_offered_to_strangers():
    decision = Machine('[gpu."GPU-b"]\nshare = false', TWO).decision
    assert decision.strangers_welcome
    assert decision.gpus_in_use == ("GPU-b",)
    assert decision.welcomes(("GPU-b",), own=True)


def test_rules_for_a_gpu_that_is_not_here_are_told():
    (problem,) = Machine('[gpu."GPU-bb"]\nshare = false', TWO).decision.problems
    assert (
        problem
        == '[gpu."GPU-bb"] in the policy is of no GPU of this machine and holds for none: there are GPU-a, GPU-b'
    )
    assert "no GPU is seen here" in Machine('[gpu."GPU-bb"]\nshare = false', AWAY).decision.problems[0]


def test_gpu_may_have_stricter_hours_and_its_own_ladder():
    policy = '[gpu."GPU-b"]\nhours = "sat"\nowner = ["evict"]'
    machine = Machine(policy, TWO)
    assert machine.decision.gpus_in_use == ("GPU-b",)
    machine.look(idle=Idle(0))
    assert machine.decision.gpu_reactions["GPU-a"] is Reaction.SUSPEND
    assert machine.decision.gpu_reactions["GPU-b"] is Reaction.EVICT


def test_reason_for_the_hub_is_short_whatever_the_programs_are_called():
    readings = replace(AWAY, full_screen="x" * 10_000, gpus=(gpu(foreign_bytes=9 * GB, foreign_program="y" * 10_000),))
    assert len(Machine("", readings).decision.availability().reason) <= 200
