"""Hard gates: a node that fails one is never chosen; each is tried alone."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from support.fleets import GIB, ME, STRANGER, gpu, make_needs, make_node, make_traits, many_needs, many_nodes
from support.proofs import figure

from computepool.hub.market.feasibility import (
    NOT_SIGNED,
    RULES,
    UNSIGNED,
    Gate,
    closed_gate,
    fits,
    is_by_host,
    may_be_by_host,
    missing_isolation,
    weakest_level,
)
from computepool.hub.market.pricing import hourly_price
from computepool.hub.market.requirements import requirements_of
from computepool.hub.scheduling.fleet import Fleet, free_of, grant_on
from computepool.protocol.capacity import HouseRules, image_is_welcome
from computepool.protocol.gpus import GpuRequest
from computepool.protocol.messages import Availability
from computepool.protocol.spec import parse_spec
from computepool.protocol.states import IsolationLevel
from computepool.protocol.units import Range
from computepool.protocol.versions import NVIDIA_TOOLKIT, RUNC

L = IsolationLevel
ANY_GPU = GpuRequest()
UNSAFE_RUNC, UNSAFE_TOOLKIT = frozenset({RUNC}), frozenset({NVIDIA_TOOLKIT})
NOBODY = HouseRules(strangers=False, internet=False, images=(), gpu_only=True, longest_seconds=1)
ONLY_PYTORCH = HouseRules(images=("pytorch/*",))
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
        (Gate.ISOLATION, {"image": "python:3"}, {}),
        (Gate.ISOLATION, {"internet": True}, {}),
        (Gate.ISOLATION, {"indexes": True}, {"networked": (L.CONTAINER,)}),
        (Gate.ISOLATION, {"image": "x", "internet": True}, {"isolation": (L.GVISOR,), "networked": (L.BUBBLEWRAP,)}),
        (Gate.ISOLATION, {"image": "x"}, {"owner_id": STRANGER, "isolation": (L.CONTAINER,), "unsafe": UNSAFE_RUNC}),
        (
            Gate.ISOLATION,
            {"image": "x", "gpu": ANY_GPU},
            {"owner_id": STRANGER, "isolation": (L.GVISOR,), "unsafe": UNSAFE_TOOLKIT},
        ),
        (Gate.ISOLATION, {}, {"owner_id": STRANGER, "rules": HouseRules(isolation=L.GVISOR)}),
        (Gate.VERSION, {}, {"owner_id": STRANGER, "outdated": True}),
        (Gate.VERSION, {"links": True}, {}),
        (Gate.WELCOME, {}, {"owner_id": STRANGER, "rules": HouseRules(strangers=False)}),
        (Gate.WELCOME, {}, {"owner_id": STRANGER, "rules": HouseRules(renters=("user_friend",))}),
        (Gate.WELCOME, {}, {"owner_id": STRANGER, "rules": HouseRules(turned_away=(ME,))}),
        (Gate.WELCOME, {}, {"owner_id": STRANGER, "rules": HouseRules(gpu_only=True)}),
        (Gate.WELCOME, {"seconds": 61.0}, {"owner_id": STRANGER, "rules": HouseRules(longest_seconds=60)}),
        (Gate.WELCOME, {"internet": True}, {"owner_id": STRANGER, "rules": HouseRules(internet=False)}),
        (Gate.WELCOME, {"image": "evil/miner"}, {"owner_id": STRANGER, "rules": HouseRules(images=("pytorch/*",))}),
        (Gate.GPU, {"gpu": ANY_GPU}, {"gpus": (gpu(0).model_copy(update={"integrated": True}),)}),
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
        ({"image": "python:3"}, {"isolation": (L.CONTAINER,)}),
        ({"indexes": True, "internet": True}, {"networked": (L.BUBBLEWRAP,)}),
        ({"image": "x"}, {"isolation": (L.CONTAINER,), "unsafe": UNSAFE_RUNC}),
        ({"image": "x"}, {"owner_id": STRANGER, "isolation": (L.GVISOR,), "unsafe": UNSAFE_RUNC}),
        ({"image": "x"}, {"owner_id": STRANGER, "isolation": (L.GVISOR,), "unsafe": UNSAFE_TOOLKIT}),
        ({}, {"outdated": True}),
        ({"links": True}, {"links": True}),
        ({"internet": True, "seconds": 1e9}, {"networked": (L.BUBBLEWRAP,), "rules": NOBODY}),
        ({}, {"owner_id": STRANGER, "rules": HouseRules(renters=(ME,))}),
        ({"image": "pytorch/pytorch:2.4"}, {"owner_id": STRANGER, "isolation": (L.GVISOR,), "rules": ONLY_PYTORCH}),
        ({"gpu": GpuRequest(name="iris-xe")}, {"gpus": (gpu(0, "iris-xe").model_copy(update={"integrated": True}),)}),
        ({"gpu": GpuRequest(name="rtx-4090", count=2)}, {}),
        ({"gpu": GpuRequest(name="a100")}, {"gpus": (gpu(0, "a100-sxm4", 80),)}),
        ({"cpu_millis": 8000, "memory_bytes": 32 * GIB, "disk_bytes": 100 * GIB}, {}),
    ],
)
def test_what_is_just_enough_passes(needs, node):
    assert closed_gate(make_needs(**needs), make_traits(**node)) is None


def test_every_gate_is_a_rule_or_the_moments_state():
    of_the_moment = (Gate.OWNER, Gate.STATE, Gate.BUSY, Gate.ALLOWANCE, Gate.DECLINES)
    assert [gate for gate, _ in RULES] == [gate for gate in Gate if gate not in of_the_moment]


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


@pytest.mark.parametrize(
    ("image", "patterns", "welcome"),
    [
        ("python:3.12", None, True),
        ("python:3.12", (), False),
        ("python:3.12", ("python",), True),
        ("python:3.12", ("python:3.12",), True),
        ("python:3.12", ("python:3.11",), False),
        ("pytorch/pytorch:2.4-cuda12.4", ("pytorch/*",), True),
        ("evil/pytorch/pytorch", ("pytorch/*",), False),
        ("localhost:5000/mine", ("localhost:5000/*",), True),
        ("localhost:5000/mine:1", ("localhost:5000/mine",), True),
        ("python@sha256:" + "0" * 64, ("python",), True),
    ],
)
def test_images_are_welcome_by_pattern(image, patterns, welcome):
    assert image_is_welcome(image, patterns) is welcome


def test_what_the_owner_uses_is_kept_from_strangers_only():
    node = make_node(owner_id=STRANGER)
    node.availability = Availability(strangers=True, gpus_in_use=("gpu-0",))
    fleet = Fleet()
    fleet.put(node)
    assert fleet.choose(make_needs(gpu=GpuRequest(count=2))) is None
    assert fleet.gate(make_needs(gpu=GpuRequest(count=2)), node) is Gate.BUSY
    assert fleet.choose(make_needs(gpu=ANY_GPU)) is node
    assert grant_on(node, make_needs(gpu=ANY_GPU)).gpus == ("gpu-1",)
    assert fleet.choose(make_needs(owner_id=STRANGER, gpu=GpuRequest(count=2))) is node
    node.availability = Availability(strangers=False, reason="the keyboard was used just now")
    assert fleet.choose(make_needs()) is None
    assert fleet.gate(make_needs(), node) is Gate.OWNER
    assert fleet.choose(make_needs(owner_id=STRANGER)) is node


def test_node_with_what_is_wanted_at_hand_comes_first():
    fleet = Fleet()
    cold, warm = make_node("node_a"), make_node("node_b")
    warm.cached = frozenset({"sha256:bundle"})
    fleet.put(cold)
    fleet.put(warm)
    assert fleet.choose(make_needs(), wanted=("sha256:bundle", "image:python:3")) is warm
    assert fleet.choose(make_needs()) is cold


@pytest.mark.parametrize(
    ("needs", "node", "level"),
    [
        ({}, {}, L.PROCESS),
        ({}, {"owner_id": STRANGER}, L.BUBBLEWRAP),
        ({"image": "x"}, {"owner_id": STRANGER, "isolation": (L.CONTAINER, L.GVISOR)}, L.CONTAINER),
        ({"image": "x"}, {"owner_id": STRANGER, "isolation": (L.CONTAINER, L.GVISOR), "unsafe": UNSAFE_RUNC}, L.GVISOR),
        ({"image": "x"}, {"isolation": (L.CONTAINER, L.GVISOR), "unsafe": UNSAFE_RUNC}, L.CONTAINER),
        ({}, {"owner_id": STRANGER, "isolation": tuple(L), "rules": HouseRules(isolation=L.CONTAINER)}, L.CONTAINER),
    ],
)
def test_order_asks_for_the_weakest_level_that_will_do_there(needs, node, level):
    assert weakest_level(make_needs(**needs), make_traits(**node)) is level


def test_work_without_a_gpu_is_kept_out_where_the_owner_left_only_a_gpu():
    node = make_node(owner_id=STRANGER)
    node.availability = Availability(strangers=True, gpu_only=True, gpus_in_use=("gpu-0",))
    fleet = Fleet()
    fleet.put(node)
    assert fleet.gate(make_needs(), node) is Gate.OWNER
    assert fleet.choose(make_needs(gpu=ANY_GPU)) is node


@pytest.mark.parametrize("asked", ["4", "4+", "4..", "4..8", "4..4"])
def test_lower_end_of_a_range_is_what_a_slice_is_given_and_the_upper_end_is_never_passed(asked):
    spec = parse_spec({"run": "true", "resources": {"cpus": asked, "memory": "..1GB", "disk": "2GB..90GB"}})
    node = make_node(cpu_millis=64_000, memory_bytes=256 * GIB, disk_bytes=900 * GIB)
    grant = grant_on(node, requirements_of(spec, ME))
    assert (grant.cpus, grant.disk_bytes) == (4, 2 * GIB)
    assert 0 < grant.memory_bytes <= GIB


@pytest.mark.parametrize(("signed_by", "words"), [(None, UNSIGNED), ("another key", NOT_SIGNED)])
def test_own_job_that_a_machine_without_a_sandbox_refuses_is_told_about_its_signature(signed_by, words):
    """Jobs from a browser have none: they never run there, and their renter reads why before and after submitting."""
    node = make_traits(isolation=(L.PROCESS,), owner_keys=frozenset({"own key"}))
    assert closed_gate(make_needs(signed_by="own key"), node) is None
    needs = make_needs(signed_by=signed_by)
    assert closed_gate(needs, node) is Gate.ISOLATION
    assert missing_isolation(needs, node) == words


def test_job_of_another_member_is_a_strangers_on_a_teams_node_but_free():
    """`own` is about the price, `by_host` about trust with the machine."""
    node = make_traits(owner_id="team_lab", enrolled_by="user_ada", isolation=(L.PROCESS, L.BUBBLEWRAP))
    adas, bobs = (make_needs(owner_id="team_lab", submitted_by=user) for user in ("user_ada", "user_bob"))
    assert (is_by_host(adas, node), is_by_host(bobs, node)) == (True, False)
    assert (weakest_level(adas, node), weakest_level(bobs, node)) == (L.PROCESS, L.BUBBLEWRAP)
    assert closed_gate(bobs, replace(node, isolation=(L.PROCESS,))) is Gate.ISOLATION
    known = replace(node, owner_keys=frozenset({"key of ada"}))
    assert is_by_host(replace(bobs, signed_by="key of ada"), known)
    assert not is_by_host(adas, known)
    assert not may_be_by_host(bobs, node)
    assert hourly_price(bobs, node.ask, own=bobs.owner_id == node.owner_id) == 0
