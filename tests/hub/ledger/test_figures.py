"""Settlements, what is given back, entries: figure by figure. The stories in a running pool are tested elsewhere."""

import pytest

from computepool.hub.ledger.accounts import (
    Kind,
    Platform,
    account,
    is_platforms,
    kind_of,
    may_hold,
    owner_of,
    platform,
)
from computepool.hub.ledger.entries import KEY_LIMIT, MOST_MICROS, Entry, Posting, moved
from computepool.hub.ledger.holds import Pockets
from computepool.hub.ledger.returns import Return, from_host, paid_of, paired, undo
from computepool.hub.ledger.settlement import Payer, Settlement, Share, in_figures, postings_of, rule_of, settle
from computepool.protocol.states import Verdict

HOST, RENTER = "user_host", "user_renter"
EARNINGS, PRESENTS, DEBT = (account(HOST, kind) for kind in (Kind.EARNINGS, Kind.PROMOTIONAL, Kind.DEBT))
AVAILABLE, GIFTS = account(RENTER, Kind.AVAILABLE), account(RENTER, Kind.PROMOTIONAL)
FEES, SUBSIDY, RESTITUTION = (platform(one) for one in (Platform.FEES, Platform.SUBSIDY, Platform.RESTITUTION))


@pytest.mark.parametrize(
    ("taken", "has", "amounts"),
    [
        (Share(0, 10), {Kind.EARNINGS: 10, Kind.PROMOTIONAL: 9}, (10, 0, 0)),
        (Share(0, 10), {Kind.EARNINGS: 4, Kind.PROMOTIONAL: 9}, (4, 0, 6)),
        (Share(5, 10), {Kind.EARNINGS: 50, Kind.PROMOTIONAL: 50}, (10, 5, 0)),
        (Share(5, 10), {Kind.EARNINGS: 3, Kind.PROMOTIONAL: 1}, (3, 1, 11)),
        (Share(5, 0), {Kind.EARNINGS: 50, Kind.PROMOTIONAL: 0}, (0, 0, 5)),
    ],
)
def test_host_gives_what_it_has_and_owes_the_rest(taken, has, amounts):
    assert list(from_host(HOST, taken, has)) == list(zip((EARNINGS, PRESENTS, DEBT), amounts, strict=True))


@pytest.mark.parametrize(
    ("sources", "destinations", "postings"),
    [
        ([("a", 5)], [("x", 5)], [("a", "x", 5)]),
        ([("a", 5)], [("x", 2), ("y", 3)], [("a", "x", 2), ("a", "y", 3)]),
        ([("a", 2), ("b", 3)], [("x", 5)], [("a", "x", 2), ("b", "x", 3)]),
        ([("a", 4), ("b", 3)], [("x", 1), ("y", 6)], [("a", "x", 1), ("a", "y", 3), ("b", "y", 3)]),
        ([("a", 0), ("b", 3)], [("x", 0), ("y", 3)], [("b", "y", 3)]),
        ([], [], []),
    ],
)
def test_postings_take_from_the_ones_what_the_others_get(sources, destinations, postings):
    assert paired(sources, destinations) == tuple(Posting(*one) for one in postings)


@pytest.mark.parametrize(
    ("sources", "destinations"), [([("a", 5)], [("x", 4)]), ([("a", 4)], [("x", 5)]), ([("a", 1)], [])]
)
def test_more_or_less_than_there_is_moves_nothing(sources, destinations):
    with pytest.raises(AssertionError, match="is not what"):
        paired(sources, destinations)


def undone(nets: dict[str, int], has: dict[Kind, int], owes: int = 0) -> tuple[Return, dict[str, int]]:
    """(what goes back, by account what it has more or less then)"""
    one, postings = undo(nets, paid_of(nets, "attempt", "job", RENTER, HOST), has, owes)
    return one, dict(Entry("undo", "undo", postings).changes) if postings else {}


RICH, POOR = {Kind.EARNINGS: 500, Kind.PROMOTIONAL: 500}, {Kind.EARNINGS: 0, Kind.PROMOTIONAL: 0}


def test_undoing_takes_all_sides_back():
    nets = {AVAILABLE: -100, FEES: 20, EARNINGS: 80}
    one, changes = undone(nets, RICH)
    assert changes == {AVAILABLE: 100, FEES: -20, EARNINGS: -80}
    assert (one.cost_micros, one.host_micros, one.owed, one.lost) == (100, 80, 0, 0)


def test_what_the_host_has_spent_is_owed_to_the_renter_and_its_presents_are_gone():
    nets = {AVAILABLE: -60, GIFTS: -40, FEES: 12, SUBSIDY: 8, EARNINGS: 48, PRESENTS: 32}
    one, changes = undone(nets, {Kind.EARNINGS: 10, Kind.PROMOTIONAL: 5})
    assert (one.back, one.owed, one.lost) == (Pockets(13, 22, 0), 38, 27)
    assert (one.cost_micros, one.host_micros) == (73, 53)
    assert changes == {
        AVAILABLE: 22,
        GIFTS: 13,
        FEES: -12,
        SUBSIDY: -8,
        EARNINGS: -10,
        PRESENTS: -5,
        DEBT: -38,
        RESTITUTION: 38,
    }


def test_what_was_spent_last_comes_back_first_and_what_the_renter_owes_before():
    nets = {AVAILABLE: -60, account(RENTER, Kind.EARNINGS): -40, FEES: 20, EARNINGS: 80}
    assert undone(nets, {**RICH, Kind.EARNINGS: 30})[0].back == Pockets(0, 10, 40)
    _, changes = undone(nets, {**RICH, Kind.EARNINGS: 30}, owes=15)
    assert changes[account(RENTER, Kind.DEBT)] == 15
    assert AVAILABLE not in changes
    assert changes[account(RENTER, Kind.EARNINGS)] == 35


def test_what_is_owed_to_the_renter_is_not_paid_any_more():
    nets = {AVAILABLE: -80, EARNINGS: 80, DEBT: -80, RESTITUTION: 80}
    assert undone(nets, RICH) == (Return(Pockets(), Share(), Share()), {})
    part = {AVAILABLE: -90, FEES: 10, EARNINGS: 80, DEBT: -40, RESTITUTION: 40}
    assert undone(part, POOR)[1] == {AVAILABLE: 10, FEES: -10, DEBT: -40, RESTITUTION: 40}


def test_what_the_platform_paid_goes_back_to_it_and_is_a_debt_where_it_was_spent():
    assert undone({SUBSIDY: -80, EARNINGS: 80}, RICH)[1] == {SUBSIDY: 80, EARNINGS: -80}
    assert undone({SUBSIDY: -80, EARNINGS: 80}, {**POOR, Kind.EARNINGS: 30})[1] == {
        SUBSIDY: 80,
        EARNINGS: -30,
        DEBT: -50,
    }
    after_an_outage = {FEES: 20, SUBSIDY: -100, EARNINGS: 80}
    assert undone(after_an_outage, RICH)[1] == {FEES: -20, SUBSIDY: 100, EARNINGS: -80}
    assert undone({SUBSIDY: -80, PRESENTS: 80}, {**POOR, Kind.PROMOTIONAL: 30})[1] == {SUBSIDY: 30, PRESENTS: -30}


def test_renter_and_platform_share_what_the_host_has_left_and_the_renter_comes_first():
    both = {AVAILABLE: -50, FEES: 10, SUBSIDY: -40, EARNINGS: 80}
    one, changes = undone(both, {**POOR, Kind.EARNINGS: 60})
    assert (one.back, one.owed) == (Pockets(available=50), 0)
    assert changes == {AVAILABLE: 50, FEES: -10, SUBSIDY: 40, EARNINGS: -60, DEBT: -20}


def test_what_came_back_while_the_renter_owed_the_pool_does_not_come_back_again():
    nets = {AVAILABLE: -100, account(RENTER, Kind.DEBT): 30, FEES: 14, EARNINGS: 56}
    one, changes = undone(nets, RICH)
    assert (one.cost_micros, one.host_micros) == (70, 56)
    assert changes == {AVAILABLE: 70, FEES: -14, EARNINGS: -56}
    owing = {AVAILABLE: -100, account(RENTER, Kind.DEBT): -30, FEES: 26, EARNINGS: 104}
    assert paid_of(owing, "attempt", "job", RENTER, HOST).cost == Pockets(available=100)


def test_what_was_paid_without_a_fee_is_undone_without_one():
    assert undone({GIFTS: -40, PRESENTS: 40}, RICH)[1] == {GIFTS: 40, PRESENTS: -40}
    assert undone({AVAILABLE: -40, EARNINGS: 40}, RICH)[1] == {AVAILABLE: 40, EARNINGS: -40}


def test_single_micro_is_undone_too():
    assert undone({AVAILABLE: -1, FEES: 1}, POOR)[1] == {FEES: -1, AVAILABLE: 1}


def test_nothing_is_undone_of_what_is_even():
    assert undone({AVAILABLE: 0}, {Kind.EARNINGS: 5, Kind.PROMOTIONAL: 5})[1] == {}


# ── settlements ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_what_costs_nothing_is_settled_for_nothing():
    one = settle(Pockets(available=5), 0, 3600, 2000, Payer.RENTER)
    assert (one.cost.total, one.earned, one.refund.total) == (0, 0, 5)


def test_failed_job_is_paid_for_unless_the_operator_says_otherwise():
    assert rule_of(Verdict.RENTER).payer is Payer.RENTER
    assert rule_of(Verdict.RENTER, refund_failed=True).payer is Payer.NOBODY


def test_host_earns_its_share_and_what_the_platform_adds():
    one = Settlement(Pockets(3, 7), Pockets(3, 7), Share(1, 1), Share(2, 6), Share(4, 5))
    assert one.earned == 17
    assert in_figures(one) == {
        "hold_micros": 10,
        "cost_micros": 10,
        "fee_micros": 2,
        "host_micros": 8,
        "subsidy_micros": 9,
        "refund_micros": 0,
        "paid_from": {"promotional": 3, "available": 7, "earnings": 0},
        "host_promotional_micros": 6,
        "fee_promotional_micros": 1,
    }


@pytest.mark.parametrize(("debt", "repaid", "earned"), [(0, 0, 11), (4, 4, 7), (8, 8, 3), (11, 11, 0), (90, 11, 0)])
def test_debt_is_filled_up_first_and_no_further(debt, repaid, earned):
    one = Settlement(Pockets(0, 7), Pockets(0, 7), Share(0, 1), Share(0, 6), Share(0, 5))
    changes = Entry("settle", "settle", postings_of(one, RENTER, HOST, debt)).changes
    assert (changes.get(DEBT, 0), changes.get(EARNINGS, 0)) == (repaid, earned)


# ── entries and accounts ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("micros", [1, 2, MOST_MICROS])
def test_posting_moves_whole_micros(micros):
    assert moved("a/x", "b/y", micros) == (Posting("a/x", "b/y", micros),)


@pytest.mark.parametrize("micros", [0, -1, MOST_MICROS + 1, 2**63, 1.0, True, None])
def test_posting_of_anything_else_is_refused(micros):
    with pytest.raises(ValueError, match="whole number of micros"):
        Posting("a/x", "b/y", micros)


@pytest.mark.parametrize(("source", "destination"), [("a/x", "a/x"), ("", "b/y"), ("a/x", "")])
def test_posting_goes_from_one_account_to_another(source, destination):
    with pytest.raises(ValueError, match="from one account to another"):
        Posting(source, destination, 1)


def test_names_and_keys_have_limits():
    assert Posting("a" * 60, "b" * 60, 1).micros == 1
    for names in (("a" * 61, "b"), ("a", "b" * 61)):
        with pytest.raises(ValueError, match="at most 60 characters"):
            Posting(*names, 1)
    one = moved("a", "b", 1)
    assert Entry("k" * KEY_LIMIT, "test", one).key
    for key in ("", "k" * 121):
        with pytest.raises(ValueError, match="1 to 120 characters"):
            Entry(key, "test", one)
    with pytest.raises(ValueError, match="moves nothing"):
        Entry("k", "test", ())


def test_nothing_to_move_is_no_posting_and_less_than_nothing_an_error():
    assert moved("a", "b", 0) == ()
    with pytest.raises(ValueError, match="whole number of micros"):
        moved("a", "b", -1)


def test_changes_are_net_and_even_accounts_are_left_out():
    postings = (Posting("a", "b", 5), Posting("b", "c", 5), Posting("a", "c", 1))
    assert Entry("k", "test", postings).changes == {"a": -6, "c": 6}


def test_who_may_have_what():
    assert [may_hold(AVAILABLE, micros) for micros in (-1, 0, 1)] == [False, True, True]
    assert [may_hold(DEBT, micros) for micros in (-1, 0, 1)] == [True, True, False]
    assert [may_hold(FEES, micros) for micros in (-1, 0, 1)] == [True, True, True]
    assert (owner_of(DEBT), kind_of(DEBT)) == (HOST, "debt")
    assert (is_platforms(FEES), is_platforms(DEBT)) == (True, False)
