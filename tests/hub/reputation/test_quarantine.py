"""Streaks of failures, quarantines that grow, and the one slice that decides."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from computepool.hub.reputation import quarantine
from computepool.hub.reputation.quarantine import (
    FAILURES_IN_A_ROW,
    FIRST,
    FORGIVEN_AFTER,
    LONGEST,
    NO_TROUBLE,
    closed_until,
    is_probed,
    length,
)
from computepool.protocol.states import Verdict

NOW = datetime(2026, 3, 1, tzinfo=UTC)
HOST, OK, RENTER, OWNER = Verdict.HOST, Verdict.OK, Verdict.RENTER, Verdict.OWNER

steps = st.lists(st.tuples(st.sampled_from(list(Verdict)), st.floats(0, 3 * 86_400)), max_size=60)


def after(*verdicts, trouble=NO_TROUBLE, at=NOW):
    for verdict in verdicts:
        trouble = quarantine.after(trouble, verdict, at)
    return trouble


def test_two_failures_in_a_row_are_bad_luck_three_are_a_quarantine():
    assert after(HOST, HOST).until is None
    assert after(HOST, HOST, HOST).until == NOW + timedelta(minutes=10)


def test_an_ok_in_between_ends_a_streak_and_what_is_not_the_hosts_does_not():
    assert after(HOST, HOST, OK, HOST, HOST).until is None
    assert after(HOST, RENTER, HOST, OWNER, HOST).until is not None


def test_what_it_had_been_given_before_does_not_make_it_longer():
    trouble = after(*[HOST] * 20)
    assert (trouble.level, trouble.until) == (1, NOW + FIRST)


def test_a_probe_that_fails_doubles_it_and_one_that_is_ok_ends_it():
    trouble, at = after(*[HOST] * FAILURES_IN_A_ROW), NOW
    for level in range(2, 12):
        at = trouble.until
        assert is_probed(trouble, at)
        trouble = after(HOST, trouble=trouble, at=at)
        assert (trouble.level, trouble.until - at) == (level, min(FIRST * 2 ** (level - 1), LONGEST))
    assert after(OK, trouble=trouble, at=trouble.until).until is None


def test_a_node_that_flaps_waits_longer_each_time_until_it_worked_well_for_a_while():
    trouble, at = NO_TROUBLE, NOW
    for level in (1, 2, 3):
        trouble = after(*[HOST] * FAILURES_IN_A_ROW, trouble=trouble, at=at)
        assert trouble.level == level
        at = trouble.until
        trouble = after(OK, trouble=trouble, at=at)
    assert after(*[OK] * FORGIVEN_AFTER, trouble=trouble, at=at).level == 0


@pytest.mark.parametrize(("level", "minutes"), [(1, 10), (2, 20), (3, 40), (8, 1280), (9, 1440), (10_000, 1440)])
def test_quarantines_double_up_to_a_day(level, minutes):
    assert length(level) == timedelta(minutes=minutes)


@given(steps, st.floats(-400, 400))
def test_it_is_never_closed_for_longer_than_a_day_however_the_clock_jumps(happened, days):
    trouble, at = NO_TROUBLE, NOW
    for verdict, seconds in happened:
        at += timedelta(seconds=seconds)
        trouble = after(verdict, trouble=trouble, at=at)
    now = at + timedelta(days=days)
    until = closed_until(trouble, now)
    assert until is None or now < until <= now + LONGEST
    assert not (until is not None and is_probed(trouble, now))


@given(steps)
def test_whoever_is_given_time_and_then_works_is_free_again(happened):
    trouble, at = NO_TROUBLE, NOW
    for verdict, seconds in happened:
        at += timedelta(seconds=seconds)
        trouble = after(verdict, trouble=trouble, at=at)
    at += LONGEST
    assert closed_until(trouble, at) is None  # nobody waits for ever
    assert after(OK, trouble=trouble, at=at).until is None
