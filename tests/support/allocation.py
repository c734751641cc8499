"""The plain way to choose a node, looking at each one; and stories of a fleet in which everything may change."""

from collections.abc import Collection, Iterable
from collections.abc import Set as AbstractSet
from dataclasses import replace
from random import Random
from typing import Any

from support.fleets import COUNTRIES, GIB, LEVELS, SLUGS, TAGS, DeafLine, gpu, make_node, occupy

from computepool.hub.market.feasibility import Traits, closed_gate
from computepool.hub.market.pricing import NOTHING, Ask
from computepool.hub.market.requirements import Requirements
from computepool.hub.market.standing import NEWCOMER, Standing
from computepool.hub.scheduling.fleet import Fleet, FleetNode, free_of, give_room_back
from computepool.hub.scheduling.scoring import rank_of
from computepool.protocol.capacity import HouseRules
from computepool.protocol.gpus import GpuRequest
from computepool.protocol.messages import Availability
from computepool.protocol.spec import Optimize
from computepool.protocol.states import NodeState
from computepool.protocol.units import Range

OWNERS = ["user_a", "user_b", "user_c"]
THINGS = ["sha256:bundle", "sha256:model", "image:python:3", "image:pytorch"]
RULES = [
    HouseRules(),
    HouseRules(strangers=False),
    HouseRules(renters=("user_a",)),
    HouseRules(turned_away=("user_b",)),
    HouseRules(internet=False, images=("python*",)),
    HouseRules(gpu_only=True, longest_seconds=3600),
    HouseRules(isolation=LEVELS[2]),
]


def choose_plainly(
    fleet: Iterable[FleetNode],
    needs: Requirements,
    avoid: Collection[str] = (),
    *,
    avoided_too: bool = False,
    wanted: Collection[str] = (),
    explore: bool = False,
    not_owners: AbstractSet[str] = frozenset(),
) -> FleetNode | None:
    """What `Fleet.choose` promises, without any index."""
    nodes = [node for node in fleet if node.traits.owner_id not in not_owners]

    def rank(node: FleetNode) -> Any:
        foreign = node.traits.owner_id != needs.owner_id
        has_record = foreign and explore and node.traits.standing.has_record
        return foreign, has_record, rank_of(node.traits, node.free.cpu_millis, node.cached, needs, wanted)

    free = [node for node in nodes if Fleet().gate(needs, node) is None]
    others = [node for node in free if node.traits.node_id not in avoid]
    could = [
        node
        for node in nodes
        if node.takes_work and node.traits.node_id not in avoid and closed_gate(needs, node.traits) is None
    ]
    if not others and avoid and avoided_too and not could:
        others = free
    return min(others, key=rank, default=None)


# ── whatever may be ──────────────────────────────────────────────────────────────────────────────────────────────────


def some(rng: Random, options: list[str], most: int) -> frozenset[str]:
    return frozenset(rng.sample(options, rng.randint(0, most)))


def random_ask(rng: Random) -> Ask:
    if rng.random() < 0.2:
        return NOTHING
    return Ask(
        gpu_micros=rng.choice([1, 10_000_000, 30_000_000]) * rng.randint(1, 3),
        core_micros=rng.randint(0, 900_000),
        preemptible_percent=rng.choice([70, 70, 70, 40, 100]),  # an operator's change reaches nodes one by one
    )


def random_standing(rng: Random) -> Standing:
    if rng.random() < 0.4:
        return NEWCOMER
    lower = rng.choice([0.0, 0.3, 0.7, 0.75, 0.92, 1.0])
    return Standing(mean=lower, lower=lower, has_record=True, verified=rng.random() < 0.5)


def random_node(rng: Random, node_id: str, rich: bool = True) -> FleetNode:
    """Poor ones are alike in all but their price and what is left of them."""
    cards = [(rng.choice(SLUGS), rng.choice([12, 24])) for _ in range(rng.choice([0, 0, 1, 1, 2, 4]))]
    facts: dict[str, Any] = {
        "owner_id": rng.choice(OWNERS),
        "gpus": tuple(gpu(index, *card) for index, card in enumerate(cards)),
        "cpu_millis": rng.choice([2000, 4000, 8000, 7500]),
        "memory_bytes": rng.choice([8, 16, 24]) * GIB + rng.randint(0, 5) * 1000,
        "disk_bytes": rng.choice([50, 100, 900]) * GIB,
        "ask": random_ask(rng),
        "standing": random_standing(rng),
        "gpu_gflops": rng.choice([None, 9_000.0, 20_000.0]),
        "core_gflops": rng.choice([None, 3.0, 8.0]),
    }
    if not rich:
        facts |= {
            "gpus": (gpu(0),) * rng.randint(0, 1),
            "cpu_millis": rng.choice([4000, 4400, 4900]),
            "memory_bytes": 16 * GIB + rng.randint(0, GIB),
            "disk_bytes": 100 * GIB,
        }
    else:
        facts |= {
            "country": rng.choice([None, *COUNTRIES]),
            "tags": some(rng, [*TAGS, "simulated"], 3),
            "isolation": tuple(rng.sample(LEVELS, rng.randint(0, len(LEVELS)))),
            "networked": tuple(rng.sample(LEVELS, rng.randint(0, len(LEVELS)))),
            "rules": rng.choice(RULES),
            "outdated": rng.random() < 0.1,
            "simulated": rng.random() < 0.1,
            "unsafe": frozenset({"runc"}) if rng.random() < 0.1 else frozenset(),
        }
    node = make_node(node_id, **facts)
    node.cached = some(rng, THINGS, 3)
    return node


def random_needs(rng: Random, rich: bool = True) -> Requirements:
    gpus = [
        GpuRequest(count=rng.randint(1, 2)),
        GpuRequest(name=rng.choice(SLUGS), count=rng.randint(1, 3)),
        GpuRequest(memory=Range[int](minimum=rng.choice([12, 24]) * GIB)),
    ]
    needs = Requirements(
        owner_id=rng.choice([*OWNERS, "user_without_nodes"]),
        cpu_millis=rng.choice([1, 500, 1000, 1500, 4000, 7600]),
        memory_bytes=rng.choice([0, 1, 3, 8]) * GIB + rng.choice([0, 0, 500]),
        disk_bytes=rng.choice([0, 10, 90]) * GIB,
        gpu=rng.choice([None, None, *gpus]),
        optimize=rng.choice(list(Optimize)),
        max_price_micros=rng.choice([None, None, 0, 400_000, 30_000_000, 60_000_000]),
        min_reliability=rng.choice([None, None, None, 0.3, 0.75, 1.0]),
        preemptible=rng.random() < 0.25,
    )
    if not rich:
        return needs
    return replace(
        needs,
        countries=some(rng, COUNTRIES, 2) if rng.random() < 0.3 else frozenset(),
        tags=some(rng, [*TAGS, "simulated", "nobody-has-this"], 2) if rng.random() < 0.3 else frozenset(),
        node_id=rng.choice(["node_0", "node_3", "gone"]) if rng.random() < 0.05 else None,
        mine_only=rng.random() < 0.1,
        verified_only=rng.random() < 0.1,
        isolation=rng.choice([None, None, None, *LEVELS]),
        image=rng.choice([None, None, "python:3.12", "pytorch/pytorch"]),
        internet=rng.random() < 0.2,
        indexes=rng.random() < 0.1,
        seconds=rng.choice([60.0, 7200.0]),
    )


# ── a story ──────────────────────────────────────────────────────────────────────────────────────────────────────────


class Story:
    """A fleet that lives: slices come and go, nodes come, go and change. Each choice is compared with the plain one."""

    def __init__(self, seed: int) -> None:
        self.rng = rng = Random(seed)
        self.rich = rng.random() < 0.6
        self.fleet = Fleet()
        self.count = 0
        self.chosen = 0
        for _ in range(rng.choice([3, 12, 40, 120])):
            self.join()
        self.wishes = [random_needs(rng, self.rich) for _ in range(rng.randint(2, 12))]

    def run(self, steps: int) -> None:
        for step in range(steps):
            for _ in range(self.rng.randint(0, 3)):
                self.change()
            self.choose(f"attempt_{step}")

    def join(self) -> None:
        self.fleet.put(random_node(self.rng, f"node_{self.count}", self.rich))
        self.count += 1

    def choose(self, attempt_id: str) -> None:
        rng = self.rng
        needs = rng.choice(self.wishes) if rng.random() < 0.8 else random_needs(rng, self.rich)
        ids = [node.traits.node_id for node in self.fleet]
        avoid = rng.sample(ids, rng.randint(0, len(ids))) if rng.random() < 0.3 else []
        asked: dict[str, Any] = {
            "avoided_too": rng.random() < 0.5,
            "wanted": tuple(rng.sample(THINGS, rng.randint(0, 3))),
            "explore": rng.random() < 0.2,
            "not_owners": frozenset(rng.sample(OWNERS, 1)) if rng.random() < 0.1 else frozenset(),
        }
        found = self.fleet.choose(needs, avoid, **asked)
        expected = choose_plainly(self.fleet, needs, avoid, **asked)
        assert found is expected, (name(found), name(expected), needs, avoid, asked)
        if found is not None:
            self.chosen += 1
            assert self.fleet.gate(needs, found) is None
            if rng.random() < 0.7:
                occupy(found, attempt_id, needs)

    def change(self) -> None:
        rng = self.rng
        nodes = list(self.fleet)
        if not nodes or rng.random() < 0.03:
            self.join()
            return
        node = rng.choice(nodes)
        rng.choice([self._room, self._room, self._state, self._traits, self._owner, self._house])(node)

    def _room(self, node: FleetNode) -> None:
        for attempt_id in list(node.attempts)[:2]:
            give_room_back(node, attempt_id)

    def _state(self, node: FleetNode) -> None:
        rng = self.rng
        node.state = rng.choice([NodeState.ONLINE, NodeState.ONLINE, NodeState.PAUSED, NodeState.OFFLINE])
        node.reported = rng.choice([NodeState.ONLINE, NodeState.ONLINE, NodeState.DRAINING, None])
        node.line = rng.choice([DeafLine(), DeafLine(), None])
        node.drain_requested = rng.random() < 0.2

    def _traits(self, node: FleetNode) -> None:
        rng = self.rng
        other = random_node(rng, node.traits.node_id, self.rich).traits
        changes: dict[str, Any] = rng.choice(
            [
                {"ask": other.ask},
                {"standing": other.standing},
                {"gpu_gflops": other.gpu_gflops, "core_gflops": other.core_gflops},
                {"rules": other.rules, "isolation": other.isolation, "networked": other.networked},
                {"tags": other.tags, "country": other.country, "owner_id": other.owner_id},
            ]
        )
        node.traits = replace(node.traits, **changes)
        if rng.random() < 0.1:
            self._resize(node, other)

    def _resize(self, node: FleetNode, other: Traits) -> None:
        node.traits = replace(node.traits, cpu_millis=other.cpu_millis, memory_bytes=other.memory_bytes)
        node.free = free_of(node.traits, node.attempts.values())

    def _owner(self, node: FleetNode) -> None:
        rng = self.rng
        used = tuple(one.id for one in node.traits.gpus if rng.random() < 0.4)
        node.availability = Availability(
            strangers=rng.random() < 0.8, gpus_in_use=used if rng.random() < 0.5 else (), gpu_only=rng.random() < 0.2
        )

    def _house(self, node: FleetNode) -> None:
        rng = self.rng
        node.cached = some(rng, THINGS, 4)
        if rng.random() < 0.2:
            self.fleet.remove(node.traits.node_id)
            if rng.random() < 0.5:
                self.fleet.put(random_node(rng, node.traits.node_id, self.rich))


def name(node: FleetNode | None) -> str | None:
    return None if node is None else node.traits.node_id
