"""Which node a slice whose turn it is may have: within its renter's limits, and not where room is kept for others; and
what is done about it when there is none.
"""

import zlib
from dataclasses import replace
from datetime import datetime
from random import Random

from computepool.hub.core.ids import RandomBits
from computepool.hub.core.owners import PLATFORM
from computepool.hub.jobs.verification import Role
from computepool.hub.market.feasibility import closed_gate
from computepool.hub.market.pricing import hourly_price, is_dear
from computepool.hub.market.requirements import Requirements
from computepool.hub.scheduling.fleet import LOOK_MOST, Fleet, FleetNode
from computepool.hub.scheduling.limits import LimitBook, why_never, within
from computepool.hub.scheduling.occupancy import Occupancy
from computepool.hub.scheduling.preemption import CLAIMS_PER_LINE, Claim, Claims, find_claim
from computepool.hub.scheduling.purse import Purse
from computepool.hub.scheduling.queue import Queue, Waiting
from computepool.hub.scheduling.replicas import Replicas
from computepool.hub.scheduling.reservations import Reservations
from computepool.protocol.timing import EVICT_GRACE_SECONDS, OVERDUE_SECONDS

EXPLORING_PERCENT = 7
"""Of the slices that may go to nodes without a record, so that these can earn one."""
LOTS_DRAWN = 256
LOT_BITS = 62
EXPLORING_LONGEST_SECONDS = 3600.0
"""What is tried on an unknown node is short: an hour lost is all that it costs."""


class Admission:
    def __init__(
        self,
        fleet: Fleet,
        queue: Queue,
        occupancy: Occupancy,
        limits: LimitBook,
        replicas: Replicas | None = None,
        randbits: RandomBits = Random(0).getrandbits,
        purse: Purse | None = None,
    ) -> None:
        """Without a purse, nobody has to pay."""
        self.fleet = fleet
        self.queue = queue
        self.occupancy = occupancy
        self.limits = limits
        self.replicas = replicas or Replicas()
        self._randbits = randbits
        self._purse = purse
        self.reservations = Reservations()
        self.claims = Claims()

    def begin_round(self, tick: float) -> None:
        self.reservations.tidy(self.fleet, lambda needs: self.queue.line(needs) is not None, tick)

    def find(self, waiting: Waiting, now: datetime, tick: float) -> FleetNode | None:
        """The node that it gets, if there is one. `now` is the wall clock's, `tick` the elapsed one's."""
        barred = self._barred(waiting, tick)
        needs = self.replicas.narrowed(waiting, self._allowed(waiting.brief.requirements, now))
        if waiting.brief.role == Role.AUDIT:
            judge = self._by_lot(replace(needs, judges_only=True), barred | frozenset(waiting.avoid))
            if judge is not None:
                return judge
        for _ in range(LOTS_DRAWN):
            node = self.fleet.choose(
                needs,
                waiting.avoid,
                avoided_too=waiting.is_due(now),
                wanted=waiting.brief.wanted,
                explore=explores(waiting),
                barred=barred,
            )
            if node is None or not _is_too_dear(needs, node):
                return node
            barred |= {node.traits.node_id}
        return None

    def placed(self, waiting: Waiting) -> bool:
        """It has a node. True if room was kept for it, which others may have now."""
        return self.reservations.placed(waiting.brief.requirements)

    def ended(self, attempt_id: str, tick: float) -> None:
        """Its room is free."""
        self.occupancy.end(attempt_id, tick)
        self.claims.ended(attempt_id)

    def make_room(self, waiting: Waiting, now: datetime, tick: float) -> Claim | None:
        """There is no node for it. Somebody may have to leave for it; or room is kept until it is enough."""
        needs = waiting.brief.requirements
        if not waiting.is_due(now) or self._allowed(needs, now) is not needs or needs.apart:
            return None
        claim = self._claim(waiting, tick)
        if claim is None and not self.claims.count(needs):
            self.reservations.reserve(self.fleet, needs, waiting.avoid, tick - waiting.waits_since, tick)
        return claim

    def why_limited(self, waiting: Waiting, now: datetime) -> str | None:
        """In words, if it is a limit that keeps it from a node that it could have."""
        needs = waiting.brief.requirements
        allowed = self._within_limits(needs, now)
        if allowed is needs or self.fleet.choose(allowed, waiting.avoid, avoided_too=True) is not None:
            return None
        node = self.fleet.choose(needs, waiting.avoid, avoided_too=True)
        if node is None:
            return None
        best = self.limits.at_best(needs)
        if not self._could_ever(within(needs, best)):
            return why_never(needs, best, hourly_price(needs, node.traits.ask, own=False))
        words = self.limits.allowance(needs, self.occupancy.share(needs.owner_id), now).words
        return f"{words}: it waits until that leaves room for it."

    def _could_ever(self, needs: Requirements) -> bool:
        """There is a node for it, whoever uses that now. In a large fleet some thousands are looked at."""
        return any(closed_gate(needs, node.traits) is None for node in self.fleet.who_might(needs, LOOK_MOST))

    def why_unfunded(self, waiting: Waiting, now: datetime) -> str | None:
        """In words, if it is the money that keeps it from a node that it could have."""
        needs = self._within_limits(waiting.brief.requirements, now)
        price = self._unfunded_price(needs, waiting)
        return self._purse.words(needs, price) if self._purse is not None and price is not None else None

    def lacking(self, waiting: Waiting, now: datetime) -> int:
        """The credits that have to be there for it to begin, if it is only the money that keeps it from a node."""
        needs = self._within_limits(waiting.brief.requirements, now)
        price = self._unfunded_price(needs, waiting)
        return self._purse.needed(needs, price) if self._purse is not None and price is not None else 0

    def _unfunded_price(self, needs: Requirements, waiting: Waiting) -> int | None:
        """For an hour on the node that it could have with more money."""
        if self._purse is None or (funded := self._purse.within(needs)) is needs:
            return None
        if self.fleet.choose(funded, waiting.avoid, avoided_too=True) is not None:
            return None
        node = self.fleet.choose(needs, waiting.avoid, avoided_too=True)
        return None if node is None else hourly_price(needs, node.traits.ask, own=False)

    def why_kept(self, waiting: Waiting, now: datetime, tick: float) -> str | None:
        """In words, if what is free is kept for others."""
        barred = self._barred(waiting, tick)
        needs = self.replicas.narrowed(waiting, self._allowed(waiting.brief.requirements, now))
        if not barred or self.fleet.choose(needs, waiting.avoid, avoided_too=True, barred=barred) is not None:
            return None
        if self.fleet.choose(needs, waiting.avoid, avoided_too=True) is None:
            return None
        return (
            "What is free is kept for others: for a larger slice that waits until its room is enough, or for one that"
            " goes before this one. It runs when they have begun; a shorter max_runtime may let it run before."
        )

    def _barred(self, waiting: Waiting, tick: float) -> frozenset[str]:
        kept = self.reservations.barred_to(waiting.brief.requirements, self.fleet, tick)
        return kept | self.claims.barred_to(waiting.brief)

    def _by_lot(self, needs: Requirements, barred: frozenset[str]) -> FleetNode | None:
        """Some node that could have it now. Who is asked to check others must not be for the cheapest to choose."""
        nodes = list(self.fleet)
        for _ in range(min(LOTS_DRAWN, len(nodes))):
            node = nodes[self._randbits(LOT_BITS) % len(nodes)]
            if node.traits.node_id in barred or _is_too_dear(needs, node):
                continue
            if self.fleet.gate(needs, node) is None:
                return node
        return None

    def _allowed(self, needs: Requirements, now: datetime) -> Requirements:
        """Within what its renter may have, and can pay."""
        limited = self._within_limits(needs, now)
        return limited if self._purse is None else self._purse.within(limited)

    def _within_limits(self, needs: Requirements, now: datetime) -> Requirements:
        return within(needs, self.limits.allowance(needs, self.occupancy.share(needs.owner_id), now))

    def _claim(self, waiting: Waiting, tick: float) -> Claim | None:
        needs, line = waiting.brief.requirements, self.queue.line(waiting.brief.requirements)
        if not self.occupancy.has_preemptible or line is None:
            return None
        if self.claims.count(needs) >= min(CLAIMS_PER_LINE, len(line)):
            return None
        barred = self._barred(waiting, tick) | frozenset(waiting.avoid)
        claim = find_claim(self.fleet, self.occupancy.preemptible(), self.claims, waiting.brief, barred)
        if claim is not None:
            self.claims.add(claim)
            if len(claim.attempt_ids) > 1:
                # They leave one by one: nobody else may take the room of the first.
                self.reservations.keep(needs, claim.node_id, tick + EVICT_GRACE_SECONDS + OVERDUE_SECONDS)
        return claim


def _is_too_dear(needs: Requirements, node: FleetNode) -> bool:
    """For the pool itself, which has no purse that would end."""
    return needs.owner_id == PLATFORM and is_dear(needs, node.traits.ask)


def explores(waiting: Waiting) -> bool:
    """Whether this attempt is one of those that go to a node without a record: decided by its name, so that it stays
    so however often it is asked. Only what is short, and does not ask for more trust than any node has."""
    needs = waiting.brief.requirements
    if needs.seconds > EXPLORING_LONGEST_SECONDS or needs.internet or needs.gpu_count > 1:
        return False
    if needs.mine_only or needs.verified_only or needs.min_reliability is not None or needs.node_id is not None:
        return False
    name = f"{waiting.brief.job_id}/{waiting.slice_index}/{waiting.attempts}"
    return zlib.crc32(name.encode()) % 100 < EXPLORING_PERCENT
