"""Where bytes are kept: on local disk or in S3, behind one small interface.

The methods block, so the event loop calls them through `offload`. Signing does no I/O and may be called in place.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

from computepool.hub.core.errors import Unavailable
from computepool.protocol.errors import ErrorCode
from computepool.protocol.units import about_bytes

DIGEST_PREFIX = "sha256:"
DIGEST_PATTERN = r"^sha256:[0-9a-f]{64}$"
EMPTY_DIGEST = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
KEY_LIMIT = 300
"""Of a key, in characters."""

_DIGEST = re.compile(DIGEST_PATTERN)
_KEY = re.compile(r"[a-z0-9][a-z0-9_.-]*(/[a-z0-9][a-z0-9_.-]*)*")


@dataclass(frozen=True, slots=True)
class Entry:
    key: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class SignedPut:
    """Where to PUT the bytes, and the headers that must be sent with them, besides their Content-Length."""

    url: str
    headers: dict[str, str] = field(default_factory=dict)


class StoreError(Unavailable):
    """The store could not be reached, or refused."""

    code: ErrorCode = "storage_unavailable"


class StorageFull(StoreError):
    """The disk has no more room than what is kept for the database. What is stored can be read and deleted."""

    status = 507
    code = "storage_full"

    def __init__(self, free_bytes: int, reserve_bytes: int) -> None:
        super().__init__(
            f"The hub's disk has no room for this: {about_bytes(max(0, free_bytes))} are free, and "
            f"{about_bytes(reserve_bytes)} are kept for its database.",
            hint="Try again later. If you run this hub: make room on its disk, or set COMPUTEPOOL_DISK_RESERVE_BYTES.",
        )


class ObjectMissing(Exception):
    """There is no such object, or it ends before the bytes that were asked for."""

    def __init__(self, key: str) -> None:
        super().__init__(f"nothing is stored at {key}, or less than was asked for")
        self.key = key


class Store(Protocol):
    @property
    def origin(self) -> str | None:
        """Where browsers upload to and download from, if that is not the hub itself."""
        ...

    def put(self, key: str, data: bytes | Iterable[bytes]) -> None:
        """All of it, durable, or nothing. Takes the place of what was there."""
        ...

    def read(self, key: str, start: int, length: int) -> bytes:
        """Exactly these bytes; ObjectMissing if they are not all there."""
        ...

    def size(self, key: str) -> int | None:
        """None: no such object."""
        ...

    def delete(self, *keys: str) -> None:
        """What is not there is no error."""
        ...

    def list(self, prefix: str) -> list[Entry]:
        """The objects below a folder, such as `logs/attempt_…/`, sorted by key."""
        ...

    def need_room(self, size_bytes: int) -> None:
        """Raises StorageFull where so much more cannot be taken."""
        ...

    def prepare(self, prefix: str) -> None:
        """Objects are about to be put below this folder by URLs."""
        ...

    def clear(self, prefix: str) -> None:
        """Delete everything below a folder. A store that can tell takes nothing more for it by URLs that were signed
        before, until it is prepared again."""
        ...

    def settle(self, prefix: str) -> None:
        """What `list` shows survives a power cut from now on, even where the hub was killed while it was put."""
        ...

    def sign_put(self, key: str, size_bytes: int, digest: str, expires_seconds: int) -> SignedPut:
        """A right to put exactly these bytes at this key. The URL may be relative to the hub's address."""
        ...

    def sign_get(self, key: str, expires_seconds: int, filename: str | None = None) -> str: ...


def check_key(key: str) -> str:
    """Keys are made by the hub alone, and still: none may leave the store's folder."""
    if len(key) > KEY_LIMIT or not _KEY.fullmatch(key):
        raise ValueError(f"not a key: {key!r}")
    return key


def check_folder(prefix: str) -> str:
    if not prefix.endswith("/"):
        raise ValueError(f"not a folder's prefix: {prefix!r}")
    return check_key(prefix[:-1])


def is_digest(text: str) -> bool:
    return _DIGEST.fullmatch(text) is not None


def digest_hex(digest: str) -> str:
    if not is_digest(digest):
        raise ValueError(f"not a digest: {digest!r}")
    return digest.removeprefix(DIGEST_PREFIX)
