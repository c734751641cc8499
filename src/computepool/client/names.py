"""What people type for a job, a node or a user, before a hub is asked about it."""

from collections.abc import Iterable
from urllib.parse import quote

from computepool.client.errors import ClientError
from computepool.client.models import Job


def refuse_nothing(text: str, what: str) -> None:
    """An empty word is the beginning of every id: a variable that was never set must not choose one."""
    if not text.strip():
        raise ClientError(f"No {what} is named.", hint=f"Write the {what}'s id, the beginning of it, or its name.")


def jobs_named(text: str, jobs: Iterable[Job]) -> list[Job]:
    """Those with this name, or else those whose id begins so."""
    known = list(jobs)
    beginning = text if text.startswith("job_") else f"job_{text.lower()}"
    return [job for job in known if job.name == text] or [job for job in known if job.id.startswith(beginning)]


def limits_path(owner_id: str) -> str:
    return owner_path("limits", owner_id)


def owner_path(what: str, owner_id: str) -> str:
    """Whatever was typed is one name, and not a way to somewhere else."""
    if not owner_id.strip(". "):
        raise ClientError("No user or team is named.", hint="Write its id, such as user_01….")
    if "/" in owner_id:
        raise ClientError(f"There is no user or team {owner_id!r}.", hint="Write its id, such as user_01….")
    return f"/admin/{what}/{quote(owner_id, safe='')}"
