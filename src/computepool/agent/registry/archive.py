"""An image as the archive that `docker load` reads, and podman too: made as a stream, from layers that were checked."""

import json
import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .layers import CheckedLayer


@dataclass(frozen=True)
class ImageArchive:
    name: str
    """The only one that the engine gives it."""
    config: bytes
    config_digest: str
    layers: Sequence[CheckedLayer]

    @property
    def unpacked_bytes(self) -> int:
        return sum(layer.unpacked_bytes for layer in self._once())

    @property
    def size_bytes(self) -> int:
        """About what the stream has: tar adds a little to each file."""
        return sum(layer.given_bytes for layer in self._once()) + len(self.config)

    def pieces(self) -> Iterator[bytes]:
        """Blocking."""
        names = {layer.diff_id: f"{layer.diff_id.removeprefix('sha256:')}.tar" for layer in self.layers}
        config_name = f"{self.config_digest.removeprefix('sha256:')}.json"
        manifest = {
            "Config": config_name,
            "RepoTags": [self.name],
            "Layers": [names[layer.diff_id] for layer in self.layers],
        }
        yield from _member("manifest.json", json.dumps([manifest]).encode())
        yield from _member(config_name, self.config)
        for layer in self._once():
            yield _head(names[layer.diff_id], layer.given_bytes)
            yield from layer.pieces()
            yield _padding(layer.given_bytes)
        yield bytes(2 * tarfile.BLOCKSIZE)

    def _once(self) -> list[CheckedLayer]:
        return list({layer.diff_id: layer for layer in self.layers}.values())


def _member(name: str, content: bytes) -> Iterator[bytes]:
    yield _head(name, len(content)) + content + _padding(len(content))


def _head(name: str, size_bytes: int) -> bytes:
    entry = tarfile.TarInfo(name)
    entry.size = size_bytes
    entry.mode = 0o600
    return entry.tobuf(tarfile.GNU_FORMAT)


def _padding(size_bytes: int) -> bytes:
    return bytes(-size_bytes % tarfile.BLOCKSIZE)
