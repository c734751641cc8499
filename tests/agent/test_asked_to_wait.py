"""A hub that was asked too often is left alone for as long as it says, within a lease."""

import asyncio
import io

import httpx
import pytest
from websockets.asyncio.server import serve

from computepool.agent import transfer
from computepool.agent.link import posting, websocket
from computepool.agent.link.base import LinkUnavailable
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

    for module in (transfer, posting, websocket):
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


@pytest.mark.parametrize(("value", "is_busy"), [("5", True), ("", False)])
def test_link_waits_and_a_busy_hub_is_no_reason_to_poll(waits, value, is_busy):
    async def refuse(connection, request):
        response = connection.respond(503, "busy")
        response.headers["Retry-After"] = value
        return response

    async def run():
        async with serve(lambda link: link.wait_closed(), "127.0.0.1", 0, process_request=refuse) as server:
            port = server.sockets[0].getsockname()[1]
            with pytest.raises(LinkUnavailable, match="HTTP 503") as unavailable:
                await websocket.open_websocket(f"http://127.0.0.1:{port}", "1")
        assert (unavailable.value.away, unavailable.value.blocked) == (is_busy, False)

    asyncio.run(run())
    assert waits == ([5] if is_busy else [0])


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
