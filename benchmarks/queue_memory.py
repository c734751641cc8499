"""What a queued slice takes of the hub's memory: ./dev run python benchmarks/queue_memory.py"""

import tracemalloc

from computepool.hub.jobs.brief import brief_of
from computepool.hub.scheduling.open_jobs import OpenJobs
from computepool.hub.scheduling.queue import Queue, Waiting
from computepool.protocol.spec import parse_spec

SLICES = 100_000
JOBS = 2_000


def main() -> None:
    spec = parse_spec({"run": ["python3", "train.py"], "resources": {"cpus": 1}})
    tracemalloc.start()
    queue, briefs = Queue(), OpenJobs()
    briefs["job_0"] = brief = brief_of("job_0", "user_0", "sweep", spec, spec.digest(), None)
    before = tracemalloc.get_traced_memory()[0]
    for index in range(SLICES):
        queue.add(Waiting(brief, index, fence=0, attempts=0))
    after = tracemalloc.get_traced_memory()[0]
    print(f"a slice of a job with many: {(after - before) / SLICES:.0f} bytes")
    for number in range(1, JOBS + 1):
        job_id = f"job_{number:026}"
        own = parse_spec({"run": ["python3", "train.py", str(number)], "resources": {"cpus": 1}})
        briefs[job_id] = one = brief_of(job_id, "user_0", f"sweep {number}", own, own.digest(), None)
        queue.add(Waiting(one, 0, fence=0, attempts=0))
    print(f"a job with one slice: {(tracemalloc.get_traced_memory()[0] - after) / JOBS:.0f} bytes")


if __name__ == "__main__":
    main()
