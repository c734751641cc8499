"""Bugs put in on purpose where the agent counts commands and remembers what it ran (promises 15 and 23)."""

import asyncio
import functools
from typing import Any

import pytest
from support.lone_supervisor import LoneSupervisor, run_in_virtual_time
from support.planted import each_check, each_mutant
from support.switching import play_switching

from computepool.agent import supervisor
from computepool.agent.journal import Journal
from computepool.agent.supervisor import CommandsMissing, Supervisor
from computepool.protocol.messages import Offer

SWITCHES = 12
SETTLED_SECONDS = 0.05

# ── checks ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def on_a_bench(check):
    @functools.wraps(check)
    def play(folder):
        async def story():
            bench = LoneSupervisor(folder)
            try:
                await check(bench)
            finally:
                await bench.close()

        run_in_virtual_time(story())

    return play


@on_a_bench
async def id_that_is_a_path_is_refused(bench):
    """Promise 23: even a signed one does not name a file."""
    bench.give(bench.hub.sign_manifest(bench.manifest(attempt_id="../../escaped")))
    assert bench.accepted == 0
    bench.give(bench.hub.sign_manifest(bench.manifest()))
    assert bench.accepted == 1  # the control


@on_a_bench
async def manifest_is_run_once_even_after_a_restart(bench):
    """Promise 23."""
    signed = bench.hub.sign_manifest(bench.manifest())
    bench.give(signed)
    bench.give(signed)
    await asyncio.sleep(SETTLED_SECONDS)
    bench.supervisor.forget(bench.supervisor.attempts[0])
    bench.give(signed)
    await asyncio.sleep(SETTLED_SECONDS)
    assert len(bench.sandbox.started) == 1
    await bench.supervisor.recover()
    bench.give(signed)
    await asyncio.sleep(SETTLED_SECONDS)
    assert len(bench.sandbox.started) == 1


def switch_of_links_neither_drops_nor_repeats(_):
    """Promise 15."""
    _, offered = play_switching(seed=1, switches=SWITCHES)
    assert offered >= SWITCHES // 2


@on_a_bench
async def gap_in_the_commands_drops_none(bench):
    """Promise 15: the line that lost one is given up, and the next brings it."""
    offers = [Offer(number=n, manifest=bench.hub.sign_manifest(bench.manifest())) for n in (1, 2, 3)]
    bench.supervisor.begin_stream("one")
    bench.supervisor.handle(offers[0])
    try:
        bench.supervisor.handle(offers[2])
    except CommandsMissing:
        bench.supervisor.begin_stream("one")
    for offer in offers[bench.supervisor.cursor :]:
        bench.supervisor.handle(offer)
    assert bench.accepted == 3


@on_a_bench
async def restarted_hubs_commands_are_heard(bench):
    """Promise 15: its count begins anew."""
    for stream in ("before", "after"):
        bench.supervisor.begin_stream(stream)
        for number in (1, 2):
            signed = bench.hub.sign_manifest(bench.manifest())
            bench.supervisor.handle(Offer(number=number, manifest=signed))
    assert bench.accepted == 4


# ── bugs ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def ids_are_trusted(patch):
    patch.setattr(supervisor, "is_safe_id", lambda attempt_id: True)


def restart_forgets_what_was_run(patch):
    real = Journal.load

    def careless(self):
        left = real(self)
        self._seen.clear()
        return left

    patch.setattr(Journal, "load", careless)


def cursor_runs_ahead(patch):
    real = Supervisor.begin_stream

    def careless(self, stream_id):
        real(self, stream_id)
        self.cursor += 1

    patch.setattr(Supervisor, "begin_stream", careless)


def what_comes_again_is_new(patch):
    def careless(self, stream_id):
        self.stream_id, self.cursor = stream_id, 0

    patch.setattr(Supervisor, "begin_stream", careless)
    patch.setattr(Journal, "has_seen", lambda self, attempt_id: False)


def gaps_are_not_noticed(patch):
    real = Supervisor._command

    def careless(self, command):
        self._gap_at = self.cursor
        real(self, command)

    patch.setattr(Supervisor, "_command", careless)


def streams_are_not_told_apart(patch):
    def careless(self, stream_id):
        self.stream_id = stream_id

    patch.setattr(Supervisor, "begin_stream", careless)


MUTANTS: dict[Any, list[Any]] = {
    id_that_is_a_path_is_refused: [ids_are_trusted],
    manifest_is_run_once_even_after_a_restart: [restart_forgets_what_was_run],
    switch_of_links_neither_drops_nor_repeats: [cursor_runs_ahead, what_comes_again_is_new],
    gap_in_the_commands_drops_none: [gaps_are_not_noticed],
    restarted_hubs_commands_are_heard: [streams_are_not_told_apart],
}


@each_check(MUTANTS)
def test_check_holds(tmp_path, check):
    check(tmp_path)


@each_mutant(MUTANTS)
def test_mutant_is_found(tmp_path, monkeypatch, check, mutant):
    mutant(monkeypatch)
    with pytest.raises(AssertionError):
        check(tmp_path)
