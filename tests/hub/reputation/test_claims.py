"""A node that claims to hold more than it does is given less, and gets it back by clean work."""

from hypothesis import given
from hypothesis import strategies as st

from computepool.hub.reputation import claims
from computepool.hub.reputation.claims import BELIEVED, GIVEN_BACK_EVERY, STRIKES, in_words
from computepool.protocol.states import Verdict

HOST, OK = Verdict.HOST, Verdict.OK
ends = st.lists(st.tuples(st.sampled_from(list(Verdict)), st.integers(0, 300)), max_size=80)


def after(*ends, claim=BELIEVED):
    for verdict, crowd in ends:
        claim = claims.after(claim, verdict, crowd)
    return claim


def test_one_that_broke_may_be_chance_two_with_others_beside_them_are_a_lie():
    assert after((HOST, 8)).slots is None
    assert after((HOST, 8), (HOST, 8)).slots == 4
    assert "4 slices" in in_words(after((HOST, 8), (HOST, 8)))
    assert in_words(BELIEVED) == ""


def test_one_that_broke_alone_says_nothing_of_room():
    assert after(*[(HOST, 1)] * 10) == BELIEVED
    assert after(*[(HOST, 0)] * 10) == BELIEVED


def test_clean_work_gives_back_one_by_one_and_then_the_claim_is_believed_again():
    claim = after((HOST, 4), (HOST, 4))
    assert claim.slots == 2
    claim = after(*[(OK, 0)] * GIVEN_BACK_EVERY, claim=claim)
    assert claim.slots == 3
    assert after(*[(OK, 0)] * GIVEN_BACK_EVERY, claim=claim) == BELIEVED


def test_a_node_that_goes_on_breaking_ends_with_one_at_a_time():
    claim = BELIEVED
    for crowd in (16, 16, 8, 8, 4, 4, 2, 2):
        claim = after((HOST, crowd), claim=claim)
    assert claim.slots == 1
    assert "one slice" in in_words(claim)


@given(ends)
def test_a_node_always_gets_at_least_one_and_never_more_than_it_failed_with(happened):
    """A pool of one node never stands still for this."""
    claim = after(*happened)
    assert claim.slots is None or 1 <= claim.slots < claim.peak


@given(ends)
def test_a_failure_never_gives_more_and_an_ok_never_less(happened):
    claim = after(*happened)
    many = 10**6
    for crowd in (0, 1, 2, 50):
        assert (after((HOST, crowd), claim=claim).slots or many) <= (claim.slots or many)
    assert (after((OK, 0), claim=claim).slots or many) >= (claim.slots or many)


@given(ends)
def test_enough_clean_work_makes_good_for_everything(happened):
    claim = after(*happened)
    assert after(*[(OK, 0)] * GIVEN_BACK_EVERY * (claim.peak + 1), claim=claim) == BELIEVED


@given(st.integers(2, 40), st.integers(1, 40))
def test_a_liar_is_believed_again_now_and_then_and_no_more(claimed, holds):
    """A machine that breaks whenever it has more than it holds, filled as far as the hub lets it, for a long time."""
    claim, broke = BELIEVED, 0
    for _ in range(3_000):
        crowd = min(claimed, claim.slots or claimed)
        if crowd > holds:
            claim, broke = after((HOST, crowd), claim=claim), broke + 1
        else:
            claim = after((OK, 0), claim=claim)
    if claimed <= holds:
        assert (claim, broke) == (BELIEVED, 0)
    else:
        assert broke <= 3_000 * STRIKES / (STRIKES + GIVEN_BACK_EVERY) + 20
