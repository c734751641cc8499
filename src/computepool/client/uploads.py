"""Uploads: content-addressed, in parts, resumable. What the hub has already is not sent again."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from computepool.client.errors import TransferError
from computepool.client.http import RESUME_HINT, Http
from computepool.client.models import Artifact

COPY_BYTES = 1024 * 1024
ROUNDS = 5
"""Times that fresh URLs are asked for: the old ones may run out during a slow upload."""

Progress = Callable[[int, int], None]
"""Called with (bytes done, bytes in all)."""


def digest_of(path: Path) -> tuple[str, int]:
    hasher, size = hashlib.sha256(), 0
    with path.open("rb") as file:
        while data := file.read(COPY_BYTES):
            hasher.update(data)
            size += len(data)
    return f"sha256:{hasher.hexdigest()}", size


def part_digests_of(path: Path, size_bytes: int) -> list[str]:
    """Of each part, in order: the hub binds a URL to the digest of what may be put there. None for a single part."""
    from computepool.protocol.messages import UPLOAD_PART_BYTES

    if size_bytes <= UPLOAD_PART_BYTES:
        return []
    digests = []
    with path.open("rb") as file:
        for start in range(0, size_bytes, UPLOAD_PART_BYTES):
            hasher, left = hashlib.sha256(), min(UPLOAD_PART_BYTES, size_bytes - start)
            while left and (data := file.read(min(COPY_BYTES, left))):
                hasher.update(data)
                left -= len(data)
            digests.append(f"sha256:{hasher.hexdigest()}")
    return digests


def upload(
    http: Http,
    path: Path,
    *,
    kind: Literal["bundle", "input"] = "bundle",
    digest: str | None = None,
    size_bytes: int | None = None,
    team: str | None = None,
    progress: Progress | None = None,
) -> Artifact:
    """The stored artifact, of the `team` where one is named. `digest` and `size_bytes` save reading the file once more
    when they are known."""
    if digest is None or size_bytes is None:
        digest, size_bytes = digest_of(path)
    announcement: dict[str, object] = {"digest": digest, "size_bytes": size_bytes, "kind": kind}
    if part_digests := part_digests_of(path, size_bytes):
        announcement["part_digests"] = part_digests
    for _ in range(ROUNDS):
        # Naming content by its digest is the same however often it is done.
        answer = http.post("/artifacts", announcement, params={"team": team}, repeatable=True)
        if answer["state"] == "stored":
            if progress is not None:
                progress(size_bytes, size_bytes)
            return _stored(answer, digest, path)
        if _put_parts(http, path, answer, size_bytes, progress):
            return _stored(http.post(f"/artifacts/{answer['id']}/complete", repeatable=True), digest, path)
    raise TransferError(f"{path.name} could not be uploaded: its URLs ran out {ROUNDS} times.", hint=RESUME_HINT)


def _stored(answer: Any, digest: str, path: Path) -> Artifact:
    """What the hub calls it must be what was sent: jobs are signed with the digest that was computed here."""
    artifact = Artifact.model_validate(answer)
    if artifact.digest != digest:
        raise TransferError(f"The hub stored {path.name} as {artifact.digest}, and it is {digest}.", hint=RESUME_HINT)
    return artifact


def _put_parts(http: Http, path: Path, answer: Any, size_bytes: int, progress: Progress | None) -> bool:
    """False when a URL was refused before all parts were there."""
    part_bytes, missing = int(answer["part_bytes"]), answer["uploads"]
    left = sum(min(part_bytes, size_bytes - int(item["part"]) * part_bytes) for item in missing)
    with path.open("rb") as file:
        for item in missing:
            if progress is not None:
                progress(size_bytes - left, size_bytes)
            file.seek(int(item["part"]) * part_bytes)
            data = file.read(part_bytes)
            try:
                http.put_part(item["url"], data, item.get("headers") or {})
            except TransferError as error:
                if error.code == "url_refused":
                    return False
                raise
            left -= len(data)
    if progress is not None:
        progress(size_bytes, size_bytes)
    return True
