"""Bugs put in on purpose in the agent: the checks of promises 23 and 28 must find them, or they prove nothing."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from support.fake_hub import raw_public
from support.lone_supervisor import LoneSupervisor, run_in_virtual_time
from support.planted import each_check, each_mutant
from support.waiting import A_MOMENT_SECONDS

from computepool.agent import logs, supervisor
from computepool.agent.clock import SystemClock
from computepool.agent.journal import Journal
from computepool.agent.outgoing import Outgoing
from computepool.agent.spool import LogSpool
from computepool.protocol import manifest as manifests
from computepool.protocol.manifest import MANIFEST, Manifest
from computepool.protocol.messages import Heartbeat, LogChunk, parse_from_agent
from computepool.protocol.receipt import RECEIPT
from computepool.protocol.signing import key_id_of, sign, verify

MEGABYTE = 1024**2
UNACKNOWLEDGED_BYTES = 2 * MEGABYTE
"""More than an agent may have under way of one log."""

# ── checks ───────────────────────────────────────────────────────────────────────────────────────────────────────────


async def only_intact_fresh_manifests_for_this_node_are_run(folder):
    """Promise 23."""
    bench = LoneSupervisor(folder)
    hub, now, genuine = bench.hub, bench.hub.now(), bench.hub.sign_manifest(bench.manifest())
    stranger = Ed25519PrivateKey.generate()
    body = bench.manifest().to_bytes()
    old = {"issued_at": now - timedelta(seconds=600), "expires_at": now - timedelta(seconds=300)}
    for signed in (
        genuine.model_copy(update={"body": genuine.body.replace('"fence":', '"fence":1')}),
        sign(stranger, hub.key_id, MANIFEST, body),
        sign(stranger, key_id_of(raw_public(stranger)), MANIFEST, body),
        sign(hub.key, hub.key_id, RECEIPT, body),
        hub.sign_manifest(bench.manifest(node_id="node_other")),
        hub.sign_manifest(bench.manifest(hub_id="hub_other")),
        hub.sign_manifest(bench.manifest(**old)),
    ):
        bench.give(signed)
        assert bench.accepted == 0, signed
    bench.give(genuine)
    assert bench.accepted == 1
    await bench.close()


async def manifest_is_run_once(folder):
    """Promise 23: a replay, of one that runs and of one that is over."""
    bench = LoneSupervisor(folder)
    signed = bench.hub.sign_manifest(bench.manifest())
    for _ in range(3):
        bench.give(signed)
    await asyncio.sleep(0.05)
    bench.supervisor.forget(bench.supervisor.attempts[0])
    for _ in range(3):
        bench.give(signed)
    await asyncio.sleep(0.05)
    assert len(bench.sandbox.started) == 1
    await bench.close()


async def flood_stays_on_disk_and_lets_others_pass(folder):
    """Promise 28: a hub that acknowledges nothing, a flood, a neighbour's one line, and a heartbeat."""
    outgoing = Outgoing()
    outgoing.begin()
    spools = [LogSpool(folder / name) for name in ("neighbour", "flood")]
    # The last one to speak up is the flood, in case that the last goes first.
    for name, spool, data in zip(
        ("attempt_n", "attempt_f"), spools, (b"line\n" * 50_000, b"x" * 8 * MEGABYTE), strict=True
    ):
        spool.append(data)
        logs.LogSender(name, 1, spool, outgoing, SystemClock()).wrote()
    outgoing.put_first(Heartbeat())
    sent = [parse_from_agent(await outgoing.next()) for _ in range(3)]
    assert isinstance(sent[0], Heartbeat)
    assert {chunk.attempt_id for chunk in sent[1:] if isinstance(chunk, LogChunk)} == {"attempt_f", "attempt_n"}
    under_way = 0
    try:
        while True:
            async with asyncio.timeout(A_MOMENT_SECONDS):
                chunk = parse_from_agent(await outgoing.next())
            under_way += len(chunk.data) if isinstance(chunk, LogChunk) else 0
    except TimeoutError:
        pass
    for spool in spools:
        spool.close()
    assert under_way <= UNACKNOWLEDGED_BYTES, f"{under_way} bytes were taken from the disk for a hub that is deaf"


# ── mutants ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def signatures_are_not_verified(patch):
    patch.setattr(manifests, "verify", lambda signed, expected, keys: signed.body.encode())


def types_are_not_compared(patch):
    patch.setattr(manifests, "verify", lambda signed, expected, keys: verify(signed, signed.type, keys))


def unknown_keys_are_trusted(patch):
    def careless(signed, expected, keys):
        return verify(signed, expected, keys) if signed.key_id in keys else signed.body.encode()

    patch.setattr(manifests, "verify", careless)


def opened_without(patch, **forged: Any) -> None:
    """As if the agent took one thing from the manifest that it should compare with what it knows."""
    real = manifests.open_manifest

    def careless(signed, keys, **known):
        claimed = Manifest.model_validate_json(verify(signed, MANIFEST, keys))
        return real(signed, keys, **known | {name: getattr(claimed, source) for name, source in forged.items()})

    patch.setattr(supervisor, "open_manifest", careless)


def node_is_not_compared(patch):
    opened_without(patch, node_id="node_id")


def hub_is_not_compared(patch):
    opened_without(patch, hub_id="hub_id")


def expiry_is_not_looked_at(patch):
    opened_without(patch, now="issued_at")


def what_was_seen_is_forgotten(patch):
    patch.setattr(Journal, "has_seen", lambda self, attempt_id: False)


def window_is_endless(patch):
    patch.setattr(logs, "WINDOW_BYTES", 1 << 40)


def first_log_goes_on_until_it_is_empty(patch):
    real = Outgoing.log_ready

    def careless(self, source):
        real(self, source)
        if self._sources and self._sources[-1] is source:
            self._sources.rotate(1)

    patch.setattr(Outgoing, "log_ready", careless)


MUTANTS: dict[Any, list[Any]] = {
    only_intact_fresh_manifests_for_this_node_are_run: [
        signatures_are_not_verified,
        types_are_not_compared,
        unknown_keys_are_trusted,
        node_is_not_compared,
        hub_is_not_compared,
        expiry_is_not_looked_at,
    ],
    manifest_is_run_once: [what_was_seen_is_forgotten],
    flood_stays_on_disk_and_lets_others_pass: [window_is_endless, first_log_goes_on_until_it_is_empty],
}


@each_check(MUTANTS)
def test_check_holds(tmp_path, check):
    run_in_virtual_time(check(tmp_path))


@each_mutant(MUTANTS)
def test_mutant_is_found(tmp_path, monkeypatch, check, mutant):
    mutant(monkeypatch)
    with pytest.raises(AssertionError):
        run_in_virtual_time(check(tmp_path))
