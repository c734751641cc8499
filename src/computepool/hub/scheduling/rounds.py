"""One round of giving nodes to those who wait, in the order of their turns."""

from collections.abc import Callable
from datetime import datetime

from computepool.hub.scheduling.admission import Admission
from computepool.hub.scheduling.fleet import FleetNode
from computepool.hub.scheduling.preemption import Claim
from computepool.hub.scheduling.queue import Waiting
from computepool.hub.scheduling.turns import Round


def place_some(
    admission: Admission, most: int, now: datetime, tick: float, place: Callable[[Waiting, FleetNode], None]
) -> list[Claim]:
    """The next few who find room are placed, `most` of them; the caller then takes them out of the queue. Returns the
    room that others have to make.

    It ends as soon as room that was kept for somebody is let go: those who were kept from it have had their turns in
    this round, and in the next one they come before everybody who had more.
    """
    admission.begin_round(tick)
    turns = Round(admission.queue.lines(), now, lambda owner_id: admission.occupancy.standing(owner_id, tick))
    claims: list[Claim] = []
    placed = 0
    while placed < most and (waiting := turns.next()) is not None:
        node = admission.find(waiting, now, tick)
        if node is None:
            claim = admission.make_room(waiting, now, tick)
            claims += [claim] if claim is not None else []
            turns.in_vain()
            continue
        place(waiting, node)
        placed += 1
        if admission.placed(waiting):
            break
        turns.served()
    return claims
