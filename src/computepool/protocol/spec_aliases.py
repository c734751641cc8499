"""The keys of a job spec, other words for them, and what to write instead of words that are none.

Whole files of dstack and SkyPilot are read in `foreign.py`.
"""

from collections.abc import Mapping

SPEC_KEYS = (
    "name", "resources", "image", "workdir", "setup", "run", "env", "secrets", "outputs", "checkpoint", "slices",
    "max_price", "max_runtime", "budget", "priority", "preemptible", "retries", "optimize", "where", "isolation",
    "inputs", "notify", "team", "network", "deterministic", "verify", "publish", "links", "keep_going",
)  # fmt: skip
RESOURCE_KEYS = ("cpus", "memory", "disk", "gpu")
WHERE_KEYS = ("country", "trust", "tags", "min_reliability", "node")

SPEC_ALIASES: Mapping[str, str] = {
    "commands": "run",
    "max_hourly_cost": "max_price",
    "max_duration": "max_runtime",
    "files": "inputs",
}
RESOURCE_ALIASES: Mapping[str, str] = {
    "gpus": "gpu",
    "cpu": "cpus",
}

ELSEWHERE: Mapping[str, str] = {
    "command": "write it as `run`",
    "cmd": "write it as `run`",
    "args": "write the whole command as `run`",
    "entrypoint": "write the whole command as `run`",
    "timeout": "write it as `max_runtime`, such as 2h",
    "gpu": "write it under `resources`",
    "gpus": "write it as `resources.gpu`",
    "accelerators": "write it as `resources.gpu`",
    "cpu": "write it as `resources.cpus`",
    "cpus": "write it under `resources`",
    "memory": "write it under `resources`",
    "disk": "write it under `resources`",
    "country": "write it under `where`",
    "tags": "write it under `where`",
    "trust": "write it under `where`",
    "node": "write it under `where`",
    "region": "write countries as `where.country`",
    "regions": "write countries as `where.country`",
    "python": "choose an image, such as `image: python:3.12-slim`",
    "working_dir": "write the folder to send as `workdir`",
    "spot_policy": "write `preemptible: true` or leave it out",
    "replicas": "write parallel parts as `slices`",
    "array": "write parallel parts as `slices`",
    "retry": "write a number as `retries`",
    "cloud": "remove it: the pool's nodes are not in a cloud",
    "infra": "remove it: the pool's nodes are not in a cloud",
    "backends": "remove it: the pool's nodes are not in a cloud",
    "ports": "remove it: jobs are not reachable from outside",
    "shm_size": "remove it: shared memory is part of `resources.memory`",
    "any_of": "name one request; `24GB..` accepts any card of that size",
}
