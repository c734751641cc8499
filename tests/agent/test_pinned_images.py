"""An image that an earlier attempt ran is asked for by its digest; if it is gone, the log says what is used instead."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from computepool.agent.images import ImageMissing
from computepool.agent.preparing import _pull_pinned

NAME, OLD, NEW = "python:3.12-slim", "sha256:" + "1" * 64, "sha256:" + "2" * 64


class Registry:
    """Has what it is told to have, and notes what it was asked for."""

    def __init__(self, *digests: str) -> None:
        self.digests = digests
        self.asked: list[str | None] = []

    async def ensure(self, name, digest, progress):
        self.asked.append(digest)
        if (digest or self.digests[-1]) not in self.digests:
            raise ImageMissing(f"{name}@{digest} is not there")
        return digest or self.digests[-1]


def pull(registry, pinned):
    said: list[str] = []
    attempt: Any = SimpleNamespace(manifest=SimpleNamespace(image_digest=pinned), say=said.append)
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
        async def ensure(self, name, digest, progress):
            raise ImageMissing(name)

    with pytest.raises(ImageMissing):
        pull(Empty(), None)
