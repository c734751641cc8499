"""One verdict decides everything: every row of the table, and what must hold whatever the story was."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from computepool.hub.jobs.policy import (
    BACKOFF_LONGEST_SECONDS,
    NEVER_BETTER_NEXT_TIME,
    VERDICT_OF_REASON,
    WORST_FIRST,
    Ending,
    Tries,
    backoff_seconds,
    ending_of,
    next_step,
)
from computepool.protocol.receipt import CONTINUE_LATER, EndReason
from computepool.protocol.states import AttemptState, JobState, Verdict
from computepool.protocol.timing import LOST_LIMIT

FRESH = Tries(failures=0, losses=0, retries_allowed=0)
NOT_THE_RENTERS = [Verdict.HOST, Verdict.OWNER, Verdict.PREEMPTED, Verdict.HUB]


@pytest.mark.parametrize(
    ("reason", "exit_code", "verdict", "state"),
    [
        (EndReason.EXITED, 0, "ok", "succeeded"),
        (EndReason.EXITED, 1, "renter", "failed"),
        (EndReason.EXITED, -9, "renter", "failed"),
        (EndReason.EXITED, None, "renter", "failed"),
        (EndReason.MEMORY, 137, "renter", "failed"),
        (EndReason.MEMORY, 0, "renter", "failed"),
        (EndReason.DISK, 1, "renter", "failed"),
        (EndReason.RUNTIME, -15, "renter", "failed"),
        (EndReason.CANCELED, None, "renter", "canceled"),
        (EndReason.OUTPUTS, 0, "renter", "failed"),
        (EndReason.BUNDLE, None, "renter", "failed"),
        (EndReason.START_FAILED, None, "renter", "failed"),
        (EndReason.SANDBOX, None, "host", "failed"),
        (EndReason.INPUT, None, "host", "failed"),
        (EndReason.NODE_DISK, 1, "host", "failed"),
        (EndReason.DECLINED, None, "owner", "failed"),
    ],
)
def test_receipt_gives_its_verdict(reason, exit_code, verdict, state):
    ended = ending_of(reason, exit_code, "")
    assert (ended.verdict, ended.attempt_state) == (verdict, state)


def test_every_reason_has_a_verdict_and_every_verdict_a_rank():
    assert set(VERDICT_OF_REASON) == set(EndReason)
    assert sorted(WORST_FIRST) == sorted(Verdict)


@pytest.mark.parametrize(
    ("verdict", "state", "failures", "losses", "avoids"),
    [
        (Verdict.OK, "succeeded", 0, 0, False),
        (Verdict.RENTER, "failed", 1, 0, False),
        (Verdict.HOST, "queued", 0, 1, True),
        (Verdict.OWNER, "queued", 0, 1, True),
        (Verdict.PREEMPTED, "queued", 0, 0, False),
        (Verdict.HUB, "queued", 0, 1, False),
        (Verdict.BUDGET, "failed", 0, 0, False),
    ],
)
def test_verdict_decides_what_comes_next(verdict, state, failures, losses, avoids):
    step = next_step(Ending(verdict, "exited", 1), FRESH, cancel_requested=False)
    assert (step.state, step.failures, step.losses, step.avoid_node) == (state, failures, losses, avoids)


@pytest.mark.parametrize("retries", [0, 1, 3])
def test_renters_failure_is_tried_again_as_often_as_the_spec_says(retries):
    tries = Tries(0, 0, retries)
    for used in range(retries):
        step = next_step(Ending(Verdict.RENTER, "exited", 1), tries, cancel_requested=False)
        assert step.state is JobState.QUEUED
        assert step.failures == used + 1
        tries = Tries(step.failures, step.losses, retries)
    last = next_step(Ending(Verdict.RENTER, "exited", 1), tries, cancel_requested=False)
    assert last.state is JobState.FAILED
    assert last.message == "The command ended with exit code 1."


@pytest.mark.parametrize("reason", sorted(NEVER_BETTER_NEXT_TIME - {EndReason.CANCELED}))
def test_what_cannot_be_better_next_time_is_not_tried_again(reason):
    step = next_step(Ending(Verdict.RENTER, reason, detail="why"), Tries(0, 0, 100), cancel_requested=False)
    assert step.state is JobState.FAILED


def test_every_failure_of_the_renters_is_told_in_words():
    for reason in EndReason:
        ended = ending_of(reason, 3, "(the detail)")
        step = next_step(ended, FRESH, cancel_requested=False)
        if step.state is JobState.FAILED:
            assert step.message
            assert step.message.endswith("(the detail)")


@pytest.mark.parametrize(
    ("reason", "detail", "message"),
    [
        (
            EndReason.RUNTIME,
            "the job ran longer than its 1 s",
            "The command ran longer than `max_runtime` allows.",
        ),
        (
            EndReason.MEMORY,
            "the job used more memory than it asked for; outputs: the hub is away",
            "The command used more memory than `resources.memory` allows. Outputs: the hub is away",
        ),
        (
            EndReason.EXITED,
            "the job started more processes than it may",
            "The command ended with exit code 3. The job started more processes than it may",
        ),
        (EndReason.EXITED, "", "The command ended with exit code 3."),
        (EndReason.EXITED, "setup failed with exit code 3", "Setup failed with exit code 3"),
        (
            EndReason.MEMORY,
            "limit 1 GB, peak 1 GB: ask for more with resources.memory (--memory 2GB)",
            "The command used more memory than `resources.memory` allows. Limit 1 GB, peak 1 GB: ask for more with"
            " resources.memory (--memory 2GB)",
        ),
    ],
)
def test_failure_is_not_told_twice(reason, detail, message):
    assert next_step(ending_of(reason, 3, detail), FRESH, cancel_requested=False).message == message


def test_slice_that_is_lost_ten_times_fails_and_says_so():
    tries = FRESH
    for _ in range(LOST_LIMIT - 1):
        step = next_step(Ending(Verdict.HOST, "lease_expired", lost=True), tries, cancel_requested=False)
        assert step.state is JobState.QUEUED
        tries = Tries(step.failures, step.losses, 0)
    step = next_step(Ending(Verdict.HOST, "lease_expired", lost=True), tries, cancel_requested=False)
    assert step.state is JobState.FAILED
    assert step.message == "10 attempts were lost (the last one: lease_expired), so the job was not tried again."


def test_nodes_that_decline_are_no_losses():
    tries = FRESH
    for _ in range(LOST_LIMIT + 2):
        step = next_step(ending_of(EndReason.DECLINED, None, "owner"), tries, cancel_requested=False)
        assert (step.state, step.losses, step.avoid_node) == (JobState.QUEUED, 0, True)
        assert step.delay_seconds > 0
        tries = Tries(step.failures, step.losses, 0)
    step = next_step(Ending(Verdict.HOST, "lease_expired", lost=True), tries, cancel_requested=False)
    assert (step.state, step.losses) == (JobState.QUEUED, 1)


def test_job_that_asks_to_be_continued_waits_a_moment():
    ended = ending_of(EndReason.EXITED, CONTINUE_LATER, "")
    step = next_step(ended, Tries(0, 3, 0, progressed=True), cancel_requested=False)
    assert (step.state, step.failures, step.losses, step.continues) == (JobState.QUEUED, 0, 3, True)
    assert step.delay_seconds > 0


def test_backoff_doubles_to_a_minute():
    assert [backoff_seconds(n) for n in range(1, 9)] == [1, 2, 4, 8, 16, 32, 60, 60]
    assert backoff_seconds(10_000) == BACKOFF_LONGEST_SECONDS


endings = st.builds(
    Ending,
    verdict=st.sampled_from(Verdict),
    reason=st.sampled_from([*EndReason, "lease_expired", "hub_downtime"]),
    exit_code=st.none() | st.integers(-255, 255),
    lost=st.booleans(),
)
tried = st.builds(
    Tries, failures=st.integers(0, 200), losses=st.integers(0, LOST_LIMIT - 1), retries_allowed=st.integers(0, 100)
)


@given(endings, tried, st.booleans())
def test_only_the_renters_own_doing_uses_up_the_renters_retries(ended, tries, canceled):
    step = next_step(ended, tries, cancel_requested=canceled)
    if ended.verdict is not Verdict.RENTER:
        assert step.failures == tries.failures
    if ended.verdict not in NOT_THE_RENTERS:
        assert step.losses == tries.losses
    assert step.failures - tries.failures in (0, 1)
    assert step.losses - tries.losses in (0, 1)


@given(endings, tried)
def test_nothing_of_a_canceled_job_is_tried_again(ended, tries):
    step = next_step(ended, tries, cancel_requested=True)
    assert step.state in (JobState.CANCELED, JobState.SUCCEEDED)
    assert (step.state is JobState.SUCCEEDED) == (ended.verdict is Verdict.OK)


@given(st.lists(endings, min_size=1, max_size=150), st.integers(0, 100))
def test_no_story_goes_on_forever(story, retries):
    """At most so many attempts: the renter's retries, the pool's losses, and the one that decides. A node that did not
    want it made no attempt."""
    tries, attempts = Tries(0, 0, retries), 0
    for ended in story:
        attempts += ended.reason != EndReason.DECLINED
        step = next_step(ended, tries, cancel_requested=False)
        if step.state is not JobState.QUEUED:
            break
        assert 0 <= step.delay_seconds <= BACKOFF_LONGEST_SECONDS
        tries = Tries(step.failures, step.losses, retries)
    assert attempts <= retries + LOST_LIMIT


@given(endings)
def test_ok_is_the_only_success_and_lost_is_never_one(ended):
    if ended.lost:
        assert ended.attempt_state is AttemptState.LOST
    assert (ended.attempt_state is AttemptState.SUCCEEDED) == (ended.verdict is Verdict.OK and not ended.lost)
