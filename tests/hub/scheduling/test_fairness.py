"""What must hold over time, in a simulated pool: the real turns, reservations, limits and preemption, and a clock.

Each promise is a check that takes the pool's rules as they are; then with a bug put in on purpose, which it must find.
"""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.proofs import figure

from benchmarks.fairness import DAY, HOUR, World, jain, jain_over_a_day, make_node, small_needs
from computepool.hub.scheduling import admission, preemption, reservations, turns, usage
from computepool.hub.scheduling.limits import LimitBook, Limits
from computepool.hub.scheduling.preemption import outranks
from computepool.hub.scheduling.reservations import Reservations
from computepool.protocol.gpus import GpuRequest
from computepool.protocol.timing import EVICT_GRACE_SECONDS

MINUTE = 60.0
TWO_GPUS = {"gpu": GpuRequest(count=2)}
ONE_GPU = {"gpu": GpuRequest(count=1)}


def begins(world, job_id):
    return sorted(at for at, key, _ in world.placed if key[0] == job_id)


# ── checks ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def two_renters_have_equal_shares():
    found = jain_over_a_day(large=2_000, small=100)
    assert found.jain > 0.97
    assert found.slots_used > 0.99


def single_job_waits_for_one_slot_at_most():
    """Ten thousand slices wait before it. Slots become free one after the other: it has the next one."""
    world = World([make_node(f"node_{n}") for n in range(10)])
    for number in range(10):
        one = small_needs("user_large", seconds=HOUR + number)
        world.submit(f"job_0{number}", one, slices=1_000, seconds=600.0 + 60 * number)
    world.submit("job_99", small_needs("user_small"), at=630.0, seconds=10.0)
    world.run(2 * HOUR)
    [began] = begins(world, "job_99")
    ends = [run.ended for run in world.runs if run.ended > 630.0 and run.key[0] != "job_99"]
    assert began == min(ends)


def large_slice_does_not_starve_behind_small_ones():
    """Small slices come all the time, and one of them always ends before the other."""
    world = World([make_node("node_1", cores=8, gpus=2)])
    for number in range(200):
        needs = small_needs("user_small", seconds=600.0, **ONE_GPU)
        world.submit(f"job_{number:03}", needs, at=number * 250.0, seconds=590.0)
    world.submit("job_large", small_needs("user_large", **TWO_GPUS), at=1000.0, seconds=300.0)
    world.run(DAY)
    [began] = begins(world, "job_large")
    assert began < 1000.0 + HOUR


def reservation_ends_with_its_reason():
    """It is canceled; then everybody else has the node again."""
    world = World([make_node("node_1", cores=8, gpus=2)])
    world.submit("job_1", small_needs("user_a", seconds=10 * HOUR, **ONE_GPU), seconds=9 * HOUR)
    world.submit("job_2", small_needs("user_b", seconds=HOUR, **TWO_GPUS), at=10.0, seconds=HOUR)
    world.submit("job_3", small_needs("user_c", seconds=20 * HOUR, **ONE_GPU), at=10 * MINUTE, seconds=HOUR)
    world.submit("job_4", small_needs("user_a", seconds=60.0), at=20 * MINUTE, seconds=10.0)
    world.cancel("job_2", at=HOUR)
    world.run(2 * HOUR)
    assert begins(world, "job_2") == []
    assert begins(world, "job_3") == [HOUR]


def room_that_is_let_go_is_for_whoever_is_next():
    """A small slice of a renter who had nothing is looked at first, while the node is kept for a large one of another.
    That one begins, and leaves room: it is not for those who had more, although they are looked at next."""
    world = World([make_node("node_1", cores=8)])
    world.submit("job_0", small_needs("user_many", cpu_millis=8000), seconds=1000.0)
    world.submit("job_1", small_needs("user_small", cpu_millis=2000), at=10.0, seconds=HOUR)
    world.submit("job_2", small_needs("user_large", cpu_millis=5000), at=10.0, seconds=HOUR)
    for number in range(4):
        world.submit(f"job_3{number}", small_needs("user_many"), at=100.0 * (number + 1), seconds=HOUR)
    world.run(999.0)
    assert world.admission.reservations.of("user_large") is not None
    world.run(1001.0)
    assert begins(world, "job_2") == begins(world, "job_1") == [1000.0]
    assert begins(world, "job_30") == [1000.0]
    assert begins(world, "job_31") == []


def limit_is_kept():
    world = World([make_node(f"node_{n}") for n in range(10)], Limits(slices=3))
    world.submit("job_1", small_needs("user_a"), slices=50, seconds=100.0)
    for minute in range(20):
        world.run(minute * MINUTE)
        assert world.occupancy.share("user_a").slices <= 3
    assert world.occupancy.share("user_a").slices == 3


def slot_is_never_taken_back_and_forth():
    """A higher bid takes a slot once; whoever lost it waits for another."""
    world = World([make_node("node_1"), make_node("node_2")])
    world.submit("job_1", small_needs("user_a", preemptible=True, bid_micros=5), slices=4, seconds=HOUR)
    world.submit("job_2", small_needs("user_b", preemptible=True, bid_micros=9), at=600.0, seconds=HOUR)
    world.submit("job_3", small_needs("user_c"), at=1200.0, seconds=HOUR)
    world.run(DAY)
    assert sum(run.preempted for run in world.runs) == 2
    assert begins(world, "job_2") == [600.0 + EVICT_GRACE_SECONDS]
    assert begins(world, "job_3") == [1200.0 + EVICT_GRACE_SECONDS]
    assert {run.key for run in world.runs if not run.preempted} >= {("job_1", n) for n in range(4)}


CHECKS = [
    two_renters_have_equal_shares,
    single_job_waits_for_one_slot_at_most,
    large_slice_does_not_starve_behind_small_ones,
    reservation_ends_with_its_reason,
    room_that_is_let_go_is_for_whoever_is_next,
    limit_is_kept,
    slot_is_never_taken_back_and_forth,
]


@pytest.mark.parametrize("check", CHECKS)
def test_promise_is_kept(check):
    check()


# ── mutants ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def turns_go_by_age(patch):
    """As before: ten thousand slices hold up whoever comes after them."""
    patch.setattr(usage.Usage, "standing", lambda self, owner_id, now: 0.0)


def use_is_not_counted(patch):
    patch.setattr(usage.Usage, "_amount", lambda self, account, now: 0.0)
    patch.setattr(usage, "AHEAD_SECONDS", 0.0)


def nothing_is_reserved(patch):
    patch.setattr(Reservations, "reserve", lambda *args: None)


def reserved_nodes_are_not_barred(patch):
    patch.setattr(Reservations, "barred_to", lambda *args: frozenset())


def reservations_are_never_released(patch):
    patch.setattr(Reservations, "tidy", lambda *args: None)


def rounds_go_on_when_room_is_let_go(patch):
    placed = Reservations.placed
    patch.setattr(Reservations, "placed", lambda self, needs: placed(self, needs) and False)


def limits_are_ignored(patch):
    patch.setattr(LimitBook, "of", lambda self, owner_id: Limits())


def anybody_takes_from_anybody(patch):
    patch.setattr(preemption, "outranks", lambda brief, other: other.requirements.preemptible)


def interruptible_slices_have_ordinary_turns(patch):
    patch.setattr(turns, "lane_of", lambda needs: (False, 0))


@pytest.mark.parametrize(
    ("mutant", "check"),
    [
        (turns_go_by_age, two_renters_have_equal_shares),
        (turns_go_by_age, single_job_waits_for_one_slot_at_most),
        (use_is_not_counted, two_renters_have_equal_shares),
        (nothing_is_reserved, large_slice_does_not_starve_behind_small_ones),
        (reserved_nodes_are_not_barred, large_slice_does_not_starve_behind_small_ones),
        (reservations_are_never_released, reservation_ends_with_its_reason),
        (rounds_go_on_when_room_is_let_go, room_that_is_let_go_is_for_whoever_is_next),
        (limits_are_ignored, limit_is_kept),
        (anybody_takes_from_anybody, slot_is_never_taken_back_and_forth),
    ],
)
def test_planted_bug_is_found(monkeypatch, mutant, check):
    mutant(monkeypatch)
    with pytest.raises((AssertionError, ValueError)):
        check()


# ── whatever the story ───────────────────────────────────────────────────────────────────────────────────────────────

jobs = st.lists(
    st.tuples(
        st.sampled_from(["user_a", "user_b", "user_c"]),
        st.integers(0, 20_000),  # when
        st.integers(1, 6),  # slices
        st.integers(10, 3_000),  # how long each runs
        st.sampled_from([0, 0, 1, 2]),  # GPUs
        st.sampled_from([1, 1, 4, 8]),  # cores
        st.booleans(),
        st.integers(-2, 2),
    ),
    min_size=1,
    max_size=25,
)


@settings(max_examples=figure(60, 3_000), deadline=None)
@given(jobs, st.lists(st.integers(0, 20_000), max_size=2))
def test_everything_that_can_run_runs_in_the_end_whatever_came_before(story, leaves):
    """No deadlock, no starvation of the small or the large, and no slot that is taken back and forth for ever."""
    world = World([make_node(f"node_{n}", cores=8, gpus=2) for n in range(3)])
    for number, (owner, at, slices, seconds, gpus, cores, soft, priority) in enumerate(story):
        needs = small_needs(
            owner,
            cpu_millis=cores * 1000,
            seconds=float(seconds),
            gpu=GpuRequest(count=gpus) if gpus else None,
            preemptible=soft,
            bid_micros=(number % 3) * 10,
        )
        world.submit(f"job_{number:02}", needs, slices=slices, at=float(at), seconds=float(seconds), priority=priority)
    for number, at in enumerate(leaves):
        world.leave(f"node_{number}", at=float(at))
    world.run(20 * DAY)
    finished = {run.key for run in world.runs if not run.preempted}
    assert len(finished) == sum(slices for _, _, slices, *_ in story)
    assert (len(world.queue), len(world.occupancy), len(world.admission.reservations)) == (0, 0, 0)
    assert all(world.occupancy.share(owner).slices == 0 for owner in ("user_a", "user_b", "user_c"))


@given(st.data())
def test_nobody_takes_back_what_was_taken_from_it(data):
    """Who may take from whom has no ring, however many stand in it."""
    kinds = st.tuples(st.sampled_from(["user_a", "user_b"]), st.booleans(), st.integers(0, 3), st.integers(-2, 2))
    ring = data.draw(st.lists(kinds, min_size=2, max_size=5))
    briefs = [_brief(*kind) for kind in ring]
    takes = [outranks(one, other) for one, other in zip(briefs, [*briefs[1:], briefs[0]], strict=True)]
    assert not all(takes)


def _brief(owner, soft, bid, priority):
    from support.fleets import make_brief, make_needs

    needs = make_needs(owner_id=owner, preemptible=soft, bid_micros=bid)
    return make_brief("job_1", needs, priority=priority)


def test_backfill_uses_a_reserved_node_for_what_is_surely_over_by_then():
    world = World([make_node("node_1", cores=8, gpus=2)])
    world.submit("job_1", small_needs("user_a", seconds=2 * HOUR, **ONE_GPU), seconds=2 * HOUR)
    world.submit("job_2", small_needs("user_b", **TWO_GPUS), at=10.0, seconds=HOUR)
    world.submit("job_3", small_needs("user_a", seconds=60.0), at=100.0, seconds=1.0)  # wakes the queue
    world.submit("job_4", small_needs("user_c", seconds=3 * HOUR, **ONE_GPU), at=200.0, seconds=HOUR)
    world.submit("job_5", small_needs("user_d", seconds=HOUR, **ONE_GPU), at=300.0, seconds=HOUR)
    world.run(DAY)
    assert begins(world, "job_5") == [300.0]
    assert begins(world, "job_2") == [2 * HOUR]
    assert begins(world, "job_4")[0] >= 3 * HOUR


def test_reservations_are_few_one_for_each_renter_and_each_on_its_own_node():
    world = World([make_node(f"node_{n:02}", cores=8, gpus=2) for n in range(20)])
    world.submit("job_0", small_needs("user_z", seconds=HOUR, **ONE_GPU), slices=40, seconds=HOUR)
    for number in range(15):
        for part in range(2):
            needs = small_needs(f"user_{number:02}", memory_bytes=1 + part, **TWO_GPUS)
            world.submit(f"job_{number:02}{part}", needs, at=1.0, seconds=60.0)
    for minute in range(2, 40):
        world.submit(f"job_x{minute}", small_needs("user_y"), at=minute * MINUTE, seconds=1.0)
    world.run(50 * MINUTE)
    kept = list(world.admission.reservations)
    assert len(kept) == reservations.MOST_RESERVATIONS
    assert len({one.node_id for one in kept}) == len({one.needs.owner_id for one in kept}) == len(kept)


def test_share_of_short_slices_that_try_nodes_without_a_record_is_small_and_stable():
    from support.fleets import make_needs, make_waiting

    rng = random.Random(5)
    names = [f"job_{rng.randrange(10**9)}" for _ in range(3_000)]
    short = [make_waiting(name, needs=make_needs(seconds=600.0)) for name in names]
    chosen = [admission.explores(one) for one in short]
    assert 0.05 < sum(chosen) / len(chosen) < 0.10
    assert chosen == [admission.explores(one) for one in short]
    for needs in (
        make_needs(seconds=7200.0), make_needs(internet=True), make_needs(verified_only=True),
        make_needs(min_reliability=0.5), make_needs(mine_only=True), make_needs(gpu=GpuRequest(count=2)),
    ):  # fmt: skip
        assert not any(admission.explores(make_waiting(name, needs=needs)) for name in names)


def test_jains_index():
    assert jain([1.0, 1.0]) == 1.0
    assert jain([1.0, 0.0]) == 0.5
