"""How much of one owner may wait. It is the hub's memory: what waits is kept there, and costs its owner nothing."""

from computepool.hub.core.owners import PLATFORM
from computepool.hub.core.settings import Settings
from computepool.hub.jobs.brief import JobBrief
from computepool.hub.jobs.errors import QueueFull
from computepool.hub.jobs.service import NewJob
from computepool.hub.scheduling.open_jobs import OpenJobs
from computepool.hub.scheduling.queue import Queue
from computepool.protocol.units import about_bytes


def check_queue(settings: Settings, queue: Queue, briefs: OpenJobs, job: NewJob, brief: JobBrief) -> None:
    """Raises QueueFull for a job that would be too much. What waits already is never sent away."""
    if job.owner_id == PLATFORM:
        return
    copies = 1 + len(job.replica_ids)
    waiting, most = queue.count_of(job.owner_id), settings.limit_queued_slices
    if most and waiting + job.slices * copies > most:
        raise QueueFull(
            f"{waiting} of your slices wait for a node; with the {job.slices * copies} of this job there would be more "
            f"than the {most} that may."
        )
    most = settings.limit_queued_bytes
    if most and briefs.bytes_of(job.owner_id) + brief.kept_bytes * copies > most:
        raise QueueFull(f"The specs of your open jobs take {about_bytes(most)}, which is what they may.")
