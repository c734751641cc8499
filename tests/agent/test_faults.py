"""Whose doing a failure is: by the place where it happened, and by whether the job is within its grant."""

import asyncio
import errno
from types import SimpleNamespace
from typing import Any

import pytest
from support.agents import running_agent
from support.fake_hub import FakeHub
from support.job_cases import JudgingHub

from computepool.agent import preparing
from computepool.agent.faults import REASON_AT, AttemptOver, FaultPlace, at, is_within_grant, plain, reason_of
from computepool.agent.folders import JobFolders
from computepool.hub.jobs.policy import VERDICT_OF_REASON
from computepool.protocol.limits import CHECKPOINT_FILES_LIMIT, DETAIL_LIMIT_CHARACTERS
from computepool.protocol.manifest import Grant
from computepool.protocol.receipt import EndReason
from computepool.protocol.states import Verdict

MEGABYTE = 1 << 20
FAILURES = [OSError(errno.EACCES, ""), OSError(errno.ENAMETOOLONG, ""), RecursionError(), ValueError(), KeyError()]
FULL = OSError(errno.ENOSPC, "No space left on device")


def attempt_in(folder, disk_bytes) -> Any:
    grant = Grant(cpus=1, memory_bytes=1, disk_bytes=disk_bytes)
    return SimpleNamespace(id="attempt_1", folder=str(folder), manifest=SimpleNamespace(grant=grant), room_bytes=0)


@pytest.mark.parametrize("place", FaultPlace)
@pytest.mark.parametrize("error", FAILURES, ids=repr)
def test_place_alone_decides(place, error):
    verdict = VERDICT_OF_REASON[reason_of(place, error, within_grant=True)]
    assert (verdict is Verdict.HOST) == (place is FaultPlace.ACCEPT)


@pytest.mark.parametrize("place", REASON_AT)
def test_full_disk_is_the_nodes_only_while_the_job_is_within_its_grant(place):
    within, beyond = (VERDICT_OF_REASON[reason_of(place, FULL, within_grant=fits)] for fits in (True, False))
    assert beyond is not Verdict.HOST
    # What is fetched is as large as the job wants, and beside its grant.
    assert within is (Verdict.HUB if place in {FaultPlace.FETCH, FaultPlace.IMAGE} else Verdict.HOST)


def test_room_that_a_job_takes_is_counted_when_the_disk_is_full(tmp_path):
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "large").write_bytes(bytes(3 * MEGABYTE))

    async def reason(disk_bytes):
        try:
            async with at(FaultPlace.UNPACK, attempt_in(tmp_path, disk_bytes)):
                raise FULL
        except AttemptOver as over:
            return over.reason

    assert asyncio.run(reason(2 * MEGABYTE)) is EndReason.DISK
    assert asyncio.run(reason(4 * MEGABYTE)) is EndReason.NODE_DISK
    assert not asyncio.run(is_within_grant(attempt_in(tmp_path, 4 * MEGABYTE), more_bytes=2 * MEGABYTE))


def test_offer_that_a_full_disk_cannot_take_is_declined():
    assert reason_of(FaultPlace.ACCEPT, FULL, within_grant=True) is EndReason.DECLINED
    assert reason_of(FaultPlace.ACCEPT, OSError(errno.EIO, ""), within_grant=True) is EndReason.NODE_DISK


def test_words_of_a_receipt_are_text_whatever_a_job_calls_its_files():
    assert plain("no \udcff" + "x" * 1000) == ("no \\udcff" + "x" * 1000)[:DETAIL_LIMIT_CHARACTERS]


def story(tmp_path, tell, hub=None):
    async def run():
        used = hub or FakeHub()
        async with used, running_agent(used, tmp_path) as running:
            await tell(used, running)

    asyncio.run(run())


async def receipt_of(hub, running, *argv, **changes):
    attempt_id = hub.offer(running.node, *argv, **changes)
    await hub.until(lambda: attempt_id in hub.receipts)
    return hub.receipts[attempt_id]


def test_node_that_cannot_make_the_jobs_folder_says_so(tmp_path, monkeypatch):
    def closed(self, sandbox, attempt_id):
        raise PermissionError(errno.EACCES, "Permission denied")

    async def tell(hub, running):
        monkeypatch.setattr(JobFolders, "take", closed)
        assert (await receipt_of(hub, running, "/bin/true")).reason is EndReason.SANDBOX

    story(tmp_path, tell)


def test_checkpoint_folder_that_no_file_system_takes_is_the_renters_doing(tmp_path):
    """The hub refuses such a spec; an older one may not."""

    async def tell(hub, running):
        receipt = await receipt_of(hub, running, "/bin/true", checkpoint="x" * 300)
        assert (receipt.reason, receipt.exit_code) == (EndReason.BAD_INPUT, None)
        assert "too long" in receipt.detail

    story(tmp_path, tell)


def test_checkpoint_whose_names_the_hub_does_not_take_is_not_uploaded(tmp_path):
    script = f"""
        cd "$COMPUTEPOOL_CHECKPOINT"; x=$(printf %0200d 0 | tr 0 '"')
        for i in $(seq {CHECKPOINT_FILES_LIMIT}); do : > $i$x; done
        exit 85
    """

    async def tell(hub, running):
        receipt = await receipt_of(hub, running, "/bin/sh", "-c", script)
        assert (receipt.reason, receipt.exit_code) == (EndReason.EXITED, 85)
        assert (hub.uploads, hub.gone) == ([], {})

    story(tmp_path, tell, JudgingHub())


def test_last_checkpoint_that_the_hub_refuses_is_the_renters_doing(tmp_path):
    async def tell(hub, running):
        hub.checkpoint_problem = "larger than this hub takes"
        receipt = await receipt_of(hub, running, "/bin/sh", "-c", 'echo x > "$COMPUTEPOOL_CHECKPOINT/x"; exit 85')
        assert (receipt.reason, receipt.exit_code) == (EndReason.EXITED, 85)
        # It may have let some of the files go: it is asked once more.
        assert len(hub.refused_checkpoints) == 2

    story(tmp_path, tell)


def test_what_ran_before_a_start_that_failed_is_counted(tmp_path, monkeypatch):
    """Else a renter would do the work in `setup`, and break the start of `run`."""

    async def tell(hub, running):
        setup = ("/bin/sh", "-c", 'sleep 0.2; cd /; rm -rf "${HOME:?}/work"')
        receipt = await receipt_of(hub, running, "/bin/true", setup=setup)
        assert (receipt.reason, receipt.exit_code) == (EndReason.START_FAILED, None)
        assert receipt.usage.running_seconds >= 0.2
        assert receipt.started_at is not None

    story(tmp_path, tell)


def test_bug_of_the_agent_in_the_jobs_files_does_not_blame_the_node(tmp_path, monkeypatch):
    def broken(*args, **kwargs):
        raise KeyError("a bug")

    async def tell(hub, running):
        monkeypatch.setattr(preparing, "extract", broken)
        bundle, downloads = hub.bundle(b"anything")
        receipt = await receipt_of(hub, running, "/bin/true", bundle=bundle, downloads=downloads)
        assert receipt.reason is EndReason.BUNDLE
        assert "KeyError" in receipt.detail

    story(tmp_path, tell)
