"""Everybody who waits for a large room has a turn to look for it, also behind those for whom there never is any."""

from support.fleets import gpu, make_needs, make_node, occupy

from computepool.hub.market.requirements import Requirements
from computepool.hub.scheduling.fleet import Fleet
from computepool.hub.scheduling.reservations import MOST_ASKING, RESERVE_AFTER_SECONDS, Reservations
from computepool.protocol.gpus import GpuRequest


def needs_of(owner_id: str, gpus: int) -> Requirements:
    return make_needs(owner_id=owner_id, gpu=GpuRequest(count=gpus))


def busy_fleet() -> Fleet:
    fleet = Fleet()
    node = make_node("node_1", owner_id="user_host", gpus=(gpu(0), gpu(1)))
    occupy(node, "attempt_1", needs_of("user_small", 1))
    fleet.put(node)
    return fleet


def ask_in_rounds(several: list[Requirements], rounds: int, every: float) -> set[str]:
    """Who got room kept for them."""
    kept, fleet, found = Reservations(), busy_fleet(), set[str]()
    for number in range(rounds):
        kept.tidy(fleet, lambda needs: True, number * every)
        for needs in several:
            if kept.reserve(fleet, needs, (), RESERVE_AFTER_SECONDS, number * every) is not None:
                found.add(needs.owner_id)
    return found


def test_slice_that_no_node_can_hold_does_not_keep_others_from_looking():
    for every in (1.0, 4.0, 30.0):
        hopeless = [needs_of(f"user_{number}", 8) for number in range(5)]
        found = ask_in_rounds([*hopeless, needs_of("user_large", 2)], rounds=60, every=every)
        assert found == {"user_large"}, f"a round every {every} s"


def test_more_who_wait_in_vain_than_are_remembered_still_take_turns():
    hopeless = [needs_of(f"user_{number}", 8) for number in range(2 * MOST_ASKING)]
    assert ask_in_rounds([*hopeless, needs_of("user_large", 2)], 3 * MOST_ASKING, every=6.0) == {"user_large"}


def test_one_who_was_to_look_and_is_gone_does_not_hold_up_the_rest():
    kept, fleet, large = Reservations(), busy_fleet(), needs_of("user_large", 2)
    for needs in (needs_of("user_first", 8), needs_of("user_gone", 8)):
        kept.reserve(fleet, needs, (), RESERVE_AFTER_SECONDS, 0.0)
    for tick in (6.0, 12.0, 18.0, 24.0):
        for needs in (needs_of("user_first", 8), large):
            kept.reserve(fleet, needs, (), RESERVE_AFTER_SECONDS, tick)
    assert kept.of("user_large") is not None


def test_one_who_had_its_room_does_not_keep_it_again_before_others_looked():
    kept, fleet = Reservations(), busy_fleet()
    many, large = needs_of("user_many", 2), needs_of("user_large", 2)
    assert kept.reserve(fleet, many, (), RESERVE_AFTER_SECONDS, 0.0) is not None
    kept.placed(many)
    for tick in (20.0, 40.0):
        for needs in (many, large):
            kept.reserve(fleet, needs, (), RESERVE_AFTER_SECONDS, tick)
    assert [one.needs.owner_id for one in kept] == ["user_large"]
