"""The same with a real registry: what it serves, how it names places and how it wants its tokens is its own."""

import gzip
import json
import os

import pytest
from support.fake_registry import digest_of, make_layer
from support.real_registry import RealRegistry, real_registry

from computepool.agent.images import ImageMissing

OCI = "application/vnd.oci.image"
DOCKER = "application/vnd.docker"
BIG = os.urandom(500_000)


@pytest.fixture(scope="module", params=["open", "tokens"])
def registry(request):
    with real_registry(with_tokens=request.param == "tokens") as registry:
        yield registry


@pytest.fixture
def ours(world, pull):
    """Pull for the owner: the registry is on this machine."""
    world.addresses["127.0.0.1"] = ["127.0.0.1"]
    return lambda name, digest=None, **more: pull(name, digest, own=True, **more)


def push_oci(registry: RealRegistry, repository: str) -> tuple[str, str, list[bytes]]:
    """A list with an image for this machine and one for another; the digests of the list and of ours, and layers."""
    packed, digest = make_layer({"file": BIG})
    plain = gzip.decompress(make_layer({"small": b"x"})[0])
    entries = []
    for architecture, layers in (("arm64", [plain]), ("amd64", [packed, plain])):
        kinds = {packed: (f"{OCI}.layer.v1.tar+gzip", digest), plain: (f"{OCI}.layer.v1.tar", digest_of(plain))}
        rootfs = {"type": "layers", "diff_ids": [kinds[layer][1] for layer in layers]}
        config = json.dumps({"architecture": architecture, "os": "linux", "rootfs": rootfs}).encode()
        manifest = {
            "schemaVersion": 2,
            "mediaType": f"{OCI}.manifest.v1+json",
            "config": registry.push_blob(repository, config, f"{OCI}.config.v1+json"),
            "layers": [registry.push_blob(repository, layer, kinds[layer][0]) for layer in layers],
        }
        platform = {"os": "linux", "architecture": architecture}
        entries.append({**registry.push_manifest(repository, manifest), "platform": platform})
    index = {"schemaVersion": 2, "mediaType": f"{OCI}.index.v1+json", "manifests": entries}
    listed = registry.push_manifest(repository, index, "1")
    return listed["digest"], entries[1]["digest"], [packed, plain]


def push_docker(registry: RealRegistry, repository: str) -> tuple[str, bytes]:
    packed, digest = make_layer({"docker": b"y"})
    config = json.dumps({"os": "linux", "rootfs": {"type": "layers", "diff_ids": [digest]}}).encode()
    manifest = {
        "schemaVersion": 2,
        "mediaType": f"{DOCKER}.distribution.manifest.v2+json",
        "config": registry.push_blob(repository, config, f"{DOCKER}.container.image.v1+json"),
        "layers": [registry.push_blob(repository, packed, f"{DOCKER}.image.rootfs.diff.tar.gzip")],
    }
    return registry.push_manifest(repository, manifest, "2")["digest"], packed


def test_images_of_both_kinds_come_by_tag_and_by_digest(registry, ours, store):
    name = f"{registry.address}/team/model"
    listed, for_us, layers = push_oci(registry, "team/model")
    pushed, packed = push_docker(registry, "team/model")
    assert ours(f"{name}:1") == ours(f"{name}@{listed}") == listed
    assert ours(f"{name}:1", for_us) == for_us
    assert ours(f"{name}:2") == pushed
    assert store.files == {listed: layers, for_us: layers, pushed: [packed]}
    if registry.tokens is not None:
        assert len(registry.tokens.asked) == 3, "one for each pull that asked anything"
        assert all("scope=repository%3Ateam%2Fmodel%3Apull" in path for path in registry.tokens.asked)


def test_download_is_taken_up_in_the_middle(registry, ours, store, tmp_path, world):
    listed, _, layers = push_oci(registry, "team/resumed")
    folder = tmp_path / "layers"
    folder.mkdir()
    ours(f"{registry.address}/team/resumed:1")
    (whole,) = [path for path in folder.iterdir() if path.name.startswith(digest_of(layers[0])[7:])]
    whole.rename(part := folder / f"{whole.name}.0-0.part")
    os.truncate(part, 200_000)
    store.given_by.clear()
    assert ours(f"{registry.address}/team/resumed:1") == listed
    assert whole.read_bytes() == layers[0]


@pytest.mark.parametrize("name", ["team/nothing:1", "team/model:9", "team/model@sha256:" + "0" * 64])
def test_image_that_is_not_there_is_the_renters_to_mend(registry, ours, name):
    with pytest.raises(ImageMissing, match=r"check its name"):
        ours(f"{registry.address}/{name}")
