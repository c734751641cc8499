"""What a registry says of an image is read with distrust: whatever is wrong is the renter's to mend."""

import json

import pytest

from computepool.agent.images import ImageMissing
from computepool.agent.registry.content import (
    IMAGE_LIMIT_BYTES,
    LAYER_LIMIT,
    Descriptor,
    ImageManifest,
    ManifestList,
    read_diff_ids,
    read_manifest,
)

DOCKER = "application/vnd.docker.distribution.manifest.v2+json"
OCI = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
CONFIG = "application/vnd.oci.image.config.v1+json"
A, B = "sha256:" + "a" * 64, "sha256:" + "b" * 64


def entry(digest=A, size=5, kind=LAYER, **more):
    return {"mediaType": kind, "digest": digest, "size": size, **more}


def manifest(**changes):
    return {"schemaVersion": 2, "config": entry(B, 9, CONFIG), "layers": [entry()], **changes}


def read(said, kind=OCI):
    return read_manifest(said if isinstance(said, bytes) else json.dumps(said).encode(), kind)


@pytest.mark.parametrize("kind", [DOCKER, OCI, f"{OCI}; charset=utf-8", "application/json", ""])
def test_manifest_is_read_by_its_type_or_by_what_it_has(kind):
    expected = ImageManifest(Descriptor(B, 9), (Descriptor(A, 5),))
    assert read(manifest(), kind) == read(manifest(mediaType=DOCKER), kind) == expected


def test_image_for_this_machine_is_chosen_from_a_list():
    def built_for(digest, system, architecture, variant=None):
        platform = {"os": system, "architecture": architecture} | ({"variant": variant} if variant else {})
        return entry(digest, kind=OCI, platform=platform)

    digests = [f"sha256:{number:064x}" for number in range(5)]
    platforms = [("windows", "amd64"), ("linux", "amd64", "v3"), ("linux", "amd64"), ("linux", "arm64", "v8")]
    made = [built_for(digest, *platform) for digest, platform in zip(digests, platforms, strict=False)]
    # Statements about the image, which are no image.
    made.append(built_for(digests[4], "unknown", "unknown"))
    found = read({"schemaVersion": 2, "mediaType": INDEX, "manifests": made})
    assert isinstance(found, ManifestList)
    assert found.choose("amd64").digest == digests[2]
    assert found.choose("arm64").digest == digests[3]
    with pytest.raises(ImageMissing, match=r"linux/amd64, linux/arm64.*not for linux/riscv64"):
        found.choose("riscv64")


WRONG = {
    "not JSON": b"<html>",
    "a list": b"[]",
    "a number": b"1",
    "deep": b"[" * 100_000,
    "deep objects": b'{"a":' * 100_000,
    "half a character": b'{"\xff": 1}',
    "a huge number": b'{"schemaVersion": ' + b"9" * 10_000 + b"}",
    "nothing": {},
    "first version": {"schemaVersion": 1, "fsLayers": []},
    "another kind": {"mediaType": "application/vnd.cncf.helm.chart.v1+json"},
    "no config": manifest(config=None),
    "a config that is text": manifest(config="x"),
    "another config": manifest(config=entry(B, 9, "application/vnd.cncf.helm.config.v1+json")),
    "a huge config": manifest(config=entry(B, 5 << 20, CONFIG)),
    "layers that are an object": manifest(layers={}),
    "a layer that is text": manifest(layers=["x"]),
    "an encrypted layer": manifest(layers=[entry(kind=f"{LAYER}+encrypted")]),
    "a foreign layer": manifest(layers=[entry(kind="application/vnd.docker.image.rootfs.foreign.diff.tar.gzip")]),
    "another digest": manifest(layers=[entry("sha512:" + "a" * 128)]),
    "a path for a digest": manifest(layers=[entry("sha256:../../etc/passwd")]),
    "a digest with an end of line": manifest(layers=[entry(f"{A}\n")]),
    "no size": manifest(layers=[entry(size=None)]),
    "a size that is true": manifest(layers=[entry(size=True)]),
    "half a byte": manifest(layers=[entry(size=0.5)]),
    "a negative size": manifest(layers=[entry(size=-1)]),
    "a huge size": manifest(layers=[entry(size=IMAGE_LIMIT_BYTES + 1)]),
    "huge together": manifest(layers=[entry(f"sha256:{n:064x}", IMAGE_LIMIT_BYTES // 2) for n in range(3)]),
    "two sizes of one layer": manifest(layers=[entry(), entry(size=6)]),
    "too many layers": manifest(layers=[entry()] * (LAYER_LIMIT + 1)),
    "a list without a list": {"mediaType": INDEX},
    "a list of text": {"mediaType": INDEX, "manifests": ["x"]},
    "a list with a platform that is text": {"mediaType": INDEX, "manifests": [entry(platform="linux")]},
}


@pytest.mark.parametrize("what", WRONG)
def test_manifest_that_is_wrong_is_refused(what):
    with pytest.raises(ImageMissing):
        read(WRONG[what])


def test_list_in_a_list_is_not_followed():
    nested = entry(kind=INDEX, platform={"os": "linux", "architecture": "amd64"})
    found = read({"schemaVersion": 2, "mediaType": INDEX, "manifests": [nested]})
    assert isinstance(found, ManifestList)
    with pytest.raises(ImageMissing, match="made for nothing"):
        found.choose("amd64")


def test_configuration_names_as_many_layers_as_the_manifest():
    described = ImageManifest(Descriptor(B, 9), (Descriptor(A, 5),))

    def config(**changes):
        return json.dumps({"os": "linux", "rootfs": {"type": "layers", "diff_ids": [B]}, **changes}).encode()

    assert read_diff_ids(config(), described) == (B,)
    assert read_diff_ids(config(rootfs={}), ImageManifest(Descriptor(B, 9), ())) == ()
    for wrong in (
        b"{", b"[]", config(os="windows"), config(rootfs=None), config(rootfs=[]), config(rootfs={"diff_ids": B}),
        config(rootfs={"diff_ids": []}), config(rootfs={"diff_ids": [B, B]}), config(rootfs={"diff_ids": [1]}),
        config(rootfs={"diff_ids": ["sha256:x"]}),
    ):  # fmt: skip
        with pytest.raises(ImageMissing):
            read_diff_ids(wrong, described)
