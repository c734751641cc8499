"""Reliability: the numbers that are promised, what each verdict weighs, and how the past fades."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from computepool.hub.market.standing import NEWCOMER
from computepool.hub.reputation.record import Happening, after, fresh, standing_of, without
from computepool.hub.reputation.reliability import HALF_LIFE, Evidence, weight_of
from computepool.protocol.states import Verdict

NOW = datetime(2026, 3, 1, tzinfo=UTC)
OK, VANISH = Happening(Verdict.OK, 1.0, NOW), Happening(Verdict.HOST, -4.0, NOW)

happenings = st.builds(
    lambda weight, days: (weight, NOW + timedelta(days=days)),
    st.sampled_from([1.0, -4.0, -1.0, -0.25]),
    st.floats(0, 400),
)


def after_all(*whats, half_life=HALF_LIFE):
    record = fresh(NOW)
    for what in whats:
        record = after(record, what, half_life)
    return record


def shown(*whats):
    standing = standing_of(after_all(*whats), NOW, HALF_LIFE)
    return f"{standing.mean:.2f} / {standing.lower:.2f}"


@pytest.mark.parametrize(
    ("history", "expected"),
    [
        ([], "0.60 / 0.25"),
        ([OK] * 10, "0.87 / 0.70"),
        ([OK] * 50, "0.96 / 0.92"),
        ([OK] * 50 + [VANISH], "0.90 / 0.83"),
    ],
    ids=["new", "ten clean", "fifty clean", "fifty clean and one vanish"],
)
def test_the_promised_numbers(history, expected):
    assert shown(*history) == expected


def test_a_node_without_a_record_is_what_the_fleet_takes_it_for():
    standing = standing_of(fresh(NOW), NOW, HALF_LIFE)
    assert (standing.mean, standing.lower) == pytest.approx((NEWCOMER.mean, NEWCOMER.lower), abs=0.001)
    assert (standing.has_record, standing.verified, standing.quarantined_until, standing.slots) == (
        NEWCOMER.has_record,
        NEWCOMER.verified,
        NEWCOMER.quarantined_until,
        NEWCOMER.slots,
    )


@pytest.mark.parametrize(
    ("verdict", "reason", "saved", "weight"),
    [
        (Verdict.OK, "exited", False, 1),
        (Verdict.RENTER, "exited", False, 0),
        (Verdict.RENTER, "memory", True, 0),
        (Verdict.HOST, "lease_expired", False, -4),
        (Verdict.HOST, "sandbox", True, -4),
        (Verdict.OWNER, "taken_back_by_owner", True, -0.25),
        (Verdict.OWNER, "taken_back_by_owner", False, -1),
        (Verdict.OWNER, "declined", False, 0),
        (Verdict.PREEMPTED, "preempted", False, 0),
        (Verdict.HUB, "hub_downtime", False, 0),
        (Verdict.BUDGET, "budget", False, 0),
    ],
)
def test_what_each_verdict_weighs(verdict, reason, saved, weight):
    assert weight_of(verdict, reason, saved=saved) == weight


def test_every_verdict_has_a_weight():
    assert all(isinstance(weight_of(verdict, "x", saved=False), float) for verdict in Verdict)


def test_after_a_half_life_what_happened_counts_half():
    evidence = Evidence(8, 4, NOW).at(NOW + HALF_LIFE, HALF_LIFE)
    assert (evidence.good, evidence.bad) == pytest.approx((4, 2))
    assert Evidence(8, 4, NOW).at(NOW + 2 * timedelta(days=7), timedelta(days=7)).good == pytest.approx(2)


def test_what_was_long_ago_is_forgotten():
    standing = standing_of(after_all(*[VANISH] * 20), NOW + timedelta(days=1000), HALF_LIFE)
    assert (standing.mean, standing.lower) == pytest.approx((0.6, 0.2486), abs=1e-3)
    assert not standing.has_record


def test_a_clock_that_went_back_changes_nothing_until_it_has_caught_up():
    evidence = Evidence(8, 4, NOW)
    assert evidence.at(NOW - timedelta(days=90), HALF_LIFE) == evidence
    assert evidence.moved(1, NOW - timedelta(days=90), HALF_LIFE) == Evidence(9, 4, NOW)


@given(st.lists(happenings, max_size=30))
def test_it_is_a_chance_and_the_lower_bound_is_below_the_mean(moves):
    evidence = Evidence(0, 0, NOW)
    for weight, at in moves:
        evidence = evidence.moved(weight, at, HALF_LIFE)
    assert 0 < evidence.lower < evidence.mean < 1
    assert evidence.good >= 0
    assert evidence.bad >= 0


@given(st.lists(happenings, max_size=20), st.floats(0, 100))
def test_an_ok_never_lowers_it_and_a_failure_never_raises_it(moves, days):
    evidence = Evidence(0, 0, NOW)
    for weight, at in moves:
        evidence = evidence.moved(weight, at, HALF_LIFE)
    here = evidence.at(evidence.as_of + timedelta(days=days), HALF_LIFE)
    better, worse = here.moved(1, here.as_of, HALF_LIFE), here.moved(-4, here.as_of, HALF_LIFE)
    assert worse.mean < here.mean < better.mean
    assert worse.lower < here.lower < better.lower


@given(st.lists(happenings, max_size=15), happenings, st.lists(happenings, max_size=15))
def test_what_is_undone_is_as_if_it_had_never_been(before, undone, later):
    """Whatever came before and after, and whenever it is undone."""
    with_it, without_it, counted_at = Evidence(0, 0, NOW), Evidence(0, 0, NOW), NOW
    for index, (weight, at) in enumerate([*before, undone, *later]):
        with_it = with_it.moved(weight, at, HALF_LIFE)
        if index == len(before):
            counted_at = with_it.as_of
            without_it = without_it.at(at, HALF_LIFE)
        else:
            without_it = without_it.moved(weight, at, HALF_LIFE)
    back = with_it.without(undone[0], counted_at, HALF_LIFE)
    assert back.as_of == without_it.as_of
    assert (back.good, back.bad) == pytest.approx((without_it.good, without_it.bad), abs=1e-9)


def test_undoing_a_failure_ends_what_followed_from_it():
    three = [VANISH, VANISH, Happening(Verdict.HOST, -4.0, NOW + timedelta(seconds=1))]
    record = after_all(*three)
    assert record.trouble.until is not None
    back = without(record, three[-1], three[:-1], HALF_LIFE)
    assert (back.trouble.until, back.trouble.streak) == (None, 2)


def test_correctness_is_counted_apart():
    """However many of its results were found wrong: the count alone does not move its reliability."""
    record = replace(after_all(*[OK] * 10), audited_ok=1, audited_wrong=100)
    assert standing_of(record, NOW, HALF_LIFE) == standing_of(after_all(*[OK] * 10), NOW, HALF_LIFE)
