"""Whether renters get equal shares: the scheduler's own turns, over a simulated day.

The world here has a fleet, a queue and a clock, and no database: slices begin when their turn finds room, and end after
their time. Tests ask it for what must never happen; `jain_over_a_day` is the figure.
"""

import heapq
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from benchmarks.measure import Data, Options, Table
from computepool.hub.jobs.brief import JobBrief
from computepool.hub.jobs.receipts import Order
from computepool.hub.market.feasibility import Traits
from computepool.hub.market.requirements import Requirements
from computepool.hub.scheduling.admission import Admission
from computepool.hub.scheduling.fleet import Fleet, FleetNode, Held, free_of, give_room_back, grant_on, take_room
from computepool.hub.scheduling.limits import LimitBook, Limits
from computepool.hub.scheduling.occupancy import Occupancy, Occupied
from computepool.hub.scheduling.queue import Queue, Waiting
from computepool.hub.scheduling.rounds import place_some
from computepool.hub.scheduling.usage import Usage, weight_of
from computepool.protocol.capacity import Capacity, Gpu
from computepool.protocol.states import AttemptState, IsolationLevel, NodeState
from computepool.protocol.timing import EVICT_GRACE_SECONDS

DAY, HOUR = 86_400.0, 3600.0
BATCH = 64
GIB = 1024**3
BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)
SLOTS, SLICE_SECONDS = 20, 1800.0
LARGE, SMALL = 10_000, 100


class _Line:
    """Of a node that is there, and does as it is told."""

    def offer(self, attempt_id: str, manifest: object, downloads: object) -> None: ...

    def stop(self, attempt_id: str, fence: int, reason: str) -> None: ...

    def seen(self, cursor: int) -> None: ...


def make_node(node_id: str, *, cores: int = 1, gpus: int = 0, owner_id: str = "user_host") -> FleetNode:
    cards = tuple(Gpu(id=f"gpu-{n}", name="rtx-4090", slug="rtx-4090", memory_bytes=24 * GIB) for n in range(gpus))
    isolation = (IsolationLevel.BUBBLEWRAP,)
    traits = Traits(node_id, owner_id, "DE", frozenset(), isolation, cores * 1000, 64 * GIB, 500 * GIB, cards)
    capacity = Capacity(cpus=cores, memory_bytes=64 * GIB, disk_bytes=500 * GIB, gpus=cards, isolation=isolation)
    node = FleetNode(traits, node_id, NodeState.ONLINE, capacity, free_of(traits))
    node.line, node.reported = _Line(), NodeState.ONLINE
    return node


@dataclass(frozen=True, slots=True)
class Run:
    """A slice that has, or had, a node."""

    key: tuple[str, int]
    owner_id: str
    node_id: str
    weight: int
    submitted: float
    began: float
    ended: float
    preempted: bool = False


@dataclass
class World:
    """Nothing in it is left to chance but what the caller leaves to it."""

    nodes: list[FleetNode]
    limits: Limits = field(default_factory=Limits)
    now: float = 0.0
    runs: list[Run] = field(default_factory=list)
    """What has ended."""

    def __post_init__(self) -> None:
        self.fleet, self.queue = Fleet(), Queue()
        for node in self.nodes:
            self.fleet.put(node)
        self.occupancy = Occupancy(Usage(DAY))
        self.admission = Admission(self.fleet, self.queue, self.occupancy, LimitBook(self.limits))
        self._events: list[tuple[float, int, str, tuple[object, ...]]] = []
        self._numbers = itertools.count()
        self._seconds: dict[str, float] = {}
        self._submitted: dict[str, float] = {}
        self._live: dict[str, tuple[Waiting, str, float]] = {}
        self.placed: list[tuple[float, tuple[str, int], str]] = []

    def submit(
        self, job_id: str, needs: Requirements, *, slices: int = 1, at: float = 0.0, seconds: float, priority: int = 0
    ) -> None:
        """Each slice runs for `seconds`; `needs.seconds` is the longest that it may."""
        brief = JobBrief(
            job_id=job_id,
            owner_id=needs.owner_id,
            name=job_id,
            argv=("true",),
            env={},
            outputs=(),
            bundle_id=None,
            bundle=None,
            spec_digest="sha256:spec",
            max_runtime_seconds=needs.seconds,
            slices=slices,
            priority=priority,
            requirements=needs,
        )
        self._seconds[job_id], self._submitted[job_id] = seconds, at
        self._at(at, "submit", brief)

    def cancel(self, job_id: str, *, at: float) -> None:
        self._at(at, "cancel", job_id)

    def leave(self, node_id: str, *, at: float) -> None:
        """A node goes away for good, and what it had is queued again."""
        self._at(at, "leave", node_id)

    def run(self, until: float) -> None:
        while self._events and self._events[0][0] <= until:
            self.now = self._events[0][0]
            while self._events and self._events[0][0] == self.now:
                _, _, kind, facts = heapq.heappop(self._events)
                getattr(self, f"_do_{kind}")(*facts)
            self._dispatch()
        self.now = until

    def used(self, owner_id: str, until: float | None = None) -> float:
        """Of the pool, in cores times seconds."""
        last = self.now if until is None else until
        spans = [(run.owner_id, run.weight, run.began, run.ended) for run in self.runs]
        for waiting, _, began in self._live.values():
            spans.append((waiting.brief.owner_id, weight_of(waiting.brief.requirements), began, self.now))
        return sum(w * max(0.0, min(end, last) - begin) / 1000 for owner, w, begin, end in spans if owner == owner_id)

    def waits(self) -> Iterator[tuple[tuple[str, int], float]]:
        """How long those waited who got a node."""
        for at, key, _ in self.placed:
            yield key, at - self._submitted[key[0]]

    @property
    def wall(self) -> datetime:
        return BEGINNING + timedelta(seconds=self.now)

    # ── what happens ─────────────────────────────────────────────────────────────────────────────────────────────────

    def _at(self, at: float, kind: str, *facts: object) -> None:
        heapq.heappush(self._events, (at, next(self._numbers), kind, facts))

    def _do_submit(self, brief: JobBrief) -> None:
        for index in range(brief.slices):
            self.queue.add(Waiting(brief, index, fence=0, attempts=0, waits_since=self.now))

    def _do_cancel(self, job_id: str) -> None:
        self.queue.remove_job(job_id, range(LARGE))

    def _do_leave(self, node_id: str) -> None:
        node = self.fleet.remove(node_id)
        for attempt_id in list(node.attempts) if node is not None else ():
            self._end(attempt_id, node, again=True)

    def _do_end(self, attempt_id: str, again: bool) -> None:
        if attempt_id in self._live:
            self._end(attempt_id, self.fleet.get(self._live[attempt_id][1]), again=again)

    def _do_look(self) -> None:
        """A timer: room that is kept is looked at again."""

    def _end(self, attempt_id: str, node: FleetNode | None, *, again: bool) -> None:
        waiting, node_id, began = self._live.pop(attempt_id)
        if node is not None:
            give_room_back(node, attempt_id)
        self.admission.ended(attempt_id, self.now)
        brief, weight = waiting.brief, weight_of(waiting.brief.requirements)
        submitted = self._submitted[brief.job_id]
        self.runs.append(Run(waiting.key, brief.owner_id, node_id, weight, submitted, began, self.now, again))
        if again:
            waits = Waiting(brief, waiting.slice_index, 0, waiting.attempts + 1, waits_since=self.now)
            self.queue.add(waits)

    def _dispatch(self) -> None:
        while self._place_some():
            pass
        end = self.admission.reservations.next_end()
        if end is not None:
            self._at(max(end, self.now) + 1.0, "look")

    def _place_some(self) -> bool:
        """As the scheduler does it, without a database to ask."""
        placed: list[Waiting] = []

        def place(waiting: Waiting, node: FleetNode) -> None:
            self._place(waiting, node)
            placed.append(waiting)

        for claim in place_some(self.admission, BATCH, self.wall, self.now, place):
            for attempt_id in claim.attempt_ids:
                self._at(self.now + EVICT_GRACE_SECONDS, "end", attempt_id, True)
        for waiting in placed:
            self.queue.remove(waiting.key)
        return bool(placed)

    def _place(self, waiting: Waiting, node: FleetNode) -> None:
        brief, needs, node_id = waiting.brief, waiting.brief.requirements, node.traits.node_id
        attempt_id = f"attempt_{next(self._numbers):012}"
        order = Order(brief.job_id, "sha256:spec", "sha256:manifest", IsolationLevel.BUBBLEWRAP, needs.seconds)
        take_room(node, Held(attempt_id, 1, grant_on(node, needs), order, self.now, state=AttemptState.RUNNING))
        own = node.traits.owner_id == brief.owner_id
        self.occupancy.begin(Occupied(attempt_id, node_id, brief, own, 0), self.now)
        self._live[attempt_id] = (waiting, node_id, self.now)
        self.placed.append((self.now, waiting.key, node_id))
        self._at(self.now + self._seconds[brief.job_id], "end", attempt_id, False)


# ── the figure ───────────────────────────────────────────────────────────────────────────────────────────────────────


def jain(shares: list[float]) -> float:
    """1 where all have the same, 1/n where one has all of it."""
    squares = sum(share * share for share in shares)
    return sum(shares) ** 2 / (len(shares) * squares) if squares else 1.0


def small_needs(owner_id: str, **changes: object) -> Requirements:
    facts = {"owner_id": owner_id, "cpu_millis": 1000, "memory_bytes": GIB, "disk_bytes": GIB, "seconds": HOUR}
    return Requirements(**(facts | changes))  # type: ignore[arg-type]


@dataclass(frozen=True)
class Fairness:
    jain: float
    """Of the two renters' shares while both had work waiting."""
    first_wait_seconds: float
    """Of the small renter, for its first slot."""
    slots_used: float
    """Of all there were, while anything waited."""
    small_done_seconds: float


def jain_over_a_day(
    large: int = LARGE, small: int = SMALL, slots: int = SLOTS, slice_seconds: float = SLICE_SECONDS
) -> Fairness:
    """One renter submits `large` slices, another `small` ones a minute later, and both want all of the pool."""
    world = World([make_node(f"node_{n:03}") for n in range(slots)])
    world.submit("job_1", small_needs("user_large"), slices=large, seconds=slice_seconds)
    world.submit("job_2", small_needs("user_small"), slices=small, at=60.0, seconds=slice_seconds)
    world.run(DAY)
    theirs = [run for run in world.runs if run.owner_id == "user_small"]
    done = max((run.ended for run in theirs), default=DAY)
    both = [world.used(owner, done) for owner in ("user_large", "user_small")]
    busy = sum(world.used(owner) for owner in ("user_large", "user_small"))
    first = min((at for at, key, _ in world.placed if key[0] == "job_2"), default=DAY)
    return Fairness(jain(both), first - 60.0, busy / (slots * DAY), done)


def run(options: Options) -> Data:
    large, small = options.figure(200, LARGE), options.figure(20, SMALL)
    found = jain_over_a_day(large, small)
    return {
        "large": large,
        "small": small,
        "jain": round(found.jain, 4),
        "first_wait_seconds": round(found.first_wait_seconds, 1),
        "slots_used": round(found.slots_used, 4),
        "small_done_seconds": round(found.small_done_seconds, 1),
        "half_life_seconds": round(DAY),
    }


def tables(data: Data) -> list[Table]:
    """Of what the scheduling benchmark keeps."""
    found = data.get("fairness")
    if found is None:
        return []
    rows = [
        ["Jain's index of their shares, while both had work", f"{found['jain']:.3f}"],
        ["the small renter's first slice waited for the next free slot", f"{found['first_wait_seconds']:,.0f} s"],
        ["of all slots used, over the day", f"{found['slots_used']:.1%}"],
    ]
    title = f"Two renters, {found['large']:,} slices against {found['small']:,}, over a simulated day"
    return [Table(title, ["", "figure"], rows)]
