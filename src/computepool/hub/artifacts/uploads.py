"""Bundles and inputs on their way in: the steps around the transactions of `service`."""

import hashlib
from collections.abc import AsyncIterator, Collection, Iterator
from contextlib import asynccontextmanager
from typing import BinaryIO

from computepool.hub.artifacts import service
from computepool.hub.artifacts.errors import DigestMismatch, NotUploadedYet, TooManyBundles, UploadTooLarge
from computepool.hub.artifacts.parts import PART_BYTES
from computepool.hub.artifacts.store import Store
from computepool.hub.artifacts.tables import Artifact, ArtifactKind, ArtifactState
from computepool.hub.artifacts.transfers import PartUpload, has_digest, missing_parts, settled_sizes_in, sign_missing
from computepool.hub.artifacts.usage import check_room, quotas_of
from computepool.hub.core.context import Context
from computepool.hub.core.edge import HeldBytes

COPY_BYTES = 1024**2
BUNDLE_LIMIT_BYTES = 2 * 1024**3
"""Of a bundle that comes in the request with its spec; of one account as many at once as make so much together."""
BUNDLES_LIMIT_BYTES = 16 * 1024**3
"""Of all accounts: until they are stored, they are in the hub's temporary folder."""


class Uploads:
    def __init__(self, context: Context, store: Store) -> None:
        self._context = context
        self._store = store
        self._arriving = HeldBytes(BUNDLES_LIMIT_BYTES, BUNDLE_LIMIT_BYTES)

    @asynccontextmanager
    async def receiving(self, owner_id: str, size_bytes: int) -> AsyncIterator[None]:
        """While a bundle of up to so many bytes comes with a request: it takes room on a disk before it is stored, so
        what could not be stored is refused before it is read. Raises StorageExceeded, StorageFull or TooManyBundles."""
        settings = self._context.settings
        await self._context.db.read(check_room, owner_id, size_bytes, self._context.now(), quotas_of(settings))
        self._store.need_room(self._arriving.total + size_bytes)
        if not self._arriving.hold(owner_id, size_bytes):
            raise TooManyBundles
        try:
            yield
        finally:
            self._arriving.release(owner_id, size_bytes)

    async def begin(
        self,
        owner_id: str,
        digest: str,
        size_bytes: int,
        kind: ArtifactKind = ArtifactKind.BUNDLE,
        part_digests: Collection[str] = (),
        *,
        actor: str,
    ) -> tuple[Artifact, list[PartUpload]]:
        """The artifact, and how to bring the parts of it that are missing."""
        limit_bytes = self._context.settings.upload_limit_bytes
        # First what can never be taken: the room on the disk is not the reason then.
        service.check_announcement(digest, size_bytes, tuple(part_digests), limit_bytes)
        self._store.need_room(size_bytes)
        artifact = await self._context.db.run(
            service.begin_upload,
            owner_id,
            digest,
            size_bytes,
            kind,
            self._context.now(),
            new_id=self._context.new_id,
            limit_bytes=limit_bytes,
            quotas=quotas_of(self._context.settings),
            part_digests=tuple(part_digests),
            actor=actor,
        )
        if artifact.state == ArtifactState.STORED:
            return artifact, []
        (uploads,) = await self._context.offload(sign_missing, self._store, artifact.folder, [artifact])
        return artifact, uploads

    async def complete(self, artifact_id: str, owner_ids: Collection[str], *, actor: str) -> Artifact:
        """Stored, if all of it is there and is what was announced."""
        artifact = await self._context.db.read(service.get_artifact, artifact_id, owner_ids)
        if artifact.state == ArtifactState.STORED:
            return artifact
        sizes = await self._context.offload(settled_sizes_in, self._store, artifact.folder)
        missing = missing_parts(artifact, sizes)
        if missing:
            raise NotUploadedYet(missing)
        if not await has_digest(self._store, self._context.offload, artifact):
            await self._context.db.run(service.refuse_upload, artifact, self._context.now(), actor=actor)
            raise DigestMismatch(artifact.digest)
        return await self._context.db.run(
            service.finish_upload, artifact_id, owner_ids, self._context.now(), actor=actor
        )

    async def get(self, artifact_id: str, owner_ids: Collection[str]) -> Artifact:
        return await self._context.db.read(service.get_artifact, artifact_id, owner_ids)

    async def keep_file(self, owner_id: str, file: BinaryIO, *, actor: str) -> Artifact:
        """Store a bundle that came with a request, as if its sender had uploaded it."""
        limit_bytes = self._context.settings.upload_limit_bytes
        digest, size_bytes, part_digests = await self._context.offload(_measure, file, limit_bytes)
        artifact, uploads = await self.begin(
            owner_id, digest, size_bytes, ArtifactKind.BUNDLE, part_digests, actor=actor
        )
        for upload in uploads:
            data = _slice(file, upload.part * PART_BYTES, upload.size_bytes)
            await self._context.offload(self._store.put, artifact.part_key(upload.part), data)
        return await self.complete(artifact.id, [owner_id], actor=actor)


def _measure(file: BinaryIO, limit_bytes: int) -> tuple[str, int, list[str]]:
    """The digest, the size and the parts' digests."""
    whole, size_bytes, parts = hashlib.sha256(), 0, []
    file.seek(0)
    while True:
        part, left = hashlib.sha256(), PART_BYTES
        while left and (data := file.read(min(COPY_BYTES, left))):
            whole.update(data)
            part.update(data)
            left -= len(data)
            size_bytes += len(data)
            if size_bytes > limit_bytes:
                raise UploadTooLarge(f"The file has more than {limit_bytes} bytes, which is what this hub takes.")
        if left == PART_BYTES:
            break
        parts.append(f"sha256:{part.hexdigest()}")
    return f"sha256:{whole.hexdigest()}", size_bytes, parts


def _slice(file: BinaryIO, start: int, length: int) -> Iterator[bytes]:
    file.seek(start)
    while length and (data := file.read(min(COPY_BYTES, length))):
        length -= len(data)
        yield data
