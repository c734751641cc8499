"""What a registry says of an image, read with distrust: manifests, lists of them, and an image's configuration.

Pure. Whatever is wrong here was written by whoever made the image, or runs its registry: it is the renter's to mend.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from computepool.agent.images import ImageMissing

from .names import DIGEST

DOCUMENT_LIMIT_BYTES = 4 * 1024 * 1024
"""Of a manifest, a list of them, or a configuration."""
LAYER_LIMIT = 125
"""As many as engines can put on top of each other."""
IMAGE_LIMIT_BYTES = 1 << 40
"""More than a node could keep: what names more is no image."""

_LISTS = frozenset(
    {"application/vnd.docker.distribution.manifest.list.v2+json", "application/vnd.oci.image.index.v1+json"}
)
_MANIFESTS = frozenset(
    {"application/vnd.docker.distribution.manifest.v2+json", "application/vnd.oci.image.manifest.v1+json"}
)
# Old programs gave the configuration no type, as Docker still allows.
_CONFIGS = frozenset(
    {
        "application/vnd.docker.container.image.v1+json",
        "application/vnd.oci.image.config.v1+json",
        "application/octet-stream",
        "",
    }
)
_LAYERS = frozenset(
    {
        "application/vnd.docker.image.rootfs.diff.tar",
        "application/vnd.docker.image.rootfs.diff.tar.gzip",
        "application/vnd.docker.image.rootfs.diff.tar.zstd",
        "application/vnd.oci.image.layer.v1.tar",
        "application/vnd.oci.image.layer.v1.tar+gzip",
        "application/vnd.oci.image.layer.v1.tar+zstd",
    }
)
ACCEPTED = ", ".join(sorted(_LISTS | _MANIFESTS))

Json = Mapping[str, Any]


@dataclass(frozen=True)
class Descriptor:
    """What a registry promises to have."""

    digest: str
    size_bytes: int


@dataclass(frozen=True)
class ImageManifest:
    config: Descriptor
    layers: tuple[Descriptor, ...]

    @property
    def unique_layers(self) -> tuple[Descriptor, ...]:
        return tuple(dict.fromkeys(self.layers))

    @property
    def size_bytes(self) -> int:
        """As it is downloaded."""
        return sum(layer.size_bytes for layer in self.unique_layers)


@dataclass(frozen=True)
class ManifestList:
    """One name, an image for each kind of machine."""

    platforms: tuple[tuple[str, str, str, Descriptor], ...]
    """(os, architecture, variant, manifest)"""

    def choose(self, architecture: str) -> Descriptor:
        """For Linux on this architecture. Raises ImageMissing."""
        found = [
            (variant, manifest)
            for system, built_for, variant, manifest in self.platforms
            if (system, built_for) == ("linux", architecture)
        ]
        if not found:
            there = sorted({f"{system}/{built_for}" for system, built_for, *_ in self.platforms})
            raise ImageMissing(f"it is made for {', '.join(there)[:200] or 'nothing'}, not for linux/{architecture}")
        # The one that any such machine runs, rather than one for its newest.
        return min(found, key=lambda one: one[0])[1]


def read_manifest(content: bytes, kind: str) -> ImageManifest | ManifestList:
    """`kind` is the Content-Type, for a manifest that does not say what it is. Raises ImageMissing."""
    said = _object(content, "manifest")
    kind = _text(said.get("mediaType")) or kind.partition(";")[0].strip().lower()
    if said.get("schemaVersion") == 1:
        raise ImageMissing("its manifest is of the first version, which nobody can check; push it again")
    if kind in _LISTS or (kind not in _MANIFESTS and "manifests" in said):
        return ManifestList(tuple(_platforms(said)))
    if kind not in _MANIFESTS and not ("config" in said and "layers" in said):
        raise ImageMissing(f"it is {kind[:100] or 'something'!r}, and no image")
    return _image_manifest(said)


def _image_manifest(said: Json) -> ImageManifest:
    config, listed = _mapping(said.get("config")), _sequence(said.get("layers"))
    if _text(config.get("mediaType")) not in _CONFIGS:
        raise ImageMissing(
            f"it is not a container image: its configuration is {_text(config.get('mediaType'))[:100]!r}"
        )
    if len(listed) > LAYER_LIMIT:
        raise ImageMissing(f"it has {len(listed)} layers, and engines take {LAYER_LIMIT}")
    for layer in listed:
        kind = _text(_mapping(layer).get("mediaType"))
        if kind not in _LAYERS:
            raise ImageMissing(f"a layer is of a kind that the agent does not fetch: {kind[:100]!r}")
    manifest = ImageManifest(_descriptor(config), tuple(_descriptor(_mapping(layer)) for layer in listed))
    if manifest.config.size_bytes > DOCUMENT_LIMIT_BYTES:
        raise ImageMissing(f"its configuration is larger than {DOCUMENT_LIMIT_BYTES} bytes")
    if manifest.size_bytes > IMAGE_LIMIT_BYTES:
        raise ImageMissing(f"its manifest says that it has {manifest.size_bytes} bytes")
    sizes: dict[str, int] = {}
    if any(sizes.setdefault(layer.digest, layer.size_bytes) != layer.size_bytes for layer in manifest.layers):
        raise ImageMissing("its manifest gives two sizes to one layer")
    return manifest


def _platforms(said: Json) -> list[tuple[str, str, str, Descriptor]]:
    found = []
    for entry in _sequence(said.get("manifests")):
        platform = _mapping(_mapping(entry).get("platform") or {})
        if _text(entry.get("mediaType")) in _LISTS:
            continue  # a list in a list: no engine follows it
        names = [_text(platform.get(key)) for key in ("os", "architecture", "variant")]
        found.append((names[0], names[1], names[2], _descriptor(entry)))
    return found


def read_diff_ids(config: bytes, manifest: ImageManifest) -> tuple[str, ...]:
    """The digests of an image's layers when they are unpacked, in their order. Raises ImageMissing."""
    said = _object(config, "configuration")
    if _text(said.get("os")) not in {"", "linux"}:
        raise ImageMissing(f"it is made for {_text(said.get('os'))[:100]!r}, not for Linux")
    diff_ids = _sequence(_mapping(said.get("rootfs")).get("diff_ids") or [])
    if len(diff_ids) != len(manifest.layers):
        raise ImageMissing(f"it has {len(manifest.layers)} layers, and its configuration names {len(diff_ids)}")
    if not all(isinstance(one, str) and DIGEST.fullmatch(one) for one in diff_ids):
        raise ImageMissing("its configuration names a layer that is not a SHA-256 digest")
    return tuple(diff_ids)


def _object(content: bytes, what: str) -> Json:
    try:
        said = json.loads(content)
    except (ValueError, RecursionError):
        raise ImageMissing(f"its {what} is not JSON") from None
    if not isinstance(said, dict):
        raise ImageMissing(f"its {what} is not a JSON object")
    return said


def _descriptor(entry: Json) -> Descriptor:
    digest, size = _text(entry.get("digest")), entry.get("size")
    if not DIGEST.fullmatch(digest):
        raise ImageMissing(f"its manifest names content that is not a SHA-256 digest: {digest[:100]!r}")
    if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size <= IMAGE_LIMIT_BYTES:
        raise ImageMissing(f"its manifest gives no usable size of {digest}")
    return Descriptor(digest, size)


def _mapping(found: Any) -> Json:
    if not isinstance(found, dict):
        raise ImageMissing("its manifest or configuration is not as the specification wants it")
    return found


def _sequence(found: Any) -> Sequence[Any]:
    if not isinstance(found, list):
        raise ImageMissing("its manifest or configuration is not as the specification wants it")
    return found


def _text(found: Any) -> str:
    return found if isinstance(found, str) else ""
