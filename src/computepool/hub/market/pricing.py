"""What a node asks, and what a slice would cost there. Micro-credits, gross: the platform's fee is in it."""

from dataclasses import dataclass

from computepool.hub.market.requirements import MILLI, Requirements


@dataclass(frozen=True, slots=True)
class Ask:
    """A node's prices now. A lease locks the one that it was made at."""

    gpu_micros: int
    """For one GPU and one hour."""
    core_micros: int
    """For one core and one hour, where no GPU is asked for."""


NOTHING = Ask(gpu_micros=0, core_micros=0)


def hourly_price(needs: Requirements, ask: Ask, *, own: bool) -> int:
    """Of one slice for one hour. A part of a micro counts as a whole one; one's own nodes cost nothing."""
    if own:
        return 0
    if needs.gpu_count:
        return needs.gpu_count * ask.gpu_micros
    return -(-needs.cpu_millis * ask.core_micros // MILLI)
