"""Limits of live streams, and refusals that are told one after the other, as the edge counts them."""

import asyncio
from types import SimpleNamespace

import pytest
from support.planted import each_check, each_mutant

from computepool.hub.core import edge as edge_module
from computepool.hub.core.edge import Edge, TooManyFailures, TooManyStreams
from computepool.hub.core.edge_settings import EdgeSettings


async def check_refused_stream_waits_and_takes_no_place(site):
    edge, first, second = site.edge, site.edge.connect("192.0.2.1"), site.edge.connect("192.0.2.1")
    async with first.stream("user_1"):
        refused = asyncio.ensure_future(_open(second))
        while not site.delays:
            assert not refused.done() or not refused.exception(), "refused at once"
            await asyncio.sleep(0)
        assert edge.stream_refusals.waiting == 1
        site.delays[0].set()
        with pytest.raises(TooManyStreams):
            await refused
    assert edge.stream_refusals.waiting == 0
    async with second.stream("user_1"):
        pass


async def check_no_more_wait_than_are_allowed_to(site):
    first = site.edge.connect("192.0.2.1")
    async with first.stream("user_1"):
        site.edge.stream_refusals.waiting = edge_module.STREAMS_DELAYED_LIMIT
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
        assert site.edge.stream_refusals._next_at == {}


async def check_failures_of_an_address_are_told_one_after_the_other(site):
    lines = [site.edge.connect(address) for address in ("192.0.2.1", "192.0.2.1", "192.0.2.2")]
    failed = [asyncio.ensure_future(line.delay_failure()) for line in lines]
    for _ in range(10):
        await asyncio.sleep(0)
    assert site.seconds == pytest.approx([0.2, 0.4, 0.2])
    for delay in site.delays:
        delay.set()
    await asyncio.gather(*failed)


async def check_address_that_failed_often_is_refused_before_any_work(site):
    line = site.edge.connect("192.0.2.1")
    site.edge.failure_refusals.waiting = edge_module.FAILURES_DELAYED_LIMIT
    for _ in range(60):
        await line.delay_failure()
    assert site.delays == []
    with pytest.raises(TooManyFailures):
        line.check_failures()
    site.edge.connect("192.0.2.2").check_failures()


async def _open(connection, user="user_1"):
    async with connection.stream(user):
        raise AssertionError("it was let in")


def streams_are_refused_at_once(monkeypatch):
    monkeypatch.setattr(edge_module, "STREAMS_DELAYED_LIMIT", 0)


def all_are_refused_after_the_same_time(monkeypatch):
    monkeypatch.setattr(edge_module, "REFUSED_STREAMS_PER_SECOND", 1e9)


def failures_are_told_at_once(monkeypatch):
    monkeypatch.setattr(edge_module, "FAILURES_DELAYED_LIMIT", 0)


def failures_do_not_count(monkeypatch):
    monkeypatch.setattr(edge_module, "FAILURES_PER_SECOND", 1e9)


CHECKS = {
    check_refused_stream_waits_and_takes_no_place: [streams_are_refused_at_once],
    check_no_more_wait_than_are_allowed_to: [],
    check_those_refused_together_do_not_come_back_together: [all_are_refused_after_the_same_time],
    check_failures_of_an_address_are_told_one_after_the_other: [failures_are_told_at_once],
    check_address_that_failed_often_is_refused_before_any_work: [failures_do_not_count],
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
def test_refusals_at_the_edge(check, monkeypatch):
    play(check, monkeypatch)


@each_mutant(CHECKS)
def test_check_finds_the_planted_bug(check, mutant, monkeypatch):
    mutant(monkeypatch)
    with pytest.raises((AssertionError, TimeoutError, pytest.fail.Exception)):
        play(check, monkeypatch)
