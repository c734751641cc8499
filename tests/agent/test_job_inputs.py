"""Files that a job is given by digest: copies where they belong, from the cache if they are there, resumed if not."""

import asyncio
import hashlib
import io
import os
import shutil
import tarfile

import pytest
from support.agents import running_agent
from support.fake_hub import MEGABYTE, FakeHub

from computepool.agent.inputs import InputCache, InputFailed
from computepool.agent.partial import Partial
from computepool.agent.placing import InTheWay, place_input, place_links
from computepool.agent.ports import TransferFailed, offload_to_threads
from computepool.agent.sandbox import BubblewrapSandbox
from computepool.protocol.manifest import BundleRef, Grant, InputRef
from computepool.protocol.receipt import EndReason


def packed(**files: bytes) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, data in files.items():
            entry = tarfile.TarInfo(name.replace("__", "/"))
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()


class Scene:
    def __init__(self, hub, running):
        self.hub, self.running = hub, running

    def offer(self, *argv, files, bundle=None, parts=1, **changes):
        """A job with these files, by path."""
        inputs: list[InputRef] = []
        downloads: dict[str, tuple[str, ...]] = {}
        for path, data in files.items():
            ref, places = self.hub.bundle(data, parts=parts)
            inputs.append(InputRef(path=path, digest=ref.digest, size_bytes=ref.size_bytes))
            downloads |= places if data else {ref.digest: ()}
        if bundle is not None:
            changes["bundle"], places = self.hub.bundle(bundle)
            downloads |= places
        return self.hub.offer(self.running.node, *argv, inputs=tuple(inputs), downloads=downloads, **changes)

    async def job(self, *argv, **changes):
        """(receipt, log) of a job that was run to its end."""
        attempt_id = self.offer(*argv, **changes)
        await self.hub.until(lambda: attempt_id in self.hub.receipts)
        return self.hub.receipts[attempt_id], bytes(self.hub.logs[attempt_id])


def story(tmp_path, tell, **options):
    async def run():
        async with FakeHub() as hub, running_agent(hub, tmp_path, **options) as running:
            await tell(Scene(hub, running))

    asyncio.run(run())


def test_inputs_lie_at_their_paths_beside_the_bundle_and_are_fetched_once(tmp_path):
    async def tell(scene):
        files = {"data/train.csv": b"train\n", "data/more/test.csv": b"test\n", "same.csv": b"train\n", "empty": b""}
        command = ("/bin/sh", "-c", "cat main data/train.csv data/more/test.csv same.csv; wc -c < empty")
        receipt, log = await scene.job(*command, files=files, bundle=packed(main=b"main\n", data__own=b""))
        assert (receipt.exit_code, log) == (0, b"main\ntrain\ntest\ntrain\n0\n")
        assert len(scene.hub.ranges) == 3
        again, log = await scene.job("/bin/cat", "data/train.csv", files=files)
        assert (again.exit_code, log) == (0, b"train\n")
        assert len(scene.hub.ranges) == 3

    story(tmp_path, tell)


def test_job_that_changes_its_input_changes_only_its_own_copy(tmp_path):
    async def tell(scene):
        command = ("/bin/sh", "-c", "cat a; echo spoilt > a; chmod 777 a")
        for _ in range(2):
            receipt, log = await scene.job(*command, files={"a": b"clean\n"})
            assert (receipt.exit_code, log) == (0, b"clean\n")

    story(tmp_path, tell)


@pytest.mark.engine("bwrap")
def test_inputs_are_there_and_may_be_written_in_bubblewrap(tmp_path):
    async def run():
        sandbox = BubblewrapSandbox(tmp_path / "state", bwrap=shutil.which("bwrap") or "bwrap")
        try:
            async with FakeHub() as hub, running_agent(hub, tmp_path, sandboxes=[sandbox]) as running:
                command = ("/bin/sh", "-c", "cat data/a && echo more >> data/a && touch data/b && cat data/a")
                receipt, log = await Scene(hub, running).job(*command, files={"data/a": b"input\n"})
                assert (receipt.exit_code, log) == (0, b"input\ninput\nmore\n")
        finally:
            await sandbox.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("bundle", "path", "words"),
    [
        ({"a": b"x"}, "a", "the bundle has a too"),
        ({"a__b": b"x"}, "a", "the bundle has a too"),
        ({"a": b"x"}, "a/b", "the bundle has a, where the input a/b needs a folder"),
    ],
)
def test_bundle_that_is_in_an_inputs_way_is_the_renters_to_mend(tmp_path, bundle, path, words):
    async def tell(scene):
        receipt, _ = await scene.job("/bin/true", files={path: b"input"}, bundle=packed(**bundle))
        assert (receipt.reason, receipt.exit_code) == (EndReason.BAD_INPUT, None)
        assert words in receipt.detail

    story(tmp_path, tell)


@pytest.mark.parametrize("path", ["../escaped", "/escaped", "a/../../escaped", ""])
def test_path_that_leaves_the_folder_is_refused_even_in_a_signed_order(tmp_path, path):
    async def tell(scene):
        receipt, _ = await scene.job("/bin/true", files={path: b"input"})
        assert receipt.reason is EndReason.BAD_INPUT
        assert not list(tmp_path.rglob("escaped"))

    story(tmp_path, tell)


def test_link_of_the_bundle_is_never_written_through(tmp_path):
    work, elsewhere, content = tmp_path / "work", tmp_path / "elsewhere", tmp_path / "content"
    work.mkdir()
    elsewhere.mkdir()
    content.write_bytes(b"input")
    (work / "folder").symlink_to(elsewhere)
    (work / "file").symlink_to(elsewhere / "file")
    for path in ("folder/x", "file"):
        with pytest.raises(InTheWay):
            place_input(work, [path], content)
    assert list(elsewhere.iterdir()) == []


def test_links_in_the_home_folder_are_made_and_what_they_lead_to(tmp_path):
    work = tmp_path / "work"
    work.mkdir()
    (work / "kept.json").write_text("{}")
    place_links(tmp_path, work, {"/data": "a/b", "~/sky": ".", "~/.config/x.json": "kept.json"})
    assert (work / "a" / "b").is_dir()
    assert (tmp_path / "sky" / "kept.json").read_text() == "{}"
    assert (tmp_path / ".config" / "x.json").read_text() == "{}"


@pytest.mark.parametrize(
    "links",
    [{"~/work": "."}, {"~/../x": "."}, {"/data": "../x"}, {"/data": "link/x"}, {"/data": "link"}, {"~/link/x": "a"}],
)
def test_links_never_leave_the_jobs_folder(tmp_path, links):
    elsewhere, folder = tmp_path / "elsewhere", tmp_path / "job"
    elsewhere.mkdir()
    (folder / "work").mkdir(parents=True)
    for place in (folder, folder / "work"):
        (place / "link").symlink_to(elsewhere)
    with pytest.raises(InTheWay):
        place_links(folder, folder / "work", links)
    assert list(elsewhere.iterdir()) == []


def test_inputs_larger_than_the_jobs_disk_are_the_renters_doing(tmp_path):
    async def tell(scene):
        grant = Grant(cpus=0.1, memory_bytes=64 * MEGABYTE, disk_bytes=2 * MEGABYTE)
        files = {"a": os.urandom(MEGABYTE), "b": os.urandom(MEGABYTE)}
        assert (await scene.job("/bin/true", files=files, grant=grant))[0].exit_code == 0
        receipt, _ = await scene.job("/bin/true", files=files, grant=grant, bundle=packed(c=b"one byte more"))
        assert receipt.reason is EndReason.BAD_INPUT
        assert "resources.disk" in receipt.detail

    story(tmp_path, tell)


# ── resumed ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_download_goes_on_after_the_agent_was_killed(tmp_path):
    async def run():
        data = os.urandom(400_000)
        async with FakeHub() as hub:
            async with running_agent(hub, tmp_path) as running:
                # Two parts came whole, the third only in part: then the machine is gone.
                hub.break_downloads = 0
                attempt_id = Scene(hub, running).offer("/bin/true", files={"data": data}, parts=4)
                cut = hub.downloads[f"{hashlib.sha256(data).hexdigest()}.2"]
                hub.cut_off[cut] = len(cut) // 2
                await hub.until(lambda: len(hub.ranges) == 3)
                await hub.until(lambda: partial_size(running.home.cache) == 250_000)
                await running.die()
            assert attempt_id not in hub.receipts
            hub.cut_off.clear()
            before = len(hub.ranges)
            async with running_agent(hub, tmp_path) as running:
                receipt, log = await Scene(hub, running).job(
                    "/usr/bin/sha256sum", "data", files={"data": data}, parts=4
                )
                assert (receipt.exit_code, log.split()[0]) == (0, hashlib.sha256(data).hexdigest().encode())
                assert hub.ranges[before:] == ["bytes=50000-", ""]
                assert [path.name for path in running.home.cache.iterdir()] == [hashlib.sha256(data).hexdigest()]

    asyncio.run(run())


def partial_size(folder):
    return sum(path.stat().st_size for path in folder.glob("*.part"))


class Line:
    """Serves one content in one part; breaks off where it is told to."""

    def __init__(self, data: bytes, *breaks: int, ranges: bool = True) -> None:
        self.data, self.breaks, self.ranges = data, list(breaks), ranges
        self.asked: list[int] = []

    async def download(self, url, *, offset, sink):
        self.asked.append(offset)
        start = offset if self.ranges else 0
        sink.begin(start)
        end = self.breaks.pop(0) if self.breaks else None
        sink.write(self.data[start:end])
        if end is not None:
            raise TransferFailed("cut", retry=False)

    async def upload(self, *_, **__):
        raise AssertionError("nothing is uploaded here")


def fetch(folder, line, *, digest=None, times=1):
    """The file, after so many tries of agents that know nothing of each other."""
    ref = BundleRef(digest=digest or f"sha256:{hashlib.sha256(line.data).hexdigest()}", size_bytes=len(line.data))

    async def run():
        cache = InputCache(folder, line, offload_to_threads)
        cache.clear_strays()
        return await cache.get(ref, ("/x",))

    for left in reversed(range(times)):
        try:
            return asyncio.run(run())
        except InputFailed:
            if not left:
                raise
    return None


def test_each_try_goes_on_where_the_last_one_broke_off(tmp_path):
    line = Line(os.urandom(5000), 100, 2000, 4999)
    assert fetch(tmp_path, line, times=4).read_bytes() == line.data
    assert line.asked == [0, 100, 2000, 4999]


def test_server_without_ranges_makes_it_begin_again(tmp_path):
    line = Line(os.urandom(5000), 3000, ranges=False)
    assert fetch(tmp_path, line, times=2).read_bytes() == line.data
    assert line.asked == [0, 3000]


def test_what_an_earlier_try_left_spoilt_is_fetched_anew(tmp_path):
    line = Line(os.urandom(5000), 3000)
    with pytest.raises(InputFailed):
        fetch(tmp_path, line)
    (left,) = tmp_path.glob("*.part")
    left.write_bytes(bytes(3000))  # as after a power cut
    assert fetch(tmp_path, line).read_bytes() == line.data
    assert line.asked == [0, 3000, 0]


@pytest.mark.parametrize("name", ["{}.0-9000.part", "{}.7-10.part", "{}.0-0.part"])
def test_nothing_that_lies_there_can_spoil_a_download(tmp_path, name):
    line = Line(os.urandom(5000))
    (tmp_path / name.format(hashlib.sha256(line.data).hexdigest())).write_bytes(os.urandom(20))
    assert fetch(tmp_path, line).read_bytes() == line.data
    assert len(list(tmp_path.iterdir())) == 1


def test_wrong_content_is_fetched_once_and_nothing_of_it_stays(tmp_path):
    line = Line(os.urandom(5000))
    with pytest.raises(InputFailed, match="not sha256:0000"):
        fetch(tmp_path, line, digest="sha256:" + "0" * 64)
    assert line.asked == [0]
    assert list(tmp_path.iterdir()) == []


def test_strays_of_older_agents_are_cleared_and_halves_are_kept(tmp_path):
    digest = "ab" * 32
    for name in (f"{digest}.0.part", "x.part", f"{digest}.3-96.part", digest):
        (tmp_path / name).write_bytes(b"x")
    InputCache(tmp_path, Line(b""), offload_to_threads).clear_strays()
    assert {path.name for path in tmp_path.iterdir()} == {digest, f"{digest}.3-96.part"}


def test_halves_count_in_the_budget_and_go_like_all_else(tmp_path):
    digest = "ab" * 32
    (tmp_path / f"{digest}.0-0.part").write_bytes(bytes(70))

    async def run():
        cache = InputCache(tmp_path, Line(b""), offload_to_threads)
        (kept,) = await cache.kept()
        assert (kept.name, kept.size_bytes) == ("", 70)
        assert await kept.remove()
        assert list(tmp_path.iterdir()) == []

    asyncio.run(run())


def test_partial_knows_its_place_from_its_name_alone(tmp_path):
    digest = "cd" * 32
    partial = Partial(tmp_path, digest, 100, lambda _: None)
    partial.begin(0)
    partial.write(b"first")
    partial.end_part()
    partial.write(b"sec")
    partial.close()
    assert [path.name for path in tmp_path.iterdir()] == [f"{digest}.1-5.part"]
    again = Partial(tmp_path, digest, 100, lambda _: None)
    again.take_up()
    assert (again.part, again.part_bytes, again.size_bytes) == (1, 3, 8)
    again.begin(0)  # this server knows no ranges
    again.write(b"second")
    assert again.digest == "sha256:" + hashlib.sha256(b"firstsecond").hexdigest()
    again.drop()
