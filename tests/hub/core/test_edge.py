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


async def check_those_refused_together_do_not_come_back_together(site):
    first = site.edge.connect("192.0.2.1")
    async with first.stream("user_1"), first.stream("user_2"):
        refused = [asyncio.ensure_future(_open(first, user)) for user in ("user_1", "user_1", "user_2", "user_1")]
        for _ in range(10):
            await asyncio.sleep(0)
        assert site.seconds == pytest.approx([5.0, 5.02, 5.0, 5.04])
        for delay in site.delays:
            delay.set()
        await asyncio.gather(*refused, return_exceptions=True)
        assert site.edge._next_refusal_at == {}


async def _open(connection, user="user_1"):
    async with connection.stream(user):
        raise AssertionError("it was let in")


def streams_are_refused_at_once(monkeypatch):
    monkeypatch.setattr(edge_module, "STREAMS_DELAYED_LIMIT", 0)


def all_are_refused_after_the_same_time(monkeypatch):
    monkeypatch.setattr(edge_module, "REFUSED_STREAMS_A_SECOND", 1e9)


CHECKS = {
    check_refused_stream_waits_and_takes_no_place: [streams_are_refused_at_once],
    check_no_more_wait_than_are_allowed_to: [],
    check_those_refused_together_do_not_come_back_together: [all_are_refused_after_the_same_time],
}


def play(check, monkeypatch):
    async def story():
        async def sleep(seconds):
            if seconds > 0:
                site.seconds.append(seconds)
                site.delays.append(asyncio.Event())
                await site.delays[-1].wait()

        edge = Edge.of(EdgeSettings(limit_streams_per_account=1), lambda: 1000.0)
        site = SimpleNamespace(edge=edge, delays=[], seconds=[])
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
