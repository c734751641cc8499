"""Inputs: downloaded once, resumed where they broke off, checked, unpacked; and every way they can be wrong."""

import asyncio
import hashlib
import io
import os
import tarfile
from pathlib import Path

from support.agents import running_agent
from support.fake_hub import MEGABYTE, FakeHub
from support.waiting import async_eventually

from computepool.agent.inputs import InputCache
from computepool.agent.ports import offload_to_threads
from computepool.protocol.manifest import BundleRef, Grant
from computepool.protocol.receipt import EndReason


def packed(**files: bytes) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()


def story(tmp_path, tell):
    async def run():
        async with FakeHub() as hub, running_agent(hub, tmp_path) as running:
            await tell(hub, running)

    asyncio.run(run())


def test_bundle_is_unpacked_where_the_command_runs_and_cached(tmp_path):
    async def tell(hub, running):
        bundle, downloads = hub.bundle(packed(hello=b"from the bundle\n"))
        first = hub.offer(running.node, "/bin/cat", "hello", bundle=bundle, downloads=downloads)
        await hub.until(lambda: first in hub.receipts)
        assert bytes(hub.logs[first]) == b"from the bundle\n"
        assert [update.state for update in hub.updates[first]] == ["preparing", "running"]
        requests = len(hub.ranges)
        second = hub.offer(running.node, "/bin/cat", "hello", bundle=bundle, downloads=downloads)
        await hub.until(lambda: second in hub.receipts)
        assert bytes(hub.logs[second]) == b"from the bundle\n"
        assert len(hub.ranges) == requests

    story(tmp_path, tell)


def test_download_in_parts_goes_on_where_it_broke_off(tmp_path):
    async def tell(hub, running):
        data = os.urandom(200_000).replace(b"\n", b"-")  # in one line, which comes after those of the agent
        bundle, downloads = hub.bundle(packed(data=data), parts=3)
        hub.break_downloads = 4
        attempt_id = hub.offer(running.node, "/bin/cat", "data", bundle=bundle, downloads=downloads)
        await hub.until(lambda: attempt_id in hub.receipts)
        told, _, said = bytes(hub.logs[attempt_id]).rpartition(b"KB\n")
        assert said == data
        # Whoever waits for seconds is told why.
        assert told.startswith(b"[computepool] fetching the bundle: ")
        resumed = [asked for asked in hub.ranges if asked]
        assert len(resumed) == 4
        assert len(hub.ranges) == 7

    story(tmp_path, tell)


def test_wrong_bytes_are_never_unpacked(tmp_path):
    async def tell(hub, running):
        bundle, downloads = hub.bundle(packed(x=b"x"))
        hub.corrupt_downloads = True
        attempt_id = hub.offer(running.node, "/bin/true", bundle=bundle, downloads=downloads)
        await hub.until(lambda: attempt_id in hub.receipts)
        assert hub.receipts[attempt_id].reason is EndReason.INPUT
        assert list(running.home.cache.iterdir()) == []
        # Nothing bad stays in the cache: with the right bytes it works.
        hub.corrupt_downloads = False
        after = hub.offer(running.node, "/bin/true", bundle=bundle, downloads=downloads)
        await hub.until(lambda: after in hub.receipts)
        assert hub.receipts[after].exit_code == 0

    story(tmp_path, tell)


def test_more_bytes_than_announced_are_cut_off(tmp_path):
    async def tell(hub, running):
        bundle, downloads = hub.bundle(packed(x=os.urandom(10_000)))
        lying = BundleRef(digest=bundle.digest, size_bytes=100)
        attempt_id = hub.offer(running.node, "/bin/true", bundle=lying, downloads=downloads)
        await hub.until(lambda: attempt_id in hub.receipts)
        assert hub.receipts[attempt_id].reason is EndReason.INPUT
        assert "larger" in hub.receipts[attempt_id].detail

    story(tmp_path, tell)


def test_hostile_archive_is_the_renters_doing(tmp_path):
    async def tell(hub, running):
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as archive:
            entry = tarfile.TarInfo("../../escaped")
            archive.addfile(entry)
        bundle, downloads = hub.bundle(buffer.getvalue())
        attempt_id = hub.offer(running.node, "/bin/true", bundle=bundle, downloads=downloads)
        await hub.until(lambda: attempt_id in hub.receipts)
        assert hub.receipts[attempt_id].reason is EndReason.BUNDLE
        assert not list(tmp_path.rglob("escaped"))

    story(tmp_path, tell)


def test_bundle_larger_than_the_jobs_disk_is_the_renters_doing(tmp_path):
    async def tell(hub, running):
        bundle, downloads = hub.bundle(packed(big=bytes(3 * MEGABYTE)))

        async def receipt_with(disk_bytes):
            grant = Grant(cpus=0.1, memory_bytes=64 * MEGABYTE, disk_bytes=disk_bytes)
            argv = ("/bin/sh", "-c", "wc -c < big")
            attempt_id = hub.offer(running.node, *argv, bundle=bundle, downloads=downloads, grant=grant)
            await hub.until(lambda: attempt_id in hub.receipts)
            return hub.receipts[attempt_id]

        assert (await receipt_with(4 * MEGABYTE)).exit_code == 0
        refused = await receipt_with(2 * MEGABYTE)
        assert (refused.reason, refused.exit_code) == (EndReason.BUNDLE, None)
        assert "resources.disk" in refused.detail

    story(tmp_path, tell)


def test_missing_address_and_strange_digest_are_told(tmp_path):
    async def tell(hub, running):
        bundle, _ = hub.bundle(packed(x=b"x"))
        strange = [BundleRef(digest=digest, size_bytes=1) for digest in ("md5:1", "sha256:../x")]
        told = []
        for changed in (bundle, *strange):
            attempt_id = hub.offer(running.node, "/bin/true", bundle=changed)
            await hub.until(lambda: attempt_id in hub.receipts)  # noqa: B023
            told.append(hub.receipts[attempt_id].reason)
        # What the renter has removed meanwhile has no address: that is not the node's doing.
        assert told == [EndReason.UNREACHABLE, EndReason.INPUT, EndReason.INPUT]

    story(tmp_path, tell)


def test_cancel_interrupts_a_download(tmp_path):
    async def tell(hub, running):
        bundle, downloads = hub.bundle(packed(x=os.urandom(100_000)))
        hub.break_downloads = 1_000_000
        attempt_id = hub.offer(running.node, "/bin/true", bundle=bundle, downloads=downloads)
        await hub.until(lambda: len(hub.ranges) >= 2)
        hub.stop(running.node, attempt_id)
        await hub.until(lambda: attempt_id in hub.receipts)
        assert hub.receipts[attempt_id].reason is EndReason.CANCELED
        assert hub.receipts[attempt_id].exit_code is None
        await hub.until(lambda: not running.job_folders)

    story(tmp_path, tell)


def test_two_attempts_that_want_the_same_bundle_download_it_once(tmp_path):
    async def tell(hub, running):
        bundle, downloads = hub.bundle(packed(x=os.urandom(50_000)))
        ids = [hub.offer(running.node, "/bin/true", bundle=bundle, downloads=downloads) for _ in range(5)]
        await hub.until(lambda: all(attempt_id in hub.receipts for attempt_id in ids))
        assert len(hub.ranges) == 1

    story(tmp_path, tell)


class SlowTransfer:
    """Sends half, waits until it may go on, sends the rest; notes who was under way at the same time."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.go_on = asyncio.Event()
        self.begun = self.under_way = self.most_at_once = 0

    async def download(self, url, *, offset, sink):
        self.begun += 1
        self.under_way += 1
        self.most_at_once = max(self.most_at_once, self.under_way)
        half = len(self.data) // 2
        try:
            sink.begin(0)
            sink.write(self.data[:half])
            await self.go_on.wait()
            sink.write(self.data[half:])
        finally:
            self.under_way -= 1

    async def upload(self, url, file, *, offset, size_bytes, headers):
        raise AssertionError("nothing is uploaded here")


def test_canceled_download_lets_the_next_one_begin_but_never_two(tmp_path):
    async def run():
        data = os.urandom(10_000)
        digest = hashlib.sha256(data).hexdigest()
        transfer = SlowTransfer(data)
        cache = InputCache(tmp_path, transfer, offload_to_threads)
        bundle = BundleRef(digest=f"sha256:{digest}", size_bytes=len(data))

        async def begin():
            task = asyncio.ensure_future(cache.get(bundle, ("/files/x",)))
            for _ in range(5):
                await asyncio.sleep(0)
            return task

        first = await begin()
        await async_eventually(lambda: transfer.begun == 1, "the first download begins")
        second = await begin()
        first.cancel()
        # In the very moment in which the first lets go, before the second was woken.
        first.add_done_callback(lambda _: late.append(asyncio.ensure_future(cache.get(bundle, ("/files/x",)))))
        late: list[asyncio.Task[Path]] = []
        await asyncio.gather(first, return_exceptions=True)
        await async_eventually(lambda: transfer.begun == 2, "another download begins")
        await asyncio.sleep(0.01)
        transfer.go_on.set()
        paths = await asyncio.gather(second, *late)
        assert first.cancelled()
        assert len(late) == 1
        assert (transfer.begun, transfer.most_at_once) == (2, 1)
        assert {path.read_bytes() for path in paths} == {data}
        assert [path.name for path in tmp_path.iterdir()] == [digest]

    asyncio.run(run())
