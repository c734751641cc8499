"""Jobs that stand still: for the owner, or because nobody renews their lease any more."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from support.agents import SkippingClock, running_agent
from support.fake_hub import FakeHub
from support.lone_supervisor import LoneSupervisor, LoopClock, run_in_virtual_time
from support.sandboxes import come_to_rest

from computepool.agent.clock import SystemClock
from computepool.agent.resting import Rest, RestReason
from computepool.agent.sandbox.interface import SandboxError
from computepool.protocol.messages import Finished
from computepool.protocol.receipt import EndReason, Receipt
from computepool.protocol.timing import FREEZE_AFTER_SECONDS, LEASE_SECONDS

pytestmark = pytest.mark.filterwarnings("error")

COUNT = "i=0; while [ ! -e enough ]; do i=$((i+1)); echo $i > count; sleep 0.02; done"


def story(tmp_path, tell, **options):
    async def run():
        async with FakeHub() as hub, running_agent(hub, tmp_path, **options) as running:
            await tell(hub, running)

    asyncio.run(run())


def only_attempt(running):
    (attempt,) = running.agent._supervisor.attempts
    return attempt


async def started(hub, running, **changes):
    """A job that counts, well under way."""
    attempt_id = hub.offer(running.node, "/bin/sh", "-c", COUNT, **changes)
    await hub.until(lambda: running.job_folders and count(running) > 2)
    return attempt_id


def is_suspended(hub, attempt_id):
    return hub.updates[attempt_id][-1].state == "suspended"


def count(running):
    try:
        return int((running.job_folders[0] / "work/count").read_text() or 0)
    except (OSError, ValueError, IndexError):
        return 0


def let_finish(running):
    (running.job_folders[0] / "work/enough").touch()


async def stands_still(running):
    await come_to_rest(lambda: count(running))


async def goes_on(hub, running):
    before = count(running)
    await hub.until(lambda: count(running) > before)


def test_job_rests_and_goes_on_and_the_time_is_not_counted(tmp_path):
    clock = SkippingClock()

    async def tell(hub, running):
        attempt_id = await started(hub, running)
        rest = only_attempt(running).rest
        await rest.hold(RestReason.OWNER)
        await stands_still(running)
        await hub.until(lambda: is_suspended(hub, attempt_id))
        clock.skipped += 1000
        hub.time_offset += timedelta(seconds=1000)
        await rest.let_go(RestReason.OWNER)
        await hub.until(lambda: hub.updates[attempt_id][-1].state == "running")
        let_finish(running)
        await hub.until(lambda: attempt_id in hub.receipts)
        usage = hub.receipts[attempt_id].usage
        whole = (hub.receipts[attempt_id].finished_at - hub.receipts[attempt_id].started_at).total_seconds()
        assert usage.suspended_seconds > 1000
        assert usage.running_seconds == pytest.approx(whole - usage.suspended_seconds, abs=500)

    story(tmp_path, tell, clock=clock)


def test_time_limit_counts_only_the_time_it_ran(tmp_path):
    async def tell():
        bench = LoneSupervisor(tmp_path, LoopClock())
        bench.listen()
        bench.give(bench.hub.sign_manifest(bench.manifest("sleep", "3600", max_runtime_seconds=15)))
        (attempt,) = bench.supervisor.attempts
        await asyncio.sleep(10)
        await attempt.rest.hold(RestReason.OWNER)
        await asyncio.sleep(20)
        await attempt.rest.let_go(RestReason.OWNER)
        await asyncio.sleep(4)
        assert attempt.ending is None
        await asyncio.sleep(2)
        (finished,) = bench.of(Finished)
        receipt = Receipt.model_validate_json(finished.receipt.body)
        assert receipt.reason is EndReason.RUNTIME
        assert receipt.usage.running_seconds == pytest.approx(15, abs=0.2)
        await bench.close()

    run_in_virtual_time(tell())


def test_two_reasons_have_to_go_before_it_goes_on(tmp_path):
    async def tell(hub, running):
        await started(hub, running)
        rest = only_attempt(running).rest
        await rest.hold(RestReason.OWNER)
        await rest.hold(RestReason.COPY)
        await rest.let_go(RestReason.OWNER)
        await stands_still(running)
        await rest.let_go(RestReason.COPY)
        await goes_on(hub, running)

    story(tmp_path, tell)


def test_resting_job_can_be_canceled(tmp_path):
    async def tell(hub, running):
        attempt_id = await started(hub, running)
        await only_attempt(running).rest.hold(RestReason.OWNER)
        hub.stop(running.node, attempt_id)
        await hub.until(lambda: attempt_id in hub.receipts)
        assert hub.receipts[attempt_id].reason is EndReason.CANCELED

    story(tmp_path, tell)


def test_job_that_was_told_to_rest_before_it_began_waits(tmp_path):
    """An offer that arrives while the owner is coming back."""

    async def tell():
        rest = Rest(SystemClock(), lambda rests: None)
        await rest.hold(RestReason.OWNER)
        waiting = asyncio.ensure_future(rest.until_awake())
        await asyncio.sleep(0.01)
        assert not waiting.done()
        await rest.let_go(RestReason.OWNER)
        await waiting

    asyncio.run(tell())


@pytest.mark.parametrize("network", [True, False])
def test_job_with_the_network_is_frozen_before_its_slice_may_be_anothers(tmp_path, network):
    clock = SkippingClock()

    async def tell(hub, running):
        attempt_id = await started(hub, running, network=network)
        hub.acknowledge_heartbeats = False
        await asyncio.sleep(0.6)
        clock.skipped += FREEZE_AFTER_SECONDS + 1
        if network:
            await hub.until(lambda: is_suspended(hub, attempt_id))
            await stands_still(running)
        else:
            await asyncio.sleep(1.0)
            await goes_on(hub, running)
            assert not is_suspended(hub, attempt_id)
        # The hub is there again, and the slice is still ours.
        hub.acknowledge_heartbeats = True
        await hub.until(lambda: not only_attempt(running).rest.reasons)
        await goes_on(hub, running)
        assert attempt_id not in hub.gone

    story(tmp_path, tell, clock=clock)


@pytest.mark.parametrize("network", [True, False])
def test_job_with_the_network_ends_with_its_lease_and_another_runs_on(tmp_path, network):
    clock = SkippingClock()

    async def tell(hub, running):
        attempt_id = await started(hub, running, network=network)
        hub.acknowledge_heartbeats = False
        await asyncio.sleep(0.6)
        clock.skipped += LEASE_SECONDS + 1
        if network:
            await hub.until(lambda: attempt_id in hub.gone)
            assert attempt_id not in hub.receipts
        else:
            hub.acknowledge_heartbeats = True
            let_finish(running)
            await hub.until(lambda: attempt_id in hub.receipts)
            assert hub.receipts[attempt_id].exit_code == 0

    story(tmp_path, tell, clock=clock)


class StubbornProcess:
    """Of an engine that does not always answer."""

    pid = 1

    def __init__(self):
        self.frozen = False
        self.fails = 0

    async def freeze(self):
        self._answer()
        self.frozen = True

    async def thaw(self):
        self._answer()
        self.frozen = False

    def _answer(self):
        if self.fails:
            self.fails -= 1
            raise SandboxError("the engine does not answer")


def test_command_that_could_not_be_thawed_is_tried_again():
    async def tell():
        process: Any = StubbornProcess()
        rest = Rest(SystemClock(), lambda rests: None)
        await rest.begin(process)
        await rest.hold(RestReason.OWNER)
        process.fails = 1
        with pytest.raises(SandboxError):
            await rest.let_go(RestReason.OWNER)
        assert process.frozen
        assert not rest.is_settled
        await rest.settle()
        assert not process.frozen
        assert rest.is_settled

    asyncio.run(tell())


def test_time_between_two_commands_counts_as_rest_and_copying_does_not():
    async def tell():
        clock = SkippingClock()
        rest = Rest(clock, lambda rests: None)
        process: Any = StubbornProcess()
        await rest.begin(process)
        await rest.hold(RestReason.COPY)
        clock.skipped += 100
        await rest.let_go(RestReason.COPY)
        assert rest.seconds < 50
        rest.end()
        await rest.hold(RestReason.OWNER)
        clock.skipped += 50
        await rest.let_go(RestReason.OWNER)
        assert 50 <= rest.seconds < 100

    asyncio.run(tell())
