"""For renters: links by which others see a job without an account."""

from datetime import datetime
from typing import Any
from urllib.parse import quote

import click

from computepool.cli.completion import JOB
from computepool.cli.errors import CliError, clean, tell
from computepool.cli.options import json_option, open_pool, pool_options, print_json


@click.group(epilog="Example: computepool share create job_01k9x3 --logs --days 7")
def share() -> None:
    """Links that show a job to everyone who has one, without its command, environment or nodes."""


@share.command("create", epilog="Example: computepool share create job_01k9x3 --logs --outputs --days 7")
@click.argument("job", metavar="JOB", type=JOB)
@click.option("--logs", is_flag=True, help="Show the logs too, with everything that the job prints.")
@click.option("--outputs", is_flag=True, help="Show the names, sizes and digests of the outputs too.")
@click.option("--days", type=click.IntRange(1, 365), help="Days until the link ends.  [default: until it is revoked]")
@json_option
@pool_options
def create(job: str, logs: bool, outputs: bool, days: int | None, as_json: bool) -> None:
    """Make a link. It is shown only once."""
    with open_pool() as pool:
        body = {"with_logs": logs, "with_outputs": outputs, "expires_in_days": days}
        made = pool.call("POST", f"/jobs/{pool.find_job(job)}/shares", body)
        link = f"{pool.target.url.rstrip('/')}/shared/{made['token']}"
    if as_json:
        print_json({**made, "url": link})
        return
    click.echo(clean(link))
    tell(
        f"Shows {_shown(made)}. To end it: computepool share revoke {clean(made['job_id'])} {clean(made['id'])}",
        dim=True,
    )


@share.command("list", epilog="Example: computepool share list job_01k9x3")
@click.argument("job", metavar="JOB", type=JOB)
@json_option
@pool_options
def list_shares(job: str, as_json: bool) -> None:
    """List the active links of a job, the newest first."""
    with open_pool() as pool:
        document = pool.call("GET", f"/jobs/{pool.find_job(job)}/shares")
    if as_json:
        print_json(document)
        return
    if not document["items"]:
        tell("No links. Make one with: computepool share create JOB", dim=True)
        return
    from computepool.cli.display import instant, print_table

    rows = [
        (
            link["id"],
            _shown(link),
            instant(datetime.fromisoformat(link["created_at"])),
            instant(datetime.fromisoformat(link["expires_at"])) if link["expires_at"] else "no end",
        )
        for link in document["items"]
    ]
    print_table(("id", "shows", "created", "until"), rows)


@share.command("revoke", epilog="Example: computepool share revoke job_01k9x3 share_01k9x4")
@click.argument("job", metavar="JOB", type=JOB)
@click.argument("link", metavar="ID")
@pool_options
def revoke(job: str, link: str) -> None:
    """End a link: it stops working at once."""
    with open_pool() as pool:
        path = f"/jobs/{pool.find_job(job)}/shares"
        if link not in [known["id"] for known in pool.call("GET", path)["items"]]:
            raise CliError(
                f"There is no link {link!r} of this job.", "computepool share list JOB shows those that work."
            )
        pool.call("DELETE", f"{path}/{quote(link, safe='')}")
    tell(f"Revoked {clean(link)}.")


def _shown(link: dict[str, Any]) -> str:
    parts = ["state", *(["logs"] if link["with_logs"] else []), *(["outputs"] if link["with_outputs"] else [])]
    return ", ".join(parts)
