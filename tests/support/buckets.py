"""A real S3 bucket as the store of a hub in virtual time."""

from computepool.hub.artifacts.blob_urls import BlobSigner
from computepool.hub.artifacts.opening import open_store
from computepool.hub.artifacts.settings import S3Settings
from computepool.hub.artifacts.store import SignedPut
from computepool.hub.core.clock import SystemClock


class Bucket:
    """The hub's store of a real bucket. Scripted agents put objects by their keys instead of by signed URLs."""

    def __init__(self, s3):
        settings = S3Settings(
            access_key_id=s3.access_key, secret_access_key=s3.secret_key, endpoint_url=s3.endpoint_url, region=s3.region
        )
        clock = SystemClock()
        self._store = open_store(f"s3://{s3.bucket}", BlobSigner(b"s" * 32, clock), clock, settings)
        self._raw = s3.store()
        self.is_broken = False

    def __getattr__(self, name):
        return getattr(self._store, name)

    def sign_put(self, key, size_bytes, digest, expires_seconds):
        return SignedPut(f"memory:{key}", {})

    def clear(self, prefix):
        self._fail_if_broken()
        self._store.clear(prefix)

    def delete(self, *keys):
        self._fail_if_broken()
        self._store.delete(*keys)

    def _fail_if_broken(self):
        if self.is_broken:
            raise OSError("the hub died here")

    @property
    def names(self):
        """Of all objects, asked with another client."""
        return sorted(entry["path"] for page in self._raw.list() for entry in page)
