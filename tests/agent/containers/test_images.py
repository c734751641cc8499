"""Images come by digest, once, with words about it; what is wrong is told, and whose doing it is."""

import asyncio
import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from support.containers import ContainerBench
from support.fake_registry import digest_of

from computepool.agent.clock import SystemClock
from computepool.agent.images import ImageMissing, ImageUnavailable, RegistryUnreachable
from computepool.agent.sandbox.containers import Engine, EngineImages
from computepool.agent.sandbox.containers.pull import PROGRESS_SECONDS, Pull, read_name
from computepool.agent.service.pulled import remove_pulled_images

BUSYBOX = Path("/bin/busybox")


@pytest.fixture
def unique() -> bytes:
    """Makes an image another one in every test."""
    return os.urandom(16)


def store_of(bench: ContainerBench, tmp_path: Path, **more) -> EngineImages:
    return EngineImages(
        bench.engine(), bench.facts, state=tmp_path / "images.json", clock=SystemClock(), pause_seconds=0.05, **more
    )


def with_store(bench: ContainerBench, tmp_path: Path, story: Callable, **more):
    async def run():
        return await story(store_of(bench, tmp_path, **more))

    return asyncio.run(run())


def ensure(
    bench: ContainerBench, tmp_path: Path, name: str, digest: str | None = None, **more
) -> tuple[str, list[str]]:
    lines: list[str] = []
    return with_store(bench, tmp_path, lambda store: store.ensure(name, digest, lines.append), **more), lines


def test_tag_is_resolved_to_its_digest_and_pulled_once(shared_kernel, registry, tmp_path, unique):
    digest = registry.add("tagged", "1", {"file": unique})
    name = registry.name("tagged", "1")
    assert ensure(shared_kernel, tmp_path, name)[0] == digest
    assert registry.layers_asked() > 0
    registry.asked.clear()
    assert ensure(shared_kernel, tmp_path, name)[0] == digest
    assert ensure(shared_kernel, tmp_path, name, digest)[0] == digest
    assert registry.layers_asked() == 0
    moved = registry.add("tagged", "1", {"file": unique + b"moved"})
    assert ensure(shared_kernel, tmp_path, name)[0] == moved
    assert ensure(shared_kernel, tmp_path, name, digest)[0] == digest


def test_pinned_image_is_exactly_that(shared_kernel, registry, tmp_path, unique):
    old = registry.add("pinned", "1", {"file": unique})
    registry.add("pinned", "1", {"file": unique + b"newer"})
    assert ensure(shared_kernel, tmp_path, f"{registry.address}/pinned@{old}")[0] == old


def test_missing_image_is_the_renters_to_mend(shared_kernel, registry, tmp_path, unique):
    registry.add("there", "1", {"file": unique})
    for name in ("nothing:1", "there:2", "there@sha256:" + "0" * 64):
        with pytest.raises(ImageMissing, match="check its name"):
            ensure(shared_kernel, tmp_path, f"{registry.address}/{name}")
    with pytest.raises(ImageMissing, match="no name of an image"):
        ensure(shared_kernel, tmp_path, "not a name")


def test_content_that_is_not_what_its_digest_says_is_refused(shared_kernel, registry, tmp_path, unique):
    registry.add("honest", "1", {"file": unique})
    lie = digest_of(unique)
    registry.manifests["honest", lie] = registry.manifests["honest", "1"]
    with pytest.raises(ImageMissing):
        ensure(shared_kernel, tmp_path, registry.name("honest", "1"), lie)


def test_registry_in_trouble_is_nobodys_doing_here(bench, registry, tmp_path, unique):
    docker = bench("docker")
    registry.add("trouble", "1", {"file": unique})
    registry.out_of_order = 503
    with pytest.raises(RegistryUnreachable, match="503"):
        ensure(docker, tmp_path, registry.name("trouble", "1"))
    with pytest.raises(RegistryUnreachable, match="refused"):
        ensure(docker, tmp_path, "127.0.0.1:9/nobody/listens:1")


# As podman says it.
PODMANS_WORDS = {
    "initializing source docker://a/b:1: reading manifest 1 in a/b: manifest unknown": ImageMissing,
    "initializing source docker://a/b:1: pinging container registry a: Get x: connect: connection refused": (
        RegistryUnreachable
    ),
    "pinging container registry a: invalid status code from registry 503 (Service Unavailable)": RegistryUnreachable,
    "writing blob: storing blob to file: write /var/tmp/x: no space left on device": ImageUnavailable,
    "failed to register layer: exit status 1: operation not permitted": ImageUnavailable,
    "toomanyrequests: You have reached your pull rate limit": RegistryUnreachable,
    "reading manifest latest in docker.io/x/y: requested access to the resource is denied": ImageMissing,
    "something that nobody has ever said": RegistryUnreachable,
}


def test_engines_words_are_told_apart():
    pull = Pull(Engine(Path("/nowhere")), read_name("a/b:1", None), print, lambda: None, 0)
    assert {words: type(pull.trouble(words)) for words in PODMANS_WORDS} == PODMANS_WORDS


def test_tag_that_cannot_be_asked_for_now_means_what_it_meant_last(shared_kernel, registry, tmp_path, unique):
    digest = registry.add("outage", "1", {"file": unique})
    ensure(shared_kernel, tmp_path, registry.name("outage", "1"))
    registry.out_of_order = 503
    found, lines = ensure(shared_kernel, tmp_path, registry.name("outage", "1"))
    assert found == digest
    assert "pulled last" in lines[-1]


@pytest.mark.slow
def test_pull_that_breaks_off_goes_on_and_keeps_whole_layers(shared_kernel, registry, tmp_path, unique):
    digest = registry.add("broken", "1", {"small": unique}, {"big": unique + os.urandom(3_000_000)})
    manifest = json.loads(registry.manifests["broken", "1"])
    small, big = (layer["digest"] for layer in manifest["layers"])
    registry.break_off_after[big] = 1_000_000
    found, _ = ensure(shared_kernel, tmp_path, registry.name("broken", "1"))
    assert found == digest
    assert registry.asked[f"blobs {big}"] >= 2
    assert registry.asked[f"blobs {small}"] == 1


def test_slow_pull_tells_how_far_it_is(registry, tmp_path, bench, unique):
    """Podman does not tell it to whom asks in Docker's words; the line at the beginning is all there is."""
    docker = bench("docker")
    registry.add("slow", "1", {"big": unique + os.urandom(4_000_000)})
    registry.bytes_per_second = 1_500_000
    began = time.monotonic()
    _, lines = ensure(docker, tmp_path, registry.name("slow", "1"))
    elapsed = time.monotonic() - began
    assert lines[0].startswith(f"pulling {registry.address}/slow")
    assert any(line.endswith(" of 4 MB") for line in lines), lines
    assert len(lines) <= 3 + elapsed / PROGRESS_SECONDS


def test_full_disk_is_told_before_and_in_the_middle_of_a_pull(registry, tmp_path, bench, unique):
    docker = bench("docker")
    registry.add("large", "1", {"big": unique + os.urandom(4_000_000)})
    name = registry.name("large", "1")
    with pytest.raises(ImageUnavailable, match=r"no room for .*: the node has 1 MB of disk left; 5 MB"):
        ensure(docker, tmp_path, name, free_bytes=lambda: 1_000_000, floor_bytes=5_000_000)
    assert registry.layers_asked() == 0
    registry.bytes_per_second = 1_000_000
    with pytest.raises(ImageUnavailable, match=r"about \d+ MB more are needed"):
        ensure(docker, tmp_path, name, free_bytes=lambda: 6_000_000, floor_bytes=5_000_000)
    registry.behave()
    # The control: with room it comes.
    ensure(docker, tmp_path, name, free_bytes=lambda: 10**12, floor_bytes=5_000_000)


def test_only_what_was_pulled_for_a_job_is_listed_and_removed(shared_kernel, registry, tmp_path, unique):
    owners = registry.add("owners", "1", {"file": unique + b"owner"})
    ours = registry.add("ours", "1", {"file": unique})

    async def story() -> None:
        engine = shared_kernel.engine()
        query = {"fromImage": f"{registry.address}/owners", "tag": "1"}
        await engine.ask("POST", "/images/create", query=query)
        store = store_of(shared_kernel, tmp_path)
        await store.ensure(registry.name("owners", "1"), None, print)
        await store.ensure(registry.name("ours", "1"), None, print)
        await store.ensure(registry.name("owners", "1"), owners, print)
        again = store_of(shared_kernel, tmp_path)  # after a restart
        listed = await again.list()
        assert [image.digest for image in listed] == [ours, owners]
        assert [image.is_ours for image in listed] == [True, False]
        assert all(image.size_bytes > 0 for image in listed)
        assert not await again.remove(owners)
        assert await again.remove(ours)
        assert await engine.find_image(f"{registry.address}/owners:1")
        assert not await engine.find_image(f"{registry.address}/ours@{ours}")
        assert [image.digest for image in await again.list()] == [owners]

    asyncio.run(story())


def test_damaged_notes_make_nobody_elses_image_ours(shared_kernel, registry, tmp_path, unique):
    digest = registry.add("notes", "1", {"file": unique})
    ensure(shared_kernel, tmp_path, registry.name("notes", "1"))
    (tmp_path / "images.json").write_text('{"images": [{')
    assert not with_store(shared_kernel, tmp_path, lambda store: store.remove(digest))
    ensure(shared_kernel, tmp_path, registry.name("notes", "1"), digest)
    assert not with_store(shared_kernel, tmp_path, lambda store: store.remove(digest))


@pytest.mark.engine("busybox")
def test_job_runs_in_its_image_by_digest(every, registry, tmp_path, unique):
    program = BUSYBOX.read_bytes()
    files = {"bin/sh": program, "bin/busybox": program, "own/file": b"of the image", "unique": unique}
    config = {
        "Env": ["PATH=/own:/bin", "FROM_IMAGE=yes", "NVIDIA_VISIBLE_DEVICES=all"],
        "Entrypoint": ["/bin/false"],
        "Cmd": ["wrong"],
        "User": "0",
        "Volumes": {"/data": {}},
    }
    registry.add("runs", every.sandbox.level, files, **config)
    digest, _ = ensure(every, tmp_path, registry.name("runs", every.sandbox.level))
    script = (
        "busybox cat /own/file; echo; echo $PATH $FROM_IMAGE $JOB $HOME $NVIDIA_VISIBLE_DEVICES; busybox id -u;"
        "busybox test -e /usr && echo usr; echo kept > out;"
        "for p in / /own /data; do echo > $p/x && echo wrote $p; done;"
        "busybox grep -c '/data tmpfs' /proc/mounts"
    )
    folder = every.folder()
    ended, output = every.run(
        "sh", "-c", f"exec 2>/dev/null; {script}; exit 5", image=digest, env={"JOB": "j"}, folder=folder
    )
    lines = output.splitlines()
    assert lines[:2] == ["of the image", "/own:/bin yes j /job void"], output
    assert int(lines[2]) == folder.stat().st_uid != 0
    # A volume that the image asks for is in memory: on the owner's disk it would have no bound.
    assert lines[3:] == ["wrote /data", "1"], output
    assert ended.code == 5
    assert (folder / "work" / "out").read_text() == "kept\n"
    ended, _ = every.run("no-such-program", image=digest)
    assert (ended.reason, ended.detail) == ("not_runnable", "command not found: no-such-program"), ended
    assert every.run("sh", "-c", "exit 127", image=digest)[0].reason == "exited"


def test_names_are_read_as_engines_read_them():
    read = read_name("localhost:5000/team/model:1.2", None)
    assert (read.repository, read.tag, read.reference) == (
        "localhost:5000/team/model",
        "1.2",
        "localhost:5000/team/model:1.2",
    )
    assert read_name("python", None).reference == "python:latest"
    pinned = "sha256:" + "a" * 64
    assert read_name(f"python@{pinned}", None).reference == f"python@{pinned}"
    assert read_name("python:3.12", pinned).reference == f"python@{pinned}"
    for wrong, digest in [(f"python@{pinned}", "sha256:" + "b" * 64), ("python@sha256:12", None), ("a b", None)]:
        with pytest.raises(ImageMissing):
            read_name(wrong, digest)


def test_uninstalling_removes_what_jobs_brought_and_nothing_of_the_owners(shared_kernel, registry, tmp_path, unique):
    owners = registry.add("kept", "1", {"file": unique + b"owner"})
    ours = registry.add("brought", "1", {"file": unique})
    state = tmp_path / "images-any.json"

    async def before() -> None:
        engine = shared_kernel.engine()
        query = {"fromImage": f"{registry.address}/kept", "tag": "1"}
        await engine.ask("POST", "/images/create", query=query)
        store = EngineImages(engine, shared_kernel.facts, state=state, clock=SystemClock())
        await store.ensure(registry.name("kept", "1"), None, print)
        await store.ensure(registry.name("brought", "1"), None, print)

    async def left() -> list[bool]:
        engine = shared_kernel.engine()
        names = (f"{registry.address}/kept@{owners}", f"{registry.address}/brought@{ours}")
        return [await engine.find_image(name) is not None for name in names]

    asyncio.run(before())
    assert asyncio.run(left()) == [True, True]
    told: list[str] = []
    remove_pulled_images(tmp_path, told.append, sockets=())
    assert asyncio.run(left()) == [True, False]
    assert told == [f"removed the image {registry.name('brought', '1')}, which jobs had brought"]


def test_uninstalling_says_what_stays_in_an_engine_that_does_not_answer(tmp_path):
    image = {
        "digest": f"sha256:{'0' * 64}", "name": "team/model:1", "reference": "team/model:1", "size_bytes": 1,
        "last_used_at": "2026-01-02T03:04:05+00:00", "is_ours": True,
    }  # fmt: skip
    written = {
        "socket": str(tmp_path / "gone.sock"),
        "images": [image, {**image, "digest": "sha256:1", "is_ours": False}],
    }
    (tmp_path / "images-docker.json").write_text(json.dumps(written))
    (tmp_path / "images-podman.json").write_text("damaged")
    told: list[str] = []
    remove_pulled_images(tmp_path, told.append, sockets=())
    assert len(told) == 1
    assert told[0].startswith("the image team/model:1 stay")
    assert "docker image rm" in told[0]


def test_bytes_of_a_pull_are_counted_once_however_often_it_is_taken_up():
    passed: list[int] = []
    pull = Pull(Engine(Path("/nowhere")), read_name("a/b:1", None), print, lambda: None, 0, passed=passed.append)
    for line in (
        {"id": "x", "status": "Downloading", "progressDetail": {"current": 40, "total": 100}},
        {"id": "y", "status": "Already exists"},
        {"id": "x", "status": "Downloading", "progressDetail": {"current": 10, "total": 100}},
        {"id": "x", "status": "Downloading", "progressDetail": {"current": 70, "total": 100}},
        {"id": "x", "status": "Download complete"},
        {"id": "x", "status": "Pull complete"},
    ):
        pull.note(line)
    assert (sum(passed), pull.counted_bytes) == (100, 100)


def test_a_pulls_bytes_are_told(shared_kernel, registry, tmp_path, unique):
    registry.add("counted", "1", {"big": unique + os.urandom(2_000_000)})
    passed: list[int] = []
    ensure(shared_kernel, tmp_path, registry.name("counted", "1"), passed=passed.append)
    # What a small layer has in the end is not always told.
    assert 0 < sum(passed) <= 3_000_000
    before = sum(passed)
    ensure(shared_kernel, tmp_path, registry.name("counted", "1"), passed=passed.append)
    assert sum(passed) == before
