"""What holds for every policy, every reading and every story of them."""

from dataclasses import replace
from datetime import UTC

from hypothesis import given, settings
from hypothesis import strategies as st
from support.owner_cases import AWAY, Machine

from computepool.agent.owner.decide import LATEST_CHECK_SECONDS, SOONEST_CHECK_SECONDS
from computepool.agent.owner.ladder import Reaction
from computepool.agent.owner.readings import GpuReading, Idle, Paused, Readings, Unknown

UNKNOWN = st.builds(Unknown, st.text(max_size=20))
MAYBE = st.one_of(st.booleans(), UNKNOWN)
SECONDS = st.floats(0, 10_000)
GPUS = st.builds(
    GpuReading,
    st.just(""),
    st.one_of(st.none(), st.floats(0, 1)),
    st.one_of(st.none(), st.floats(-10, 130)),
    st.one_of(st.none(), st.integers(0, 2**36)),
    st.text(max_size=10),
    st.booleans(),
)
READINGS = st.builds(
    Readings,
    seat=MAYBE,
    idle=st.one_of(st.builds(Idle, SECONDS), UNKNOWN),
    terminal=st.one_of(st.builds(Idle, SECONDS, st.just("terminal")), UNKNOWN, st.none()),
    full_screen=st.one_of(st.text(max_size=10), UNKNOWN, st.none()),
    on_battery=MAYBE,
    cpu_celsius=st.one_of(st.floats(-10, 130), UNKNOWN),
    metered=MAYBE,
    data_used_bytes=st.one_of(st.integers(0, 2**45), UNKNOWN),
    gpus=st.lists(GPUS, max_size=3).map(
        lambda gpus: tuple(replace(gpu, id=f"GPU-{index}") for index, gpu in enumerate(gpus))
    ),
    paused=st.one_of(st.none(), st.none(), st.builds(Paused, SECONDS, st.one_of(st.none(), st.floats(0.1, 10_000)))),
)
POLICIES = st.lists(
    st.sampled_from(
        [
            'start.after_idle = "0s"',
            'reactions.owner = ["cap_power 1m", "suspend 5m", "checkpoint 1m", "evict"]',
            'start.hours = "mon-fri 22:00-07:00, sat"',
            "start.on_battery = true",
            'network.monthly_data = "10GB"',
            'gpu."GPU-1".after_idle = "0s"',
            'gpu."GPU-0".share = false',
            'seat = "yes"',
            "start.max_cpu_temperature = 70",
        ]
    ),
    unique=True,
).map(lambda lines: "\n".join(sorted(lines, key=lambda line: not line.startswith("seat"))))
STORIES = st.lists(st.tuples(st.floats(0, 2000), READINGS), min_size=1, max_size=6)


def told(policy, story):
    machine = Machine(policy, story[0][1])
    for after, readings in story:
        machine.readings = readings
        yield readings, machine.look(after)


@settings(deadline=None)
@given(POLICIES, STORIES)
def test_pause_is_a_pause_for_everybody(policy, story):
    for readings, decision in told(policy, story):
        assert decision.own_welcome is (readings.paused is None)
        if readings.paused is not None:
            assert not decision.strangers_welcome
            assert set(decision.gpus_in_use) == {gpu.id for gpu in readings.gpus}
        if readings.paused is None:
            assert decision.own_reaction is Reaction.NONE


@settings(deadline=None)
@given(POLICIES, STORIES)
def test_decision_is_whole_and_agrees_with_itself(policy, story):
    for readings, decision in told(policy, story):
        ids = {gpu.id for gpu in readings.gpus}
        assert set(decision.gpus_in_use) <= ids == set(decision.gpu_reactions)
        assert decision.reason
        assert SOONEST_CHECK_SECONDS <= decision.next_check_seconds <= LATEST_CHECK_SECONDS
        assert decision.until is None or decision.until.astimezone(UTC)
        assert len(decision.availability().reason) <= 200
        if decision.welcomes((), own=False):
            assert decision.reaction is Reaction.NONE
            assert decision.strangers_welcome
        for gpu in ids:
            # Where strangers may start, nothing of theirs is held back; where they are held back, none may start.
            assert decision.welcomes((gpu,), own=False) is (
                gpu not in decision.gpus_in_use and decision.strangers_welcome
            )
            if gpu not in decision.gpus_in_use:
                assert decision.gpu_reactions[gpu] is Reaction.NONE


@settings(deadline=None)
@given(POLICIES, READINGS, st.one_of(st.builds(Idle, SECONDS), UNKNOWN))
def test_own_jobs_do_not_depend_on_the_keyboard(policy, readings, other_idle):
    one = Machine(policy, readings).decision
    other = Machine(policy, replace(readings, idle=other_idle, full_screen="film", on_battery=True)).decision
    assert (one.own_welcome, one.own_reaction) == (other.own_welcome, other.own_reaction)


@settings(deadline=None)
@given(SECONDS, SECONDS, MAYBE)
def test_longer_idle_is_never_less_welcome(shorter, longer, seat):
    shorter, longer = sorted([shorter, longer])
    one = Machine("", replace(AWAY, seat=seat, idle=Idle(shorter))).decision
    other = Machine("", replace(AWAY, seat=seat, idle=Idle(longer))).decision
    assert one.strangers_welcome <= other.strangers_welcome


@settings(deadline=None)
@given(POLICIES, READINGS)
def test_same_question_twice_has_the_same_answer(policy, readings):
    machine = Machine(policy, readings)
    assert machine.decision.meaning == machine.look(0).meaning
