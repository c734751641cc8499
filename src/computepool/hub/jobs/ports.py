"""What jobs need of the scheduler and the gateway, which stand above them."""

from datetime import datetime
from typing import Any, Protocol

from sqlalchemy.orm import Session

from computepool.hub.jobs.brief import JobBrief
from computepool.hub.jobs.ending import Canceled
from computepool.hub.jobs.service import NewJob
from computepool.hub.jobs.submission import StoreJob
from computepool.hub.jobs.tables import Job


class Dispatch(Protocol):
    async def submit(self, job: NewJob, brief: JobBrief, store: StoreJob) -> str:
        """Store the job and lease what finds room at once. The id: its own, or that of its earlier twin."""
        ...

    def cancel(self, session: Session, job: Job, now: datetime, *, actor: str) -> Canceled:
        """In a transaction: nothing of it starts any more, and nobody waits for its replicas."""
        ...

    def canceled(self, job_id: str, *, final: bool) -> None:
        """Nothing of it waits any more."""
        ...

    def find_user_of(self, artifact_id: str) -> str | None:
        """An open job that needs this bundle or input."""
        ...

    def stop_attempt(self, node_id: str, attempt_id: str, fence: int, reason: str) -> None: ...

    async def why(self, job_id: str) -> list[dict[str, Any]]:
        """For each group of slices that waits alike, what it waits for."""
        ...
