"""The keys of a job spec, and the words of neighbouring systems for them.

A dstack task or a single-node SkyPilot file should run as it is. What has no meaning here is refused with a word on
what to write instead, never ignored.
"""

from collections.abc import Mapping

SPEC_KEYS = (
    "name", "resources", "image", "workdir", "setup", "run", "env", "secrets", "outputs", "checkpoint", "slices",
    "max_price", "max_runtime", "budget", "priority", "preemptible", "retries", "optimize", "where", "isolation",
    "inputs", "notify", "team", "network", "deterministic", "verify", "publish",
)  # fmt: skip
RESOURCE_KEYS = ("cpus", "memory", "disk", "gpu")
WHERE_KEYS = ("country", "trust", "tags", "min_reliability", "node")

SPEC_ALIASES: Mapping[str, str] = {
    "commands": "run",
    "envs": "env",
    "max_hourly_cost": "max_price",
    "max_duration": "max_runtime",
    "file_mounts": "inputs",
    "files": "inputs",
}
RESOURCE_ALIASES: Mapping[str, str] = {
    "accelerators": "gpu",
    "gpus": "gpu",
    "cpu": "cpus",
    "disk_size": "disk",
}
LIFTED_FROM_RESOURCES: Mapping[str, str] = {
    "max_hourly_cost": "max_price",
    "use_spot": "preemptible",
    "image_id": "image",
}
"""SkyPilot keeps under `resources` what concerns the whole job."""

ONE_MACHINE_KEYS = ("nodes", "num_nodes")
"""Accepted when they say 1: that is what a job here is."""

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
