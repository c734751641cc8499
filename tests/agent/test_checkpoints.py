"""What a job saves: on a period, when it has to go, when it asks to be continued; and how the next attempt finds it."""

import asyncio
import os
from pathlib import Path

import pytest
from support.agents import running_agent
from support.fake_hub import FakeHub

from computepool.agent import checkpoints
from computepool.protocol.limits import CHECKPOINT_FILES_LIMIT
from computepool.protocol.manifest import Grant, Saved, SavedFile
from computepool.protocol.receipt import EndReason

pytestmark = pytest.mark.filterwarnings("error")

OFTEN = 0.2


def story(tmp_path, tell, **options):
    async def run():
        async with FakeHub() as hub, running_agent(hub, tmp_path, **options) as running:
            await tell(hub, running)

    asyncio.run(run())


def shell(hub, running, script, **changes):
    return hub.offer(running.node, "/bin/sh", "-c", script, **changes)


def test_folder_is_saved_while_the_job_runs_and_only_what_changed_is_sent(tmp_path):
    async def tell(hub, running):
        script = """
            mkdir -p all/deep; head -c 3000000 /dev/zero > all/large; echo one > all/deep/step; mv all ckpt/all
            while [ ! -e next ]; do sleep 0.05; done
            echo two > step; mv step ckpt/all/deep/step; exec sleep 3600
        """
        attempt_id = shell(hub, running, script, checkpoint="ckpt", checkpoint_seconds=OFTEN)
        saved = hub.checkpoints[attempt_id]
        await hub.until(lambda: len(saved) == 1)
        assert hub.content(saved[0]) == {"all/large": bytes(3_000_000), "all/deep/step": b"one\n"}
        assert (saved[0].number, saved[0].running_seconds > 0) == (1, True)
        hub.uploads.clear()
        (running.job_folders[0] / "work" / "next").touch()
        await hub.until(lambda: len(saved) == 2)
        assert hub.content(saved[1]) == {"all/large": bytes(3_000_000), "all/deep/step": b"two\n"}
        assert saved[1].number == 2
        assert len(hub.uploads) == 1
        # Nothing changes any more, so nothing is saved any more.
        await asyncio.sleep(1.0)
        assert len(saved) == 2
        await hub.until(lambda: not list(running.home.staging.glob("*/files/all/large")))

    story(tmp_path, tell)


def test_job_that_asks_to_be_continued_has_saved_before_its_receipt_arrives(tmp_path):
    async def tell(hub, running):
        attempt_id = shell(hub, running, 'echo 7 > "$COMPUTEPOOL_CHECKPOINT/step"; exit 85')
        await hub.until(lambda: attempt_id in hub.receipts)
        (saved,) = hub.checkpoints[attempt_id]
        assert hub.content(saved) == {"step": b"7\n"}
        receipt = hub.receipts[attempt_id]
        assert (receipt.exit_code, receipt.reason) == (85, EndReason.EXITED)

    story(tmp_path, tell)


def test_job_that_fails_or_succeeds_saves_nothing_more(tmp_path):
    async def tell(hub, running):
        for code in (0, 1):
            attempt_id = shell(hub, running, f'echo half > "$COMPUTEPOOL_CHECKPOINT/step"; exit {code}')
            await hub.until(lambda: attempt_id in hub.receipts)  # noqa: B023
            assert hub.checkpoints[attempt_id] == []

    story(tmp_path, tell)


def test_evicted_job_saves_within_its_grace_and_is_gone_then(tmp_path):
    async def tell(hub, running):
        script = """
            trap 'echo last > "$COMPUTEPOOL_CHECKPOINT/step"; exit 0' TERM
            touch ready; while :; do sleep 0.05; done
        """
        attempt_id = shell(hub, running, script)
        await hub.until(lambda: running.job_folders and (running.job_folders[0] / "work/ready").exists())
        running.agent.pause()
        await hub.until(lambda: attempt_id in hub.gone)
        assert hub.gone[attempt_id].reason == "owner"
        (saved,) = hub.checkpoints[attempt_id]
        assert hub.content(saved) == {"step": b"last\n"}
        assert attempt_id not in hub.receipts

    story(tmp_path, tell)


def test_job_that_makes_room_for_another_saves_within_its_grace_and_says_why_it_is_gone(tmp_path):
    async def tell(hub, running):
        script = """
            trap 'echo last > "$COMPUTEPOOL_CHECKPOINT/step"; exit 0' TERM
            touch ready; while :; do sleep 0.05; done
        """
        attempt_id = shell(hub, running, script)
        await hub.until(lambda: running.job_folders and (running.job_folders[0] / "work/ready").exists())
        hub.stop(running.node, attempt_id, grace_seconds=600, reason="evicted")
        await hub.until(lambda: attempt_id in hub.gone)
        assert hub.gone[attempt_id].reason == "preempted"
        (saved,) = hub.checkpoints[attempt_id]
        assert hub.content(saved) == {"step": b"last\n"}
        assert attempt_id not in hub.receipts

    story(tmp_path, tell)


def test_eviction_does_not_wait_for_an_upload(tmp_path):
    async def tell(hub, running):
        script = """
            trap 'echo last > "$COMPUTEPOOL_CHECKPOINT/step"; exit 0' TERM
            echo $$ > pid.new; mv pid.new pid; while :; do sleep 0.05; done
        """
        attempt_id = shell(hub, running, script)
        await hub.until(lambda: running.job_folders and (running.job_folders[0] / "work/pid").exists())
        pid = int((running.job_folders[0] / "work/pid").read_text())
        hub.fail_uploads = 1_000_000
        running.agent.pause()
        await hub.until(lambda: not Path(f"/proc/{pid}").exists())
        await hub.until(lambda: running.agent.status()["attempts"][0]["state"] == "finishing")
        assert attempt_id not in hub.gone
        hub.fail_uploads = 0
        await hub.until(lambda: attempt_id in hub.gone)
        assert len(hub.checkpoints[attempt_id]) == 1

    story(tmp_path, tell)


def test_job_that_had_to_be_killed_saves_nothing_it_may_be_in_the_middle_of(tmp_path):
    async def tell(hub, running):
        script = "trap '' TERM; echo torn > $COMPUTEPOOL_CHECKPOINT/step; touch ready; while :; do sleep 0.05; done"
        attempt_id = shell(hub, running, script)
        await hub.until(lambda: running.job_folders and (running.job_folders[0] / "work/ready").exists())
        running.agent._supervisor.give_back_everything("owner", grace_seconds=0.2)
        await hub.until(lambda: attempt_id in hub.gone)
        assert hub.checkpoints[attempt_id] == []

    story(tmp_path, tell)


def test_next_attempt_finds_the_checkpoint_and_is_told_so(tmp_path):
    async def tell(hub, running):
        refs: list[SavedFile] = []
        downloads: dict[str, tuple[str, ...]] = {}
        for path, data in {"step": b"41\n", "deep/large": os.urandom(300_000)}.items():
            ref, places = hub.bundle(data, parts=2 if len(data) > 1000 else 1)
            refs.append(SavedFile(path=path, digest=ref.digest, size_bytes=ref.size_bytes))
            downloads |= places
        script = """
            cat ckpt/step; wc -c < ckpt/deep/large; echo "$COMPUTEPOOL_RESUMED"
            [ "$COMPUTEPOOL_CHECKPOINT" -ef ckpt ] && echo same; echo 42 > ckpt/step; exit 85
        """
        attempt_id = shell(
            hub,
            running,
            script,
            checkpoint="ckpt",
            saved=Saved(number=4, files=tuple(refs)),
            downloads=downloads,
        )
        await hub.until(lambda: attempt_id in hub.receipts)
        assert bytes(hub.logs[attempt_id]).split() == [b"41", b"300000", b"1", b"same"]
        (saved,) = hub.checkpoints[attempt_id]
        assert saved.number == 5
        assert saved.files[-1].path in {"step", "deep/large"}

    story(tmp_path, tell)


def test_first_attempt_is_not_resumed(tmp_path):
    async def tell(hub, running):
        attempt_id = shell(hub, running, 'echo "$COMPUTEPOOL_RESUMED"; ls "$COMPUTEPOOL_CHECKPOINT"')
        await hub.until(lambda: attempt_id in hub.receipts)
        assert bytes(hub.logs[attempt_id]) == b"0\n"

    story(tmp_path, tell)


def test_links_in_the_folder_lead_nowhere(tmp_path):
    async def tell(hub, running):
        secret = tmp_path / "secret"
        secret.write_text("of the host")
        script = f'cd "$COMPUTEPOOL_CHECKPOINT"; ln -s {secret} link; ln -s {tmp_path} folder; echo x > file; exit 85'
        attempt_id = shell(hub, running, script)
        await hub.until(lambda: attempt_id in hub.receipts)
        (saved,) = hub.checkpoints[attempt_id]
        assert hub.content(saved) == {"file": b"x\n"}

    story(tmp_path, tell)


def test_checkpoint_that_the_hub_does_not_accept_is_tried_again(tmp_path):
    async def tell(hub, running):
        hub.checkpoint_problem = "not uploaded whole: step"
        script = 'echo 1 > "$COMPUTEPOOL_CHECKPOINT/step"; exec sleep 3600'
        attempt_id = shell(hub, running, script, checkpoint_seconds=OFTEN)
        await hub.until(lambda: hub.refused_checkpoints)
        assert hub.checkpoints[attempt_id] == []
        hub.checkpoint_problem = None
        await hub.until(lambda: hub.checkpoints[attempt_id])
        # A number that was said once is not said again for something else.
        assert hub.checkpoints[attempt_id][0].number > 1

    story(tmp_path, tell)


def test_too_many_files_are_not_saved_and_the_job_goes_on(tmp_path):
    async def tell(hub, running):
        script = f"""
            cd "$COMPUTEPOOL_CHECKPOINT"; i=0
            while [ $i -le {CHECKPOINT_FILES_LIMIT} ]; do : > $i; i=$((i+1)); done
            exit 85
        """
        attempt_id = shell(hub, running, script)
        await hub.until(lambda: attempt_id in hub.receipts)
        assert hub.checkpoints[attempt_id] == []
        receipt = hub.receipts[attempt_id]
        assert (receipt.exit_code, receipt.reason) == (85, EndReason.EXITED)
        # Its log is sealed when the last checkpoint is read: the renter learns from the receipt what to mend.
        assert "the checkpoint was not saved: a checkpoint has at most" in receipt.detail

    story(tmp_path, tell)


def disk_of(megabytes: int) -> Grant:
    return Grant(cpus=0.1, memory_bytes=64_000_000, disk_bytes=megabytes * 1_000_000)


def test_copy_of_a_checkpoint_counts_against_the_jobs_disk(tmp_path):
    """Where it does not fit it is not made; the last one needs none."""

    async def tell(hub, running):
        script = """
            head -c 4000000 /dev/zero > data; head -c 4000000 /dev/zero > "$COMPUTEPOOL_CHECKPOINT/state"
            while [ ! -e leave ]; do sleep 0.05; done; exit 85
        """
        attempt_id = shell(hub, running, script, checkpoint_seconds=OFTEN, grant=disk_of(10))
        no_room = b"a copy of what changed does not fit on the job's disk"
        await hub.until(lambda: no_room in hub.logs[attempt_id] or hub.checkpoints[attempt_id])
        assert hub.checkpoints[attempt_id] == []
        assert not list(running.home.staging.glob("*/files/*"))
        (running.job_folders[0] / "work" / "leave").touch()
        await hub.until(lambda: attempt_id in hub.receipts)
        (saved,) = hub.checkpoints[attempt_id]
        assert hub.content(saved) == {"state": bytes(4_000_000)}
        assert hub.receipts[attempt_id].reason is EndReason.EXITED

    story(tmp_path, tell)


def test_copy_that_is_not_counted_is_found(tmp_path, monkeypatch):
    """A planted bug, for the test above."""
    monkeypatch.setattr(checkpoints, "_copy_bytes", lambda looks, paths: 0)
    with pytest.raises(AssertionError):
        test_copy_of_a_checkpoint_counts_against_the_jobs_disk(tmp_path)


def test_copy_is_given_up_when_the_job_wants_its_room(tmp_path):
    async def tell(hub, running):
        script = """
            head -c 3000000 /dev/zero > "$COMPUTEPOOL_CHECKPOINT/state"
            while [ ! -e grow ]; do sleep 0.05; done
            head -c 5000000 /dev/zero > data; exec sleep 3600
        """
        hub.fail_uploads = 1_000_000
        attempt_id = shell(hub, running, script, checkpoint_seconds=OFTEN, grant=disk_of(10))
        await hub.until(lambda: list(running.home.staging.glob("*/files/state")))
        (running.job_folders[0] / "work" / "grow").touch()
        await hub.until(lambda: b"does not fit on the job's disk" in hub.logs[attempt_id])
        await hub.until(lambda: not list(running.home.staging.glob("*/files/*")))
        assert attempt_id not in hub.receipts, "the job goes on"

    story(tmp_path, tell)


def test_line_that_breaks_during_a_save_only_delays_it(tmp_path):
    async def tell(hub, running):
        script = 'head -c 5000000 /dev/urandom > "$COMPUTEPOOL_CHECKPOINT/data"; exit 85'
        attempt_id = shell(hub, running, script)
        await hub.until(lambda: hub.uploads)
        hub.drop_lines()
        await hub.until(lambda: attempt_id in hub.receipts)
        (saved,) = hub.checkpoints[attempt_id][:1]
        assert len(hub.content(saved)["data"]) == 5_000_000

    story(tmp_path, tell)
