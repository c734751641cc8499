"""Many slices at a glance: one bar while they run, and exactly which failed, and how, when they have."""

from typing import TYPE_CHECKING

from computepool.cli.errors import clean, tell

if TYPE_CHECKING:
    from computepool.client.models import FailedSlices, Job

BAR_CELLS = 24
GROUPS_SHOWN = 6
NUMBERS_SHOWN = 60
"""Characters of a list of slices."""


def progress(job: "Job") -> str:
    """`━━━━━━──── 37/100 · 4 running · 2 failed`: done is what has ended, however."""
    counts = job.counts
    done = sum(counts.get(state, 0) for state in ("succeeded", "failed", "canceled"))
    total = max(job.slice_count, 1)
    cells = BAR_CELLS * done // total
    bar = "━" * cells + "─" * (BAR_CELLS - cells)
    notes = [f"{counts[state]} {state}" for state in ("running", "queued", "failed", "canceled") if counts.get(state)]
    return " · ".join([f"{bar} {done}/{total}", *notes])


def tell_failures(job: "Job") -> None:
    """Those that ended alike together, the largest group first."""
    if not job.has_several or not job.failures:
        return
    number = sum(group.count for group in job.failures)
    tell(f"{number} of {job.slice_count} slices did not succeed:", fg="red")
    for group in job.failures[:GROUPS_SHOWN]:
        tell(f"  {how(group)}: {group.count} ({_shortened(group.slices)})")
    if len(job.failures) > GROUPS_SHOWN:
        tell(f"  and in {len(job.failures) - GROUPS_SHOWN} other ways: computepool show {job.id} --json", dim=True)
    if job.state == "failed" and number < job.slice_count:
        tell(f"  Run only these again: computepool retry {job.id}", dim=True)


def how(group: "FailedSlices") -> str:
    if group.state == "canceled":
        return "canceled"
    if group.reason == "exited" and group.exit_code is not None:
        return f"exit code {group.exit_code}"
    return clean((group.reason or group.verdict or group.state).replace("_", " "))


def _shortened(numbers: str) -> str:
    if len(numbers) <= NUMBERS_SHOWN:
        return f"slice {numbers}" if numbers.isdigit() else f"slices {numbers}"
    return f"slices {numbers[:NUMBERS_SHOWN].rsplit(',', 1)[0]}, …"
