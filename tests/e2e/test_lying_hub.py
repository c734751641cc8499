"""A hub that lies to a host: it orders a command of its own as "the owner's own" on a machine without a sandbox."""

import asyncio
import os
from datetime import timedelta

from support.agents import enrolled_home
from support.children import COMPUTEPOOL, environment_with
from support.fake_hub import FakeHub
from support.pool import path_without

from computepool.protocol.receipt import EndReason


def test_command_that_the_hub_calls_the_owners_own_does_not_run_without_the_owners_signature(tmp_path):
    """Row 6 of the attacks. The host has allowed its own jobs to run without a sandbox, and trusts one key."""
    proof = tmp_path / "proof"
    write_user = ("/bin/sh", "-c", f"id -u >> {proof}")

    async def story():
        async with FakeHub() as hub:
            home, node = enrolled_home(hub, tmp_path)
            key = hub.own_jobs.home_key
            (home.root / "policy.toml").write_text(f'seat = "no"\n[own]\nprocess = true\nkeys = ["{key}"]\n')
            agent = await asyncio.create_subprocess_exec(
                *(*COMPUTEPOOL, "agent", "start"),
                env=environment_with(COMPUTEPOOL_HOME=tmp_path, PATH=path_without("bwrap")),
                stderr=asyncio.subprocess.DEVNULL,
            )
            try:
                await hub.until(lambda: node.line is not None or agent.returncode is not None)
                lie = hub.offer(node, *write_user, own=True, own_job=None)
                await hub.until(lambda: lie in hub.receipts)
                assert not proof.exists(), f"the hub's command ran as user {proof.read_text()}"
                assert hub.receipts[lie].reason is EndReason.DECLINED
                assert "it is not signed" in hub.receipts[lie].detail
                # The owner's signature under another command does not help.
                honest = hub.manifest(node, ("/bin/true",))
                lie = hub.offer(node, *write_user, own=True, own_job=honest.own_job)
                await hub.until(lambda: lie in hub.receipts)
                assert not proof.exists()
                assert "another job was signed" in hub.receipts[lie].detail
                # Nor does one for another node or another hub, or one that has expired.
                for changes, words in (
                    ({"node_id": "node_of_the_same_owner"}, "signed for the node node_of_the_same_owner"),
                    ({"hub_id": "hub_of_others"}, "signed for the hub hub_of_others"),
                    ({"expires_at": hub.now() - timedelta(seconds=1)}, "its signature expired"),
                ):
                    signed = hub.own_job(hub.manifest(node, write_user), **changes)
                    lie = hub.offer(node, *write_user, own=True, own_job=signed)
                    await hub.until(lambda lie=lie: lie in hub.receipts)
                    assert not proof.exists()
                    assert words in hub.receipts[lie].detail
                # The control: what the owner signed runs, and as a plain process.
                own = hub.offer(node, *write_user)
                await hub.until(lambda: own in hub.receipts)
                assert (hub.receipts[own].exit_code, hub.receipts[own].isolation) == (0, "process")
                assert proof.read_text() == f"{os.geteuid()}\n"
            finally:
                agent.kill()
                await agent.wait()

    asyncio.run(story())
