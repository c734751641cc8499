"""What is there of an artifact, and the URLs to bring the rest or to fetch it."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from computepool.hub.artifacts.parts import artifact_folder, count_parts, part_key
from computepool.hub.artifacts.service import WRITABLE
from computepool.hub.artifacts.store import Store
from computepool.hub.artifacts.tables import Artifact, ArtifactState
from computepool.hub.core.context import Offload

READABLE_SECONDS = 24 * 3600
READ_BYTES = 4 * 1024**2
"""Read back at once to check a digest."""


@dataclass(frozen=True, slots=True)
class PartUpload:
    """PUT the part's bytes to `url`, with these headers."""

    part: int
    size_bytes: int
    url: str
    headers: dict[str, str]


def sizes_in(store: Store, folder: str) -> dict[str, int]:
    """The objects below a folder. Blocks."""
    return {entry.key: entry.size_bytes for entry in store.list(folder)}


def settled_sizes_in(store: Store, folder: str) -> dict[str, int]:
    """The same, before it is said that they are stored."""
    store.settle(folder)
    return sizes_in(store, folder)


def missing_parts(artifact: Artifact, sizes: Mapping[str, int]) -> list[int]:
    return [
        part for part in range(artifact.part_count) if sizes.get(artifact.part_key(part)) != artifact.part_size(part)
    ]


def sign_missing(store: Store, folder: str, artifacts: Sequence[Artifact]) -> list[list[PartUpload]]:
    """For each of these artifacts below `folder`, how to bring what is not there yet. Blocks."""
    if all(artifact.state == ArtifactState.STORED or not artifact.part_count for artifact in artifacts):
        return [[] for _ in artifacts]
    sizes = sizes_in(store, folder)
    return [_sign_parts(store, artifact, missing_parts(artifact, sizes)) for artifact in artifacts]


def _sign_parts(store: Store, artifact: Artifact, parts: Sequence[int]) -> list[PartUpload]:
    if artifact.state != ArtifactState.UPLOADING or not parts:
        return []
    store.prepare(artifact.folder)
    return [sign_part(store, artifact, part) for part in parts]


def sign_part(store: Store, artifact: Artifact, part: int) -> PartUpload:
    size_bytes = artifact.part_size(part)
    signed = store.sign_put(
        artifact.part_key(part), size_bytes, artifact.part_digest(part), int(WRITABLE.total_seconds())
    )
    return PartUpload(part, size_bytes, signed.url, signed.headers)


def downloads_for(store: Store, artifact: Artifact) -> list[str]:
    """The URLs of its parts, in order; Range works on each. Signing only: no I/O."""
    filename = artifact.path.rpartition("/")[2] if artifact.path else artifact.id
    return sign_downloads(
        store,
        artifact.id,
        artifact.size_bytes,
        attempt_id=artifact.attempt_id,
        job_id=artifact.job_id,
        filename=filename,
    )


def sign_downloads(
    store: Store,
    artifact_id: str,
    size_bytes: int,
    *,
    attempt_id: str | None = None,
    job_id: str | None = None,
    filename: str | None = None,
) -> list[str]:
    """Like `downloads_for`, for those who know an artifact without having its row."""
    folder = artifact_folder(artifact_id, attempt_id=attempt_id, job_id=job_id)
    parts, name = count_parts(size_bytes), filename or artifact_id
    names = [name] if parts == 1 else [f"{name}.part{part:06d}" for part in range(parts)]
    return [store.sign_get(part_key(folder, part), READABLE_SECONDS, each) for part, each in enumerate(names)]


async def has_digest(store: Store, offload: Offload, artifact: Artifact) -> bool:
    """Whether its parts, all there, make the whole that was announced.

    A single part was put under a URL that is bound to the very digest, so it need not be read again.
    """
    if artifact.part_count <= 1:
        return True
    running = hashlib.sha256()
    for part in range(artifact.part_count):
        key, size_bytes = artifact.part_key(part), artifact.part_size(part)
        for start in range(0, size_bytes, READ_BYTES):
            # A hop for each piece: a large artifact must not keep a thread from everybody else's work.
            await offload(_hash_range, store, key, start, min(READ_BYTES, size_bytes - start), running)
    return f"sha256:{running.hexdigest()}" == artifact.digest


def _hash_range(store: Store, key: str, start: int, length: int, running: "hashlib._Hash") -> None:
    running.update(store.read(key, start, length))
