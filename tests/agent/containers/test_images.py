"""Images come by digest, once, with words about it; what is wrong is told, and whose doing it is."""

import asyncio
import contextlib
import gzip
import io
import json
import os
import subprocess
import tarfile
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from support.containers import ContainerBench
from support.fake_registry import CONFIG, LAYER, digest_of, make_layer
from support.images import puller_of

from computepool.agent.clock import SystemClock
from computepool.agent.images import ImageMissing, ImageUnavailable, RegistryUnreachable
from computepool.agent.registry.archive import ImageArchive
from computepool.agent.registry.layers import CheckedLayer
from computepool.agent.sandbox.containers import Engine, EngineImages
from computepool.agent.sandbox.containers.images import engine_name, load_images
from computepool.agent.service.pulled import remove_pulled_images

BUSYBOX = Path("/bin/busybox")


@pytest.fixture
def unique() -> bytes:
    """Makes an image another one in every test."""
    return os.urandom(16)


def store_of(bench: ContainerBench, tmp_path: Path) -> EngineImages:
    return EngineImages(bench.engine(), bench.facts, state=tmp_path / "images.json", clock=SystemClock())


def with_store(bench: ContainerBench, tmp_path: Path, story: Callable):
    async def run():
        return await story(store_of(bench, tmp_path))

    return asyncio.run(run())


def ensure(
    bench: ContainerBench, tmp_path: Path, name: str, digest: str | None = None, **more
) -> tuple[str, list[str]]:
    """As for a job of the owner: the registry is on this machine."""
    lines: list[str] = []

    async def story(store: EngineImages) -> str:
        return await puller_of(store, tmp_path, **more).ensure(name, digest, lines.append, own=True)

    return with_store(bench, tmp_path, story), lines


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
    with pytest.raises(ImageMissing, match="not an image name"):
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
    with pytest.raises(RegistryUnreachable, match="cannot be reached"):
        ensure(docker, tmp_path, "127.0.0.1:9/nobody/listens:1")


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


def test_image_that_does_not_fit_is_not_begun(registry, tmp_path, bench, unique):
    docker = bench("docker")
    registry.add("large", "1", {"big": unique + os.urandom(4_000_000)})
    name = registry.name("large", "1")
    with pytest.raises(ImageUnavailable, match=r"the node has 6 MB of disk left, about 12 MB are needed, and 5 MB are"):
        ensure(docker, tmp_path, name, free_bytes=lambda: 6_000_000, floor_bytes=5_000_000)
    assert registry.layers_asked() == 0
    # The control: with room it comes.
    ensure(docker, tmp_path, name, free_bytes=lambda: 10**12, floor_bytes=5_000_000)


def test_only_what_jobs_brought_is_listed_and_removed(shared_kernel, registry, tmp_path, unique):
    """Of an image that the owner has too, only our name is removed."""
    both = registry.add("both", "1", {"file": unique + b"owner"})
    ours = registry.add("ours", "1", {"file": unique})

    async def story() -> None:
        engine = shared_kernel.engine()
        store = store_of(shared_kernel, tmp_path)
        puller = puller_of(store, tmp_path)
        for repository in ("both", "ours", "both"):
            await puller.ensure(registry.name(repository, "1"), None, print, own=True)
        await engine.tag_image(engine_name(both), "localhost/owners", "1")
        again = store_of(shared_kernel, tmp_path)  # after a restart
        listed = await again.list()
        assert [image.digest for image in listed] == [ours, both]
        assert all(image.size_bytes > 0 for image in listed)
        assert not await again.remove("localhost/owners:1")
        assert await again.remove(engine_name(ours))
        assert await again.remove(engine_name(both))
        assert await engine.find_image("localhost/owners:1")
        assert not await engine.find_image(engine_name(ours))
        assert await again.list() == []

    asyncio.run(story())


def test_damaged_notes_make_nobody_elses_image_ours(shared_kernel, registry, tmp_path, unique):
    digest = registry.add("notes", "1", {"file": unique})
    ensure(shared_kernel, tmp_path, registry.name("notes", "1"))
    (tmp_path / "images.json").write_text('{"images": [{')
    assert not with_store(shared_kernel, tmp_path, lambda store: store.remove(engine_name(digest)))


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


def test_uninstalling_removes_what_jobs_brought_and_nothing_of_the_owners(shared_kernel, registry, tmp_path, unique):
    both = registry.add("kept", "1", {"file": unique + b"owner"})
    ours = registry.add("brought", "1", {"file": unique})
    state = tmp_path / "images-any.json"

    async def before() -> None:
        engine = shared_kernel.engine()
        puller = puller_of(EngineImages(engine, shared_kernel.facts, state=state, clock=SystemClock()), tmp_path)
        for repository in ("kept", "brought"):
            await puller.ensure(registry.name(repository, "1"), None, print, own=True)
        await engine.tag_image(engine_name(both), "localhost/kept", "1")

    async def left() -> list[bool]:
        engine = shared_kernel.engine()
        names = ("localhost/kept:1", engine_name(both), engine_name(ours))
        return [await engine.find_image(name) is not None for name in names]

    asyncio.run(before())
    assert asyncio.run(left()) == [True, True, True]
    told: list[str] = []
    remove_pulled_images(tmp_path, told.append, sockets=())
    assert asyncio.run(left()) == [True, False, False]
    assert told == [
        f"removed the images {registry.name('brought', '1')}, {registry.name('kept', '1')}, which jobs had brought"
    ]


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


# ── what an engine must not be left alone with ───────────────────────────────────────────────────────────────────────


def put_image(registry, repository: str, layers: list[tuple[bytes, str]], config: bytes) -> str:
    """An image of these layers (content and media type), whatever its configuration says."""
    entries = [registry._keep(content, kind) for content, kind in layers]
    described = registry._keep(config, CONFIG)
    return registry.put_manifest(repository, "1", {"schemaVersion": 2, "config": described, "layers": entries})


def config_of(*diff_ids: str) -> bytes:
    rootfs = {"type": "layers", "diff_ids": list(diff_ids)}
    return json.dumps({"architecture": "amd64", "os": "linux", "config": {}, "rootfs": rootfs}).encode()


def tar_of(name: str, link: str = "") -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as tar:
        entry = tarfile.TarInfo(name)
        entry.type, entry.linkname = (tarfile.SYMTYPE, link) if link else (tarfile.REGTYPE, "")
        tar.addfile(entry)
    return content.getvalue()


async def owners_layer(engine: Engine, secret: bytes) -> str:
    """The owner has made an image that nobody else has; the digest of its only layer."""
    root = gzip.decompress(make_layer({"secret": secret})[0])
    image = await engine.import_image(root, labels={"owners": "yes"})
    found = await engine.find_image(image)
    assert found is not None
    return str(found["RootFS"]["Layers"][0])


async def shows_secret(engine: Engine, image: str) -> bool:
    container = await engine.create(f"look-{os.urandom(4).hex()}", {"Image": image, "Cmd": ["x"]})
    try:
        return await engine.has_file(container, "/secret")
    finally:
        await engine.remove(container)


def test_who_knows_the_digest_of_an_owners_layer_does_not_get_it(shared_kernel, registry, tmp_path, unique):
    """Engines take a layer that they have instead of the one in the archive. The second configuration has two readings:
    the agent's is harmless, the engine's is not."""
    other, digest_of_other = make_layer({"file": unique})

    async def story() -> None:
        engine = shared_kernel.engine()
        layer = await owners_layer(engine, unique)
        store = store_of(shared_kernel, tmp_path)
        puller = puller_of(store, tmp_path)
        put_image(registry, "thief", [(other, LAYER)], config_of(layer))
        with pytest.raises(ImageMissing, match="its configuration says"):
            await puller.ensure(registry.name("thief", "1"), None, print, own=True)
        twice = (
            config_of(digest_of_other)[:-1]
            + b', "RootFS": '
            + json.dumps({"type": "layers", "diff_ids": [layer]}).encode()
            + b"}"
        )
        digest = put_image(registry, "thief", [(other, LAYER)], twice)
        with pytest.raises(ImageMissing, match=r"other layers|does not take it"):
            await puller.ensure(registry.name("thief", "1"), None, print, own=True)
        assert not await engine.find_image(engine_name(digest))
        assert await store.list() == []
        # The control: this is what an engine does that is left alone with it.
        path = tmp_path / "other"
        path.write_bytes(other)
        forged = CheckedLayer(path, len(other), layer, 0, unpack=False)
        archive = ImageArchive(engine_name(digest), config_of(layer), digest_of(config_of(layer)), [forged])

        async def pieces() -> AsyncIterator[bytes]:
            for piece in archive.pieces():
                yield piece

        await store.load(pieces(), digest, [layer], "thief:1", "nowhere")
        assert await shows_secret(engine, engine_name(digest))

    asyncio.run(story())


def test_layers_of_every_kind_are_taken(shared_kernel, registry, tmp_path, unique):
    packed, digest = make_layer({"secret": unique})
    plain = gzip.decompress(packed)
    squeezed = subprocess.run(["zstd", "-q"], input=plain, capture_output=True, check=False).stdout
    kinds = [(packed, "tar+gzip"), (plain, "tar"), *([(squeezed, "tar+zstd")] if squeezed else [])]
    layers = [(content, f"application/vnd.oci.image.layer.v1.{kind}") for content, kind in kinds]

    async def story() -> None:
        engine = shared_kernel.engine()
        puller = puller_of(store_of(shared_kernel, tmp_path), tmp_path)
        for number, chosen in enumerate([*([layer] for layer in layers), layers + layers]):
            pushed = put_image(registry, f"kind-{number}", chosen, config_of(*[digest] * len(chosen)) + b" " * number)
            assert await puller.ensure(registry.name(f"kind-{number}", "1"), None, print, own=True) == pushed
            assert await shows_secret(engine, engine_name(pushed))

    asyncio.run(story())


@pytest.mark.parametrize(
    "content",
    [b"no tar at all" * 1000, b"", tar_of("a" * 3000), tar_of("x", link="/etc") * 3, bytes(512) + b"x"],
    ids=["text", "empty", "long name", "twice", "zeros"],
)
def test_layer_that_an_engine_cannot_unpack_is_never_the_hosts_doing(shared_kernel, registry, tmp_path, content):
    """It is taken, or it is the renter's to mend."""
    put_image(registry, "odd", [(gzip.compress(content, mtime=0), LAYER)], config_of(digest_of(content)))
    with contextlib.suppress(ImageMissing):
        ensure(shared_kernel, tmp_path, registry.name("odd", "1"))


def test_images_of_agents_before_are_removed_but_never_used(tmp_path):
    """Those had engines pull, under the names of registries."""
    old = {
        "digest": f"sha256:{'0' * 64}", "name": "team/model:1", "reference": f"team/model@sha256:{'0' * 64}",
        "size_bytes": 1, "last_used_at": "2026-01-02T03:04:05+00:00", "is_ours": True,
    }  # fmt: skip
    owners = {**old, "reference": "team/owners:1", "is_ours": False}
    (tmp_path / "images.json").write_text(json.dumps({"images": [old, owners]}))
    (image,) = load_images(tmp_path / "images.json").values()
    assert (image.reference, image.registries) == (old["reference"], ())
