"""A hub that was asked too often is left alone for as long as it says, within a lease."""

import asyncio
import io

import httpx
import pytest

from computepool.agent import transfer
from computepool.agent.link import posting
from computepool.agent.link.posting import Poster
from computepool.agent.ports import TransferFailed, asked_to_wait_seconds
from computepool.agent.transfer import HttpTransfer


@pytest.mark.parametrize(
    ("status", "value", "seconds"),
    [(429, "7", 7), (503, "3", 3), (429, "3600", 15), (429, "soon", 0), (429, "", 0), (200, "7", 0), (404, "7", 0)],
)
def test_how_long(status, value, seconds):
    assert asked_to_wait_seconds(status, {"Retry-After": value}) == seconds


@pytest.fixture
def waits(monkeypatch):
    waited: list[float] = []

    async def wait(seconds):
        waited.append(seconds)

    for module in (transfer, posting):
        monkeypatch.setattr(module.asyncio, "sleep", wait)
    return waited


class Nowhere:
    def begin(self, offset: int) -> None:
        raise AssertionError("nothing came")

    def write(self, data: bytes) -> None:
        raise AssertionError("nothing came")


def busy() -> httpx.AsyncClient:
    answer = httpx.Response(429, headers={"Retry-After": "7"})
    return httpx.AsyncClient(transport=httpx.MockTransport(lambda request: answer))


def test_poll_waits(waits):
    async def run():
        poster = Poster("1")
        poster._client = busy()
        assert await poster.post("http://hub.example", b"", {}, 1) == (429, b"")
        await poster.close()

    asyncio.run(run())
    assert waits == [7]


@pytest.mark.parametrize("direction", ["download", "upload"])
def test_transfer_waits_and_may_be_tried_again(waits, direction):
    async def run():
        http = HttpTransfer("http://hub.example")
        http._clients[None] = busy()
        if direction == "download":
            await http.download("part", offset=0, sink=Nowhere())
        else:
            await http.upload("part", io.BytesIO(), offset=0, size_bytes=0, headers={})

    with pytest.raises(TransferFailed) as failed:
        asyncio.run(run())
    assert failed.value.retry
    assert waits == [7]
