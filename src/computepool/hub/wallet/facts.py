"""What `explain` knows: rows of the database as plain values, so that everything made of them is a pure function."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from computepool.hub.ledger.accounts import RESTITUTION, kind_of, owner_of
from computepool.hub.ledger.entries import Posting


@dataclass(frozen=True, slots=True)
class EntryFacts:
    id: int
    kind: str
    at: datetime
    postings: tuple[Posting, ...]
    note: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)
    job_id: str | None = None
    attempt_id: str | None = None

    def pockets_of(self, owner_id: str) -> dict[str, int]:
        """By pocket, what this owner has more or less by it."""
        net: Counter[str] = Counter()
        for one in self.postings:
            for name, sign in ((one.source, -1), (one.destination, 1)):
                if owner_of(name) == owner_id:
                    net[kind_of(name)] += sign * one.micros
        return {kind: micros for kind, micros in net.items() if micros}

    def change_of(self, owner_id: str) -> int:
        return sum(self.pockets_of(owner_id).values())

    @property
    def owed(self) -> int:
        """What is owed to a renter more or less by it."""
        came = sum(one.micros for one in self.postings if one.destination == RESTITUTION)
        return came - sum(one.micros for one in self.postings if one.source == RESTITUTION)


@dataclass(frozen=True, slots=True)
class Parties:
    """Of an attempt: who is paid for it, and who pays."""

    host_id: str
    renter_id: str


@dataclass(frozen=True, slots=True)
class RecordFacts:
    id: int
    at: datetime
    action: str


@dataclass(frozen=True, slots=True)
class AttemptFacts:
    id: str
    job_id: str
    slice: int
    number: int
    node_id: str
    node_name: str
    state: str
    verdict: str | None
    reason: str | None
    own: bool
    price_micros: int | None
    price: Mapping[str, Any] | None
    parties: Parties
    billed_seconds: int
    is_replica: bool = False
    check_id: str | None = None
    """Of the check that made it give back what it earned."""
    wrong_itself: bool = False
    """Its own result was what that check found wrong; else it is another one of the same node."""
    records: tuple[RecordFacts, ...] = ()
