"""For renters: looking at jobs, and changing them."""

from typing import TYPE_CHECKING, Any

import click

from computepool.cli.completion import JOB, NODE
from computepool.cli.errors import clean, tell
from computepool.cli.files import output_dir_option
from computepool.cli.options import JOB_HELP, ONE_JOB_HELP, json_option, open_pool, pool_options, print_json, raw_option

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from computepool.client.models import Attempt, Job, Why
    from computepool.client.pool import Pool

ACTIVE_STATES = ("running", "queued")
JOB_STATES = ("queued", "running", "succeeded", "failed", "canceled")
SAYS_LITTLE = frozenset({"input", "sandbox", "unreachable", "node_disk"})
"""Reasons by which nobody knows what to do; what the node says of them is told instead."""
DETAIL_LIMIT = 90
ASKED_LIMIT = 20
"""Jobs of a list that are looked at one by one."""


@click.command(epilog="Examples: computepool ps -a --limit 20 · computepool ps --state failed --since 7d")
@click.option("-a", "--all", "everything", is_flag=True, help="Include finished jobs.")
@click.option(
    "--state", "states", multiple=True, type=click.Choice(JOB_STATES), help="Only jobs in this state; may be repeated."
)
@click.option("--name", metavar="TEXT", help="Only jobs with this text in their name.")
@click.option("--since", metavar="TIME", help="Only jobs submitted in this time, such as 24h or 7d.")
@click.option("--node", metavar="NODE", type=NODE, help="Only jobs that ran on this machine (its name or id).")
@click.option("-n", "--limit", default=50, show_default=True, type=click.IntRange(1, 10_000), help="Show this many.")
@click.option("--everybody", is_flag=True, help="Include other people's jobs that you may see; admins see all.")
@json_option
@pool_options
def ps(
    everything: bool,
    states: tuple[str, ...],
    name: str | None,
    since: str | None,
    node: str | None,
    limit: int,
    everybody: bool,
    as_json: bool,
) -> None:
    """List your jobs that wait or run, the newest first. With -a or a filter, finished jobs too."""
    from computepool.cli.history import instant_before

    filters = {"search": name, "since": instant_before(since) if since else None, "node": node}
    everything = everything or any(filters.values())
    with open_pool() as pool:
        asked = states or (() if everything else ACTIVE_STATES)
        items, rest = pool.job_page(states=asked, limit=limit, mine=not everybody, **filters)
        if as_json:
            print_json({"items": items, "next": rest})
            return
        if not items:
            tell(
                "No jobs." if everything or states else "No jobs wait or run. All of them: computepool ps -a", dim=True
            )
            return
        _print_jobs(_with_retries(pool, items), with_owner=everybody)
    if rest is not None:
        tell(f"The newest {len(items)}; more with --limit.", dim=True)


def _with_retries(pool: "Pool", items: list[dict[str, Any]]) -> "list[Job]":
    """The jobs of a list; those that seem to wait between two attempts with what the list does not tell."""
    from computepool.client.models import Job

    jobs = [Job.model_validate(item) for item in items]
    asked = [job.id for job in jobs if job.state == "running" and not job.counts.get("running")][:ASKED_LIMIT]
    return [pool.job(job.id) if job.id in asked else job for job in jobs]


def _print_jobs(jobs: "list[Job]", *, with_owner: bool) -> None:
    from computepool.cli.display import ago, print_table, state_text

    rows = []
    for job in jobs:
        total = job.slice_count
        done = sum(job.counts.get(state, 0) for state in ("succeeded", "failed", "canceled"))
        note = f"({job.exit_code})" if job.state == "failed" and job.exit_code is not None else ""
        if total > 1:
            good = job.counts.get("succeeded", 0)
            far = f"{done}/{total}" if not job.is_final or good == total else f"{good} of {total} succeeded"
            note = f"{note} {far}".strip()
        note = " ".join(filter(None, (note, retry_note(job), simulated_note(job))))
        owner = (job.owner_name or job.owner_id,) if with_owner else ()
        where = ", ".join(node.name for node in job.nodes) + (" …" if total > len(job.nodes) > 1 else "")
        rows.append((job.id, job.name, state_text(job.state, note), ago(job.created_at), took(job), where, *owner))
    print_table(("id", "name", "state", "created", "took", "node", *(("owner",) if with_owner else ())), rows)


def simulated_note(job: "Job") -> str:
    return "(simulated)" if job.simulated else ""


def retry_note(job: "Job") -> str:
    """That something of the job waits for another attempt, and how the last one ended; else nothing."""
    from computepool.cli.display import count

    waiting = [part for part in job.slices if part.state == "queued" and part.newest is not None]
    if job.is_final or not waiting:
        return ""
    last = waiting[0].newest
    assert last is not None
    if any(part.state == "running" for part in job.slices):
        return f"· {count(len(waiting), 'slice')} waiting to retry ({end_of(last)})"
    return f"· waiting to retry ({end_of(last)})"


def end_of(attempt: "Attempt") -> str:
    if attempt.reason == "exited" and attempt.exit_code is not None:
        return f"exit code {attempt.exit_code}"
    if attempt.reason in SAYS_LITTLE and attempt.detail:
        return attempt.detail if len(attempt.detail) <= DETAIL_LIMIT else f"{attempt.detail[:DETAIL_LIMIT]}…"
    return (attempt.reason or attempt.verdict or attempt.state).replace("_", " ")


def took(job: "Job | Attempt") -> str:
    from datetime import UTC, datetime

    from computepool.cli.display import duration

    if job.started_at is None:
        return ""
    return duration(((job.finished_at or datetime.now(UTC)) - job.started_at).total_seconds())


@click.command(epilog="Example: computepool show last", help=f"Show a job, its slices and attempts. {JOB_HELP}")
@click.argument("job", metavar="JOB", type=JOB)
@click.option(
    "--from-slice",
    type=click.IntRange(0),
    default=0,
    metavar="I",
    help="Begin with this slice, if there are very many.",
)
@click.option("--timeline", is_flag=True, help="Show what happened to the job, and when.")
@json_option
@pool_options
def show(job: str, from_slice: int, timeline: bool, as_json: bool) -> None:
    from computepool.cli.attach import cost_of
    from computepool.cli.checks import find_checks, print_checks
    from computepool.client.models import Job

    with open_pool() as pool:
        if timeline:
            _show_timeline(pool, pool.find_job(job), as_json)
            return
        document = pool.job_document(pool.find_job(job), from_slice=from_slice)
        if as_json:
            print_json(document)
            return
        known = Job.model_validate(document)
        waits_for = "" if known.is_final or known.counts.get("running") else pool.why(known.id).summary
        found = find_checks(pool, known)
        cost = cost_of(pool, known)
    _print_job(known, waits_for, cost)
    print_checks(found)


def _show_timeline(pool: "Pool", job_id: str, as_json: bool) -> None:
    from computepool.cli.history import print_timeline, timeline_of

    found = timeline_of(pool, job_id)
    if as_json:
        print_json(found)
    else:
        print_timeline(found)


def _print_job(job: "Job", waits_for: str, cost: str) -> None:
    import shlex

    from computepool.cli.display import ago, instant, print_pairs, print_table, state_text
    from computepool.cli.slices import how

    command = job.spec.get("run", "")
    text = shlex.join(str(word) for word in command) if isinstance(command, list) else str(command)
    note = "(cancel requested)" if job.cancel_requested_at and not job.is_final else retry_note(job)
    print_pairs(
        (
            ("id", job.id),
            ("name", job.name),
            ("state", state_text(job.state, f"{note} {simulated_note(job)}".strip())),
            ("waits", waits_for),
            ("verdict", job.verdict),
            ("exit code", job.exit_code),
            ("reason", _reason(job)),
            ("message", job.message),
            ("command", text),
            ("resources", _resources(job)),
            ("priority", job.priority or None),
            ("retry of", job.retry_of),
            ("failed", "; ".join(f"{how(group)}: {group.slices}" for group in job.failures) if job.has_several else ""),
            ("created", f"{instant(job.created_at)} ({ago(job.created_at)})"),
            ("started", instant(job.started_at)),
            ("finished", instant(job.finished_at)),
            ("took", took(job)),
            ("cost", cost),
        )
    )
    rows = [
        (
            f"{part.index}.{attempt.number}",
            state_text(attempt.state),
            attempt.verdict or "",
            "" if attempt.exit_code is None else attempt.exit_code,
            f"{attempt.node_name or attempt.node_id or ''} {simulated_note(job)}".strip(),
            isolation_label(attempt),
            took(attempt),
            attempt.detail or _reason(attempt),
        )
        for part in job.slices
        for attempt in part.attempts
    ]
    if rows:
        click.echo()
        print_table(("slice.attempt", "state", "verdict", "exit", "node", "isolation", "took", "detail"), rows)
    if job.next_slice is not None and job.slices:
        shown = f"Slices {job.slices[0].index} to {job.next_slice - 1} of {job.slice_count}."
        tell(f"{shown} The next: computepool show {job.id} --from-slice {job.next_slice}", dim=True)


def _reason(ended: "Job | Attempt") -> str:
    """In words. That a command exited is told by its exit code already."""
    if ended.reason is None or (ended.reason == "exited" and ended.exit_code is not None):
        return ""
    return ended.reason.replace("_", " ")


def _resources(job: "Job") -> str:
    """As they were asked for; `8+` is at least 8, which specs write as `8..` too."""
    wanted = job.spec.get("resources")
    if not isinstance(wanted, dict):
        return ""
    asked = {name: _gpu(value) if name == "gpu" else str(value) for name, value in wanted.items()}
    return ", ".join(f"{name} {f'{text[:-2]}+' if text.endswith('..') else text}" for name, text in asked.items())


def _gpu(value: object) -> str:
    if not isinstance(value, dict):
        return str(value)
    kind = " ".join(str(value[key]) for key in ("name", "memory") if value.get(key) is not None)
    return f"{value['count']} × {kind or 'any'}" if value.get("count", 1) != 1 else kind or "any"


def isolation_label(attempt: "Attempt") -> str:
    """Plain process is no isolation at all, and is never shown as if it were one."""
    if attempt.isolation == "process":
        return "process (not isolated)"
    return attempt.isolation or ""


@click.command(epilog="Example: computepool cancel last -y", help=f"Cancel a job. {ONE_JOB_HELP}")
@click.argument("job", metavar="JOB", type=JOB)
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
@json_option
@pool_options
def cancel(job: str, yes: bool, as_json: bool) -> None:
    import sys

    with open_pool() as pool:
        known = pool.job(pool.find_job(job, newest=False))
        if not known.is_final and not yes and sys.stdin.isatty():
            click.confirm(f"Cancel {clean(known.name or known.id)}, which is {known.state}?", abort=True, err=True)
        changed = known if known.is_final else pool.cancel(known.id)
        if as_json:
            print_json(pool.job_document(changed.id))
            return
    if known.is_final:
        tell(f"{known.id} is over already: {known.state}.", dim=True)
    else:
        tell(f"{changed.id}: {'canceled' if changed.state == 'canceled' else 'cancel requested'}.")


@click.command(
    epilog="Example: computepool retry last",
    help="Run a job again, as a new job with the same spec and files. If there are several slices, only those "
    "that did not succeed, with the same numbers. Follows the new job as `run` does, with the same exit codes. "
    f"{JOB_HELP}",
)
@click.argument("job", metavar="JOB", type=JOB)
@click.option("--all", "everything", is_flag=True, help="Run every slice, also those that succeeded.")
@output_dir_option
@click.option("-d", "--detach", is_flag=True, help="Print the new job's id and leave it running.")
@raw_option
@json_option
@pool_options
def retry(job: str, everything: bool, folder: "Path | None", detach: bool, raw: bool, as_json: bool) -> int:
    from computepool.cli.attach import ends_as_interrupt
    from computepool.cli.run import stay_with

    with ends_as_interrupt(), open_pool() as pool:
        again = pool.retry(pool.find_job(job), every_slice=everything)
        if again.slice_indices is not None and not as_json:
            from computepool.cli.display import count

            slices = count(again.slice_count, "slice")
            tell(f"Running the {slices} that did not succeed again. To run all: --all", dim=True)
        return stay_with(pool, again, folder, detach=detach, raw=raw, as_json=as_json)


@click.command(epilog="Example: computepool why last", help=f"Say why a job waits, and what would help. {JOB_HELP}")
@click.argument("job", metavar="JOB", type=JOB)
@json_option
@pool_options
def why(job: str, as_json: bool) -> None:
    from computepool.client.models import Why

    with open_pool() as pool:
        document = pool.why_document(pool.find_job(job))
        if as_json:
            print_json(document)
            return
        answer = Why.model_validate(document)
        # Of other people's machines only the id is known.
        names = {node.id: node.name for node in pool.nodes()} if any(one.misses for one in answer.waiting) else {}
    _print_why(answer, names)


def _print_why(answer: "Why", names: "Mapping[str, str]") -> None:
    from computepool.cli.display import count, print_table

    click.echo(clean(answer.summary or f"The job is {answer.state}."))
    for group in answer.waiting:
        click.echo()
        if len(answer.waiting) > 1 or len(group.slices) > 1:
            some = ", ".join(str(index) for index in group.slices[:10]) + (" …" if len(group.slices) > 10 else "")
            click.echo(f"{count(len(group.slices), 'slice')} ({some}): {clean(group.summary)}")
        rows = [("in the pool", str(group.nodes_total), "")]
        rows += [(gate.gate, f"-{gate.removed}", gate.detail or "") for gate in group.gates if gate.removed]
        rows.append(("free now", str(group.free), f"{group.feasible} could run it at some time"))
        print_table(("gate", "nodes", "detail"), rows)
        if group.position:
            click.echo(f"{count(group.position, 'slice')} will start before it.")
        if group.misses:
            near = "; ".join(
                f"{names.get(miss.node_id, miss.node_id)} ({', '.join(miss.gates)})" for miss in group.misses
            )
            click.echo(f"Nearest: {clean(near)}")
        for suggestion in group.suggestions:
            click.echo(f"→ {clean(suggestion)}")
