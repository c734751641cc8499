"""The briefs of all jobs that are not final, by id; how much they take, and whether any has to do with verification."""

from collections import Counter, UserDict
from collections.abc import Callable, Collection

from computepool.hub.jobs.brief import JobBrief


class OpenJobs(UserDict[str, JobBrief]):
    def __init__(self) -> None:
        self._watched: set[str] = set()
        self._bytes: Counter[str] = Counter()
        super().__init__()

    def __setitem__(self, job_id: str, brief: JobBrief) -> None:
        self._count(self.data.get(job_id), brief)
        super().__setitem__(job_id, brief)
        if brief.role is not None:
            self._watched.add(job_id)

    def __delitem__(self, job_id: str) -> None:
        self._count(self.data.get(job_id), None)
        super().__delitem__(job_id)
        self._watched.discard(job_id)

    def bytes_of(self, owner_id: str) -> int:
        """About what the open jobs of this owner take of the hub's memory, without their slices."""
        return self._bytes[owner_id]

    def find_user_of(self, artifact_id: str) -> str | None:
        """A job that needs this bundle or input."""
        given = (brief for brief in self.values() if artifact_id in (brief.bundle_id, *brief.input_ids.values()))
        return next((brief.root for brief in given), None)

    def users_of(self, artifact_ids: Collection[str]) -> dict[str, str]:
        """The same of many at once, for those that are needed."""
        wanted = set(artifact_ids)
        return {
            artifact_id: brief.root
            for brief in self.values()
            for artifact_id in (brief.bundle_id, *brief.input_ids.values())
            if artifact_id is not None and artifact_id in wanted
        }

    def to_watch(self) -> Callable[[str], JobBrief | None] | None:
        """None while the results of no open job are to be compared with others."""
        return self.get if self._watched else None

    def _count(self, before: JobBrief | None, after: JobBrief | None) -> None:
        for brief, sign in ((before, -1), (after, 1)):
            if brief is not None:
                self._bytes[brief.owner_id] += sign * brief.kept_bytes
                if not self._bytes[brief.owner_id]:
                    del self._bytes[brief.owner_id]
