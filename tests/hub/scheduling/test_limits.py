"""How much of the pool one renter may have, and what happens to what is beyond it."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.fleets import ME, STRANGER, make_brief, make_needs, make_node, make_waiting

from computepool.hub.market.pricing import Ask, hourly_price
from computepool.hub.scheduling.admission import Admission
from computepool.hub.scheduling.fleet import Fleet
from computepool.hub.scheduling.limits import LimitBook, Limits, Spent, seconds_to_midnight, within
from computepool.hub.scheduling.occupancy import Occupancy, Occupied
from computepool.hub.scheduling.queue import Queue
from computepool.hub.scheduling.usage import Usage

NOW = datetime(2026, 3, 15, 22, 0, tzinfo=UTC)
TODAY = NOW.date()
CREDIT = 1_000_000
HOUR = 3600.0


def pool(limits, *, price=CREDIT, nodes=4, own=0):
    """A pool of strangers' nodes of eight cores, whose core costs so much."""
    fleet, queue = Fleet(), Queue()
    for number in range(nodes):
        fleet.put(make_node(f"node_{number}", owner_id=STRANGER, ask=Ask(0, price)))
    for number in range(own):
        fleet.put(make_node(f"own_{number}", owner_id=ME, ask=Ask(0, price)))
    return Admission(fleet, queue, Occupancy(Usage(86_400)), LimitBook(limits))


def begin(admission, name, *, seconds=HOUR, cores=1000, now=NOW):
    """Whether one more slice may begin; if so it does."""
    needs = make_needs(cpu_millis=cores, seconds=seconds)
    waiting = make_waiting(name, needs=needs)
    node = admission.find(waiting, now, 0.0)
    if node is None:
        return False
    own = node.traits.owner_id == ME
    brief = replace(make_brief(name, needs), max_runtime_seconds=seconds)
    price = hourly_price(needs, node.traits.ask, own=own)
    admission.occupancy.begin(Occupied(name, node.traits.node_id, brief, own, price), 0.0)
    return True


def how_many(admission, **facts):
    return sum(begin(admission, f"job_{number}", **facts) for number in range(20))


def test_without_limits_everything_may_begin():
    assert how_many(pool(Limits())) == 20


def test_slices_at_once():
    admission = pool(Limits(slices=3))
    assert how_many(admission) == 3
    assert admission.why_limited(make_waiting("job_9"), NOW).startswith("You may run 3 slices at once")
    admission.ended("job_0", 0.0)
    assert begin(admission, "job_9")


def test_own_nodes_are_not_limited():
    admission = pool(Limits(slices=1), own=1)
    assert how_many(admission) == 20  # own nodes come first, and nothing was taken of their room here
    assert admission.occupancy.share(ME).slices == 0


@pytest.mark.parametrize(
    ("limits", "seconds", "most"),
    [
        (Limits(hourly_micros=5 * CREDIT), HOUR, 5),
        (Limits(hourly_micros=5 * CREDIT), HOUR / 2, 5),
        (Limits(daily_micros=5 * CREDIT), HOUR, 5),
        (Limits(daily_micros=5 * CREDIT), HOUR / 2, 10),
        (Limits(monthly_micros=5 * CREDIT), 5 * HOUR, 1),
        (Limits(daily_micros=5 * CREDIT), 6 * HOUR, 0),
        (Limits(slices=2, daily_micros=5 * CREDIT), HOUR, 2),
    ],
)
def test_credits_are_counted_ahead(limits, seconds, most):
    """What runs counts as if it ran for as long as it may: a limit is kept, not only noticed."""
    assert how_many(pool(limits), seconds=seconds) == most


def test_what_was_spent_counts_for_its_day_and_its_month():
    admission = pool(Limits(daily_micros=5 * CREDIT, monthly_micros=8 * CREDIT))
    yesterday, last_month = TODAY - timedelta(days=1), date(2026, 2, 28)
    admission.limits.spend([Spent(ME, TODAY, 3 * CREDIT), Spent(ME, yesterday, CREDIT), Spent(ME, last_month, 99)])
    assert how_many(admission) == 2
    tomorrow = NOW + timedelta(days=1)
    assert [begin(admission, f"job_{number}", now=tomorrow) for number in (30, 31, 32)] == [True, True, False]
    assert admission.why_limited(make_waiting("job_33"), tomorrow).startswith("You may spend 8 credits a month")


def test_who_waits_for_room_within_a_limit_is_told_so():
    admission = pool(Limits(daily_micros=CREDIT))
    assert begin(admission, "job_1")
    words = admission.why_limited(make_waiting("job_2", needs=make_needs(seconds=HOUR)), NOW)
    assert words == "You may spend 1 credit a day: it waits until that leaves room for it."


@pytest.mark.parametrize(
    ("limits", "price", "said"),
    [
        (
            Limits(daily_micros=CREDIT),
            600 * CREDIT,
            "You may spend 1 credit a day, and it may cost 600: 1h, its `max_runtime`, at 600 an hour now. It will"
            " never fit. Set its `max_runtime` to 6s or less, or ask the operator for a higher limit.",
        ),
        (
            Limits(monthly_micros=1),
            600 * CREDIT,
            "You may spend 0.000001 credits a month, and it may cost 600: 1h, its `max_runtime`, at 600 an hour now. It"
            " will never fit. Ask the operator for a higher limit.",
        ),
        (
            Limits(hourly_micros=CREDIT),
            600 * CREDIT,
            "You may spend 1 credit an hour, and it costs 600 an hour now: it will never fit."
            " Ask for less in `resources`, or the operator for a higher limit.",
        ),
    ],
)
def test_what_never_fits_a_limit_is_not_told_to_wait(limits, price, said):
    admission = pool(limits, price=price, nodes=1)
    waiting = make_waiting("job_1", needs=make_needs(cpu_millis=1000, seconds=HOUR))
    assert admission.why_limited(waiting, NOW) == said
    cheap = make_node("cheap", owner_id=STRANGER, ask=Ask(0, 0))
    cheap.free.cpu_millis = 0
    admission.fleet.put(cheap)
    assert admission.why_limited(waiting, NOW).endswith("it waits until that leaves room for it."), "a node is busy"


def test_what_comes_back_of_earlier_days_makes_no_room_beyond_a_days_limit():
    admission = pool(Limits(daily_micros=5 * CREDIT))
    admission.limits.spend([Spent(ME, TODAY - timedelta(days=1), 4 * CREDIT), Spent(ME, TODAY, CREDIT)])
    admission.limits.spend([Spent(ME, TODAY, -5 * CREDIT)])  # a job of two days, all of it on the day of its end
    assert how_many(admission) == 5


def test_cheaper_node_is_taken_where_the_best_one_is_too_dear():
    admission = pool(Limits(hourly_micros=CREDIT // 2), nodes=1)
    assert not begin(admission, "job_1")
    admission.fleet.put(make_node("cheap", owner_id=STRANGER, ask=Ask(0, CREDIT // 4)))
    assert how_many(admission) == 2


def test_limits_of_one_renter_go_before_the_pools():
    book = LimitBook(Limits(slices=5, daily_micros=7))
    book.set(ME, Limits(slices=2))
    assert book.of(ME) == Limits(slices=2, daily_micros=7)
    assert book.of(STRANGER) == Limits(slices=5, daily_micros=7)
    book.set(ME, Limits())
    assert book.of(ME) == Limits(slices=5, daily_micros=7)


def test_days_begin_at_midnight_of_utc():
    assert seconds_to_midnight(NOW) == 2 * HOUR


def test_what_is_older_than_a_month_is_forgotten():
    book = LimitBook()
    book.spend([Spent(ME, date(2026, 2, 28), 5), Spent(ME, TODAY, 7)])
    book.forget_before(date(2026, 3, 1))
    assert book.spent(ME, date(2026, 1, 1)) == 7


@given(
    st.integers(0, 20 * CREDIT), st.integers(0, 10 * CREDIT), st.integers(1, 100_000), st.integers(0, 20 * CREDIT),
    st.integers(1, 32_000),
)  # fmt: skip
def test_what_may_begin_never_passes_the_limit(limit, price, seconds, spent, cores):
    """Whatever it costs and however long it runs: if the price passes what is left, the slice is not placed."""
    book = LimitBook(Limits(daily_micros=max(1, limit)))
    book.spend([Spent(ME, TODAY, spent)])
    needs = make_needs(cpu_millis=cores, seconds=float(seconds))
    allowed = within(needs, book.allowance(needs, Occupancy(Usage(1)).share(ME), NOW))
    node = make_node(owner_id=STRANGER, ask=Ask(0, price))
    hourly = hourly_price(needs, node.traits.ask, own=False)
    passes = not allowed.mine_only and (allowed.max_price_micros is None or hourly <= allowed.max_price_micros)
    if passes:
        assert spent + hourly * seconds / 3600 <= max(1, limit)
