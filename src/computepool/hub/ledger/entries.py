"""What is written into the ledger: an entry, which is postings from one account to another. Balanced by construction:
what leaves one account arrives in another.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from computepool.hub.ledger.accounts import NAME_LIMIT

MOST_MICROS = 10**18
"""A million million credits. Sums of what anybody could post stay far below 2⁶³."""
KEY_LIMIT = 120
NOTE_LIMIT = 500


@dataclass(frozen=True, slots=True)
class Posting:
    source: str
    destination: str
    micros: int

    def __post_init__(self) -> None:
        if type(self.micros) is not int or not 0 < self.micros <= MOST_MICROS:
            raise ValueError(f"a posting moves a whole number of micros from 1 to {MOST_MICROS}, not {self.micros!r}")
        if self.source == self.destination or not self.source or not self.destination:
            raise ValueError(f"a posting goes from one account to another, not from {self.source} to itself")
        if max(len(self.source), len(self.destination)) > NAME_LIMIT:
            raise ValueError(f"an account's name has at most {NAME_LIMIT} characters")


@dataclass(frozen=True, slots=True)
class Entry:
    """`key` is the caller's own name for what it does, such as `settle/attempt_…/1`: the same key is posted once."""

    key: str
    kind: str
    postings: tuple[Posting, ...]
    actor: str = "hub"
    job_id: str | None = None
    attempt_id: str | None = None
    note: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)
    """What `explain` needs to say where the figures come from."""
    reverses: int | None = None
    """The entry that it takes back, in whole or in part."""
    changes: Mapping[str, int] = field(init=False, repr=False, compare=False)
    """By account, what it has more or less afterwards. Those that end as they were are left out."""

    def __post_init__(self) -> None:
        if not self.key or len(self.key) > KEY_LIMIT:
            raise ValueError(f"an entry's key has 1 to {KEY_LIMIT} characters, not {len(self.key)}")
        if not self.postings:
            raise ValueError(f"entry {self.key} moves nothing")
        object.__setattr__(self, "changes", _net(self.postings))


def _net(postings: tuple[Posting, ...]) -> dict[str, int]:
    net: dict[str, int] = {}
    for posting in postings:
        net[posting.source] = net.get(posting.source, 0) - posting.micros
        net[posting.destination] = net.get(posting.destination, 0) + posting.micros
    return {name: micros for name, micros in net.items() if micros}


def moved(source: str, destination: str, micros: int) -> tuple[Posting, ...]:
    """One posting, or none if there is nothing to move. Below zero is an error, as ever."""
    return (Posting(source, destination, micros),) if micros else ()


def moved_all(lines: Iterable[tuple[str, str, int]]) -> tuple[Posting, ...]:
    """(source, destination, micros), each a posting, or none if there is nothing to move."""
    return tuple([Posting(source, destination, micros) for source, destination, micros in lines if micros])
