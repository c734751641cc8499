"""What is stored: for renters who delete it, and for operators who watch over it."""

import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import click

from computepool.cli.completion import JOB
from computepool.cli.errors import USAGE, CliError, clean, tell
from computepool.cli.options import ONE_JOB_HELP, json_option, open_pool, pool_options, print_json
from computepool.cli.users import owner_id_of

if TYPE_CHECKING:
    from computepool.client.models import Job
    from computepool.client.pool import Pool

KINDS = ["bundle", "input", "output", "checkpoint"]
KEPT_FOR_JOBS = ("bundle", "input")
"""What is no job's own: jobs come and go, and it stays."""
FINAL_STATES = ("succeeded", "failed", "canceled")


# ── renters ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@click.group(epilog="Example: computepool artifacts list --kind output")
def artifacts() -> None:
    """List and delete stored files: bundles, inputs, outputs and checkpoints."""


@artifacts.command("list", epilog="Example: computepool artifacts list --kind bundle --kind input")
@click.option(
    "--kind", "kinds", type=click.Choice(KINDS), multiple=True, help="Only files of this kind; may be repeated."
)
@click.option("-n", "--limit", default=100, show_default=True, type=click.IntRange(1, 100_000), help="Show this many.")
@json_option
@pool_options
def list_artifacts(kinds: tuple[str, ...], limit: int, as_json: bool) -> None:
    """List your files, the newest first, and how much of your storage is used."""
    with open_pool() as pool:
        items = list(pool.storage.files(kinds, limit + 1))
        usage = pool.storage.usage()
    shown = items[:limit]
    if as_json:
        print_json({"items": shown, "next": shown[-1]["id"] if len(items) > limit else None, "usage": usage})
        return
    from computepool.cli.display import ago, print_table, size

    if shown:
        rows = [
            (
                item["id"],
                item["kind"] if item["state"] == "stored" else f"{item['kind']}, {item['state']}",
                size(item["size_bytes"]),
                ago(datetime.fromisoformat(item["created_at"])),
                item["path"] or "",
                item["job_id"] or "",
            )
            for item in shown
        ]
        print_table(("id", "kind", "size", "created", "path", "job"), rows)
    for line in _usage_lines(usage):
        tell(line, dim=True)
    if len(items) > limit:
        tell(f"The newest {limit}; more with --limit.", dim=True)


@artifacts.command("rm", epilog="Example: computepool artifacts rm artifact_01…")
@click.argument("ids", nargs=-1, required=True, metavar="ID…")
@json_option
@pool_options
def remove_artifacts(ids: tuple[str, ...], as_json: bool) -> None:
    """Delete files. A file that an unfinished job needs cannot be deleted."""
    with open_pool() as pool:
        for artifact_id in ids:
            pool.storage.delete_artifact(artifact_id)
            if not as_json:
                tell(f"{clean(artifact_id)}: deleted.")
    if as_json:
        print_json({"deleted": list(ids)})


@click.command(
    epilog="Example: computepool rm last",
    help="Delete jobs that have ended, with their logs, outputs and checkpoints. Payments stay on record. "
    f"{ONE_JOB_HELP}",
)
@click.argument("jobs", nargs=-1, required=True, metavar="JOB…", type=JOB)
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
@json_option
@pool_options
def rm(jobs: tuple[str, ...], yes: bool, as_json: bool) -> None:
    deleted = []
    with open_pool() as pool:
        for named in jobs:
            job_id = pool.find_job(named, newest=False)
            if not yes and sys.stdin.isatty():
                click.confirm(f"Delete {clean(job_id)} with its logs and outputs?", abort=True, err=True)
            pool.storage.delete_job(job_id)
            deleted.append(job_id)
            if not as_json:
                tell(f"{clean(job_id)}: deleted.")
    if as_json:
        print_json({"deleted": deleted})


@click.command(epilog="Example: computepool prune --older-than 30d --dry-run")
@click.option("--older-than", "age", required=True, metavar="TIME", help="Age, such as 30d or 12h.")
@click.option("--dry-run", is_flag=True, help="Show what would be deleted, and delete nothing.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
@json_option
@pool_options
def prune(age: str, dry_run: bool, yes: bool, as_json: bool) -> None:
    """Delete old data: your jobs that ended longer ago than TIME, with their logs and outputs, and bundles and inputs
    that were not used since. Files that an unfinished job needs are kept."""
    before = datetime.now(UTC) - timedelta(seconds=_seconds(age))
    with open_pool() as pool:
        jobs = [job.id for job in _old_jobs(pool, before)]
        files = [item["id"] for item in _old_files(pool, before)]
        stored_bytes, is_any_old = pool.storage.usage()["bytes"], bool(jobs or files)
        if not dry_run and not yes and (jobs or files) and sys.stdin.isatty():
            click.confirm(f"Delete {_what(jobs, files)}?", abort=True, err=True)
        if not dry_run:
            jobs, files = _delete(pool, jobs, files)
        freed_bytes = 0 if dry_run else max(0, stored_bytes - pool.storage.usage()["bytes"])
    if as_json:
        print_json({"dry_run": dry_run, "jobs": jobs, "artifacts": files, "freed_bytes": freed_bytes})
        return
    from computepool.cli.display import size

    if not is_any_old:
        tell(f"Nothing is older than {age}.")
    elif dry_run:
        tell(f"Would delete {_what(jobs, files)}.")
    else:
        tell(f"Deleted {_what(jobs, files)}: {size(freed_bytes)}.")


def _seconds(age: str) -> int:
    from computepool.protocol.units import BadValueError, parse_duration

    try:
        return parse_duration(age)
    except BadValueError as error:
        raise CliError(f"--older-than: {error.message}.", error.hint_sentence, USAGE) from None


def _old_jobs(pool: "Pool", before: datetime) -> "Iterator[Job]":
    for state in FINAL_STATES:
        for job in pool.jobs(state=state, limit=sys.maxsize, mine=True):
            if job.finished_at is not None and job.finished_at < before:
                yield job


def _old_files(pool: "Pool", before: datetime) -> Iterator[dict[str, Any]]:
    for item in pool.storage.files(KEPT_FOR_JOBS):
        if datetime.fromisoformat(item["stored_at"] or item["created_at"]) < before:
            yield item


def _delete(pool: "Pool", jobs: Sequence[str], files: Sequence[str]) -> tuple[list[str], list[str]]:
    """Those that went. What is needed, disputed, or was deleted by another command meanwhile is left alone."""
    from computepool.client.errors import HubError

    def gone(delete: Any, names: Sequence[str]) -> list[str]:
        deleted = []
        for name in names:
            try:
                delete(name)
            except HubError as error:
                if error.status not in (404, 409):
                    raise
                if error.status == 409:
                    tell(f"{clean(name)}: kept. {clean(error.message)}", dim=True)
            else:
                deleted.append(name)
        return deleted

    return gone(pool.storage.delete_job, jobs), gone(pool.storage.delete_artifact, files)


def _what(jobs: Sequence[str], files: Sequence[str]) -> str:
    from computepool.cli.display import count

    return f"{count(len(jobs), 'job')} and {count(len(files), 'file')}"


def _usage_lines(usage: dict[str, Any]) -> list[str]:
    from computepool.cli.display import size

    limit_bytes = usage["limit_bytes"]
    stored = _of(size(usage["bytes"]), None if limit_bytes is None else size(limit_bytes))
    objects = _of(str(usage["objects"]), usage["limit_objects"])
    lines = [f"Stored: {stored}, {objects} files and logs."]
    daily = usage["limit_bytes_per_day"]
    if daily is not None:
        lines.append(
            f"Uploaded today: {size(usage['bytes_today'])} of {size(daily)}. This limit ends when you buy credits."
        )
    return lines + _cost_lines(usage)


def _of(used: str, limit: object) -> str:
    return used if limit is None else f"{used} of {limit}"


def _cost_lines(usage: dict[str, Any]) -> list[str]:
    """None where storage costs nothing."""
    from computepool.cli.display import in_credits, size

    if not usage.get("price_micros"):
        return []
    price, cost = in_credits(usage["price_micros"]), in_credits(usage["cost_micros_per_day"])
    lines = [f"Cost: {cost} a day; {size(usage['free_bytes'])} are free, then {price} per GB and day."]
    if usage["unpaid_micros"]:
        lines.append(
            f"Unpaid since {clean(usage['unpaid_since'])}: {in_credits(usage['unpaid_micros'])}. From "
            f"{clean(usage['refused_from'])} on, uploads and new jobs are refused until it is paid."
        )
    return lines


# ── operators ────────────────────────────────────────────────────────────────────────────────────────────────────────


@click.group(invoke_without_command=True, epilog="Example: computepool admin storage")
@click.option("-n", "--limit", default=20, show_default=True, type=click.IntRange(1, 500), help="Show this many.")
@json_option
@pool_options
@click.pass_context
def storage(ctx: click.Context, limit: int, as_json: bool) -> None:
    """Show who stores how much, and may; give single accounts limits of their own."""
    if ctx.invoked_subcommand is not None:
        return
    with open_pool() as pool:
        document = pool.storage.everybody(limit)
    if as_json:
        print_json(document)
        return
    from computepool.cli.display import count, in_credits, print_table, size

    rows = [
        (
            item["email"] or item["owner_id"],
            _of(size(item["bytes"]), None if item["limit_bytes"] is None else size(item["limit_bytes"])),
            _of(str(item["objects"]), item["limit_objects"]),
            size(item["bytes_today"]),
            "own" if item["own_limits"] else "",
            in_credits(item["unpaid_micros"]) if item.get("unpaid_micros") else "",
        )
        for item in document["items"]
    ]
    if rows:
        columns = ("account", "stored", "files and logs", "today", "limits", "unpaid")
        print_table(columns, rows, spare=("limits", "unpaid"))
    total = f"{size(document['bytes'])} in {count(document['objects'], 'file')}"
    tell(f"In all: {total} of {count(document['owners'], 'account')}, logs included.", dim=True)


@storage.command("show", epilog="Example: computepool admin storage show alice@example.org")
@click.argument("owner", metavar="OWNER")
@json_option
@pool_options
def show_storage(owner: str, as_json: bool) -> None:
    """Show what a user or team has stored, and may. OWNER is an id or a user's e-mail address."""
    with open_pool() as pool:
        document = pool.storage.of(owner_id_of(pool, owner))
    _print_owner(document, as_json)


@storage.command("limit", epilog="Example: computepool admin storage limit alice@example.org --size 200GB")
@click.argument("owner", metavar="OWNER")
@click.option("--size", "limit", metavar="SIZE", help="Such as 200GB.")
@click.option("--files", type=click.IntRange(0), metavar="N", help="Files and logs.")
@json_option
@pool_options
def limit_storage(owner: str, limit: str | None, files: int | None, as_json: bool) -> None:
    """Set how much a user or team may store. What is left out is the pool's default again.

    OWNER is an id or a user's e-mail address.
    """
    from computepool.protocol.units import BadValueError, parse_bytes

    try:
        limit_bytes = parse_bytes(limit) if limit is not None else None
    except BadValueError as error:
        raise CliError(f"--size: {error.message}.", error.hint_sentence, USAGE) from None
    with open_pool() as pool:
        document = pool.storage.set_limits(owner_id_of(pool, owner), limit_bytes, files)
    _print_owner(document, as_json)


@storage.command("reconcile", epilog="Example: computepool admin storage reconcile alice@example.org")
@click.argument("owner", metavar="OWNER")
@json_option
@pool_options
def reconcile_storage(owner: str, as_json: bool) -> None:
    """Count anew what a user or team has stored. OWNER is an id or a user's e-mail address."""
    with open_pool() as pool:
        document = pool.storage.reconcile(owner_id_of(pool, owner))
    if as_json:
        print_json(document)
        return
    was = (document["counted_bytes"], document["counted_objects"])
    found = (document["bytes"], document["objects"])
    if was == found:
        tell(f"Right: {found[0]} bytes in {found[1]} files and logs.")
    else:
        tell(f"Counted {was[0]} bytes in {was[1]} files and logs; there are {found[0]} in {found[1]}. Corrected.")


def _print_owner(document: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(document)
        return
    from computepool.cli.display import print_pairs

    print_pairs((("owner", document["owner_id"]), ("address", document["email"])))
    for line in _usage_lines(document):
        click.echo(line)
