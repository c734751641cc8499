"""Hard gates: a node that fails one is never chosen; each is tried alone."""

import pytest
from hypothesis import given, settings
from support.fleets import GIB, ME, STRANGER, gpu, make_needs, make_traits, many_needs, many_nodes
from support.proofs import figure

from computepool.hub.market.feasibility import RULES, Gate, closed_gate, fits
from computepool.hub.market.requirements import requirements_of
from computepool.hub.scheduling.fleet import free_of
from computepool.protocol.gpus import GpuRequest
from computepool.protocol.spec import parse_spec
from computepool.protocol.states import IsolationLevel
from computepool.protocol.units import Range

L = IsolationLevel
VRAM_48 = GpuRequest(memory=Range[int](minimum=48 * GIB))


def test_defaults_fit_each_other():
    assert closed_gate(make_needs(), make_traits()) is None


@pytest.mark.parametrize(
    ("gate", "needs", "node"),
    [
        (Gate.SIMULATED, {}, {"simulated": True}),
        (Gate.SIMULATED, {"node_id": "node_1"}, {"simulated": True}),
        (Gate.SIMULATED, {"tags": frozenset({"simulated"})}, {"tags": frozenset({"simulated"})}),
        (Gate.TAGS, {"tags": frozenset({"simulated", "lab"})}, {"simulated": True, "tags": frozenset({"simulated"})}),
        (Gate.NODE, {"node_id": "node_2"}, {}),
        (Gate.TRUST, {"mine_only": True}, {"owner_id": STRANGER}),
        (Gate.COUNTRY, {"countries": frozenset({"US", "IN"})}, {}),
        (Gate.COUNTRY, {"countries": frozenset({"US"})}, {"country": None}),
        (Gate.TAGS, {"tags": frozenset({"fast", "quiet"})}, {}),
        (Gate.ISOLATION, {"isolation": L.CONTAINER}, {}),
        (Gate.ISOLATION, {}, {"owner_id": STRANGER, "isolation": (L.PROCESS,)}),
        (Gate.ISOLATION, {"isolation": L.PROCESS}, {"owner_id": STRANGER, "isolation": (L.PROCESS,)}),
        (Gate.ISOLATION, {}, {"isolation": ()}),
        (Gate.GPU, {"gpu": GpuRequest(name="rtx-3060")}, {}),
        (Gate.GPU, {"gpu": VRAM_48}, {}),
        (Gate.GPU, {"gpu": GpuRequest(count=3)}, {}),
        (Gate.GPU, {"gpu": GpuRequest(name="rtx-4090", count=2)}, {"gpus": (gpu(0), gpu(1, "rtx-3060"))}),
        (Gate.CPUS, {"cpu_millis": 8001}, {}),
        (Gate.MEMORY, {"memory_bytes": 32 * GIB + 1}, {}),
        (Gate.DISK, {"disk_bytes": 100 * GIB + 1}, {}),
    ],
)
def test_each_gate_alone_closes(gate, needs, node):
    assert closed_gate(make_needs(**needs), make_traits(**node)) is gate


@pytest.mark.parametrize(
    ("needs", "node"),
    [
        ({"node_id": "node_1"}, {}),
        ({"tags": frozenset({"simulated"})}, {"simulated": True, "tags": frozenset({"simulated"})}),
        ({"mine_only": True}, {}),
        ({"countries": frozenset({"US", "DE"})}, {}),
        ({"tags": frozenset({"fast"})}, {"tags": frozenset({"fast", "quiet"})}),
        ({"isolation": L.BUBBLEWRAP}, {"isolation": (L.GVISOR,)}),
        ({}, {"isolation": (L.PROCESS,)}),
        ({"isolation": L.PROCESS}, {"isolation": (L.PROCESS,)}),
        ({}, {"owner_id": STRANGER, "isolation": (L.BUBBLEWRAP,)}),
        ({"gpu": GpuRequest(name="rtx-4090", count=2)}, {}),
        ({"gpu": GpuRequest(name="a100")}, {"gpus": (gpu(0, "a100-sxm4", 80),)}),
        ({"cpu_millis": 8000, "memory_bytes": 32 * GIB, "disk_bytes": 100 * GIB}, {}),
    ],
)
def test_what_is_just_enough_passes(needs, node):
    assert closed_gate(make_needs(**needs), make_traits(**node)) is None


def test_every_gate_is_a_rule_or_the_moments_state():
    assert [gate for gate, _ in RULES] == [gate for gate in Gate if gate not in (Gate.OWNER, Gate.STATE, Gate.BUSY)]


def test_strangers_work_never_runs_as_a_plain_process():
    for asked in (None, *L):
        needs = make_needs(isolation=asked)
        assert needs.least_isolation(own=False).rank >= L.BUBBLEWRAP.rank
        assert needs.least_isolation(own=True) is (asked or L.PROCESS)


@settings(max_examples=figure(40, 2_000))
@given(many_needs, many_nodes)
def test_whole_free_node_with_open_gates_has_room(needs, nodes):
    for node in nodes:
        if closed_gate(needs, node.traits) is None:
            assert fits(needs, free_of(node.traits))


@settings(max_examples=figure(40, 2_000))
@given(many_needs, many_nodes)
def test_gate_that_is_named_is_really_closed_and_those_before_it_open(needs, nodes):
    for node in nodes:
        gate = closed_gate(needs, node.traits)
        for each, passes in RULES:
            if each is gate:
                assert not passes(needs, node.traits)
                break
            assert passes(needs, node.traits)


def test_requirements_come_from_the_spec():
    spec = parse_spec(
        {
            "run": "true",
            "resources": {"cpus": "0.5", "memory": "2GB..8GB", "disk": "3GB", "gpu": "24GB..:2"},
            "where": {"country": ["DE"], "tags": ["fast"], "trust": "mine", "node": "node_1"},
            "isolation": "bubblewrap",
        }
    )
    needs = requirements_of(spec, ME)
    assert (needs.cpu_millis, needs.gpu_count, needs.node_id, needs.mine_only) == (500, 2, "node_1", True)
    assert needs.memory_bytes <= 2 * GIB
    assert (set(needs.countries), set(needs.tags), needs.isolation) == ({"DE"}, {"fast"}, L.BUBBLEWRAP)


def test_equal_specs_have_equal_requirements_and_others_not():
    first, second = (requirements_of(parse_spec({"run": run}), ME) for run in ("true", "false"))
    assert first == second
    assert hash(first) == hash(second)
    assert requirements_of(parse_spec({"run": "true"}), STRANGER) != first
