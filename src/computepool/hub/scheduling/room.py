"""Questions about room that is not there yet."""

from collections.abc import Collection

from computepool.hub.market.feasibility import Gate, fits
from computepool.hub.market.requirements import Requirements
from computepool.hub.scheduling.fleet import Fleet, FleetNode, free_of


def could_hold(fleet: Fleet, node: FleetNode, needs: Requirements) -> bool:
    """It takes such work now, and would have room were it empty."""
    return fleet.gate(needs, node) in (None, Gate.BUSY)


def would_fit(node: FleetNode, needs: Requirements, without: Collection[str]) -> bool:
    """Whether there is room once these attempts are gone."""
    kept = () if node.traits.owner_id == needs.owner_id else node.availability.gpus_in_use
    staying = [held for held in node.attempts.values() if held.attempt_id not in without]
    return fits(needs, free_of(node.traits, staying), kept)
