"""Who pays for an attempt, and how much. Pure, whole micros: fee + host + refund is the hold, whatever happens.

Rounding, written out: what a renter pays is rounded up to a micro, the platform's fee down, and the host gets the rest
of what was paid. Nothing costs more than its hold. Credits keep their colour: presents are spent first, what a host
gets of them is a present too, and the fee on them goes back to the subsidy that they came from.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from computepool.hub.ledger.accounts import FEES, HOSTS_POCKETS, SUBSIDY, Kind, account
from computepool.hub.ledger.entries import Posting, moved_all
from computepool.hub.ledger.holds import Pockets, given_back
from computepool.protocol.states import Verdict

SECONDS_PER_HOUR = 3600
BASIS_POINTS = 10_000


class Payer(StrEnum):
    RENTER = "renter"
    PLATFORM = "platform"
    NOBODY = "nobody"


class Basis(StrEnum):
    """Which of its seconds are paid."""

    METERED = "metered"
    SAVED = "saved"
    """Up to the last checkpoint that it saved."""
    KEPT = "kept"
    """Nothing new; what earlier instalments paid for stays paid, as far as a checkpoint saved it."""


@dataclass(frozen=True, slots=True)
class Rule:
    payer: Payer
    basis: Basis


RULES: Mapping[Verdict, Rule] = {
    Verdict.OK: Rule(Payer.RENTER, Basis.METERED),
    Verdict.RENTER: Rule(Payer.RENTER, Basis.METERED),
    Verdict.HOST: Rule(Payer.NOBODY, Basis.KEPT),
    Verdict.OWNER: Rule(Payer.RENTER, Basis.SAVED),
    Verdict.PREEMPTED: Rule(Payer.RENTER, Basis.SAVED),
    Verdict.HUB: Rule(Payer.PLATFORM, Basis.METERED),
    Verdict.BUDGET: Rule(Payer.RENTER, Basis.METERED),
}
NOTHING_IS_PAID = Rule(Payer.NOBODY, Basis.METERED)


def rule_of(verdict: Verdict, *, refund_failed: bool = False) -> Rule:
    """`refund_failed`: the operator's wish that failed jobs cost nothing."""
    return NOTHING_IS_PAID if verdict is Verdict.RENTER and refund_failed else RULES[verdict]


def cost_of(price_micros: int, seconds: int) -> int:
    """So many seconds at so much an hour, rounded up to a micro."""
    if price_micros < 0 or seconds < 0:
        raise ValueError(f"{seconds} seconds at {price_micros} micros an hour")
    return -(-price_micros * seconds // SECONDS_PER_HOUR)


def seconds_for(micros: int, price_micros: int) -> int:
    """How long so much lasts: whole seconds, none of which would cost more than is there."""
    return micros * SECONDS_PER_HOUR // price_micros


def fee_of(micros: int, fee_bps: int) -> int:
    """Rounded down: the part of a micro is the host's."""
    if not 0 <= fee_bps <= BASIS_POINTS:
        raise ValueError(f"a fee of {fee_bps} hundredths of a percent")
    return micros * fee_bps // BASIS_POINTS


@dataclass(frozen=True, slots=True)
class Share:
    """Of an amount, what is a present and what is not."""

    promotional: int = 0
    real: int = 0

    @property
    def total(self) -> int:
        return self.promotional + self.real


NOTHING = Share()


@dataclass(frozen=True, slots=True)
class Settlement:
    """How a hold ends."""

    hold: Pockets
    cost: Pockets
    """What the renter pays."""
    fee: Share
    host: Share
    subsidy: Share = Share()
    """What the platform pays the host in the renter's place: in the colours in which the renter would have paid, or an
    outage would make money of presents."""

    @property
    def refund(self) -> Pockets:
        return self.hold.without(self.cost)

    @property
    def earned(self) -> int:
        return self.host.total + self.subsidy.total


NO_HOLD = Pockets()


def settle(
    hold: Pockets,
    price_micros: int,
    seconds: int,
    fee_bps: int,
    payer: Payer,
    subsidy: Share | None = None,
) -> Settlement:
    """`seconds` are those that are billed. The platform pays no more than the hold, or where there is none `subsidy`,
    in the kinds of credit that it is made of."""
    cost = cost_of(price_micros, seconds)
    if payer is Payer.PLATFORM and subsidy is not None:
        host = _divided(Pockets(available=cost), fee_bps)[1].real
        promotional = min(host, subsidy.promotional)
        return Settlement(hold, NO_HOLD, NOTHING, NOTHING, Share(promotional, min(host - promotional, subsidy.real)))
    if payer is Payer.PLATFORM:
        return Settlement(hold, NO_HOLD, NOTHING, NOTHING, _divided(hold.first(min(cost, hold.total)), fee_bps)[1])
    paid = hold.first(min(cost, hold.total)) if payer is Payer.RENTER else NO_HOLD
    return Settlement(hold, paid, *_divided(paid, fee_bps))


def _divided(paid: Pockets, fee_bps: int) -> tuple[Share, Share]:
    """(fee, host) of what was paid."""
    fee_on_presents = fee_of(paid.promotional, fee_bps)
    fee = Share(fee_on_presents, fee_of(paid.total, fee_bps) - fee_on_presents)
    return fee, Share(paid.promotional - fee.promotional, paid.real - fee.real)


def postings_of(settlement: Settlement, renter_id: str, host_id: str, host_debt: int = 0) -> tuple[Posting, ...]:
    """All of the hold, out of what is held. `host_debt`: what the host owes, which earnings fill up first."""
    held, one = account(renter_id, Kind.HELD), settlement
    presents, earnings, debt = (account(host_id, kind) for kind in HOSTS_POCKETS)
    repaid = min(one.host.real, host_debt)
    later = min(one.subsidy.real, host_debt - repaid)
    paid = (
        (held, FEES, one.fee.real),
        (held, SUBSIDY, one.fee.promotional),
        (held, presents, one.host.promotional),
        (held, debt, repaid),
        (held, earnings, one.host.real - repaid),
        (SUBSIDY, debt, later),
        (SUBSIDY, earnings, one.subsidy.real - later),
        (SUBSIDY, presents, one.subsidy.promotional),
    )
    return (*moved_all(paid), *given_back(renter_id, one.refund))


def in_figures(settlement: Settlement) -> dict[str, Any]:
    """As `explain` shows it."""
    one = settlement
    return {
        "hold_micros": one.hold.total,
        "cost_micros": one.cost.total,
        "fee_micros": one.fee.total,
        "host_micros": one.host.total,
        "subsidy_micros": one.subsidy.total,
        "refund_micros": one.refund.total,
        "paid_from": {
            "promotional": one.cost.promotional,
            "available": one.cost.available,
            "earnings": one.cost.earnings,
        },
        "host_promotional_micros": one.host.promotional + one.subsidy.promotional,
        "fee_promotional_micros": one.fee.promotional,
    }
