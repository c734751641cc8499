"""How a hub's process runs: on the fastest event loop there is, with room for a line to every agent."""

import asyncio
import contextlib
import gc
import resource
from collections.abc import Coroutine, Iterator
from typing import Any, TypeVar

R = TypeVar("R")
COLLECTOR_THRESHOLDS = (5_000, 5, 100)
"""New objects, young collections, middle ones: after so many Python looks for garbage in the next generation."""


def run(work: Coroutine[Any, Any, R]) -> R:
    _raise_open_files_limit()
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        return runner.run(work)


@contextlib.contextmanager
def calm_collector() -> Iterator[None]:
    """While a hub that is up is served: what there is stays. To look through all of it for garbage takes more than
    100 ms, in which no request is answered, and Python does that whenever some thousand connections or jobs have come.
    """
    before = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECTOR_THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def _loop_factory() -> Any:
    try:
        import uvloop  # there is none for Windows
    except ImportError:
        return None
    return uvloop.new_event_loop


def connections_within(limit: int) -> int:
    """So many connections, or fewer where this process may not open enough files: a quarter is left to the database,
    to uploads and downloads."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return limit if soft == resource.RLIM_INFINITY else max(1, min(limit, soft * 3 // 4))


def _raise_open_files_limit() -> None:
    """Every agent and every reader holds one; a thousand, as many systems begin with, are soon used up."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
