"""The owner's file: read with care, written with explanations, and never a reason to leave a machine unprotected."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from computepool.agent.owner.ladder import Ladder, Reaction, Step, parse_ladder
from computepool.agent.owner.policy import Policy
from computepool.agent.owner.policy_file import PolicyError, PolicyFile, changed, parse_policy, settings_of, toml_of
from computepool.agent.owner.policy_file import sections as policy_sections
from computepool.protocol.states import IsolationLevel
from computepool.protocol.units import BadValueError


def test_empty_file_is_the_default_policy():
    policy = parse_policy("")
    assert policy == Policy()
    assert policy.start.after_idle == 15 * 60
    assert not policy.start.on_battery
    assert policy.reactions.owner == Ladder((Step(Reaction.SUSPEND, 600), Step(Reaction.EVICT)))
    assert policy.reactions.heat == Ladder((Step(Reaction.SUSPEND),))


def test_default_file_explains_every_setting_and_changes_nothing():
    text = toml_of(Policy())
    assert parse_policy(text) == Policy()
    for name, model in policy_sections():
        for key, field, default in settings_of(model):
            assert f"#{key} = {default}" in text, (name, key)
            assert field.description


def test_default_file_with_its_marks_removed_is_the_default_policy():
    lines = toml_of(Policy()).splitlines()
    bare = [line.removeprefix("#") for line in lines if not line.startswith("# ")]
    assert parse_policy("\n".join(bare)) == Policy()


FULL = """
seat = "yes"
[start]
after_idle = "5m"
hours = "mon-fri 22:00-07:00, sat-sun"
max_cpu_temperature = "off"
foreign_gpu_memory = "unlimited"
[reactions]
owner = ["cap_power 1m", "suspend 5m", "checkpoint 2m", "evict"]
[welcome]
renters = ["alice", "bob \\"the\\" builder"]
images = ["pytorch/*"]
longest = "2h"
isolation = "container"
[network]
monthly_data = "100GB"
rate = "5MB"
[power]
price_per_kwh = 0.32
currency = "€"
[gpu."GPU-1.2"]
after_idle = "0s"
max_gpu_temperature = "off"
[gpu."GPU-3"]
share = false
"""


def test_what_is_written_is_read_back():
    policy = parse_policy(FULL)
    assert parse_policy(toml_of(policy)) == policy
    assert policy.house_rules().images == ("pytorch/*",)
    assert policy.house_rules().longest_seconds == 7200
    assert policy.welcome.isolation is IsolationLevel.CONTAINER


def test_gpu_takes_from_the_machine_what_it_does_not_say_itself():
    policy = parse_policy(FULL)
    own, one, other = policy.rules(), policy.rules("GPU-1.2"), policy.rules("GPU-3")
    assert (own.start.after_idle, one.start.after_idle, other.start.after_idle) == (300, 0, 300)
    assert (own.start.max_gpu_temperature, one.start.max_gpu_temperature) == (87, None)
    assert one.start.hours == own.start.hours
    assert one.reactions.owner == own.reactions.owner
    assert (one.share, other.share) == (True, False)
    assert policy.rules("GPU-unheard-of") == own


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('start.after_idel = "1m"', "start.after_idel: no such setting; did you mean after_idle?"),
        ("sart.x = 1", "sart: no such setting; did you mean start?"),
        ('start.after_idle = "soon"', "start.after_idle: 'soon' is not a duration; write it like 90s"),
        ("start.on_battery = 1", "start.on_battery: 1 is wrong; expected true or false"),
        ('start.on_battery = "no"', "start.on_battery: 'no' is wrong; expected true or false"),
        ('seat = "maybe"', 'seat: \'maybe\' is wrong; expected one of "auto", "yes", "no"'),
        ('start.hours = "mox"', "start.hours: 'mox' is not a day; did you mean mon?"),
        ("start.max_cpu_temperature = 500", "expected degrees Celsius from 20 to 120, or off"),
        ("start.foreign_gpu_utilisation = 200", "expected a number from 0 to 100"),
        ('reactions.owner = ["evict 5m", "suspend"]', "the wrong way round"),
        ('reactions.owner = ["suspend", "evict"]', "would last for ever"),
        ('reactions.owner = ["suspned"]', "did you mean suspend?"),
        ("reactions.power_cap = 0", "expected a number from 10 to 100"),
        ('welcome.isolation = "process"', "welcome.isolation: strangers' work never runs without isolation"),
        ('welcome.isolation = "docker"', 'expected one of "bubblewrap", "container", "gvisor"'),
        ('welcome.renters = "bob"', "welcome.renters: 'bob' is not a list"),
        ("network.rate = true", "network.rate: True is not a size"),
        ("network.rate = 0", "network.rate: 0 a second is no network; internet = false under [welcome] says so"),
        ('gpu."GPU-1".shar = false', "gpu.GPU-1.shar: no such setting; did you mean share?"),
        ('gpu."GPU-1" = 3', "gpu.GPU-1: 3 is not a table"),
        ("start = 3", "start: 3 is not a table"),
        ("start = [", "not valid TOML"),
    ],
)
def test_wrong_setting_is_named_with_what_is_expected(text, told):
    with pytest.raises(PolicyError) as caught:
        parse_policy(text)
    assert told in str(caught.value)


def test_every_mistake_is_told_at_once():
    with pytest.raises(PolicyError) as caught:
        parse_policy('seat = "x"\n[start]\nafter_idle = "x"\nhourz = "x"')
    assert len(str(caught.value).splitlines()) == 3


def test_one_setting_is_changed_by_its_name():
    policy = parse_policy(FULL)
    assert changed(policy, "start.after_idle", "1h").start.after_idle == 3600
    assert changed(policy, "seat", "no").seat == "no"
    shared = changed(policy, "gpu.GPU-3.share", True)
    assert shared.rules("GPU-3").share
    assert shared.rules("GPU-1.2") == policy.rules("GPU-1.2")
    for key in ("strat.after_idle", "start.after_idel", "nonsense", "seat.x", "gpu.GPU-3.shar"):
        with pytest.raises(PolicyError, match="no such setting"):
            changed(policy, key, True)


# ── the file ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_broken_file_leaves_the_last_good_policy_in_force(tmp_path):
    file = PolicyFile(tmp_path)
    file.path.write_text('start.after_idle = "1h"')
    assert file.refresh()
    assert not file.refresh()
    file.path.write_text("start.after_idle = [broken")
    assert file.refresh()
    assert file.policy.start.after_idle == 3600
    assert "policy.toml is not used: not valid TOML" in file.problem
    file.path.write_text('start.after_idle = "2h"')
    assert file.refresh()
    assert (file.policy.start.after_idle, file.problem) == (7200, "")


def test_broken_file_is_no_reason_to_forget_after_a_restart(tmp_path):
    file = PolicyFile(tmp_path)
    file.path.write_text('start.hours = "22:00-07:00"')
    file.refresh()
    file.path.write_text("\x00 garbage")
    restarted = PolicyFile(tmp_path)
    restarted.refresh()
    assert restarted.policy.start.hours.text == "22:00-07:00"
    assert restarted.problem


@pytest.mark.parametrize("content", [b"broken = [", b"\xff\xfe\x00", b"#" * 2_000_000, b"seat = 7"])
def test_broken_file_without_an_earlier_one_turns_strangers_away(tmp_path, content):
    file = PolicyFile(tmp_path)
    file.path.write_bytes(content)
    assert file.refresh()
    assert not file.policy.welcome.strangers
    assert "strangers' work is turned away" in file.problem


def test_missing_file_is_the_default_and_can_be_written(tmp_path):
    file = PolicyFile(tmp_path)
    file.refresh()
    assert (file.policy, file.problem) == (Policy(), "")
    file.write_default_if_missing()
    assert "#after_idle" in file.path.read_text()
    file.path.write_text('seat = "no"')
    file.write_default_if_missing()
    assert file.path.read_text() == 'seat = "no"'


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo])
def test_something_else_in_the_files_place_is_told_and_not_waited_for(tmp_path, make):
    file = PolicyFile(tmp_path)
    make(file.path)
    file.refresh()
    assert "not used" in file.problem
    assert not file.policy.welcome.strangers


# ── ladders, cost ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_ladder_goes_up_step_by_step_and_stays_at_its_end():
    ladder = parse_ladder(["cap_power 1m", "suspend 5m", "checkpoint 2m", "evict"])
    seen = [ladder.at(seconds).value for seconds in (0, 59, 60, 359, 360, 479, 480, 10**9)]
    assert seen == ["cap_power"] * 2 + ["suspend"] * 2 + ["checkpoint"] * 2 + ["evict"] * 2
    assert ladder.seconds_to_next(30) == 30
    assert ladder.seconds_to_next(480) is None
    assert parse_ladder(ladder.as_texts()) == ladder
    assert parse_ladder("evict").at(0) is Reaction.EVICT


@given(st.one_of(st.text(max_size=30), st.lists(st.text(max_size=20), max_size=4), st.integers(), st.none()))
def test_any_nonsense_is_a_ladder_or_a_clear_error(value):
    try:
        ladder = parse_ladder(value)
    except BadValueError:
        return
    assert parse_ladder(ladder.as_texts()) == ladder


def test_cost_of_power_comes_from_what_was_measured_or_from_the_owners_figure():
    price = parse_policy("power.price_per_kwh = 0.3").power
    assert price.cost(3_600_000, 10) == pytest.approx(0.3)
    assert price.cost(None, 3600) is None
    known = parse_policy("power.price_per_kwh = 0.3\npower.watts = 500").power
    assert known.cost(None, 7200) == pytest.approx(0.3)
