"""The briefs of all jobs that are not final, by id; and whether any of them has to do with verification."""

from collections import UserDict
from collections.abc import Callable

from computepool.hub.jobs.brief import JobBrief


class OpenJobs(UserDict[str, JobBrief]):
    def __init__(self) -> None:
        self._watched: set[str] = set()
        super().__init__()

    def __setitem__(self, job_id: str, brief: JobBrief) -> None:
        super().__setitem__(job_id, brief)
        if brief.role is not None:
            self._watched.add(job_id)

    def __delitem__(self, job_id: str) -> None:
        super().__delitem__(job_id)
        self._watched.discard(job_id)

    def to_watch(self) -> Callable[[str], JobBrief | None] | None:
        """None while the results of no open job are to be compared with others."""
        return self.get if self._watched else None
