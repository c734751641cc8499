"""Promise 23: an agent runs only intact, fresh manifests that are addressed to it."""

import asyncio
import json
import random
from datetime import timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from support.fake_hub import raw_public
from support.lone_supervisor import LoneSupervisor, run_in_virtual_time
from support.proofs import figure

from computepool.agent.supervisor import CommandsMissing
from computepool.protocol.manifest import MANIFEST
from computepool.protocol.messages import MalformedMessage, Offer, parse_from_hub
from computepool.protocol.receipt import RECEIPT
from computepool.protocol.signing import Signed, key_id_of, sign


def mutate(raw: bytes, rng: random.Random) -> bytes:
    """One damage to the bytes on the wire: flipped, cut, repeated, dropped, swapped, or overwritten."""
    data = bytearray(raw)
    place = rng.randrange(len(data))
    match rng.randrange(6):
        case 0:
            data[place] ^= 1 << rng.randrange(8)
        case 1:
            del data[place : place + rng.randrange(1, 9)]
        case 2:
            data[place:place] = data[place : place + rng.randrange(1, 9)]
        case 3:
            data[place] = rng.randrange(256)
        case 4:
            other = rng.randrange(len(data))
            data[place], data[other] = data[other], data[place]
        case _:
            digits = [i for i, byte in enumerate(data) if 48 <= byte <= 57]
            data[rng.choice(digits)] = rng.randrange(48, 58)
    return bytes(data)


@pytest.mark.proof
def test_no_damaged_offer_is_ever_accepted(tmp_path):
    async def story():
        bench = LoneSupervisor(tmp_path)
        rng = random.Random(23)
        genuine = bench.hub.sign_manifest(bench.manifest())
        wire = Offer(number=1, manifest=genuine).to_bytes()
        refused = unreadable = unchanged = 0
        for number in range(figure(10_000, 100_000)):
            damaged = mutate(wire, rng)
            try:
                message = parse_from_hub(damaged)
            except MalformedMessage:
                unreadable += 1
                continue
            if not isinstance(message, Offer):
                unreadable += 1
            elif message.manifest == genuine:
                # The damage hit something else, such as the command's number or a blank.
                unchanged += 1
            else:
                bench.number = number + 1
                bench.supervisor.cursor = number
                bench.supervisor.handle(message.model_copy(update={"number": number + 1}))
                refused += 1
                assert bench.accepted == 0, message
        assert refused > number // 10
        assert unreadable > number // 10
        # The control: undamaged, it is taken.
        bench.supervisor.cursor = 0
        bench.number = 0
        bench.give(genuine)
        assert bench.accepted == 1
        await bench.close()

    asyncio.run(story())


def test_every_altered_field_breaks_the_signature(tmp_path):
    async def story():
        bench = LoneSupervisor(tmp_path)
        signed = bench.hub.sign_manifest(bench.manifest())
        fields = json.loads(signed.body)
        for name, value in fields.items():
            altered = fields | {name: _altered(value)}
            bench.give(signed.model_copy(update={"body": json.dumps(altered)}))
            # Even the same content in other bytes is not what was signed.
            bench.give(signed.model_copy(update={"body": json.dumps(fields, indent=1)}))
        assert bench.accepted == 0
        await bench.close()

    asyncio.run(story())


def _altered(value):
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case str():
            return value + "x"
        case list():
            return [*value, "x"]
        case dict():
            return value | {"x": "x"}
        case _:
            return {"digest": "sha256:" + "1" * 64, "size_bytes": 1}


def test_foreign_expired_and_misaddressed_manifests_are_refused(tmp_path):
    async def story():
        bench = LoneSupervisor(tmp_path)
        hub, now = bench.hub, bench.hub.now()
        stranger = Ed25519PrivateKey.generate()
        stranger_id = key_id_of(raw_public(stranger))
        body = bench.manifest().to_bytes()
        genuine = hub.sign_manifest(bench.manifest())
        refused = [
            sign(stranger, stranger_id, MANIFEST, body),
            sign(stranger, hub.key_id, MANIFEST, body),
            sign(hub.key, hub.key_id, RECEIPT, body),
            sign(hub.key, hub.key_id, RECEIPT, body).model_copy(update={"type": MANIFEST}),
            hub.sign_manifest(bench.manifest(node_id="node_other")),
            hub.sign_manifest(bench.manifest(hub_id="hub_other")),
            hub.sign_manifest(
                bench.manifest(issued_at=now - timedelta(seconds=600), expires_at=now - timedelta(seconds=300))
            ),
            hub.sign_manifest(bench.manifest(issued_at=now + timedelta(seconds=900))),
            hub.sign_manifest(bench.manifest(attempt_id="../../../etc/cron.d/x")),
            hub.sign_manifest(bench.manifest(attempt_id="")),
            sign(hub.key, hub.key_id, MANIFEST, b"{}"),
            sign(hub.key, hub.key_id, MANIFEST, b"not json"),
            Signed(type=MANIFEST, key_id=hub.key_id, body=genuine.body, signature=""),
            Signed(type=MANIFEST, key_id=hub.key_id, body=genuine.body, signature="!!!"),
        ]
        for signed in refused:
            bench.give(signed)
            assert bench.accepted == 0, signed
        bench.give(genuine)
        assert bench.accepted == 1
        await bench.close()

    asyncio.run(story())


def test_replayed_manifest_is_run_once_even_after_it_was_forgotten(tmp_path):
    async def story():
        bench = LoneSupervisor(tmp_path)
        manifest = bench.manifest()
        signed = bench.hub.sign_manifest(manifest)
        for _ in range(50):
            bench.give(signed)
        await asyncio.sleep(0.05)
        assert len(bench.sandbox.started) == 1
        bench.supervisor.forget(bench.supervisor.attempts[0])
        for _ in range(50):
            bench.give(signed)
        await asyncio.sleep(0.05)
        assert len(bench.sandbox.started) == 1
        assert bench.accepted == 0
        await bench.close()

    run_in_virtual_time(story())


def test_commands_behind_the_cursor_are_dropped_and_a_gap_breaks_the_line_once(tmp_path):
    async def story():
        bench = LoneSupervisor(tmp_path)
        supervisor = bench.supervisor
        supervisor.begin_stream("a")
        offers = [Offer(number=n, manifest=bench.hub.sign_manifest(bench.manifest())) for n in range(1, 7)]
        supervisor.handle(offers[0])
        supervisor.handle(offers[0])
        assert (bench.accepted, supervisor.cursor) == (1, 1)
        with pytest.raises(CommandsMissing):
            supervisor.handle(offers[2])
        assert supervisor.cursor == 1
        supervisor.handle(offers[1])
        supervisor.handle(offers[2])
        assert (bench.accepted, supervisor.cursor) == (3, 3)
        # The same gap again: the hub has nothing between.
        with pytest.raises(CommandsMissing):
            supervisor.handle(offers[4])
        supervisor.begin_stream("a")
        supervisor.handle(offers[4])
        assert (bench.accepted, supervisor.cursor) == (4, 5)
        supervisor.begin_stream("b")
        assert supervisor.cursor == 0
        await bench.close()

    asyncio.run(story())
