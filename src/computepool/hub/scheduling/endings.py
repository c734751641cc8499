"""Every end of an attempt comes by here, whoever says that it is over. Those that come at once share a transaction."""

from collections.abc import Sequence

from computepool.hub.core.context import Context
from computepool.hub.core.together import Together
from computepool.hub.jobs import ending
from computepool.hub.jobs.deciding import End
from computepool.hub.jobs.ending import Ended
from computepool.hub.scheduling.open_jobs import OpenJobs
from computepool.hub.trust import service as verification
from computepool.hub.trust.consequences import means_of


class Endings:
    def __init__(self, context: Context, briefs: OpenJobs) -> None:
        self._context = context
        self._briefs = briefs
        self._together = Together(self._alone, self._many)

    async def end(self, end: End, job_id: str | None) -> Ended:
        """`job_id`: its job, if that is known. What others have to confirm takes more locks, and is ended alone."""
        brief = self._briefs.get(job_id) if job_id is not None else None
        if brief is None or brief.role is not None:
            return await self._alone(end)
        return await self._together.ask(end)

    async def _alone(self, end: End) -> Ended:
        return await self._context.db.run(
            verification.end_attempt,
            end.attempt_id,
            end.fence,
            end.node_id,
            end.ending,
            self._context.now(),
            dict(end.facts),
            means=means_of(self._context),
            briefs=self._briefs.to_watch(),
        )

    async def _many(self, ends: Sequence[End]) -> Sequence[Ended | None]:
        half_life = means_of(self._context).half_life
        return await self._context.db.run(ending.end_attempts, ends, self._context.now(), half_life)
