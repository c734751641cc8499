"""Those who sell in a simulated market: honest ones, and those who try to be paid for work that they do not do."""

import zlib
from dataclasses import dataclass, field
from datetime import datetime
from random import Random

from computepool.hub.reputation.record import Record, fresh
from computepool.hub.trust.auditing import AuditRecord, is_drawn, share_audited
from computepool.hub.trust.clawback import Earning


@dataclass(frozen=True)
class Work:
    """One slice: its right result depends on the card that it runs on."""

    number: int
    deterministic: bool
    racy: bool
    """Its renter only thinks that it is deterministic."""
    hours: float
    """On the card that it asks for."""

    def right(self, card: str, rng: Random) -> str:
        if self.racy or not self.deterministic:
            return f"{self.number}/{card}/{rng.randrange(2)}"
        return f"{self.number}/{card}"


@dataclass
class Host:
    owner: str
    card: str
    """As it says."""
    speed: float
    """As it was measured, in GFLOP/s."""
    joined: datetime
    rng: Random
    audits: AuditRecord = field(default_factory=AuditRecord)
    record: Record = field(init=False)
    earnings: list[Earning] = field(default_factory=list)
    """Not cashed out yet."""
    wrong_attempts: set[str] = field(default_factory=set)
    seen: set[int] = field(default_factory=set)
    """The numbers of what it was given: it gets no canary that it could remember."""
    cashed_micros: int = 0
    cashed_wrong_micros: int = 0
    honest_taken_micros: int = 0
    """Earned by right results, and lost with the wrong ones."""
    cost_micros: int = 0
    done: int = 0
    banned: bool = False

    kind = "honest"

    def __post_init__(self) -> None:
        self.record = fresh(self.joined)

    @property
    def is_honest(self) -> bool:
        return self.kind == "honest"

    def cheats(self, work: Work) -> bool:
        return False

    def wrong(self, work: Work) -> str:
        raise NotImplementedError

    def deliver(self, work: Work) -> tuple[str, bool]:
        """The digest of what it delivers, and whether it did the work."""
        cheats = self.cheats(work)
        self.done += 1
        self.seen.add(work.number)
        return (self.wrong(work) if cheats else self.compute(work)), not cheats

    def compute(self, work: Work) -> str:
        return work.right(self.card, self.rng)


class Spoofer(Host):
    """A small card that says it is a large one: its floats are another's, and it is slow."""

    kind = "spoofed GPU"

    def cheats(self, work: Work) -> bool:
        return True

    def wrong(self, work: Work) -> str:
        return f"{work.number}/gtx-1060"


class EarlyExit(Host):
    """Waits for a while, says that all went well, and leaves nothing: as all of its kind do."""

    kind = "early exit"

    def cheats(self, work: Work) -> bool:
        return True

    def wrong(self, work: Work) -> str:
        return "nothing"


class Replay(Host):
    """Computes now and then, and delivers that again and again."""

    kind = "replayed result"
    last = ""

    def cheats(self, work: Work) -> bool:
        return self.done % 20 != 0

    def wrong(self, work: Work) -> str:
        return self.last

    def compute(self, work: Work) -> str:
        self.last = super().compute(work)
        return self.last


class Sleeper(Host):
    """Earns trust first, and then cheats, now and then or always; but never where it expects an audit. It knows how
    often it is audited, and guesses which ones from all that a node gets to see: the job's name."""

    kind = "honest, then cheats"
    honest_for = 100
    share = 1.0

    def cheats(self, work: Work) -> bool:
        share = share_audited(self.audits.valid_in_a_row)
        expected = share == 1.0 or is_drawn(share, lambda bits: bits_of_name(work.number, bits))
        return self.done >= self.honest_for and not expected and self.rng.random() < self.share

    def wrong(self, work: Work) -> str:
        return f"{work.number}/guess of {self.owner}"


class Colluder(Sleeper):
    """One of a ring that tells each other what was delivered: whoever of them is asked again says the same."""

    kind = "colluding owners"
    honest_for = 60
    ring: set[int]

    def cheats(self, work: Work) -> bool:
        return work.number in self.ring or super().cheats(work)

    def wrong(self, work: Work) -> str:
        self.ring.add(work.number)
        return f"{work.number}/as agreed"


def bits_of_name(number: int, bits: int) -> int:
    return zlib.crc32(f"job-{number}".encode()) >> (32 - bits)


KINDS = (Spoofer, EarlyExit, Replay, Sleeper, Colluder)
