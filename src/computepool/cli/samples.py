"""Sample jobs for simulated nodes: enough that a dashboard is alive, and all of them named demo-…"""

import asyncio
import contextlib
from collections.abc import Iterator
from itertools import cycle
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from computepool.client.pool import Pool

FIRST_EVERY_SECONDS = 2.0
LATER_EVERY_SECONDS = 25.0
MOST_JOBS = 60
"""In one run: a demo that is left on over night does not fill a database."""
_WHERE = {"tags": ["simulated"]}


def _sample(name: str, *run: str, env: dict[str, str] | None = None, **fields: Any) -> dict[str, Any]:
    return {"name": f"demo-{name}", "run": list(run), "where": _WHERE, "env": env or {}, **fields}


_SMALL = {"cpus": 1, "memory": "1GB", "disk": "1GB"}
WAITS = _sample(
    "waits-for-a-big-gpu", "python", "pretrain.py", resources={"cpus": 8, "memory": "64GB", "gpu": "h200:8"}
)
"""Nothing in any profile has it: shows what `why` says."""
FIRST: tuple[dict[str, Any], ...] = (
    _sample("train", "python", "train.py", "--epochs", "3", resources={"cpus": 4, "memory": "8GB", "gpu": "10GB.."}),
    _sample("render", "blender", "-b", "scene.blend", "-a", slices=6, resources={**_SMALL, "gpu": 1}),
    _sample("fails", "python", "broken.py", env={"SIMULATED_EXIT_CODE": "3", "SIMULATED_SECONDS": "6"}),
    WAITS,
    _sample("sweep", "python", "sweep.py", slices=4, resources={"cpus": 2, "memory": "4GB"}),
)
LATER: tuple[dict[str, Any], ...] = (
    _sample("fine-tune", "python", "finetune.py", resources={"cpus": 4, "memory": "16GB", "gpu": "24GB.."}),
    _sample("evaluate", "python", "evaluate.py", slices=3, resources={"cpus": 2, "memory": "4GB", "gpu": 1}),
    _sample("transcode", "ffmpeg", "-i", "in.mkv", "out.mp4", resources=_SMALL),
    _sample("train", "python", "train.py", "--epochs", "10", resources={"cpus": 4, "memory": "8GB", "gpu": "8GB.."}),
)


class Samples:
    """Submits them one after the other, and takes back what is left of them at the end."""

    def __init__(self, pool: "Pool") -> None:
        self._pool = pool
        self._submitted: list[str] = []

    async def run(self) -> None:
        """Until it is canceled. A hub that is away is waited for: its next answer counts."""
        try:
            for wait, spec in self._schedule():
                await asyncio.sleep(wait)
                await asyncio.to_thread(self._submit, spec)
        finally:
            await asyncio.to_thread(self._take_back)

    def _schedule(self) -> Iterator[tuple[float, dict[str, Any]]]:
        for spec in FIRST:
            yield FIRST_EVERY_SECONDS, spec
        for number, spec in enumerate(cycle(LATER), start=len(FIRST)):
            if number == MOST_JOBS:
                return
            yield LATER_EVERY_SECONDS, spec

    def _submit(self, spec: dict[str, Any]) -> None:
        from computepool.client.errors import ClientError

        with contextlib.suppress(ClientError):
            self._submitted.append(self._pool.submit(spec).id)

    def _take_back(self) -> None:
        """What still waits or runs would wait for ever: its nodes are going."""
        from computepool.client.errors import ClientError

        with contextlib.suppress(ClientError):
            items, _ = self._pool.job_page(states=("queued", "running"), limit=1000, mine=True)
            for item in items:
                if item["id"] in self._submitted:
                    self._pool.cancel(item["id"])
