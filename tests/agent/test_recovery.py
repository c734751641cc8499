"""An agent that dies at any moment: nothing runs twice, nothing runs on, nothing that was done is lost."""

import asyncio
import contextlib
import signal
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

from support.agents import enrolled_home, running_agent
from support.fake_hub import FakeHub
from support.waiting import patience

from computepool.agent.journal import COMPACT_BYTES, SEEN_MARGIN_SECONDS, Journal, Lease
from computepool.protocol.messages import Offer
from computepool.protocol.receipt import EndReason
from computepool.protocol.states import IsolationLevel

REAL_AGENT = """
import asyncio, pathlib, sys
from computepool.agent.home import AgentHome
from computepool.agent.main import run_agent
from computepool.agent.own_jobs import OwnJobs
from computepool.agent.sandbox import ProcessSandbox
home = AgentHome(pathlib.Path(sys.argv[1]))
async def main():
    own_jobs = OwnJobs(home_key=sys.argv[2], from_up=True)
    await run_agent(home, sandboxes=[ProcessSandbox(home.root, cgroups=None)], own_jobs=own_jobs)
asyncio.run(main())
"""


@contextlib.asynccontextmanager
async def real_agent(hub, home):
    agent = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", REAL_AGENT, str(home.root), hub.own_jobs.home_key), stderr=asyncio.subprocess.DEVNULL
    )
    try:
        yield agent
    finally:
        if agent.returncode is None:
            agent.kill()
        await agent.wait()


def is_dead(pid: int) -> bool:
    try:
        return " Z " in Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_killed_agent_leaves_no_orphan_and_its_job_is_gone_after_the_restart(tmp_path):
    async def story():
        async with FakeHub() as hub:
            home, node = enrolled_home(hub, tmp_path)
            async with real_agent(hub, home) as agent:
                await hub.until(lambda: node.line is not None)
                script = "trap '' TERM HUP; setsid sleep 3600 & echo $$ $!; sleep 3600"
                attempt_id = hub.offer(node, "/bin/sh", "-c", script)
                await hub.until(lambda: hub.logs[attempt_id])
                pids = [int(pid) for pid in hub.logs[attempt_id].split()]
                agent.kill()
                await agent.wait()
            await hub.until(lambda: node.line is None)
            async with real_agent(hub, home) as again:
                await hub.until(lambda: attempt_id in hub.gone)
                # The agent holds it until the hub has heard that it is gone, and why.
                assert [held.attempt_id for held in node.proofs[-1].holding] == [attempt_id]
                assert hub.gone[attempt_id].reason == "the agent was restarted"
                await hub.until(lambda: all(is_dead(pid) for pid in pids))
                # A hub that offers the same attempt again: it is not run.
                command = node.commands[0]
                assert isinstance(command, Offer)
                hub.offer_signed(node, command.manifest)
                fresh = hub.offer(node, "/bin/true")
                await hub.until(lambda: fresh in hub.receipts)
                assert attempt_id not in hub.receipts
                again.send_signal(signal.SIGTERM)
                assert await asyncio.wait_for(again.wait(), patience()) == 0

    asyncio.run(story())


def test_result_that_was_not_acknowledged_survives_the_death_of_the_agent(tmp_path):
    async def story():
        async with FakeHub() as hub:
            hub.acknowledge_logs = hub.acknowledge_reports = False
            script = "echo precious; echo data > $COMPUTEPOOL_OUTPUT/result; exit 4"
            async with running_agent(hub, tmp_path) as running:
                attempt_id = hub.offer(running.node, "/bin/sh", "-c", script)
                await hub.until(lambda: hub.logs[attempt_id])
                journal = running.home.journal / "journal"
                await hub.until(lambda: f"\nE {attempt_id} ".encode() in journal.read_bytes())
                await running.die()
            hub.acknowledge_logs = hub.acknowledge_reports = True
            async with running_agent(hub, tmp_path) as running:
                await hub.until(lambda: attempt_id in hub.receipts)
                receipt = hub.receipts[attempt_id]
                assert (receipt.exit_code, receipt.reason) == (4, EndReason.EXITED)
                assert bytes(hub.logs[attempt_id]) == b"precious\n"
                assert [output.path for output in receipt.outputs] == ["result"]
                assert attempt_id not in hub.gone
                await hub.until(lambda: not running.job_folders)

    asyncio.run(story())


def test_attempt_that_was_running_is_reported_gone_and_never_run_again(tmp_path):
    async def story():
        async with FakeHub() as hub:
            async with running_agent(hub, tmp_path) as running:
                attempt_id = hub.offer(
                    running.node, "/bin/sh", "-c", f"echo ran >> {tmp_path}/ran; echo up; sleep 3600"
                )
                await hub.until(lambda: hub.logs[attempt_id])
                await running.die()
            hub.acknowledge_reports = False
            async with running_agent(hub, tmp_path) as running:
                await hub.until(lambda: attempt_id in hub.gone)
                await running.die()
            # Not acknowledged, so it is said again after the next start too.
            hub.gone.clear()
            hub.acknowledge_reports = True
            async with running_agent(hub, tmp_path) as running:
                await hub.until(lambda: attempt_id in hub.gone)
                await hub.until(lambda: not running.agent.status()["attempts"])
                assert not running.job_folders
            assert (tmp_path / "ran").read_text() == "ran\n"

    asyncio.run(story())


def test_finished_and_acknowledged_attempt_is_not_run_again_after_a_restart(tmp_path):
    async def story():
        async with FakeHub() as hub:
            async with running_agent(hub, tmp_path) as running:
                attempt_id = hub.offer(running.node, "/bin/sh", "-c", f"echo ran >> {tmp_path}/ran")
                await hub.until(lambda: attempt_id in hub.receipts)
                await hub.until(lambda: not running.agent.status()["attempts"])
                await running.die()
            # The stream is the same, and the agent lost its cursor: the hub sends everything again.
            async with running_agent(hub, tmp_path) as running:
                await hub.until(lambda: attempt_id in hub.gone)
                other = hub.offer(running.node, "/bin/true")
                await hub.until(lambda: other in hub.receipts)
            assert (tmp_path / "ran").read_text() == "ran\n"
            assert hub.finished_count[attempt_id] == 1

    asyncio.run(story())


def test_sigterm_drains_and_a_second_one_stops(tmp_path):
    async def story():
        async with FakeHub() as hub:
            home, node = enrolled_home(hub, tmp_path)
            async with real_agent(hub, home) as agent:
                await hub.until(lambda: node.line is not None)
                attempt_id = hub.offer(node, "/bin/sh", "-c", "echo up; sleep 3600")
                await hub.until(lambda: hub.logs[attempt_id])
                agent.send_signal(signal.SIGTERM)
                await hub.until(lambda: node.heartbeats and node.heartbeats[-1].state == "draining")
                assert agent.returncode is None
                agent.send_signal(signal.SIGTERM)
                assert await asyncio.wait_for(agent.wait(), patience()) == 0
                assert attempt_id in hub.gone

    asyncio.run(story())


def test_result_whose_log_did_not_survive_a_power_cut_is_gone(tmp_path):
    async def story():
        async with FakeHub() as hub:
            hub.acknowledge_logs = False
            async with running_agent(hub, tmp_path) as running:
                attempt_id = hub.offer(running.node, "/bin/echo", "precious")
                journal = running.home.journal / "journal"
                await hub.until(lambda: f"\nE {attempt_id} ".encode() in journal.read_bytes())
                await running.die()
            log = running.home.journal / f"{attempt_id}.log"
            log.write_bytes(bytes(log.stat().st_size))
            hub.acknowledge_logs = True
            async with running_agent(hub, tmp_path) as running:
                await hub.until(lambda: attempt_id in hub.gone)
                await hub.until(lambda: not running.agent.status()["attempts"])
            assert attempt_id not in hub.receipts
            assert not log.exists()

    asyncio.run(story())


def test_journal_forgets_and_stays_small(tmp_path):
    now = datetime(2026, 1, 1, tzinfo=UTC)
    journal = Journal(tmp_path)
    journal.load()
    hub = FakeHub()
    node = hub.add_node(bytes(32))
    for number in range(300):
        manifest = hub.manifest(node, ("x" * 10_000,), attempt_id=f"attempt_{number}")
        journal.note_seen(manifest.attempt_id, now + timedelta(seconds=number))
        lease = Lease(
            manifest=hub.sign_manifest(manifest),
            isolation=IsolationLevel.PROCESS,
            folder="/somewhere",
            accepted_at=now,
        )
        journal.write_lease(manifest.attempt_id, lease)
        if number % 100:
            journal.forget(manifest.attempt_id)
    journal.close()
    # Torn at the end, as a power cut would leave it, and damaged in the middle.
    path = tmp_path / "journal"
    path.write_bytes(path.read_bytes() + b"what is this\nL attempt_torn 99 {")
    again = Journal(tmp_path)
    later = now + timedelta(seconds=SEEN_MARGIN_SECONDS + 150)
    assert [left.attempt_id for left in again.load()] == ["attempt_0", "attempt_100", "attempt_200"]
    assert path.stat().st_size < 50_000
    assert again.has_seen("attempt_120"), "forgotten before the hub's time was known: it could be run again"
    for _ in range(COMPACT_BYTES // 10_000):  # the file grows until it is worth writing anew
        again.write_lease("attempt_299", lease)
    again.forget("attempt_299")
    again.tidy(later)
    assert again.has_seen("attempt_299")
    assert not again.has_seen("attempt_120")
    again.close()
