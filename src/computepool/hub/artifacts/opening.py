"""Which store the settings ask for."""

import shutil
from pathlib import Path
from urllib.parse import unquote, urlsplit

from computepool.hub.artifacts.blob_urls import BlobSigner
from computepool.hub.artifacts.local import LocalStore
from computepool.hub.artifacts.settings import S3Settings, load_s3_settings
from computepool.hub.artifacts.store import Store
from computepool.hub.core.clock import Clock
from computepool.hub.core.settings import SettingsError

RESERVE_BYTES = 1024**3
RESERVE_SHARE = 20
"""Of a small disk, a part in so many."""


def open_store(
    storage_url: str,
    signer: BlobSigner,
    clock: Clock,
    s3_settings: S3Settings | None = None,
    *,
    reserve_bytes: int | None = None,
) -> Store:
    """`file:///path`, or `s3://bucket[/folder]` with `s3_settings`, which default to the AWS_* variables.

    `reserve_bytes`: of a local disk; None for a sensible part of it.
    """
    parts = urlsplit(storage_url)
    if parts.scheme == "file":
        store = LocalStore(Path(unquote(parts.path)), signer)
        if reserve_bytes is None:
            reserve_bytes = min(RESERVE_BYTES, shutil.disk_usage(store.root).total // RESERVE_SHARE)
        store.reserve_bytes = reserve_bytes
        return store
    if parts.scheme != "s3" or not parts.netloc:
        raise SettingsError(f"COMPUTEPOOL_STORAGE_URL: expected file:///path or s3://bucket, got {storage_url}")
    from computepool.hub.artifacts.s3 import S3Store  # its client is large, and a hub on local disk needs none

    return S3Store(parts.netloc, s3_settings or load_s3_settings(), clock, prefix=parts.path.strip("/"))
