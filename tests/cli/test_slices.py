"""Many slices: one bar, exactly which failed and how, and a retry of only those."""

from datetime import UTC, datetime

import pytest

from computepool.cli.slices import progress, tell_failures
from computepool.client.models import FailedSlices, Job

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def job_of(**facts):
    return Job(**{"id": "job_1", "state": "running", "created_at": NOW, **facts})


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ({"queued": 100}, "─" * 24 + " 0/100 · 100 queued"),
        ({"succeeded": 50, "running": 4, "queued": 46}, "━" * 12 + "─" * 12 + " 50/100 · 4 running · 46 queued"),
        ({"succeeded": 97, "failed": 3}, "━" * 24 + " 100/100 · 3 failed"),
    ],
)
def test_bar_tells_how_far_it_is(counts, words):
    assert progress(job_of(slice_count=100, counts=counts)) == words


def test_failures_are_told_by_how_and_which(capsys):
    groups = (
        FailedSlices(state="failed", verdict="renter", reason="exited", exit_code=3, count=4, slices="0-2, 7"),
        FailedSlices(state="failed", verdict="host", reason="lease_expired", count=1, slices="9"),
    )
    tell_failures(job_of(state="failed", slice_count=10, failures=groups))
    told = capsys.readouterr().err
    assert "5 of 10 slices did not succeed" in told
    assert "exit code 3: 4 (slices 0-2, 7)" in told
    assert "lease expired: 1 (slice 9)" in told
    assert "computepool retry job_1" in told


def test_single_slice_needs_no_list(capsys):
    group = FailedSlices(state="failed", reason="exited", exit_code=3, count=1, slices="0")
    tell_failures(job_of(state="failed", failures=(group,)))
    assert capsys.readouterr().err == ""


def test_long_list_of_slices_is_cut_between_two(capsys):
    numbers = ", ".join(str(number) for number in range(0, 200, 2))
    group = FailedSlices(state="failed", reason="memory", count=100, slices=numbers)
    tell_failures(job_of(state="failed", slice_count=200, failures=(group,)))
    told = capsys.readouterr().err
    assert told.splitlines()[1].endswith(", …)")
    assert len(told.splitlines()[1]) < 100


def test_slice_of_several_that_is_run_again_is_still_one_of_several():
    again = job_of(slice_count=1, slice_indices=(3,))
    assert again.has_several
    assert again.has_slice(3)
    assert not again.has_slice(0)
