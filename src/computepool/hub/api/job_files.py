"""What a job leaves behind: its outputs, and URLs to fetch them, to look at them, or to fetch all as one archive."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from computepool.hub.artifacts import media
from computepool.hub.artifacts.blob_urls import BadSignature, BlobSigner, FileKind, NotSigned, UrlExpired
from computepool.hub.artifacts.parts import PART_BYTES
from computepool.hub.artifacts.reading import StoredFile
from computepool.hub.artifacts.store import ObjectMissing, Store, StoreError
from computepool.hub.artifacts.tables import Artifact
from computepool.hub.artifacts.transfers import downloads_for
from computepool.hub.artifacts.zip_layout import ZipLayout
from computepool.hub.core.edge import address_of, sender_is_known
from computepool.hub.core.errors import NotFound
from computepool.hub.core.http import Caller, Routes, Scope
from computepool.hub.core.ranges import RangeNotSatisfiable, asked_part
from computepool.hub.core.streaming import FileStream
from computepool.hub.engine import Engine
from computepool.hub.jobs import files, queries
from computepool.hub.jobs.errors import NoSuchJob, Removed
from computepool.protocol.model import Documented

PAGE_LIMIT = 500
URL_SECONDS = 3600
BINARY: dict[str, Any] = {"schema": {"type": "string", "format": "binary"}}
RANGE_HEADERS = {"Content-Range": {"description": "Which part it is.", "schema": {"type": "string"}}}
SIGNED = [NotSigned, BadSignature, UrlExpired, StoreError]


def _answers(*media_types: str, parts: bool = True) -> dict[int | str, Any]:
    content = dict.fromkeys(media_types, BINARY)
    whole: dict[int | str, Any] = {200: {"description": "All of it.", "content": content}}
    part: dict[int | str, Any] = {
        206: {"description": "The part that `Range` asked for.", "content": content, "headers": RANGE_HEADERS}
    }
    return whole | part if parts else whole


class OutputView(Documented):
    slice: int
    attempt: int
    path: str
    size_bytes: int
    digest: str
    media_type: str
    """What it is, by its name: `application/octet-stream` where that does not tell."""
    previewable: bool
    """A browser can show it: a text, a picture, sound or a film, by its name."""
    url: str
    """A URL to download it in one piece, which works without a token for an hour. Range works. Relative to the hub's
    address."""
    preview_url: str | None
    """The same to show it: texts of every kind come as `text/plain`. What is not what its name says comes as a file to
    keep. Null if it is not previewable."""
    part_bytes: int
    downloads: list[str]
    """The URLs of its parts, in order."""


class OutputPage(Documented):
    items: list[OutputView]
    next: str | None
    zip_url: str | None
    """A URL to download all outputs of the job as one zip archive, which works without a token for an hour. Null on a
    page without items. Relative to the hub's address."""


def router(engine: Engine) -> APIRouter:
    routes = Routes(engine.directory.authenticate, tags=["jobs"])
    _add_list(routes, engine)
    _add_files(routes, engine)
    _add_zip(routes, engine)
    return routes.router


def _add_list(routes: Routes, engine: Engine) -> None:
    db, signer = engine.context.db, engine.blob_signer

    @routes.get(
        "/jobs/{job_id}/artifacts", visible="own", scope=Scope.JOBS_READ, errors=[NoSuchJob, Removed, StoreError]
    )
    async def list_artifacts(
        job_id: str,
        caller: Caller,
        limit: Annotated[int, Query(ge=1, le=PAGE_LIMIT)] = PAGE_LIMIT,
        cursor: Annotated[str | None, Query(max_length=2000)] = None,
    ) -> OutputPage:
        """What the job left behind, of each slice's deciding attempt, with URLs to fetch it."""
        outputs, after = await db.read(queries.page_outputs, caller, job_id, cursor, limit)
        return OutputPage(
            items=[_output_view(engine.store, signer, output) for output in outputs],
            next=after,
            zip_url=signer.sign_file("zips", job_id, URL_SECONDS) if outputs else None,
        )


def _add_files(routes: Routes, engine: Engine) -> None:
    downloads, db = engine.downloads, engine.context.db

    async def find(request: Request, kind: FileKind, artifact_id: str) -> tuple[Artifact, StoredFile]:
        engine.blob_signer.check_file(kind, artifact_id, request.url.query)
        sender_is_known(request.scope)
        artifact = await db.read(files.find_output, artifact_id)
        return artifact, StoredFile(artifact.folder, artifact.size_bytes)

    def answer(request: Request, artifact: Artifact, media_type: str | None, policy: str) -> Response:
        """`media_type`: to show it; None to keep it."""
        size, etag = artifact.size_bytes, f'"{artifact.digest}"'
        part = asked_part(request.headers, size, etag)
        start, stop = part or (0, size)
        headers = {
            "Content-Disposition": media.disposition("inline" if media_type else "attachment", _filename(artifact)),
            "Content-Security-Policy": policy,
            "Cross-Origin-Resource-Policy": "same-origin",
            "Cache-Control": "private, no-store",
            "Accept-Ranges": "bytes",
            "ETag": etag,
        }
        if part is not None:
            headers["Content-Range"] = f"bytes {start}-{stop - 1}/{size}"
        file = StoredFile(artifact.folder, size)
        return FileStream(
            downloads.whole(file, start, stop, address_of(request.scope)),
            stop - start,
            status_code=200 if part is None else 206,
            headers=headers,
            media_type=media_type or media.UNKNOWN,
        )

    @routes.get(
        "/files/outputs/{artifact_id}",
        visible="signed",
        name="download_output",
        response_class=Response,
        responses=_answers(media.UNKNOWN),
        errors=[*SIGNED, NotFound, RangeNotSatisfiable],
    )
    async def download(request: Request, artifact_id: str) -> Response:
        """An output as a file, by its `url`: its parts in one answer, or with a Range header a part of it."""
        artifact, _file = await find(request, "outputs", artifact_id)
        return answer(request, artifact, None, "sandbox")

    @routes.get(
        "/files/previews/{artifact_id}",
        visible="signed",
        name="preview_output",
        response_class=Response,
        responses=_answers(*media.PREVIEW_TYPES),
        errors=[*SIGNED, NotFound, RangeNotSatisfiable],
    )
    async def preview(request: Request, artifact_id: str) -> Response:
        """An output to be shown, by its `preview_url`. Nothing in it can run."""
        artifact, file = await find(request, "previews", artifact_id)
        try:
            begin = await downloads.read(file, 0, media.SNIFFED_BYTES) if file.size_bytes else b""
        except ObjectMissing:
            raise NotFound("This output is no longer stored.") from None
        return answer(request, artifact, media.preview_type(artifact.path or "", begin), media.PREVIEW_POLICY)


def _add_zip(routes: Routes, engine: Engine) -> None:
    @routes.get(
        "/files/zips/{job_id}",
        visible="signed",
        name="download_zip",
        response_class=Response,
        responses=_answers("application/zip", parts=False),
        errors=[*SIGNED, NoSuchJob, Removed, files.TooManyFiles],
    )
    async def download_all(request: Request, job_id: str) -> Response:
        """All outputs of a job as one zip archive, by the `zip_url` of their list. Those of a job with several slices
        are in a folder for each slice. Its Content-Length tells a whole answer from one that was cut off."""
        engine.blob_signer.check_file("zips", job_id, request.url.query)
        sender_is_known(request.scope)
        entries, stored = await engine.context.db.read(files.list_for_zip, job_id)
        layout = ZipLayout(entries)
        headers = {
            "Content-Disposition": media.disposition("attachment", f"{job_id}-outputs.zip"),
            "Content-Security-Policy": "sandbox",
            "Cache-Control": "private, no-store",
        }
        pieces = engine.downloads.zipped(layout, stored, address_of(request.scope))
        return FileStream(pieces, layout.size_bytes, headers=headers, media_type="application/zip")


def _filename(artifact: Artifact) -> str:
    return (artifact.path or artifact.id).rpartition("/")[2]


def _output_view(store: Store, signer: BlobSigner, output: queries.Output) -> OutputView:
    artifact = output.artifact
    path = artifact.path or ""
    previewable = media.is_previewable(path)
    return OutputView(
        slice=output.slice_index,
        attempt=output.number,
        path=path,
        size_bytes=artifact.size_bytes,
        digest=artifact.digest,
        media_type=media.media_type_of(path),
        previewable=previewable,
        url=signer.sign_file("outputs", artifact.id, URL_SECONDS),
        preview_url=signer.sign_file("previews", artifact.id, URL_SECONDS) if previewable else None,
        part_bytes=PART_BYTES,
        downloads=downloads_for(store, artifact),
    )
