"""An attempt on a real agent: offered, run, logged, finished, acknowledged; and every way to end early."""

import asyncio
import os

import pytest
from support.agents import CAPACITY, running_agent
from support.fake_hub import MEGABYTE, FakeHub
from support.waiting import patience

from computepool.protocol.capacity import Gpu
from computepool.protocol.manifest import Grant
from computepool.protocol.receipt import EndReason
from computepool.protocol.states import IsolationLevel

pytestmark = pytest.mark.filterwarnings("error")


def story(tmp_path, tell, **options):
    async def run():
        async with FakeHub() as hub, running_agent(hub, tmp_path, **options) as running:
            await tell(hub, running)

    asyncio.run(run())


def test_offer_is_run_logged_and_finished(tmp_path):
    async def tell(hub, running):
        attempt_id = hub.offer(running.node, "/bin/sh", "-c", "echo hello; echo oops >&2; exit 3")
        await hub.until(lambda: attempt_id in hub.receipts)
        receipt = hub.receipts[attempt_id]
        assert bytes(hub.logs[attempt_id]) == b"hello\noops\n"
        assert (receipt.exit_code, receipt.reason) == (3, EndReason.EXITED)
        assert receipt.isolation is IsolationLevel.PROCESS
        assert receipt.started_at is not None
        assert receipt.started_at <= receipt.finished_at
        assert [update.state for update in hub.updates[attempt_id]] == ["running"]
        await hub.until(lambda: not running.agent.status()["attempts"])
        await hub.until(lambda: not running.job_folders)
        assert [path.name for path in running.home.journal.iterdir()] == ["journal"]

    story(tmp_path, tell)


def test_job_finds_its_environment_and_its_folders(tmp_path):
    async def tell(hub, running):
        script = (
            "echo $MINE $COMPUTEPOOL_JOB_ID $COMPUTEPOOL_ATTEMPT $COMPUTEPOOL_SLICE/$COMPUTEPOOL_SLICES "
            '$COMPUTEPOOL_RESUMED; test -d "$COMPUTEPOOL_OUTPUT" && test -d "$COMPUTEPOOL_CHECKPOINT" && basename $PWD'
        )
        attempt_id = hub.offer(
            running.node, "/bin/sh", "-c", script, env={"MINE": "yes"}, job_id="job_x", slice_index=2, slices=5
        )
        await hub.until(lambda: attempt_id in hub.receipts)
        assert bytes(hub.logs[attempt_id]) == b"yes job_x 1 2/5 0\nwork\n"

    story(tmp_path, tell)


def test_job_sees_the_gpus_that_it_was_granted_and_no_others(tmp_path):
    gpus = tuple(Gpu(id=f"GPU-{name}", name="x", slug="x", memory_bytes=1) for name in "abc")

    async def tell(hub, running):
        names = ("CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES")
        greedy = dict.fromkeys(names, "0,1,2")
        script = "; ".join(f'echo "${{{name}-unset}}"' for name in names)
        room = Grant(cpus=0.1, memory_bytes=64 * MEGABYTE, disk_bytes=64 * MEGABYTE)
        for granted, seen in (((), ""), (("GPU-c", "GPU-a"), "GPU-c,GPU-a")):
            grant = room.model_copy(update={"gpus": granted})
            attempt_id = hub.offer(running.node, "/bin/sh", "-c", script, grant=grant, env=greedy)
            await hub.until(lambda: attempt_id in hub.receipts)  # noqa: B023
            assert hub.logs[attempt_id].decode().splitlines() == [seen] * len(names)

    story(tmp_path, tell, capacity=CAPACITY.model_copy(update={"gpus": gpus}))


def test_same_offer_twice_runs_once(tmp_path):
    async def tell(hub, running):
        manifest = hub.manifest(running.node, ("/bin/sh", "-c", f"echo ran >> {tmp_path}/ran; sleep 0.2"))
        signed = hub.sign_manifest(manifest)
        for _ in range(3):
            hub.offer_signed(running.node, signed)
        await hub.until(lambda: manifest.attempt_id in hub.receipts)
        hub.offer_signed(running.node, signed)
        other = hub.offer(running.node, "/bin/true")
        await hub.until(lambda: other in hub.receipts)
        assert (tmp_path / "ran").read_text() == "ran\n"
        assert hub.finished_count[manifest.attempt_id] == 1

    story(tmp_path, tell)


def test_stop_ends_the_job_with_its_grace(tmp_path):
    async def tell(hub, running):
        attempt_id = hub.offer(
            running.node, "/bin/sh", "-c", "trap 'echo bye; exit 0' TERM; echo up; sleep 3600 & wait"
        )
        await hub.until(lambda: hub.logs[attempt_id])
        hub.stop(running.node, attempt_id, grace_seconds=600)
        await hub.until(lambda: attempt_id in hub.receipts)
        assert hub.receipts[attempt_id].reason is EndReason.CANCELED
        assert bytes(hub.logs[attempt_id]) == b"up\nbye\n"

    story(tmp_path, tell)


def test_stop_with_a_wrong_fence_changes_nothing(tmp_path):
    async def tell(hub, running):
        attempt_id = hub.offer(running.node, "/bin/sh", "-c", "echo up; sleep 0.4; echo done")
        await hub.until(lambda: hub.logs[attempt_id])
        hub.stop(running.node, attempt_id, fence=6)
        await hub.until(lambda: attempt_id in hub.receipts)
        assert hub.receipts[attempt_id].exit_code == 0

    story(tmp_path, tell)


def test_refused_attempt_is_killed_and_forgotten(tmp_path):
    async def tell(hub, running):
        attempt_id = hub.offer(running.node, "/bin/sh", "-c", "echo $$; sleep 3600")
        await hub.until(lambda: hub.logs[attempt_id])
        pid = int(hub.logs[attempt_id])
        hub.refuse(running.node, attempt_id)
        await hub.until(lambda: not running.agent.status()["attempts"])
        assert not alive(pid)
        assert attempt_id not in hub.receipts
        await hub.until(lambda: not running.job_folders)
        assert [path.name for path in running.home.journal.iterdir()] == ["journal"]

    story(tmp_path, tell)


def test_job_that_runs_too_long_is_ended(tmp_path):
    async def tell(hub, running):
        attempt_id = hub.offer(running.node, "/bin/sleep", "3600", max_runtime_seconds=0.3)
        await hub.until(lambda: attempt_id in hub.receipts)
        receipt = hub.receipts[attempt_id]
        assert receipt.reason is EndReason.RUNTIME
        assert 0.3 <= receipt.usage.running_seconds < 3600

    story(tmp_path, tell)


def test_strangers_job_is_never_run_as_a_plain_process(tmp_path):
    async def tell(hub, running):
        attempt_id = hub.offer(running.node, "/bin/touch", str(tmp_path / "ran"), own=False)
        await hub.until(lambda: attempt_id in hub.receipts)
        assert hub.receipts[attempt_id].reason is EndReason.DECLINED
        assert hub.receipts[attempt_id].exit_code is None
        stronger = hub.offer(running.node, "/bin/touch", str(tmp_path / "ran"), isolation=IsolationLevel.BUBBLEWRAP)
        await hub.until(lambda: stronger in hub.receipts)
        assert hub.receipts[stronger].reason is EndReason.DECLINED
        assert not (tmp_path / "ran").exists()

    story(tmp_path, tell)


def test_job_that_wants_an_image_is_declined_where_there_is_no_engine(tmp_path):
    async def tell(hub, running):
        attempt_id = hub.offer(running.node, "/bin/true", image="python:3.12-slim")
        await hub.until(lambda: attempt_id in hub.receipts)
        assert hub.receipts[attempt_id].reason is EndReason.DECLINED
        assert "an image" in hub.receipts[attempt_id].detail

    story(tmp_path, tell)


def test_offer_beyond_the_machine_is_declined(tmp_path):
    async def tell(hub, running):
        big = Grant(cpus=3.0, memory_bytes=64 * MEGABYTE, disk_bytes=MEGABYTE * 100)
        first = hub.offer(running.node, "/bin/sleep", "3600", grant=big)
        await hub.until(lambda: hub.updates[first])
        second = hub.offer(running.node, "/bin/true", grant=big)
        await hub.until(lambda: second in hub.receipts)
        assert hub.receipts[second].reason is EndReason.DECLINED
        assert "free" in hub.receipts[second].detail
        # What is being stopped takes no room: the hub counts it as free already.
        hub.stop(running.node, first, grace_seconds=0)
        third = hub.offer(running.node, "/bin/true", grant=big)
        await hub.until(lambda: third in hub.receipts)
        assert hub.receipts[third].exit_code == 0

    story(tmp_path, tell)


def test_command_that_does_not_exist_says_so(tmp_path):
    async def tell(hub, running):
        attempt_id = hub.offer(running.node, "no-such-command")
        await hub.until(lambda: attempt_id in hub.receipts)
        receipt = hub.receipts[attempt_id]
        assert (receipt.exit_code, receipt.reason) == (127, EndReason.START_FAILED)
        assert receipt.detail == "command not found: no-such-command"
        assert b"no-such-command" in hub.logs[attempt_id]

    story(tmp_path, tell)


def test_pause_takes_the_machine_back_at_once(tmp_path):
    async def tell(hub, running):
        attempt_id = hub.offer(running.node, "/bin/sh", "-c", "echo $$; exec sleep 3600")
        await hub.until(lambda: hub.logs[attempt_id])
        running.agent.pause()
        await hub.until(lambda: attempt_id in hub.gone)
        assert hub.gone[attempt_id].reason == "owner"
        assert not alive(int(hub.logs[attempt_id]))
        await hub.until(lambda: running.node.heartbeats[-1].state == "paused")
        declined = hub.offer(running.node, "/bin/true")
        await hub.until(lambda: declined in hub.receipts)
        assert hub.receipts[declined].reason is EndReason.DECLINED
        running.agent.resume()
        after = hub.offer(running.node, "/bin/true")
        await hub.until(lambda: after in hub.receipts)
        assert hub.receipts[after].exit_code == 0

    story(tmp_path, tell)


def test_draining_finishes_what_runs_and_keeps_the_heart_beating(tmp_path):
    async def tell(hub, running):
        hub.heartbeat_seconds = 0.05
        hub.drop_lines()
        await hub.until(lambda: len(running.node.proofs) == 2)
        attempt_id = hub.offer(running.node, "/bin/sh", "-c", "echo up; while [ ! -e done ]; do sleep 0.05; done")
        await hub.until(lambda: hub.logs[attempt_id])
        running.agent.drain()
        await hub.until(lambda: len([beat for beat in running.node.heartbeats if beat.state == "draining"]) >= 3)
        assert running.node.heartbeats[-1].holding
        (running.job_folders[0] / "work" / "done").touch()
        await asyncio.wait_for(running.task, patience())
        assert hub.receipts[attempt_id].exit_code == 0

    story(tmp_path, tell)


def test_stopped_agent_gives_its_jobs_back(tmp_path):
    async def tell(hub, running):
        attempt_id = hub.offer(running.node, "/bin/sh", "-c", "echo $$; sleep 3600")
        await hub.until(lambda: hub.logs[attempt_id])
        await running.agent.stop()
        await asyncio.wait_for(running.task, patience())
        assert attempt_id in hub.gone
        assert not alive(int(hub.logs[attempt_id]))

    story(tmp_path, tell)


def test_many_attempts_at_once_do_not_mix(tmp_path):
    async def tell(hub, running):
        ids = [hub.offer(running.node, "/bin/sh", "-c", f"echo {i}; exit {i}") for i in range(20)]
        await hub.until(lambda: all(attempt_id in hub.receipts for attempt_id in ids))
        for number, attempt_id in enumerate(ids):
            assert bytes(hub.logs[attempt_id]) == f"{number}\n".encode()
            assert hub.receipts[attempt_id].exit_code == number

    story(tmp_path, tell)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
