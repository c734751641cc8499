"""Why a job still waits, for each gate; and what is suggested really helps."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.fleets import (
    GIB,
    ME,
    STRANGER,
    gpu,
    make_needs,
    make_node,
    make_waiting,
    many_needs,
    many_nodes,
    occupy,
)
from support.proofs import figure

from computepool.hub.market.feasibility import Gate, closed_gate
from computepool.hub.market.pricing import Ask, hourly_price
from computepool.hub.market.standing import Standing
from computepool.hub.scheduling.fleet import Fleet
from computepool.hub.scheduling.queue import Queue
from computepool.hub.scheduling.relaxations import smallest_change
from computepool.hub.scheduling.why import GROUPS_SHOWN, explain_all
from computepool.protocol.capacity import HouseRules
from computepool.protocol.gpus import GpuRequest
from computepool.protocol.states import IsolationLevel, NodeState
from computepool.protocol.units import Range
from computepool.protocol.written_spec import WireGpu

NOW = datetime(2026, 1, 2, 3, 4, 0, tzinfo=UTC)


def explained(fleet, queue, waiting):
    return asyncio.run(explain_all(fleet, queue, waiting, NOW))


def why(needs, *nodes, **waiting):
    fleet, queue = Fleet(), Queue()
    for node in nodes:
        fleet.put(node)
    one = make_waiting("job_5", needs=needs, **waiting)
    queue.add(make_waiting("job_1"))
    queue.add(one)
    return explained(fleet, queue, [one])[0]


@pytest.mark.parametrize(
    ("gate", "needs", "node", "detail", "suggestion"),
    [
        (Gate.NODE, {"node_id": "node_9"}, {}, "not node_9", "leave out where.node: node_1 would do"),
        (
            Gate.TRUST, {"mine_only": True}, {"owner_id": STRANGER},
            "not yours (where.trust: mine)", "where.trust: any would find a stranger's node",
        ),
        (Gate.COUNTRY, {"countries": frozenset({"US"})}, {}, "not in US", "where.country: [DE, US] would find a node"),
        (
            Gate.TAGS, {"tags": frozenset({"quiet"})}, {},
            "without quiet", "leave out where.tags: a node without them would do",
        ),
        (
            Gate.ISOLATION, {"isolation": IsolationLevel.GVISOR}, {},
            "below gvisor", "isolation: bubblewrap would find a node",
        ),
        (
            Gate.GPU, {"gpu": GpuRequest(name="h100", count=2)}, {"gpus": (gpu(),)},
            "without 2 such GPUs", "leave out gpu: a node without such a GPU would do",
        ),
        (
            Gate.GPU, {"gpu": GpuRequest(name="h100", count=1)}, {"gpus": ()},
            "without such a GPU", "leave out gpu: a node without such a GPU would do",
        ),
        (Gate.CPUS, {"cpu_millis": 9500}, {}, "fewer than 9.5 cores", "cpus: 9.5 → 8 would find a node"),
        (
            Gate.MEMORY, {"memory_bytes": 64 * GIB}, {},
            "less than 64GB of memory", "memory: 64GB → 32GB would find a node",
        ),
        (Gate.DISK, {"disk_bytes": 200 * GIB}, {}, "less than 200GB of disk", "disk: 200GB → 100GB would find a node"),
    ],
)  # fmt: skip
def test_each_gate_is_named_with_what_would_help(gate, needs, node, detail, suggestion):
    answer = why(make_needs(**needs), make_node(**node))
    assert [(one.gate, one.removed, one.detail) for one in answer.gates] == [(gate, 1, detail)]
    assert answer.suggestions == [suggestion]
    assert (answer.feasible, answer.free, answer.nodes_total) == (0, 0, 1)
    assert answer.summary == "The only node can never run it as it is specified."


def test_busy_node_is_waited_for():
    node = make_node()
    occupy(node, "attempt_1", make_needs(cpu_millis=8000))
    answer = why(make_needs(), node, make_node("node_2", cpu_millis=10))
    assert [(one.gate, one.removed) for one in answer.gates] == [(Gate.CPUS, 1), (Gate.BUSY, 1)]
    assert answer.summary == "1 node could run it and is busy: it runs when one is free."
    assert (answer.feasible, answer.suggestions, answer.position) == (1, [], 1)


@pytest.mark.parametrize("state", [NodeState.OFFLINE, NodeState.PAUSED, NodeState.DRAINING])
def test_node_that_takes_no_work_is_named(state):
    node = make_node()
    node.state = state
    answer = why(make_needs(), node)
    assert [one.gate for one in answer.gates] == [Gate.STATE]
    assert answer.summary == "1 node could run it, but is offline, paused or draining."


def test_empty_pool_says_how_to_join():
    answer = why(make_needs())
    assert answer.summary.startswith("There is no node in the pool. Join one")


def test_waiting_after_a_failure_says_until_when():
    answer = why(make_needs(), make_node(), retry_at=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
    assert answer.summary == "It failed before, and is tried again at 03:04:05 UTC."


@pytest.mark.parametrize(
    ("verdict", "reason", "words"),
    [
        ("renter", "exited", "It failed before, and is tried again"),
        ("host", "lease_expired", "It failed before, and is tried again"),
        ("host", "not_begun", "Its node did not begin it: it is tried again"),
        ("host", "stalled", "Its node got no further with it: it is tried again"),
        ("owner", "agent_paused", "The owner of its node took the machine back: it is tried again"),
        ("owner", "declined", "A node did not want it now: it is tried again"),
        ("preempted", "preempted", "It made room for others: it is tried again"),
        ("hub", "unreachable", "Its image or an input could not be fetched: it is tried again"),
        ("hub", "lease_expired", "The hub lost sight of it: it is tried again"),
    ],
)
def test_nobody_is_said_to_have_failed_who_did_not(verdict, reason, words):
    later = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    answer = why(make_needs(), make_node(), retry_at=later, verdict=verdict, reason=reason)
    assert answer.summary == f"{words} at 03:04:05 UTC."


def test_replica_that_waits_for_another_owner_is_not_said_to_be_impossible():
    needs = make_needs(not_owners=frozenset({STRANGER}))
    answer = why(needs, make_node(owner_id=STRANGER), make_node("node_2", owner_id=STRANGER, cpu_millis=10))
    assert (
        answer.summary
        == "1 node could run it, but its owner runs the same already: it waits for a node of somebody else."
    )
    answer = why(needs, make_node("node_2", owner_id=STRANGER, cpu_millis=10))
    assert answer.summary == "The only node can never run it as it is specified."


def test_only_what_is_missing_of_isolation_is_named():
    levels = (IsolationLevel.PROCESS, IsolationLevel.BUBBLEWRAP)
    wanted = {"image": "python:3.12", "isolation": IsolationLevel.BUBBLEWRAP}
    (gate,) = why(make_needs(**wanted), make_node(isolation=levels)).gates
    assert gate.detail == "without containers for the image"
    weak = make_node("node_2", owner_id=STRANGER, isolation=levels[:1])
    (gate,) = why(make_needs(**wanted), make_node(isolation=levels), weak).gates
    assert gate.detail == "without containers for the image, or below bubblewrap"
    (gate,) = why(make_needs(internet=True), make_node(isolation=levels, networked=())).gates
    assert gate.detail == "without a network for jobs"


def test_ones_own_machines_are_called_by_their_names():
    mine, other = make_node("node_1"), make_node("node_2", cpu_millis=10)
    mine.name, other.name = "alpha", "beta"
    answer = why(make_needs(node_id="node_2", cpu_millis=20), mine, other)
    assert {one.gate: one.detail for one in answer.gates}[Gate.NODE] == "not beta"
    assert "leave out where.node: alpha would do" in answer.suggestions


def test_slice_that_asked_to_be_continued_is_not_said_to_have_failed():
    later = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    answer = why(make_needs(), make_node(), retry_at=later, held_back=True, continues=True)
    assert answer.summary == "It asked to be continued, and goes on at 03:04:05 UTC."


def test_slices_that_go_on_and_those_that_failed_are_told_apart():
    fleet, queue = Fleet(), Queue()
    fleet.put(make_node())
    later = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    waiting = [make_waiting("job_1", index, retry_at=later, continues=index == 1) for index in range(3)]
    for one in waiting:
        queue.add(one)
    told = {tuple(one.slices): one.summary.split(",")[0] for one in explained(fleet, queue, waiting)}
    assert told == {(0, 2): "It failed before", (1,): "It asked to be continued"}


def test_wait_that_is_over_is_no_reason_any_more():
    node = make_node()
    node.state = NodeState.OFFLINE
    answer = why(make_needs(), node, retry_at=NOW)
    assert answer.summary == "1 node could run it, but is offline, paused or draining."


def test_other_gpus_are_named_before_none_at_all():
    nodes = [make_node("node_1", gpus=()), make_node("node_2", gpus=(gpu(0), gpu(1)))]
    answer = why(make_needs(gpu=GpuRequest(name="h100", count=1)), *nodes)
    assert answer.suggestions == ["gpu: rtx-4090 instead of h100 would find a node"]
    assert answer.summary == "None of the 2 nodes can ever run it as it is specified."


def test_sizes_that_would_fit_are_round_and_fit():
    node = make_node(memory_bytes=20_197_621_760, disk_bytes=900_000_000)
    assert why(make_needs(memory_bytes=64 * GIB, disk_bytes=1), node).suggestions == [
        "memory: 64GB → 18GB would find a node"
    ]
    assert why(make_needs(memory_bytes=1, disk_bytes=GIB), node).suggestions == ["disk: 1GB → 858MB would find a node"]


def test_free_node_means_any_moment():
    assert why(make_needs(), make_node()).summary == "A node is free: it starts at any moment."


def test_strangers_node_is_not_offered_for_less_isolation_than_strangers_need():
    """Asking for `process` would not find it: strangers' work never runs so."""
    node = make_node(owner_id=STRANGER, isolation=(IsolationLevel.PROCESS,))
    assert why(make_needs(isolation=IsolationLevel.CONTAINER), node).suggestions == []
    assert why(make_needs(), node).suggestions == []


def test_strongest_level_of_a_node_is_suggested_in_whatever_order_it_lists_them():
    node = make_node(isolation=(IsolationLevel.BUBBLEWRAP, IsolationLevel.PROCESS))
    answer = why(make_needs(isolation=IsolationLevel.GVISOR), node)
    assert answer.suggestions == ["isolation: bubblewrap would find a node"]


@settings(max_examples=figure(40, 2_000))
@given(many_needs, many_nodes)
def test_every_node_is_counted_once(needs, nodes):
    answer = why(needs, *nodes)
    assert answer.nodes_total == len(nodes) == sum(one.removed for one in answer.gates) + answer.free
    assert answer.feasible == sum(closed_gate(needs, node.traits) is None for node in nodes)


# ── what would help, against every change that there is ──────────────────────────────────────────────────────────────


def every_amount(needs, nodes):
    """Each change of a single amount that could matter: to exactly what some node has."""
    for node in nodes:
        facts = node.traits
        yield "resources.cpus", replace(needs, cpu_millis=max(1, facts.cpu_millis))
        yield "resources.memory", replace(needs, memory_bytes=facts.memory_bytes)
        yield "resources.disk", replace(needs, disk_bytes=facts.disk_bytes)
        yield "max_price", replace(needs, max_price_micros=hourly_price(needs, facts.ask, own=False))
        yield "where.min_reliability", replace(needs, min_reliability=facts.standing.lower)
        yield "where.country", replace(needs, countries=needs.countries | {facts.country})
        yield "where.tags", replace(needs, tags=needs.tags & facts.tags)
        yield "where.node", replace(needs, node_id=None)
        yield "where.trust", replace(needs, mine_only=False, verified_only=False)


priced_needs = st.builds(
    replace,
    many_needs,
    max_price_micros=st.none() | st.integers(0, 40_000_000),
    min_reliability=st.none() | st.floats(0.1, 0.99),
    verified_only=st.booleans(),
)


@st.composite
def priced_nodes(draw):
    nodes = draw(many_nodes)
    for node in nodes:
        lower = draw(st.floats(0.05, 0.99))
        node.traits = replace(
            node.traits,
            ask=Ask(draw(st.integers(0, 60_000_000)), draw(st.integers(0, 4_000_000))),
            standing=Standing(mean=lower, lower=lower, verified=draw(st.booleans())),
        )
    return nodes


@settings(max_examples=figure(60, 3_000))
@given(priced_needs, priced_nodes())
def test_whatever_is_suggested_finds_a_node_and_nothing_that_would_is_left_out(needs, nodes):
    answer = why(needs, *nodes)
    if answer.feasible:
        return
    changes = {node.traits.node_id: smallest_change(needs, node.traits) for node in nodes}
    for node in nodes:
        change = changes[node.traits.node_id]
        assert change is None or closed_gate(change.needs, node.traits) is None
    suggested = {one.field for one in answer.relaxations}
    assert suggested == {change.field for change in changes.values() if change is not None}
    for field, changed in every_amount(needs, nodes):
        if any(closed_gate(changed, node.traits) is None for node in nodes):
            assert field in suggested, (field, changed)


def test_smallest_change_comes_first_and_says_what_it_costs():
    nodes = [
        make_node("node_1", owner_id=STRANGER, ask=Ask(30_300_000, 0), gpus=(gpu(0, gib=16),)),
        make_node("node_2", owner_id=STRANGER, ask=Ask(20_000_000, 0), gpus=(gpu(0, gib=12),)),
    ]
    needs = make_needs(gpu=GpuRequest(memory=Range[int](minimum=16 * GIB)), max_price_micros=30_000_000, isolation=None)
    answer = why(needs, *nodes)
    assert answer.suggestions == [
        "max_price: 30.3 (+0.3 credits an hour) would find a node",
        "gpu memory: 16GB → 12GB would find a node",
    ]
    assert [one.value for one in answer.relaxations] == ["30.3", WireGpu(count=1, memory="12GB..")]
    assert all(one.free_now for one in answer.relaxations)
    assert [(one.node_id, one.gates) for one in answer.misses] == [("node_1", [Gate.PRICE]), ("node_2", [Gate.GPU])]


def test_change_that_finds_a_free_node_comes_before_a_smaller_one_that_finds_a_busy_one():
    busy = make_node("node_1", memory_bytes=60 * GIB)
    occupy(busy, "attempt_1", make_needs(cpu_millis=8000))
    answer = why(make_needs(memory_bytes=64 * GIB), busy, make_node("node_2", memory_bytes=40 * GIB))
    assert answer.suggestions == ["memory: 64GB → 40GB would find a node"]


def test_while_able_nodes_are_busy_a_change_that_finds_a_free_one_is_told():
    busy = make_node("node_1")
    occupy(busy, "attempt_1", make_needs(cpu_millis=8000))
    answer = why(make_needs(memory_bytes=8 * GIB), busy, make_node("node_2", memory_bytes=4 * GIB))
    assert (answer.feasible, answer.free) == (1, 0)
    assert answer.suggestions == ["memory: 8GB → 4GB would find a node"]


# ── many slices ──────────────────────────────────────────────────────────────────────────────────────────────────────


class CountedFleet(Fleet):
    """Counts how often somebody walks through all of it."""

    walks = 0

    def __iter__(self):
        self.walks += 1
        return super().__iter__()


class CountedQueue(Queue):
    walks = 0

    def __iter__(self):
        self.walks += 1
        return super().__iter__()


def test_thousand_slices_that_are_tried_again_at_different_times_are_one_group():
    """Each failed at another moment: for everybody who asks, they wait for the same."""
    fleet, queue = CountedFleet(), CountedQueue()
    fleet.put(make_node())
    times = [NOW + timedelta(seconds=60 - index % 60, microseconds=index) for index in range(1000)]
    waiting = [make_waiting("job_1", index, retry_at=at) for index, at in enumerate(times)]
    waiting += [make_waiting("job_1", 1000 + index, retry_at=NOW - timedelta(seconds=index)) for index in range(5)]
    for one in waiting:
        queue.add(one)
    first, second = explained(fleet, queue, waiting)
    assert (first.slices, second.slices) == (list(range(1000)), list(range(1000, 1005)))
    assert "tried again at 03:04:01" in first.summary  # the first of them
    assert second.free == 1
    assert fleet.walks <= 4
    assert queue.walks <= 2


def test_slices_that_avoid_many_different_nodes_cost_no_more_than_a_few_walks():
    fleet, queue = CountedFleet(), CountedQueue()
    for index in range(20):
        fleet.put(make_node(f"node_{index}"))
    waiting = [make_waiting("job_1", index, avoid=(f"node_{index}",)) for index in range(2000)]
    for one in waiting:
        queue.add(one)
    answers = explained(fleet, queue, waiting)
    assert len(answers) == GROUPS_SHOWN + 1
    assert sorted(index for one in answers for index in one.slices) == list(range(2000))
    assert answers[-1].summary.startswith(f"{2000 - GROUPS_SHOWN} more groups of slices")
    assert [one.position for one in answers] == list(range(GROUPS_SHOWN + 1))
    assert fleet.walks <= 2 * len(answers)
    assert queue.walks <= 2


def test_job_of_which_nothing_waits_has_nothing_to_explain():
    assert explained(Fleet(), Queue(), []) == []


def test_nobody_is_advised_to_let_a_node_pretend():
    node = make_node(simulated=True, tags=frozenset({"simulated"}))
    real = why(make_needs(), node)
    assert (real.feasible, real.suggestions) == (0, [])
    assert [(one.gate, one.removed) for one in real.gates] == [(Gate.SIMULATED, 1)]
    assert real.gates[0].detail == "simulated nodes: only for jobs with where.tags: [simulated]"
    pretended = why(make_needs(tags=frozenset({"simulated"})), node, make_node("node_2"))
    assert (pretended.free, pretended.gates[0].removed) == (1, 1)
    assert pretended.gates[0].detail == "real machines, and where.tags asks for simulated ones"


def test_nearest_misses_do_not_tell_of_nodes_that_are_closed_to_the_renter():
    """Their ids, and what they have, are nobody's business but their owners'."""
    kinds = [
        HouseRules(strangers=False),
        HouseRules(renters=("user_friend",)),
        HouseRules(turned_away=(ME,)),
        HouseRules(longest_seconds=1.0),
    ]
    nodes = [make_node(f"node_{n}", owner_id=STRANGER, rules=rules) for n, rules in enumerate(kinds)]
    nodes.append(make_node("node_mine", owner_id=ME, cpu_millis=10, rules=HouseRules(strangers=False)))
    answer = why(make_needs(seconds=60.0), *nodes)
    assert {one.node_id for one in answer.misses} == {"node_3", "node_mine"}
    assert answer.nodes_total == 5  # they are counted


def test_card_that_is_larger_than_asked_for_is_a_wider_range_away():
    needs = make_needs(gpu=GpuRequest(memory=Range[int](minimum=8 * GIB, maximum=12 * GIB)))
    answer = why(needs, make_node(gpus=(gpu(0, gib=24),)))
    assert answer.suggestions == ["gpu memory: up to 12GB → 24GB would find a node"]
