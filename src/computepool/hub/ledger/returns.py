"""Who gives back what of an attempt's cost, out of which pocket and into which. Pure.

Where nobody decides about it, a renter gets at once what is really there: the fee, and what the host still has. The
rest is owed to the renter and follows when the host's debt is filled (`claims`); a present that the host has spent is
gone, as presents are. Else one person could be the renter and the host, spend the credits at an account of their own,
and have the pool pay them once more.
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from computepool.hub.ledger.accounts import FEES, RESTITUTION, SUBSIDY, Kind, account
from computepool.hub.ledger.entries import Posting, moved
from computepool.hub.ledger.holds import Pockets
from computepool.hub.ledger.settlement import Share

Amounts = Sequence[tuple[str, int]]
"""(account, micros)"""


@dataclass(frozen=True, slots=True)
class Paid:
    """What a renter pays for an attempt, as things are now."""

    attempt_id: str
    job_id: str
    renter_id: str
    host_id: str
    cost: Pockets
    fee: Share
    """Of it, the platform's."""

    @property
    def host(self) -> Share:
        return Share(self.cost.promotional - self.fee.promotional, self.cost.real - self.fee.real)


@dataclass(frozen=True, slots=True)
class Return:
    """What goes back of an amount, as far as it is there."""

    back: Pockets
    """To the renter, at once."""
    host: Share
    """Of that, the host's. The rest is the platform's fee."""
    fee: Share
    owed: int = 0
    """What the host has no more: the renter gets it when the host has earned it."""
    lost: int = 0
    """Presents that the host has no more."""

    @property
    def cost_micros(self) -> int:
        """What the renter pays less in the end."""
        return self.back.total + self.owed

    @property
    def host_micros(self) -> int:
        return self.host.total + self.owed


def paid_of(nets: Mapping[str, int], attempt_id: str, job_id: str, renter_id: str, host_id: str) -> Paid:
    """`nets`: by account, what the attempt's entries came to. The renter's side and the fees say all: a host's pockets
    are mixed with what it owed."""
    unpaid = missing(nets, renter_id)
    real = max(0, unpaid.real - max(0, nets.get(RESTITUTION, 0)))  # what is owed to the renter is not paid any more
    available = min(unpaid.available, real)
    cost = Pockets(unpaid.promotional, available, real - available)
    fee = Share(_within(nets.get(SUBSIDY, 0), cost.promotional), _within(nets.get(FEES, 0), real))
    return Paid(attempt_id, job_id, renter_id, host_id, cost, fee)


def missing(nets: Mapping[str, int], renter_id: str) -> Pockets:
    """What a renter has less by it, as things are now."""
    promotional, available, earnings = (
        max(0, -nets.get(account(renter_id, kind), 0)) for kind in (Kind.PROMOTIONAL, Kind.AVAILABLE, Kind.EARNINGS)
    )
    # What came back while they owed the pool went there.
    real = max(0, available + earnings - max(0, nets.get(account(renter_id, Kind.DEBT), 0)))
    available = min(available, real)
    return Pockets(promotional, available, real - available)


def as_far_as_there(cost: Pockets, fee: Share, has: Mapping[Kind, int]) -> Return:
    """`fee`: of the cost, the platform's. `has`: the host's pockets."""
    real, presents = cost.real - fee.real, cost.promotional - fee.promotional
    host = Share(min(presents, has[Kind.PROMOTIONAL]), min(real, has[Kind.EARNINGS]))
    owed, lost = real - host.real, presents - host.promotional
    back = last_spent(cost, cost.real - owed)
    return Return(Pockets(cost.promotional - lost, back.available, back.earnings), host, fee, owed, lost)


def last_spent(cost: Pockets, micros: int) -> Pockets:
    """So much of what was no present: what was spent last comes back first."""
    earnings = min(cost.earnings, micros)
    return Pockets(0, micros - earnings, earnings)


def postings_of_return(one: Return, renter_id: str, host_id: str, renter_owes: int = 0) -> tuple[Posting, ...]:
    sources = [
        (account(host_id, Kind.EARNINGS), one.host.real),
        (account(host_id, Kind.PROMOTIONAL), one.host.promotional),
        (FEES, one.fee.real),
        (SUBSIDY, one.fee.promotional),
    ]
    owed = moved(account(host_id, Kind.DEBT), RESTITUTION, one.owed)
    return (*paired(sources, to_renter(renter_id, one.back, renter_owes)), *owed)


def to_renter(renter_id: str, back: Pockets, owes: int) -> list[tuple[str, int]]:
    """To the pockets that it came from; what they owe the pool first, except out of presents."""
    filled = min(owes, back.real)
    available = max(0, back.available - filled)
    earnings = back.real - filled - available
    parts = {
        Kind.PROMOTIONAL: back.promotional,
        Kind.DEBT: filled,
        Kind.AVAILABLE: available,
        Kind.EARNINGS: earnings,
    }
    return [(account(renter_id, kind), micros) for kind, micros in parts.items()]


def undo(
    nets: Mapping[str, int], paid: Paid, has: Mapping[Kind, int], renter_owes: int = 0
) -> tuple[Return, tuple[Posting, ...]]:
    """What takes back all that an attempt moved. `nets`: by account, what its entries came to together."""
    one = as_far_as_there(paid.cost, paid.fee, has)
    taken = {Kind.EARNINGS: one.host.real, Kind.PROMOTIONAL: one.host.promotional}
    left = {kind: has[kind] - micros for kind, micros in taken.items()}
    to_the_renter = postings_of_return(one, paid.renter_id, paid.host_id, renter_owes)
    return one, (*to_the_renter, *_to_platform(nets, paid, left))


def _to_platform(nets: Mapping[str, int], paid: Paid, has: Mapping[Kind, int]) -> tuple[Posting, ...]:
    """What the platform paid itself, such as a check, or in place of a renter whose hub had failed. The host owes what
    it has no more, presents left out. `has`: the host's pockets, without what goes to the renter."""
    fees = max(0, nets.get(FEES, 0) - paid.fee.real)
    total = paid.fee.promotional - nets.get(SUBSIDY, 0) - fees
    if total <= 0:
        return ()
    presents = _within(nets.get(account(paid.host_id, Kind.PROMOTIONAL), 0) - paid.host.promotional, total)
    there = min(presents, has[Kind.PROMOTIONAL])
    sources = [*from_host(paid.host_id, Share(there, total - presents), has), (FEES, fees)]
    return paired(sources, [(SUBSIDY, total - presents + there + fees)])


def from_host(host_id: str, taken: Share, has: Mapping[Kind, int]) -> Amounts:
    """Out of the pockets that it went to, and what is not there any more as a debt."""
    earnings, presents = min(taken.real, has[Kind.EARNINGS]), min(taken.promotional, has[Kind.PROMOTIONAL])
    return [
        (account(host_id, Kind.EARNINGS), earnings),
        (account(host_id, Kind.PROMOTIONAL), presents),
        (account(host_id, Kind.DEBT), taken.total - earnings - presents),
    ]


def paired(sources: Iterable[tuple[str, int]], destinations: Iterable[tuple[str, int]]) -> tuple[Posting, ...]:
    """Postings that take from the ones exactly what the others get."""
    giving, getting = deque(sources), deque(destinations)
    if sum(micros for _, micros in giving) != sum(micros for _, micros in getting):
        raise AssertionError(f"{list(giving)} is not what {list(getting)} is")
    found: list[Posting] = []
    while giving and getting:
        (source, has), (destination, needs) = giving.popleft(), getting.popleft()
        micros = min(has, needs)
        if micros:
            found.append(Posting(source, destination, micros))
        if has > micros:
            giving.appendleft((source, has - micros))
        if needs > micros:
            getting.appendleft((destination, needs - micros))
    return tuple(found)


def _within(value: int, most: int) -> int:
    return max(0, min(value, most))
