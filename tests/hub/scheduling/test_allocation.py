"""The shelves find the node that a look at every node would find, whatever happened before."""

import asyncio
import math
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from support.allocation import Story, choose_plainly, random_needs, random_node
from support.fleets import GIB, ME, STRANGER, TAGS, gpu, make_needs, make_node, occupy
from support.proofs import figure

from computepool.hub.market.pricing import Ask
from computepool.hub.market.standing import Standing
from computepool.hub.scheduling import blocks, facets, scoring, shelves
from computepool.hub.scheduling.fleet import FEW_OWN, SHELVED_AT_ONCE, Fleet, FleetNode, give_room_back
from computepool.hub.scheduling.scoring import WARM_DISCOUNT, rank_of
from computepool.hub.scheduling.search import FEW_HOLDERS, WALK_MOST
from computepool.protocol.gpus import GpuRequest
from computepool.protocol.spec import Optimize
from computepool.protocol.states import NodeState

TRUSTED = Standing(mean=0.96, lower=0.92, has_record=True)


def fleet_of(*nodes):
    fleet = Fleet()
    for node in nodes:
        fleet.put(node)
    return fleet


def theirs(node_id, **changes):
    facts: dict[str, Any] = {"owner_id": STRANGER, "standing": TRUSTED}
    return make_node(node_id, **facts | changes)


# ── the same as a look at everybody ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.proof
@pytest.mark.parametrize("block", range(10))
def test_choice_is_that_of_a_plain_look_at_every_node(block):
    size = figure(6, 300)
    chosen = 0
    for seed in range(block * size, (block + 1) * size):
        story = Story(seed)
        story.run(40)
        chosen += story.chosen
    assert chosen > size * 5, "stories in which nobody finds a node prove nothing"


def test_choice_is_the_same_where_all_is_kept_as_in_a_large_fleet(monkeypatch):
    monkeypatch.setattr(shelves, "SORT_ALL_FROM", 3)
    monkeypatch.setattr(shelves, "EMPTY_KEPT", 2)
    monkeypatch.setattr(blocks, "BLOCK", 4)
    monkeypatch.setattr(facets, "NEWS_KEPT", 3)
    for seed in range(2000, 2010):
        Story(seed).run(40)


def test_no_weights_make_an_infeasible_node_win(monkeypatch):
    rng = Random(1)
    for seed in range(20):
        for optimize in Optimize:
            weights = rng.choice([-3.0, 0.0, 1.0, 9.0]), rng.choice([-3.0, 0.0, 1.0, 9.0])
            monkeypatch.setitem(scoring.EXPONENTS, optimize, weights)
        story = Story(1000 + seed)
        story.run(15)  # asserts that every gate of every chosen node is open


def test_owner_of_many_nodes_is_served_as_exactly():
    rng = Random(5)
    fleet = fleet_of(*(random_node(rng, f"node_{index}") for index in range(4 * FEW_OWN)))
    for node in list(fleet):
        node.traits = replace(node.traits, owner_id=ME)
    for number in range(100):
        needs = replace(random_needs(rng), owner_id=ME)
        found = fleet.choose(needs, wanted=("sha256:model",))
        assert found is choose_plainly(fleet, needs, wanted=("sha256:model",))
        if found is not None:
            occupy(found, f"attempt_{number}", needs)


# ── the order ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_cheaper_faster_and_more_reliable_node_is_better():
    plain = theirs("node_0", ask=Ask(20, 20), gpu_gflops=10_000.0)
    for better in (
        {"ask": Ask(19, 19), "gpu_gflops": 10_000.0},
        {"ask": Ask(20, 20), "gpu_gflops": 11_000.0},
        {"ask": Ask(20, 20), "gpu_gflops": 10_000.0, "standing": Standing(0.99, 0.97, True)},
    ):
        other = theirs("node_1", **better)
        for optimize in Optimize:
            needs = make_needs(gpu=GpuRequest(), optimize=optimize)
            assert fleet_of(plain, other).choose(needs) is other


def test_optimize_says_what_speed_may_cost():
    slow = theirs("slow", ask=Ask(10_000_000, 0), gpu_gflops=10_000.0)
    fast = theirs("fast", ask=Ask(30_000_000, 0), gpu_gflops=20_000.0)

    def chosen(optimize, price):
        fast.traits = replace(fast.traits, ask=Ask(price, 0))
        return fleet_of(slow, fast).choose(make_needs(gpu=GpuRequest(), optimize=optimize)).name

    assert [chosen(Optimize.COST, price) for price in (19_000_000, 21_000_000)] == ["fast", "slow"]
    assert [chosen(Optimize.BALANCED, price) for price in (39_000_000, 41_000_000)] == ["fast", "slow"]
    assert [chosen(Optimize.SPEED, price) for price in (159_000_000, 161_000_000)] == ["fast", "slow"]


def test_measured_speed_counts_more_than_a_promise():
    claimed = theirs("claims", gpus=(gpu(0, "rtx-4090"),))
    measured = theirs("measured", gpus=(gpu(0, "rtx-4090"),), gpu_gflops=50_000.0)
    assert fleet_of(claimed, measured).choose(make_needs(gpu=GpuRequest())) is measured


def test_tie_goes_to_the_faster_then_to_the_fuller_then_by_name():
    needs = make_needs(optimize=Optimize.COST)
    faster = theirs("node_9", ask=Ask(0, 200), core_gflops=20.0)
    slower = theirs("node_0", ask=Ask(0, 100), core_gflops=10.0)
    assert fleet_of(faster, slower).choose(needs) is faster
    one, other = theirs("node_1"), theirs("node_2")
    assert fleet_of(one, other).choose(needs) is one
    occupy(other, "a", needs)
    assert fleet_of(one, other).choose(needs) is other


def test_prices_of_zero_leave_the_choice_to_speed_and_reliability():
    nodes = [theirs("a", core_gflops=5.0), theirs("b", core_gflops=6.0), theirs("c", standing=Standing(0.5, 0.1, True))]
    for optimize in Optimize:
        assert fleet_of(*nodes).choose(make_needs(optimize=optimize)).name == "b"


def test_absurd_figures_of_a_node_are_ordered_all_the_same():
    nothing = theirs("a", gpu_gflops=0.0, core_gflops=0.0, standing=Standing(0.0, 0.0, True))
    huge = theirs("b", ask=Ask(10**400, 10**400), gpu_gflops=1e300)
    no_number = theirs("c", gpu_gflops=math.nan, core_gflops=math.inf, standing=Standing(math.nan, math.nan, True))
    negative = theirs("d", ask=Ask(-5, -5), gpu_gflops=-1.0, standing=Standing(-1.0, -1.0, True))
    for optimize in Optimize:
        for wish in (None, GpuRequest()):
            needs = make_needs(gpu=wish, optimize=optimize)
            fleet = fleet_of(nothing, huge, no_number, negative)
            order: list[FleetNode] = []
            for node in fleet:
                node.state = NodeState.ONLINE
            while (best := fleet.choose(needs)) is not None:
                order.append(best)
                best.state = NodeState.PAUSED
            assert len(order) == 4
            ranks = [rank_of(node.traits, 8000, (), needs, ()) for node in order]
            assert ranks == sorted(ranks)
            assert all(0 < rank[0] < math.inf for rank in ranks)


def test_newcomers_come_first_when_exploring_and_somebody_else_when_none_fits():
    known, new = theirs("known", ask=Ask(0, 1)), theirs("new", ask=Ask(0, 900), standing=Standing(0.6, 0.249))
    fleet = fleet_of(known, new)
    assert fleet.choose(make_needs()) is known
    assert fleet.choose(make_needs(), explore=True) is new
    assert fleet.choose(make_needs(max_price_micros=100), explore=True) is known
    mine = make_node("mine", standing=TRUSTED)
    fleet.put(mine)
    assert fleet.choose(make_needs(), explore=True) is mine


def test_nodes_of_certain_owners_can_be_left_out():
    fleet = fleet_of(theirs("a", owner_id="x"), theirs("b", owner_id="y"), make_node("mine"))
    assert fleet.choose(make_needs(), not_owners={ME}).name == "a"
    assert fleet.choose(make_needs(), not_owners={ME, "x"}).name == "b"
    assert fleet.choose(make_needs(), not_owners={ME, "x", "y"}) is None


# ── what is at hand ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_warm_cache_wins_up_to_its_discount():
    cold, warm = theirs("cold", ask=Ask(0, 1000)), theirs("warm", ask=Ask(0, 1000))
    warm.cached = frozenset({"image:x"})
    fleet = fleet_of(cold, warm)
    for price, winner in ((1000, "warm"), (1240, "warm"), (1260, "cold")):
        warm.traits = replace(warm.traits, ask=Ask(0, price))
        assert fleet.choose(make_needs(), wanted=("image:x",)).name == winner


def test_what_many_have_at_hand_is_found_too_and_an_early_end_costs_little():
    """More holders than are looked at one by one, and so many cheap nodes without it that the walk ends early."""
    rng = Random(3)
    worst, exact = 1.0, 0
    for _ in range(figure(5, 50)):
        fleet = Fleet()
        share = rng.choice([0.3, 0.6, 0.95])
        for index in range(FEW_HOLDERS * 4 + WALK_MOST):
            node = theirs(f"node_{index}", ask=Ask(0, rng.randint(1000, 1400)))
            node.cached = frozenset({"image:x"} if rng.random() < share else ()) | frozenset({"y"} if index < 3 else ())
            fleet.put(node)
        needs, wanted = make_needs(), ("image:x", "y")
        found, best = fleet.choose(needs, wanted=wanted), choose_plainly(fleet, needs, wanted=wanted)
        assert found is not None
        assert best is not None
        scores = [rank_of(one.traits, one.free.cpu_millis, one.cached, needs, wanted)[0] for one in (found, best)]
        worst = max(worst, scores[0] / scores[1])
        exact += found is best
    assert worst <= 1 / (1 - WARM_DISCOUNT)
    assert exact >= 3


# ── room ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_several_gpus_are_of_one_node_and_alike():
    mixed = theirs("mixed", gpus=(gpu(0, "rtx-4090"), gpu(1, "rtx-3060", 12)))
    single = [theirs(f"single_{index}", gpus=(gpu(0),)) for index in range(4)]
    fleet = fleet_of(mixed, *single)
    pair = make_needs(gpu=GpuRequest(count=2))
    assert fleet.choose(pair) is None
    four = theirs("four", gpus=(gpu(0, "rtx-3060", 12), gpu(1), gpu(2, "rtx-3060", 12), gpu(3)))
    fleet.put(four)
    assert fleet.choose(pair) is four
    occupy(four, "a", pair)
    assert four.attempts["a"].grant.gpus == ("gpu-0", "gpu-2")
    assert fleet.choose(make_needs(gpu=GpuRequest(name="rtx-3060", count=2))) is None
    occupy(four, "b", pair)
    assert fleet.choose(pair) is None
    give_room_back(four, "a")
    assert fleet.choose(pair) is four


def test_small_slices_fill_a_node_to_the_last_core_before_the_next():
    nodes = [theirs(f"node_{index}", cpu_millis=4000, memory_bytes=64 * GIB) for index in range(3)]
    fleet = fleet_of(*nodes)
    needs = make_needs(cpu_millis=500)
    order = []
    for number in range(24):
        node = fleet.choose(needs)
        order.append(node.name)
        occupy(node, f"attempt_{number}", needs)
    assert order == ["node_0"] * 8 + ["node_1"] * 8 + ["node_2"] * 8
    assert fleet.choose(needs) is None


# ── telling the fleet ────────────────────────────────────────────────────────────────────────────────────────────────


def test_heartbeat_that_changes_nothing_marks_nobody():
    node = theirs("node_0")
    fleet = fleet_of(node)
    fleet.choose(make_needs())
    node.seen_at, node.reported, node.availability, node.loads = 5.0, NodeState.ONLINE, node.availability, ()
    assert not fleet._changed
    node.reported = NodeState.PAUSED
    assert list(fleet._changed) == ["node_0"]


def test_many_changes_are_looked_at_in_pieces_while_others_have_the_loop():
    async def story():
        fleet = fleet_of(*(theirs(f"node_{index}") for index in range(3 * SHELVED_AT_ONCE)))
        breaths = 0

        async def breathe():
            nonlocal breaths
            while True:
                breaths += 1
                await asyncio.sleep(0)

        other = asyncio.create_task(breathe())
        await fleet.settle()
        other.cancel()
        assert breaths >= 2
        assert fleet.standing == 3 * SHELVED_AT_ONCE
        assert not fleet._changed

    asyncio.run(story())


def test_tag_that_many_have_is_told_apart_bit_by_bit_and_asked_for_at_once():
    rng = Random(3)
    fleet = fleet_of(*(random_node(rng, f"node_{index}") for index in range(6 * SHELVED_AT_ONCE)))
    wishes = [replace(random_needs(rng), tags=frozenset({rng.choice(TAGS)})) for _ in range(30)]
    fleet.choose(make_needs())
    for needs in wishes:
        assert fleet.choose(needs) is choose_plainly(fleet, needs)
    assert fleet._asked_tags.pending
    asyncio.run(fleet.settle())
    assert not fleet._asked_tags.pending
    for needs in wishes:
        assert fleet.choose(needs) is choose_plainly(fleet, needs)


def test_node_that_left_the_fleet_tells_nobody_and_another_takes_its_place():
    old, new = theirs("node_0"), theirs("node_0")
    fleet = fleet_of(old)
    assert fleet.choose(make_needs()) is old
    fleet.put(new)
    old.state = NodeState.BANNED
    assert fleet.choose(make_needs()) is new
    assert fleet.remove("node_0") is new
    assert fleet.remove("node_0") is None
    assert fleet.choose(make_needs()) is None
    assert len(fleet) == 0


# ── looking at everybody ─────────────────────────────────────────────────────────────────────────────────────────────


def test_survey_counts_every_node_once_and_names_the_best_first():
    rng = Random(9)
    fleet = fleet_of(*(random_node(rng, f"node_{index}") for index in range(60)))
    for _ in range(20):
        needs = random_needs(rng)
        survey = asyncio.run(fleet.survey(needs))
        assert survey.total == 60
        assert survey.free == sum(fleet.gate(needs, node) is None for node in fleet)
        best = choose_plainly(fleet, needs)
        assert (survey.candidates[0].node if survey.candidates else None) is best
        if best is not None and best.traits.owner_id == needs.owner_id:
            assert survey.candidates[0].hourly_micros == 0
