"""A sandbox that breaks under a real agent: what the renter reads, and what the receipt claims."""

import asyncio
import shutil

import pytest
from support.agents import running_agent
from support.fake_hub import FakeHub

from computepool.agent.sandbox import available_sandboxes
from computepool.agent.sandbox.bubblewrap import BubblewrapSandbox
from computepool.protocol.receipt import EndReason
from computepool.protocol.states import IsolationLevel


@pytest.mark.engine("bwrap")
def test_words_of_a_broken_sandbox_are_the_attempts_detail_and_not_the_jobs_log(tmp_path, state):
    async def story():
        sandboxes = available_sandboxes(state / "breaking", use_cgroups=False)
        sandbox = sandboxes[0]
        assert isinstance(sandbox, BubblewrapSandbox)
        async with FakeHub() as hub, running_agent(hub, tmp_path, sandboxes=sandboxes) as running:
            fine = hub.offer(running.node, "/bin/sh", "-c", "echo fine; exit 3")
            await hub.until(lambda: fine in hub.receipts)
            sandbox._system = (*sandbox._system, "--ro-bind", "/nowhere", "/mnt")
            broken = hub.offer(running.node, "/bin/sh", "-c", "echo never")
            await hub.until(lambda: broken in hub.receipts)
        for one in sandboxes:
            await one.close()
        receipt = hub.receipts[broken]
        assert bytes(hub.logs[broken]) == b""
        assert (receipt.reason, receipt.exit_code, receipt.started_at) == (EndReason.SANDBOX, None, None)
        assert "Can't find source path /nowhere" in receipt.detail
        assert receipt.isolation is None
        control = hub.receipts[fine]
        assert bytes(hub.logs[fine]) == b"fine\n"
        assert (control.exit_code, control.isolation) == (3, IsolationLevel.BUBBLEWRAP)
        shutil.rmtree(state / "breaking")

    asyncio.run(story())


def test_attempt_that_is_declined_claims_no_isolation(tmp_path):
    async def story():
        async with FakeHub() as hub, running_agent(hub, tmp_path) as running:
            declined = hub.offer(running.node, "/bin/true", isolation=IsolationLevel.CONTAINER)
            await hub.until(lambda: declined in hub.receipts)
            receipt = hub.receipts[declined]
            assert (receipt.reason, receipt.exit_code, receipt.isolation) == (EndReason.DECLINED, None, None)

    asyncio.run(story())
