"""A machine with an owner: what the policy decides is done to real jobs, at once, and to strangers' jobs alone."""

import asyncio
import functools
import os
import shutil
from dataclasses import dataclass, field, replace

import pytest
from support.agents import CAPACITY, SkippingClock, offload_inline, running_agent
from support.archives import file, tar
from support.fake_hub import FakeHub

from computepool.agent.detect import GpuMonitor
from computepool.agent.egress.allowance import for_strangers
from computepool.agent.owner.ladder import Reaction
from computepool.agent.owner.pauses import PauseBook
from computepool.agent.owner.policy_file import PolicyFile
from computepool.agent.owner.readings import Idle
from computepool.agent.owner.watch import OwnerWatch, Signals
from computepool.agent.sandbox import BubblewrapSandbox, ProcessSandbox
from computepool.protocol.capacity import Gpu
from computepool.protocol.manifest import Grant
from computepool.protocol.receipt import EndReason

pytestmark = [pytest.mark.filterwarnings("error"), pytest.mark.engine("bwrap")]

AWAY_SECONDS = 100_000.0
WAITING = "echo go; while [ ! -e done ]; do sleep 0.02; done"
COUNTING = "i=0; while :; do i=$((i+1)); echo $i > count; sleep 0.02; done"
POLICY = """
[reactions]
owner = ["suspend 1s", "evict"]
pause = ["suspend 1s", "evict"]
"""
PATIENT_POLICY = POLICY.replace("suspend 1s", "suspend 600s")


@dataclass
class Person:
    """Sits at the machine, or does not."""

    idle_seconds: float = AWAY_SECONDS
    seat: bool = True
    clock: SkippingClock = field(default_factory=SkippingClock)


def open_watch(folder, person, **agent_knows):
    agent_knows.pop("is_ours")
    agent_knows.pop("holds_work")
    return OwnerWatch(
        policy_file=PolicyFile(folder),
        pauses=PauseBook(folder, person.clock),
        signals=Signals(seat=lambda: person.seat, idle=lambda: Idle(person.idle_seconds, "keyboard")),
        clock=person.clock,
        offload=offload_inline,
        **agent_knows,
    )


def story(tmp_path, tell, policy=POLICY):
    async def run():
        person = Person()
        folder = tmp_path / "owner"
        folder.mkdir()
        (folder / "policy.toml").write_text(policy)
        watch = functools.partial(open_watch, folder, person)
        sandbox = BubblewrapSandbox(tmp_path / "state", bwrap=shutil.which("bwrap") or "bwrap")
        try:
            async with (
                FakeHub() as hub,
                running_agent(hub, tmp_path, open_watch=watch, sandboxes=[sandbox]) as running,
            ):
                await tell(hub, running, person)
        finally:
            await sandbox.close()

    asyncio.run(run())


def count(running):
    try:
        return int((running.job_folders[0] / "work/count").read_text() or 0)
    except (OSError, ValueError, IndexError):
        return 0


async def working(hub, running, **changes):
    attempt_id = hub.offer(running.node, "/bin/sh", "-c", COUNTING, **changes)
    await hub.until(lambda: count(running) > 1)
    return attempt_id


def is_suspended(hub, attempt_id):
    return hub.updates[attempt_id] and hub.updates[attempt_id][-1].state == "suspended"


def test_returning_owner_suspends_strangers_work_and_evicts_it_by_staying(tmp_path):
    async def tell(hub, running, person):
        attempt_id = await working(hub, running, own=False, isolation="bubblewrap")
        person.idle_seconds = 0.0
        await hub.until(lambda: is_suspended(hub, attempt_id))
        await hub.until(lambda: not running.node.heartbeats[-1].availability.strangers)
        assert "keyboard" in running.node.heartbeats[-1].availability.reason
        # The owner stays: the job has to go.
        await hub.until(lambda: attempt_id in hub.gone)
        assert hub.gone[attempt_id].reason == "owner"

    story(tmp_path, tell)


def test_one_touch_only_suspends_and_the_work_goes_on_when_the_owner_has_gone(tmp_path):
    async def tell(hub, running, person):
        attempt_id = await working(hub, running, own=False, isolation="bubblewrap")
        person.idle_seconds = 0.0
        await hub.until(lambda: is_suspended(hub, attempt_id))
        person.idle_seconds = AWAY_SECONDS
        await hub.until(lambda: hub.updates[attempt_id][-1].state == "running")
        before = count(running)
        await hub.until(lambda: count(running) > before)
        assert attempt_id not in hub.gone

    story(tmp_path, tell, PATIENT_POLICY)


def test_owners_own_jobs_run_while_the_owner_types(tmp_path):
    async def tell(hub, running, person):
        person.idle_seconds = 0.0
        await hub.until(lambda: running.node.heartbeats and not running.node.heartbeats[-1].availability.strangers)
        stranger = hub.offer(running.node, "/bin/true", own=False, isolation="bubblewrap")
        own = hub.offer(running.node, "/bin/true", own=True)
        await hub.until(lambda: own in hub.receipts and stranger in hub.receipts)
        assert hub.receipts[own].exit_code == 0
        assert hub.receipts[stranger].reason is EndReason.DECLINED
        assert "keyboard" in hub.receipts[stranger].detail

    story(tmp_path, tell)


def test_server_without_a_seat_is_always_available(tmp_path):
    async def tell(hub, running, person):
        await hub.until(lambda: running.node.heartbeats and running.node.heartbeats[-1].availability.strangers)

    story(tmp_path, tell, 'seat = "no"\n')


def test_pause_suspends_at_once_gives_back_then_and_resume_takes_work_again(tmp_path):
    async def tell(hub, running, person):
        attempt_id = await working(hub, running, own=True)
        running.agent.pause()
        await hub.until(lambda: is_suspended(hub, attempt_id))
        assert running.agent.state == "paused"
        await hub.until(lambda: attempt_id in hub.gone)
        running.agent.resume()
        after = hub.offer(running.node, "/bin/true", own=True)
        await hub.until(lambda: after in hub.receipts)
        assert hub.receipts[after].exit_code == 0

    story(tmp_path, tell)


def test_pause_that_is_taken_back_at_once_costs_nothing(tmp_path):
    async def tell(hub, running, person):
        attempt_id = await working(hub, running, own=True)
        running.agent.pause()
        await hub.until(lambda: is_suspended(hub, attempt_id))
        running.agent.resume()
        await hub.until(lambda: hub.updates[attempt_id][-1].state == "running")
        before = count(running)
        await hub.until(lambda: count(running) > before)

    story(tmp_path, tell, PATIENT_POLICY)


def test_pause_for_a_while_ends_by_itself(tmp_path):
    async def tell(hub, running, person):
        running.agent.pause(3600)
        assert running.agent.state == "paused"
        assert running.agent.status()["paused_until"] is not None
        person.clock.skipped += 3600
        running.agent.owner.watch.look_again()
        await hub.until(lambda: running.agent.state == "online")

    story(tmp_path, tell)


def test_status_says_what_the_policy_says_and_why(tmp_path):
    async def tell(hub, running, person):
        person.idle_seconds = 0.0
        await hub.until(lambda: not running.agent.status()["policy"]["strangers_welcome"])
        status = running.agent.status()
        assert "keyboard" in status["policy"]["reason"]
        assert status["policy"]["own_welcome"] is True
        assert status["usage"] == {"cpus": 0, "memory_bytes": 0, "disk_bytes": 0}

    story(tmp_path, tell)


def test_rules_that_the_owner_writes_hold_without_a_restart(tmp_path):
    async def tell(hub, running, person):
        assert running.node.proofs[-1].capacity.rules.strangers
        (tmp_path / "owner/policy.toml").write_text(POLICY + '\n[welcome]\nstrangers = false\nisolation = "gvisor"\n')
        running.agent.owner.watch.look_again()
        await hub.until(lambda: any(report.rules for report in running.node.reports))
        assert not running.node.reports[-1].rules.strangers
        stranger = hub.offer(running.node, "/bin/true", own=False, isolation="bubblewrap")
        own = hub.offer(running.node, "/bin/true", own=True)
        await hub.until(lambda: own in hub.receipts and stranger in hub.receipts)
        assert hub.receipts[own].exit_code == 0
        assert hub.receipts[stranger].reason is EndReason.DECLINED

    story(tmp_path, tell)


def test_owners_eviction_while_the_hub_is_away_is_told_as_such_even_after_a_restart(tmp_path):
    async def run():
        async with FakeHub() as hub:
            sandbox = ProcessSandbox(tmp_path / "state", cgroups=None)
            async with running_agent(hub, tmp_path, sandboxes=[sandbox]) as running:
                attempt_id = hub.offer(running.node, "/bin/sleep", "3600", own=True)
                await hub.until(lambda: hub.updates[attempt_id])
                port = hub.port
                await hub.go_away()
                running.agent.pause()
                await hub.until(lambda: running.agent.supervisor.attempts[0].gone)
            hub.port = port
            await hub.start()
            async with running_agent(hub, tmp_path, sandboxes=[sandbox]):
                await hub.until(lambda: attempt_id in hub.gone)
                assert hub.gone[attempt_id].reason == "owner"
            await sandbox.close()

    asyncio.run(run())


def test_strangers_work_ends_when_the_owners_disk_gets_full(tmp_path):
    async def tell(hub, running, person):
        stranger = hub.offer(running.node, "/bin/sh", "-c", COUNTING, own=False, isolation="bubblewrap")
        await hub.until(lambda: stranger in hub.gone)
        # The owner's wish: what filled the disk may be the logs of jobs, so it is no fault of the node's.
        assert hub.gone[stranger].reason == "owner"
        assert b"nearly full" in hub.logs[stranger]

    # More than any disk has.
    story(tmp_path, tell, POLICY + '[storage]\nkeep_free = "900TB"\n')


class Card(GpuMonitor):
    """Without a driver behind it."""

    obeys = True

    def __init__(self, gpus):
        super().__init__(gpus)
        self.shares = []

    def read(self):
        return []

    def set_power_share(self, gpu_id, share):
        self.shares.append(share)
        return self.obeys


@pytest.mark.parametrize("obeys", [True, False])
def test_receipt_tells_how_long_the_owner_left_a_gpu_less_power(tmp_path, obeys):
    """A driver that did not obey has taken nothing away."""
    gpu = Gpu(id="GPU-a", name="A", slug="a", memory_bytes=1)
    grant = Grant(cpus=0.1, memory_bytes=1 << 26, disk_bytes=1 << 30, gpus=("GPU-a",))
    card = Card([gpu])
    card.obeys = obeys
    (tmp_path / "owner").mkdir()
    watch = functools.partial(open_watch, tmp_path / "owner", Person())

    async def run():
        capacity = CAPACITY.model_copy(update={"gpus": (gpu,)})
        async with (
            FakeHub() as hub,
            running_agent(hub, tmp_path, open_watch=watch, monitor=card, capacity=capacity) as running,
        ):
            owner, node = running.agent.owner, running.node
            assert owner is not None
            usual = owner.watch.decision

            async def cap_power(capped):
                before = len(card.shares)
                reactions = {"GPU-a": Reaction.CAP_POWER} if capped else {}
                owner.act(replace(usual, gpu_reactions=reactions, power_cap=0.5))
                await hub.until(lambda: len(card.shares) > before and bool(owner._slowed) is (capped and obeys))

            attempt_id = hub.offer(node, "/bin/sh", "-c", WAITING, grant=grant)
            await hub.until(lambda: hub.logs[attempt_id])
            await cap_power(True)
            await asyncio.sleep(0.2)
            await cap_power(False)
            (running.job_folders[0] / "work" / "done").touch()
            await hub.until(lambda: attempt_id in hub.receipts)
            # One that begins and ends under the cap.
            await cap_power(True)
            second_id = hub.offer(node, "/bin/sh", "-c", "sleep 0.1", grant=grant)
            await hub.until(lambda: second_id in hub.receipts)
            first, second = (hub.receipts[one].usage for one in (attempt_id, second_id))
            if obeys:
                assert 0.15 < first.power_capped_seconds < first.running_seconds
                assert second.power_capped_seconds == second.running_seconds
            else:
                assert (first.power_capped_seconds, second.power_capped_seconds) == (0.0, 0.0)

    asyncio.run(run())


def test_transfers_for_strangers_alone_are_counted(tmp_path):
    async def run():
        passed = []

        def note(count):
            if for_strangers.get():
                passed.append(count)

        (tmp_path / "owner").mkdir()
        watch = functools.partial(open_watch, tmp_path / "owner", Person())
        sandbox = BubblewrapSandbox(tmp_path / "state", bwrap=shutil.which("bwrap") or "bwrap")
        try:
            async with (
                FakeHub() as hub,
                running_agent(hub, tmp_path, open_watch=watch, sandboxes=[sandbox], passed=note) as running,
            ):
                for own in (True, False):
                    assert passed == []
                    # Each brings a bundle of its own, and leaves an output.
                    data = tar([file("a", os.urandom(5000))])
                    ref, downloads = hub.bundle(data)
                    attempt_id = hub.offer(
                        running.node, "/bin/sh", "-c", "cp a $COMPUTEPOOL_OUTPUT/b",
                        own=own, isolation="bubblewrap", bundle=ref, downloads=downloads,
                    )  # fmt: skip
                    await hub.until(lambda one=attempt_id: one in hub.receipts)
                    assert hub.receipts[attempt_id].exit_code == 0
                assert sum(passed) == len(data) + 5000
        finally:
            await sandbox.close()

    asyncio.run(run())
