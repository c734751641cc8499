"""Whatever the fleet, a chosen node can run it; cores and memory are packed, GPUs are whole."""

from hypothesis import given, settings
from hypothesis import strategies as st
from support.fleets import GIB, ME, STRANGER, gpu, make_needs, make_node, many_needs, many_nodes, occupy
from support.proofs import figure

from computepool.hub.market.feasibility import Gate, closed_gate, fits
from computepool.hub.market.requirements import requirements_of
from computepool.hub.scheduling.fleet import ATTEMPTS_LIMIT, Fleet, free_of, give_room_back, grant_on, traits_of
from computepool.protocol.gpus import GpuRequest
from computepool.protocol.messages import HOLDING_LIMIT
from computepool.protocol.spec import parse_spec
from computepool.protocol.states import NodeState


def fleet_of(*nodes):
    fleet = Fleet()
    for node in nodes:
        fleet.put(node)
    return fleet


# ── choosing ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@settings(max_examples=figure(40, 2_000))
@given(many_nodes, st.lists(many_needs, min_size=1, max_size=8), st.data())
def test_chosen_node_satisfies_every_requirement_whatever_the_fleet(nodes, wishes, data):
    fleet = fleet_of(*nodes)
    for number, needs in enumerate(wishes):
        avoid = data.draw(st.lists(st.sampled_from(["node_0", "node_1", "node_2"]), max_size=2))
        chosen = fleet.choose(needs, avoid, avoided_too=data.draw(st.booleans()))
        if chosen is None:
            could = [n for n in nodes if fleet.gate(needs, n) is None and n.traits.node_id not in avoid]
            assert not could, "a node was free and was not chosen"
            continue
        assert chosen.state is NodeState.ONLINE
        assert chosen.line is not None
        assert closed_gate(needs, chosen.traits) is None
        assert fits(needs, chosen.free)
        occupy(chosen, f"attempt_{number}", needs)
        assert chosen.free == free_of(chosen.traits, chosen.attempts.values())
        assert min(chosen.free.cpu_millis, chosen.free.memory_bytes, chosen.free.disk_bytes) >= 0


def test_own_node_comes_first_and_the_fullest_among_equals():
    mine, theirs = make_node("node_1"), make_node("node_0", owner_id=STRANGER)
    fuller = make_node("node_2")
    occupy(fuller, "a", make_needs(cpu_millis=4000))
    assert fleet_of(theirs, mine).choose(make_needs()) is mine
    assert fleet_of(theirs, mine, fuller).choose(make_needs()) is fuller
    assert fleet_of(theirs, mine, fuller).choose(make_needs(cpu_millis=5000)) is mine


def test_node_that_takes_no_work_is_not_chosen():
    node = make_node()
    fleet = fleet_of(node)
    for state in NodeState:
        node.state = state
        assert (fleet.choose(make_needs()) is node) == (state is NodeState.ONLINE)
    node.state, node.line = NodeState.ONLINE, None
    assert fleet.choose(make_needs()) is None
    assert fleet.gate(make_needs(), node) is Gate.STATE


# ── avoiding ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_avoided_node_is_taken_only_when_it_is_time_and_there_is_no_other():
    bad, good = make_node("node_1"), make_node("node_2")
    fleet = fleet_of(bad, good)
    assert fleet.choose(make_needs(), ["node_1"]) is good
    assert fleet.choose(make_needs(), ["node_1"], avoided_too=True) is good
    occupy(good, "a", make_needs(cpu_millis=8000))
    assert fleet.choose(make_needs(), ["node_1"], avoided_too=True) is None  # the other is only busy
    good.state = NodeState.OFFLINE
    assert fleet.choose(make_needs(), ["node_1"]) is None
    assert fleet.choose(make_needs(), ["node_1"], avoided_too=True) is bad


def test_another_node_that_could_never_run_it_is_no_other():
    bad, small = make_node("node_1"), make_node("node_2", cpu_millis=500)
    assert fleet_of(bad, small).choose(make_needs(), ["node_1"], avoided_too=True) is bad


@settings(max_examples=figure(40, 2_000))
@given(many_nodes, many_needs)
def test_whoever_avoids_all_still_gets_one_in_time(nodes, needs):
    """A pool, however small, never deadlocks on what it avoids."""
    fleet = fleet_of(*nodes)
    all_of_them = [node.traits.node_id for node in nodes]
    could = [node for node in nodes if fleet.gate(needs, node) is None]
    assert (fleet.choose(needs, all_of_them, avoided_too=True) is None) == (not could)


# ── room ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_cores_and_memory_are_packed_until_nothing_is_left():
    node = make_node(cpu_millis=2000, memory_bytes=4 * GIB)
    needs = make_needs(cpu_millis=500, memory_bytes=GIB)
    for number in range(4):
        assert fits(needs, node.free)
        occupy(node, f"attempt_{number}", needs)
    assert not fits(needs, node.free)
    assert (node.free.cpu_millis, node.free.memory_bytes) == (0, 0)


def test_gpu_is_given_whole_and_never_twice():
    node = make_node(gpus=(gpu(0), gpu(1, "rtx-3060", 12), gpu(2, "rtx-3060", 12)))
    one, pair = make_needs(gpu=GpuRequest(name="rtx-4090")), make_needs(gpu=GpuRequest(count=2))
    occupy(node, "first", one)
    assert node.attempts["first"].grant.gpus == ("gpu-0",)
    occupy(node, "second", pair)
    assert node.attempts["second"].grant.gpus == ("gpu-1", "gpu-2")
    assert not fits(one, node.free)
    assert fits(make_needs(), node.free)  # its cores are not used up with them
    give_room_back(node, "first")
    assert grant_on(node, one).gpus == ("gpu-0",)


def test_node_gets_no_more_than_it_may_tell_of_however_small_they_are():
    tiny = make_needs(cpu_millis=1, memory_bytes=0, disk_bytes=0)
    node = make_node(cpu_millis=64_000)
    fleet = fleet_of(node)
    for number in range(ATTEMPTS_LIMIT):
        assert fleet.choose(tiny) is node
        occupy(node, f"attempt_{number}", tiny)
    assert fleet.choose(tiny) is None
    assert fleet.gate(tiny, node) is Gate.BUSY
    assert ATTEMPTS_LIMIT < HOLDING_LIMIT
    give_room_back(node, "attempt_7")
    assert fleet.choose(tiny) is node


def test_room_is_given_back_once():
    node = make_node()
    occupy(node, "attempt", make_needs(cpu_millis=1234, gpu=GpuRequest()))
    assert give_room_back(node, "attempt") is not None
    assert give_room_back(node, "attempt") is None
    assert node.free == free_of(node.traits)


@settings(max_examples=figure(40, 2_000))
@given(many_nodes, st.lists(st.tuples(st.integers(0, 5), many_needs, st.booleans()), max_size=25))
def test_what_is_taken_and_given_back_leaves_nothing_over(nodes, story):
    fleet = fleet_of(*nodes)
    for number, (which, needs, give) in enumerate(story):
        chosen = fleet.choose(needs)
        if chosen is not None:
            occupy(chosen, f"attempt_{number}", needs)
        if give and nodes:
            node = nodes[which % len(nodes)]
            for attempt_id in list(node.attempts)[:1]:
                give_room_back(node, attempt_id)
    for node in nodes:
        gpus = [each for held in node.attempts.values() for each in held.grant.gpus]
        assert len(set(gpus)) == len(gpus), "a GPU was given twice"
        assert {each.id for each in node.free.gpus} | set(gpus) == {each.id for each in node.traits.gpus}
        for attempt_id in list(node.attempts):
            give_room_back(node, attempt_id)
        whole = free_of(node.traits)
        node.free.gpus.sort(key=lambda each: each.id)
        assert node.free == whole


def test_traits_of_a_fraction_of_a_core_are_exact():
    node = make_node()
    traits = traits_of("node_1", ME, None, ["b", "a"], node.capacity.model_copy(update={"cpus": 0.1}))
    assert traits.cpu_millis == 100
    assert traits.tags == {"a", "b"}


# ── what the spec leaves open ────────────────────────────────────────────────────────────────────────────────────────


def asked(resources, **more):
    return requirements_of(parse_spec({"run": "true", "resources": resources, **more}), ME)


def given_to(node, *wishes):
    """What each of them is given there, one after the other: cores, GB of memory, GB of disk."""
    found = []
    for number, needs in enumerate(wishes):
        assert fleet_of(node).gate(needs, node) is None
        grant = occupy(node, f"attempt_{number}", needs)
        found.append((grant.cpus, grant.memory_bytes / GIB, grant.disk_bytes / GIB))
    return found


def large_node(**changes):
    cards = tuple(gpu(number, "a100-sxm4-80gb", 80) for number in range(8))
    return make_node(
        **{"cpu_millis": 128_000, "memory_bytes": 1024 * GIB, "disk_bytes": 2048 * GIB, "gpus": cards, **changes}
    )


def test_slice_gets_the_share_that_it_has_of_the_nodes_gpus():
    all_of_it, half = asked({"gpu": "A100:8"}), asked({"gpu": "A100:4"})
    assert given_to(large_node(), all_of_it) == [(115.0, 921.5625, 1843.1875)]
    assert given_to(large_node(), half, half) == [(57.0, 460.75, 921.5625)] * 2
    # A tenth is left for small slices, of which none pays for a GPU.
    assert given_to(large_node(), all_of_it, asked({"cpus": 8, "memory": "64GB", "disk": "100GB"}))[1] == (8, 64, 100)


def test_what_the_spec_says_is_given_as_it_says_and_the_rest_by_share():
    said = asked({"gpu": "A100:4", "cpus": 6, "memory": "600GB..", "disk": "10GB..20GB"})
    assert given_to(large_node(), said) == [(6.0, 600.0, 10.0)]


def test_slice_without_a_gpu_gets_the_share_that_it_has_of_the_cores_and_pays_for_one():
    laptop = make_node(cpu_millis=2000, memory_bytes=5 * GIB, disk_bytes=40 * GIB)
    plain = asked({})
    assert given_to(laptop, plain, plain) == [(1.0, 2.5, 20.0)] * 2
    assert given_to(make_node(cpu_millis=2000, memory_bytes=GIB, disk_bytes=GIB), plain) == [(1.0, 1.0, 1.0)]


def test_share_is_no_more_than_what_is_free_and_no_less_than_the_least():
    node = large_node()
    occupy(node, "other", asked({"cpus": 120, "memory": "1008GB", "disk": "2000GB"}))
    assert given_to(node, asked({"gpu": "A100:8"})) == [(8.0, 16.0, 48.0)]
    assert fleet_of(node).gate(asked({"gpu": "A100:8"}), node) is Gate.BUSY


def test_deterministic_slice_is_given_the_same_on_every_node():
    needs = asked({"gpu": "A100:2"}, deterministic=True)
    assert given_to(large_node(), needs) == given_to(large_node(cpu_millis=64_000), needs) == [(1.0, 1.0, 1.0)]
