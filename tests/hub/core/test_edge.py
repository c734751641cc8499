"""Limits of live streams, as the edge counts them."""

import asyncio
from types import SimpleNamespace

import pytest
from support.planted import each_check, each_mutant

from computepool.hub.core import edge as edge_module
from computepool.hub.core.edge import Edge, TooManyStreams
from computepool.hub.core.edge_settings import EdgeSettings


async def check_refused_stream_waits_and_takes_no_place(site):
    edge, first, second = site.edge, site.edge.connect("192.0.2.1"), site.edge.connect("192.0.2.1")
    async with first.stream("user_1"):
        refused = asyncio.ensure_future(_open(second))
        while not site.delays:
            assert not refused.done() or not refused.exception(), "refused at once"
            await asyncio.sleep(0)
        assert edge.streams_delayed == 1
        site.delays[0].set()
        with pytest.raises(TooManyStreams):
            await refused
    assert edge.streams_delayed == 0
    async with second.stream("user_1"):
        pass


async def check_no_more_wait_than_are_allowed_to(site):
    first = site.edge.connect("192.0.2.1")
    async with first.stream("user_1"):
        site.edge.streams_delayed = edge_module.STREAMS_DELAYED_LIMIT
        with pytest.raises(TooManyStreams):
            await _open(first)
        assert site.delays == []


async def _open(connection):
    async with connection.stream("user_1"):
        raise AssertionError("it was let in")


def streams_are_refused_at_once(monkeypatch):
    monkeypatch.setattr(edge_module, "STREAMS_DELAYED_LIMIT", 0)


CHECKS = {
    check_refused_stream_waits_and_takes_no_place: [streams_are_refused_at_once],
    check_no_more_wait_than_are_allowed_to: [],
}


def play(check, monkeypatch):
    async def story():
        async def sleep(seconds):
            if seconds == edge_module.STREAM_DELAY_SECONDS:
                site.delays.append(asyncio.Event())
                await site.delays[-1].wait()

        loop = asyncio.get_running_loop()
        site = SimpleNamespace(edge=Edge.of(EdgeSettings(limit_streams_per_account=1), loop.time), delays=[])
        monkeypatch.setattr(edge_module, "asyncio", SimpleNamespace(sleep=sleep))
        async with asyncio.timeout(60):
            await check(site)

    asyncio.run(story())


@each_check(CHECKS)
def test_streams_beyond_the_limit(check, monkeypatch):
    play(check, monkeypatch)


@each_mutant(CHECKS)
def test_check_finds_the_planted_bug(check, mutant, monkeypatch):
    mutant(monkeypatch)
    with pytest.raises((AssertionError, TimeoutError)):
        play(check, monkeypatch)
