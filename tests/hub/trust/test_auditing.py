"""How often a node is audited, and what it gives back."""

from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from computepool.hub.trust.auditing import AuditRecord, is_banned, is_drawn, share_audited
from computepool.hub.trust.clawback import LONGEST, SHORTEST, Earning, given_back, is_safe, since
from computepool.hub.trust.judgement import Finding

NOW = datetime(2026, 3, 1, tzinfo=UTC)
DAY = timedelta(days=1)


def test_everything_is_audited_until_ten_in_a_row_were_valid_and_then_less_and_less():
    assert [share_audited(valid) for valid in (0, 9, 10, 20, 50, 1000)] == [1.0, 1.0, 0.1, 0.05, 0.02, 0.02]


@pytest.mark.parametrize("share", [0.02, 0.1, 1.0])
def test_so_many_are_drawn(share):
    bits = Random(3).getrandbits
    drawn = sum(is_drawn(share, bits) for _ in range(20_000)) / 20_000
    assert drawn == pytest.approx(share, abs=0.01)


def test_a_wrong_result_makes_all_right_ones_worthless():
    record = AuditRecord()
    for _ in range(500):
        record = record.after(Finding.VALID, NOW)
    assert record.may_judge
    record = record.after(Finding.GUILTY, NOW)
    assert share_audited(record.valid_in_a_row) == 1.0
    assert not record.may_judge
    assert not is_banned(record)
    assert is_banned(record.after(Finding.GUILTY, NOW))
    assert not is_banned(record.after(Finding.GUILTY, NOW), ban_from=0)


def test_what_was_found_not_deterministic_changes_nothing():
    record = AuditRecord(3, 0, NOW)
    assert record.after(Finding.NOT_DETERMINISTIC, NOW + DAY) == record


def test_audits_that_end_out_of_order_do_not_move_the_newest_back():
    record = AuditRecord().after(Finding.VALID, NOW).after(Finding.VALID, NOW - DAY)
    assert record.last_valid_at == NOW


def earning(days_ago: float, *, audited: bool = False, micros: int = 5) -> Earning:
    return Earning(f"attempt_{days_ago}", NOW - days_ago * DAY, micros, audited)


def test_unaudited_earnings_since_the_last_valid_audit_are_given_back():
    earnings = [earning(1), earning(6), earning(9), earning(9.5, audited=True), earning(12), earning(40)]
    assert given_back(earnings, NOW - 10 * DAY, NOW) == earnings[:3]


def test_a_valid_audit_yesterday_does_not_save_the_days_before_it():
    assert since(NOW - DAY, NOW) == NOW - SHORTEST
    assert since(None, NOW) == NOW - LONGEST
    assert since(NOW - 100 * DAY, NOW) == NOW - LONGEST


@given(
    st.lists(st.tuples(st.floats(0, 60), st.booleans()), max_size=20), st.none() | st.floats(0, 60), st.floats(0, 60)
)
def test_what_is_safe_to_cash_out_is_never_asked_back_later(earned, valid_ago, later):
    """As long as nothing is found before: a valid audit only moves the border on."""
    earnings = [earning(days, audited=audited) for days, audited in earned]
    valid = None if valid_ago is None else NOW - valid_ago * DAY
    safe = [one for one in earnings if is_safe(one, valid, NOW)]
    assert not set(safe) & set(given_back(earnings, valid, NOW + later * DAY))
