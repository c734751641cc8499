"""Why a job still waits, for each gate; and what is suggested really helps."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from support.fleets import (
    GIB,
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
from computepool.hub.scheduling.fleet import Fleet
from computepool.hub.scheduling.queue import Queue
from computepool.hub.scheduling.why import GROUPS_SHOWN, explain, explain_all
from computepool.protocol.gpus import GpuRequest
from computepool.protocol.states import IsolationLevel, NodeState

NOW = datetime(2026, 1, 2, 3, 4, 0, tzinfo=UTC)


def why(needs, *nodes, **waiting):
    fleet, queue = Fleet(), Queue()
    for node in nodes:
        fleet.put(node)
    one = make_waiting("job_5", needs=needs, **waiting)
    queue.add(make_waiting("job_1"))
    queue.add(one)
    return explain(fleet, one, [0], queue.ahead_of([one])[0], NOW)


@pytest.mark.parametrize(
    ("gate", "needs", "node", "detail", "suggestion"),
    [
        (Gate.NODE, {"node_id": "node_9"}, {}, "not node_9", "leave out where.node: node_1 would do"),
        (
            Gate.TRUST, {"mine_only": True}, {"owner_id": STRANGER},
            "not yours (where.trust: mine)", "where.trust: any would find a stranger's node",
        ),
        (Gate.COUNTRY, {"countries": frozenset({"US"})}, {}, "not in US", "where.country: [DE] would find a node"),
        (Gate.TAGS, {"tags": frozenset({"quiet"})}, {}, "without quiet", "fewer tags: a node has [fast]"),
        (
            Gate.ISOLATION, {"isolation": IsolationLevel.GVISOR}, {},
            "below gvisor", "isolation: bubblewrap would find a node",
        ),
        (
            Gate.GPU, {"gpu": GpuRequest(name="h100", count=2)}, {"gpus": (gpu(),)},
            "without 2 such GPUs", "gpu: rtx-4090 is what a node has",
        ),
        (
            Gate.GPU, {"gpu": GpuRequest(name="h100", count=1)}, {"gpus": ()},
            "without such a GPU", "leave out gpu: a node without one would do",
        ),
        (Gate.CPUS, {"cpu_millis": 9500}, {}, "fewer than 9.5 cores", "cpus: 8 would fit"),
        (Gate.MEMORY, {"memory_bytes": 64 * GIB}, {}, "less than 64GB of memory", "memory: 32GB would fit"),
        (Gate.DISK, {"disk_bytes": 200 * GIB}, {}, "less than 200GB of disk", "disk: 100GB would fit"),
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
    told = {tuple(one.slices): one.summary.split(",")[0] for one in explain_all(fleet, queue, waiting, NOW)}
    assert told == {(0, 2): "It failed before", (1,): "It asked to be continued"}


def test_wait_that_is_over_is_no_reason_any_more():
    node = make_node()
    node.state = NodeState.OFFLINE
    answer = why(make_needs(), node, retry_at=NOW)
    assert answer.summary == "1 node could run it, but is offline, paused or draining."


def test_other_gpus_are_named_before_none_at_all():
    nodes = [make_node("node_1", gpus=()), make_node("node_2", gpus=(gpu(0), gpu(1)))]
    answer = why(make_needs(gpu=GpuRequest(name="h100", count=1)), *nodes)
    assert answer.suggestions == ["gpu: rtx-4090:2 is what a node has"]
    assert answer.summary == "None of the 2 nodes can ever run it as it is specified."


def test_sizes_that_would_fit_are_round_and_fit():
    node = make_node(memory_bytes=20_197_621_760, disk_bytes=900_000_000)
    assert why(make_needs(memory_bytes=64 * GIB, disk_bytes=1), node).suggestions == ["memory: 18GB would fit"]
    assert why(make_needs(memory_bytes=1, disk_bytes=GIB), node).suggestions == ["disk: 858MB would fit"]


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


@settings(max_examples=figure(40, 2_000))
@given(many_needs, many_nodes)
def test_suggested_change_finds_a_node(needs, nodes):
    for suggestion in why(needs, *nodes).suggestions:
        words = suggestion.split()
        match words[0]:
            case "leave" if "where.node:" in words:
                changed = replace(needs, node_id=None)
            case "leave" if "gpu:" in words:
                changed = replace(needs, gpu=None)
            case "leave":
                changed = replace(needs, countries=frozenset())
            case "where.trust:":
                changed = replace(needs, mine_only=False)
            case "where.country:":
                changed = replace(needs, countries=frozenset({words[1].strip("[]")}))
            case "isolation:":
                changed = replace(needs, isolation=IsolationLevel(words[1]))
            case "cpus:":
                changed = replace(needs, cpu_millis=int(float(words[1]) * 1000))
            case _:
                continue  # in words
        assert any(closed_gate(changed, node.traits) is None for node in nodes), suggestion


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
    first, second = explain_all(fleet, queue, waiting, NOW)
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
    answers = explain_all(fleet, queue, waiting, NOW)
    assert len(answers) == GROUPS_SHOWN + 1
    assert sorted(index for one in answers for index in one.slices) == list(range(2000))
    assert answers[-1].summary.startswith(f"{2000 - GROUPS_SHOWN} more groups of slices")
    assert [one.position for one in answers] == list(range(GROUPS_SHOWN + 1))
    assert fleet.walks <= 2 * len(answers)
    assert queue.walks <= 2


def test_job_of_which_nothing_waits_has_nothing_to_explain():
    assert explain_all(Fleet(), Queue(), [], NOW) == []


def test_nobody_is_advised_to_let_a_node_pretend():
    node = make_node(simulated=True, tags=frozenset({"simulated"}))
    real = why(make_needs(), node)
    assert (real.feasible, real.suggestions) == (0, [])
    assert [(one.gate, one.removed) for one in real.gates] == [(Gate.SIMULATED, 1)]
    assert real.gates[0].detail == "simulated: they only pretend, for jobs with where.tags: [simulated]"
    pretended = why(make_needs(tags=frozenset({"simulated"})), node, make_node("node_2"))
    assert (pretended.free, pretended.gates[0].removed) == (1, 1)
    assert pretended.gates[0].detail == "real machines, and where.tags asks for simulated ones"
