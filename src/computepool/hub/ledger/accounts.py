"""Whose credits, and in which pocket. An account is named by its owner and its kind: `user_01k9…/available`."""

from enum import StrEnum
from typing import Literal

from computepool.hub.core.owners import PLATFORM


class Kind(StrEnum):
    """The pockets of a renter or a host."""

    AVAILABLE = "available"
    """Paid for, or granted for money: spendable, and given back on request."""
    PROMOTIONAL = "promotional"
    """Promotional credit: can be spent, cannot be cashed out, not even by the host who earns it."""
    EARNINGS = "earnings"
    """Of a host: spendable, and cashed out once nobody can dispute it any more."""
    HELD = "held"
    """Set aside for what runs now."""
    CASHING_OUT = "cashing_out"
    """On its way out."""
    DEBT = "debt"
    """What had to be given back and was spent already. Never above zero: later earnings fill it up first."""


Pocket = Literal["available", "promotional", "earnings", "held", "cashing_out", "debt"]
"""A `Kind`, as the API names it."""


class Platform(StrEnum):
    """The pool's own. Credits come into being and end here, so these may be below zero; all accounts sum to zero."""

    FEES = "fees"
    SUBSIDY = "subsidy"
    """Promotional credit, audits, and what the hub's own faults cost."""
    CLEARING = "clearing"
    """Real money outside: minus what was paid in, plus what was paid out."""
    WRITE_OFF = "write_off"
    """What nobody will pay back."""
    STORAGE = "storage"
    """What owners paid for storing more than is free."""
    RESTITUTION = "restitution"
    """What hosts owe renters: it came from debts that are not filled yet, and is all owed to somebody (`ClaimRow`)."""


NAME_LIMIT = 60


def account(owner_id: str, kind: Kind) -> str:
    return owner_id + "/" + kind


def platform(kind: Platform) -> str:
    return f"{PLATFORM}/{kind}"


def owner_of(name: str) -> str:
    return name.partition("/")[0]


def kind_of(name: str) -> str:
    return name.partition("/")[2]


def is_platforms(name: str) -> bool:
    return owner_of(name) == PLATFORM


def may_hold(name: str, micros: int) -> bool:
    """Whether this account may have such a balance."""
    if is_platforms(name):
        return True
    return micros <= 0 if kind_of(name) == Kind.DEBT else micros >= 0


FEES, SUBSIDY, RESTITUTION = (platform(one) for one in (Platform.FEES, Platform.SUBSIDY, Platform.RESTITUTION))
HOSTS_POCKETS = (Kind.PROMOTIONAL, Kind.EARNINGS, Kind.DEBT)
"""Where a host is paid into."""
SPENT_FIRST = (Kind.PROMOTIONAL, Kind.AVAILABLE, Kind.EARNINGS)
"""In which order credits are spent. What is not used goes back to where it came from."""
