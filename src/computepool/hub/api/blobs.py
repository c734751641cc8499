"""The local store's own doors: signed URLs to put and get single objects. With S3 these routes do not exist."""

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

from fastapi import APIRouter, Request, Response
from fastapi.responses import FileResponse
from starlette.requests import ClientDisconnect

from computepool.hub.artifacts.blob_urls import BadSignature, BlobSigner, GetRight, NotSigned, PutRight, UrlExpired
from computepool.hub.artifacts.local import LocalStore, NotAsAnnounced, UploadClosed, disk_trouble_told
from computepool.hub.artifacts.media import disposition
from computepool.hub.artifacts.parts import PART_BYTES
from computepool.hub.artifacts.store import StorageFull, StoreError
from computepool.hub.core.bulk import BulkLane
from computepool.hub.core.context import Offload
from computepool.hub.core.edge import address_of, sender_is_known
from computepool.hub.core.errors import Forbidden, Invalid, NotFound, TooLarge
from computepool.hub.core.http import Routes
from computepool.hub.engine import Engine

WRITE_BYTES = 1024**2
"""Collected before it is written: fewer hops to another thread. Less where many upload at once:"""
WRITES_BYTES = 8 * 1024**2
"""of all uploads together."""
SMALL_BYTES = 16 * 1024
"""Smaller pieces are joined: a client that sends single bytes must not cost an object for each of them."""


SMALL_UPLOAD_BYTES = 64 * 1024
"""Up to so much is written in one go, and is no bulk work: it costs the hub what any short request does."""


class UploadRefused(Invalid):
    code = "upload_mismatch"

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"The upload is not what its URL was made for: {reason}. Nothing of it was kept.",
            hint="Send the part's bytes, all of them and no others.",
        )


class UploadOver(Forbidden):
    code = "upload_over"

    def __init__(self) -> None:
        super().__init__(
            "What this URL was made for is not wanted any more: it was deleted, or its upload was given up.",
            hint="Announce it again, if it is still needed.",
        )


def router(engine: Engine) -> APIRouter:
    routes = Routes(engine.directory.authenticate, tags=["artifacts"])
    if isinstance(engine.store, LocalStore):
        _add_blobs(routes, engine.store, engine.blob_signer, engine.context.offload, engine.bulk)
    return routes.router


def _add_blobs(routes: Routes, store: LocalStore, signer: BlobSigner, offload: Offload, bulk: BulkLane) -> None:
    receiver = Receiver(store, offload, bulk)

    @routes.put(
        "/blobs/{key:path}",
        visible="signed",
        body_limit_bytes=PART_BYTES,
        status_code=201,
        errors=[
            NotSigned,
            BadSignature,
            UrlExpired,
            UploadRefused,
            UploadOver,
            TooLarge,
            Invalid,
            StoreError,
            StorageFull,
        ],
    )
    async def put_blob(key: str, request: Request) -> Response:
        """Exactly the bytes that the URL was signed for. May be repeated."""
        right = signer.check_put(key, request.url.query)
        sender_is_known(request.scope)
        declared = request.headers.get("content-length")
        if declared is not None and declared != str(right.size_bytes):
            raise UploadRefused(f"{right.size_bytes} bytes were announced, not {declared}")
        with disk_trouble_told():
            try:
                if right.size_bytes <= SMALL_UPLOAD_BYTES:
                    await receiver.keep_whole(key, right, request)
                else:
                    await receiver.keep_in_pieces(key, right, request)
            except NotAsAnnounced as error:
                raise UploadRefused(str(error)) from None
            except UploadClosed:
                raise UploadOver from None
            except ClientDisconnect:
                return Response(status_code=400)  # nobody hears it
        return Response(status_code=201)

    # Before GET, which would answer it too, and read the file for nothing.
    @routes.route("HEAD", "/blobs/{key:path}", visible="signed", response_class=FileResponse)
    async def head_blob(key: str, request: Request) -> FileResponse:
        return await _file(signer.check_get(key, request.url.query))

    @routes.get(
        "/blobs/{key:path}",
        visible="signed",
        response_class=FileResponse,
        errors=[NotSigned, BadSignature, UrlExpired, StoreError],
    )
    async def get_blob(key: str, request: Request) -> FileResponse:
        """The object, or with a Range header a part of it."""
        return await _file(signer.check_get(key, request.url.query))

    async def _file(right: GetRight) -> FileResponse:
        if await offload(store.size, right.key) is None:
            raise NotFound("This artifact is no longer stored.")
        # What a renter's job wrote must never be shown, or run, as a page of the hub. The shell adds nosniff.
        headers = {
            "Content-Disposition": disposition("attachment", right.filename),
            "Content-Security-Policy": "sandbox",
            "Cache-Control": "private, no-store",
        }
        return FileResponse(store.path(right.key), media_type="application/octet-stream", headers=headers)


class Receiver:
    """Takes the bodies of uploads."""

    def __init__(self, store: LocalStore, offload: Offload, bulk: BulkLane) -> None:
        self._store, self._offload, self._bulk = store, offload, bulk
        self._under_way = UnderWay()

    async def keep_whole(self, key: str, right: PutRight, request: Request) -> None:
        body = bytearray()
        async for piece in request.stream():
            body += piece
            if len(body) > right.size_bytes:
                raise NotAsAnnounced("more bytes than announced")
        await self._offload(_keep, self._store, key, right, body)

    async def keep_in_pieces(self, key: str, right: PutRight, request: Request) -> None:
        incoming = await self._offload(self._store.receive, key, right.size_bytes, right.digest)
        try:
            with self._under_way.one():
                async for pieces in _gathered(request.stream(), self._under_way):
                    async with self._bulk.turn(address_of(request.scope)):
                        await self._offload(incoming.write, *pieces)
            await self._offload(incoming.keep)
        finally:
            await self._offload(incoming.drop)


def _keep(store: LocalStore, key: str, right: PutRight, body: bytearray) -> None:
    incoming = store.receive(key, right.size_bytes, right.digest)
    try:
        incoming.write(body)
        incoming.keep()
    finally:
        incoming.drop()


class UnderWay:
    """The uploads of this moment."""

    def __init__(self) -> None:
        self._count = 0

    @contextmanager
    def one(self) -> Iterator[None]:
        self._count += 1
        try:
            yield
        finally:
            self._count -= 1

    @property
    def write_bytes(self) -> int:
        return min(WRITE_BYTES, WRITES_BYTES // max(1, self._count))


async def _gathered(pieces: AsyncIterator[bytes], under_way: UnderWay) -> AsyncIterator[list[bytes | bytearray]]:
    """Pieces to be written at once, as they came: to join them would keep the event loop as long as to write them keeps
    a thread."""
    gathered: list[bytes | bytearray] = []
    gathered_bytes = 0
    async for piece in pieces:
        if len(piece) >= SMALL_BYTES:
            gathered.append(piece)
        elif gathered and isinstance(gathered[-1], bytearray):
            gathered[-1] += piece
        else:
            gathered.append(bytearray(piece))
        gathered_bytes += len(piece)
        if gathered_bytes >= under_way.write_bytes:
            yield gathered
            gathered, gathered_bytes = [], 0
    if gathered_bytes:
        yield gathered
