"""An image that an earlier attempt ran is asked for by its digest; if it is gone, the log says what is used instead."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from computepool.agent.faults import AttemptOver
from computepool.agent.images import ImageMissing, ImageTooSlow, ImageUnavailable, RegistryUnreachable
from computepool.agent.preparing import Fetching, FetchTime, _pull, _pull_pinned
from computepool.protocol.receipt import EndReason

NAME, OLD, NEW = "python:3.12-slim", "sha256:" + "1" * 64, "sha256:" + "2" * 64


class Registry:
    """Has what it is told to have, and notes what it was asked for."""

    def __init__(self, *digests: str) -> None:
        self.digests = digests
        self.asked: list[str | None] = []

    async def ensure(self, name, digest, progress, *, own):
        self.asked.append(digest)
        if (digest or self.digests[-1]) not in self.digests:
            raise ImageMissing(f"{name}@{digest} is not there")
        return digest or self.digests[-1]


def pull(registry, pinned):
    said: list[str] = []
    attempt: Any = SimpleNamespace(manifest=SimpleNamespace(image_digest=pinned), own=False, say=said.append)
    return asyncio.run(_pull_pinned(registry, attempt, NAME, said.append)), said


def test_retry_runs_what_the_first_attempt_ran():
    registry = Registry(OLD, NEW)
    assert pull(registry, OLD) == (OLD, [])
    assert pull(registry, None) == (NEW, [])
    assert registry.asked == [OLD, None]


def test_digest_that_is_gone_is_replaced_and_told():
    digest, (line,) = pull(Registry(NEW), OLD)
    assert digest == NEW
    assert OLD in line


def test_name_that_is_not_there_is_still_the_renters_to_mend():
    class Empty(Registry):
        async def ensure(self, name, digest, progress, *, own):
            raise ImageMissing(name)

    with pytest.raises(ImageMissing):
        pull(Empty(), None)


def fetching(limit_seconds=None):
    return Fetching(SimpleNamespace(line=print, done=print), FetchTime(limit_seconds))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("trouble", "reason"),
    [
        (ImageMissing("no such name"), EndReason.START_FAILED),
        (ImageUnavailable("no room for it"), EndReason.UNREACHABLE),
        (RegistryUnreachable("it answers 503"), EndReason.UNREACHABLE),
        (ImageTooSlow("it drips"), EndReason.SLOW_INPUT),
    ],
)
def test_only_what_is_the_nodes_doing_is_told_as_the_nodes(trouble, reason):
    class Troubled(Registry):
        async def ensure(self, name, digest, progress, *, own):
            raise trouble

    async def tidy():
        pass

    shop: Any = SimpleNamespace(images=Troubled(), outside=None, tidy_caches=tidy)
    attempt: Any = SimpleNamespace(manifest=SimpleNamespace(image=NAME, image_digest=None), own=True, say=print)
    with pytest.raises(AttemptOver, match=str(trouble)) as told:
        asyncio.run(_pull(shop, attempt, fetching()))
    assert told.value.reason is reason


def test_image_that_never_comes_is_the_renters_doing():
    """The node pulled until the hub gave the slice up, and blamed the node."""

    class Never(Registry):
        async def ensure(self, name, digest, progress, *, own):
            await asyncio.Event().wait()

    async def tidy():
        pass

    shop: Any = SimpleNamespace(images=Never(), outside=None, tidy_caches=tidy)
    attempt: Any = SimpleNamespace(manifest=SimpleNamespace(image=NAME, image_digest=None), own=False, say=print)
    with pytest.raises(AttemptOver, match="name a faster place") as told:
        asyncio.run(_pull(shop, attempt, fetching(limit_seconds=0.05)))
    assert told.value.reason is EndReason.SLOW_INPUT
