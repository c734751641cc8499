"""Who is right when results are compared."""

from hypothesis import given
from hypothesis import strategies as st

from computepool.hub.trust.judgement import Count, Finding, count_votes, judge, judge_against
from computepool.hub.trust.results import Result, independent, is_result, result_digest
from computepool.protocol.receipt import CONTINUE_LATER, OutputRef

A, B, C, D = (Result(owner, "right") for owner in "abcd")


def wrong(result: Result, digest: str = "wrong") -> Result:
    return Result(result.owner_id, digest)


NEW = Result("a", "right", may_judge=False)
"""A node without a record."""


def test_a_first_rerun_that_agrees_clears_the_node():
    assert judge(NEW, [B]) is Finding.VALID
    assert judge(NEW, [B, wrong(C)]) is Finding.VALID


def test_one_rerun_that_disagrees_proves_nothing():
    assert judge(NEW, []) is Finding.OPEN
    assert judge(NEW, [wrong(B)]) is Finding.OPEN


def test_two_reruns_that_agree_with_each_other_and_not_with_the_node_prove_it_wrong():
    assert judge(NEW, [wrong(B), wrong(C)]) is Finding.GUILTY


def test_against_a_node_that_may_judge_itself_it_takes_three():
    assert judge(A, [wrong(B), wrong(C)]) is Finding.OPEN
    assert judge(A, [wrong(B), wrong(C), wrong(D)]) is Finding.GUILTY
    assert judge(A, [wrong(B), wrong(C), D]) is Finding.NOT_DETERMINISTIC


def test_reruns_that_disagree_among_themselves_mean_that_the_job_was_not_deterministic():
    assert judge(NEW, [wrong(B), C]) is Finding.NOT_DETERMINISTIC
    assert judge(NEW, [wrong(B), wrong(C, "other")]) is Finding.NOT_DETERMINISTIC


def test_reruns_of_one_owner_are_one_voice_and_the_accused_owners_none():
    assert judge(NEW, [wrong(B), wrong(B)]) is Finding.OPEN
    assert judge(NEW, [wrong(A), wrong(B)]) is Finding.OPEN


def test_newcomers_may_clear_a_node_but_only_those_with_a_record_prove_it_wrong():
    newcomers = [Result("b", "wrong", may_judge=False), Result("c", "wrong", may_judge=False)]
    assert judge(NEW, [Result("b", "right", may_judge=False)]) is Finding.VALID
    assert judge(NEW, newcomers) is Finding.OPEN
    assert judge(NEW, [*newcomers, wrong(D)]) is Finding.OPEN
    assert judge(NEW, [*newcomers, wrong(D), Result("e", "wrong")]) is Finding.GUILTY
    assert judge(NEW, [newcomers[0], C, D]) is Finding.VALID


@given(st.text("abcd", min_size=1, max_size=6), st.data())
def test_nobody_is_guilty_without_two_other_owners_who_agree(owners, data):
    digests = st.sampled_from(["x", "y", "z"])
    accused = Result("a", data.draw(digests))
    reruns = [Result(owner, data.draw(digests)) for owner in owners]
    if judge(accused, reruns) is Finding.GUILTY:
        voices = {one.owner_id for one in independent(reruns, but="a") if one.digest != accused.digest}
        assert len(voices) >= 2


def test_a_canary_answered_rightly_needs_no_rerun_and_a_wrong_answer_one_more_than_an_audit():
    e = Result("e", "right")
    late = Result("a", "wrong", may_judge=False)
    assert judge_against(A, "right", []) is Finding.VALID
    assert judge_against(late, "right", []) is Finding.OPEN
    assert judge_against(late, "right", [B]) is Finding.OPEN
    assert judge_against(late, "right", [B, B]) is Finding.OPEN
    assert judge_against(late, "right", [B, C]) is Finding.OPEN
    assert judge_against(late, "right", [B, C, Result("e", "right", may_judge=False)]) is Finding.OPEN
    assert judge_against(late, "right", [B, C, D]) is Finding.GUILTY
    assert judge_against(wrong(A), "right", [B, C, D]) is Finding.OPEN
    assert judge_against(wrong(A), "right", [B, C, D, e]) is Finding.GUILTY


def test_a_known_result_that_nobody_gives_again_accuses_nobody():
    late = Result("a", "wrong", may_judge=False)
    assert judge_against(late, "right", [wrong(B)]) is Finding.NOT_DETERMINISTIC
    assert judge_against(late, "right", [B, wrong(C, "other")]) is Finding.NOT_DETERMINISTIC


def test_replicas_that_agree_are_the_result():
    assert count_votes([A], 2) == Count(Finding.OPEN)
    assert count_votes([A, B], 2) == Count(Finding.VALID, "right")


def test_a_majority_outvotes_the_rest():
    assert count_votes([A, wrong(B), C], 3) == Count(Finding.VALID, "right", (wrong(B),), proven=True)


def test_a_tie_is_broken_by_one_more_and_if_that_does_not_help_the_job_was_not_deterministic():
    assert count_votes([A, wrong(B)], 2) == Count(Finding.OPEN, one_more=True)
    assert count_votes([A, wrong(B), C], 2) == Count(Finding.VALID, "right", (wrong(B),), proven=True)
    assert count_votes([A, wrong(B), wrong(C, "other")], 2) == Count(Finding.NOT_DETERMINISTIC)


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from("xyz")), max_size=8), st.integers(2, 5))
def test_nobody_is_outvoted_by_less_than_two_owners_and_a_majority(answers, replicas):
    results = [Result(owner, digest) for owner, digest in answers]
    voices, count = independent(results), count_votes(results, replicas)
    if count.finding is Finding.VALID:
        agreeing = [one for one in voices if one.digest == count.digest]
        assert len(voices) >= replicas
        assert len(agreeing) >= 2
        assert len(agreeing) > len(count.outvoted)
        assert len(agreeing) + len(count.outvoted) == len(voices)


def test_a_result_is_how_it_ended_and_what_it_left_behind_whatever_the_order():
    one, two = OutputRef(path="a", digest="1", size_bytes=1), OutputRef(path="b", digest="2", size_bytes=1)
    assert result_digest(0, [one, two]) == result_digest(0, [two, one])
    assert len({result_digest(0, [one]), result_digest(1, [one]), result_digest(0, [two]), result_digest(0, [])}) == 4


def test_only_a_command_that_ended_by_itself_has_a_result():
    assert is_result("exited", 0)
    assert is_result("exited", 1)
    assert not is_result("exited", CONTINUE_LATER)
    assert not is_result("memory", 137)
    assert not is_result("lease_expired", None)
