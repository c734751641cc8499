"""Objects in an S3 bucket. Clients get presigned URLs; they never hold storage keys, nor do bytes pass the hub."""

import base64
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from urllib.parse import quote, urlsplit

import obstore
from obstore.exceptions import BaseError
from obstore.store import S3Store as Bucket

from computepool.hub.artifacts.settings import S3Settings
from computepool.hub.artifacts.sigv4 import LONGEST_SECONDS, Credentials, escape_path, presign
from computepool.hub.artifacts.store import (
    Entry,
    ObjectMissing,
    SignedPut,
    StoreError,
    check_folder,
    check_key,
    digest_hex,
)
from computepool.hub.core.clock import Clock

RETRIES = 4
RETRY_FOR = timedelta(seconds=20)
ANSWER_WITHIN = timedelta(seconds=60)
DELETE_BATCH = 1_000
WRITE_BUFFER_BYTES = 8 * 1024**2
"""What is larger goes up in parts of this size."""


class S3Store:
    def __init__(self, bucket: str, settings: S3Settings, clock: Clock, prefix: str = "") -> None:
        """`prefix`: a folder of the bucket, for a bucket that others use too."""
        self._prefix = f"{check_key(prefix)}/" if prefix else ""
        self._clock = clock
        self._region = settings.region
        self._credentials = Credentials(
            settings.access_key_id, settings.secret_access_key, settings.session_token or None
        )
        if settings.endpoint_url:
            self._base_url = f"{settings.endpoint_url}/{bucket}"
        else:
            self._base_url = f"https://{bucket}.s3.{settings.region}.amazonaws.com"
        self._bucket = Bucket(
            bucket,
            config={"session_token": settings.session_token} if settings.session_token else None,
            endpoint=self._base_url if not settings.endpoint_url else settings.endpoint_url,
            virtual_hosted_style_request=not settings.endpoint_url,
            region=settings.region,
            access_key_id=settings.access_key_id,
            secret_access_key=settings.secret_access_key,
            client_options={"allow_http": settings.endpoint_url.startswith("http://"), "timeout": ANSWER_WITHIN},
            retry_config={"max_retries": RETRIES, "retry_timeout": RETRY_FOR},
        )

    @property
    def origin(self) -> str:
        parts = urlsplit(self._base_url)
        return f"{parts.scheme}://{parts.netloc}"

    def put(self, key: str, data: bytes | Iterable[bytes]) -> None:
        if isinstance(data, bytes):
            with _told(key):
                obstore.put(self._bucket, self._name(key), data)
            return
        # Not `put` with an iterator: it would call us from inside its runtime, where we could not read other objects.
        with _told(key):
            writer = obstore.open_writer(self._bucket, self._name(key), buffer_size=WRITE_BUFFER_BYTES)
            for piece in data:
                writer.write(piece)
            writer.close()  # only now it exists; a writer that is dropped leaves nothing

    def read(self, key: str, start: int, length: int) -> bytes:
        if length == 0:
            return b""
        try:
            with _told(key):
                data = obstore.get_range(self._bucket, self._name(key), start=start, length=length).to_bytes()
        except StoreError:
            size = self.size(key)  # a range past the end is an error like any other
            if size is None or size < start + length:
                raise ObjectMissing(key) from None
            raise
        if len(data) != length:
            raise ObjectMissing(key)
        return data

    def size(self, key: str) -> int | None:
        try:
            with _told(key):
                return obstore.head(self._bucket, self._name(key))["size"]
        except ObjectMissing:
            return None

    def delete(self, *keys: str) -> None:
        names = [self._name(key) for key in keys]
        for start in range(0, len(names), DELETE_BATCH):
            try:
                with _told(names[start]):
                    obstore.delete(self._bucket, names[start : start + DELETE_BATCH])
            except ObjectMissing:
                continue

    def list(self, prefix: str) -> list[Entry]:
        found: list[Entry] = []
        with _told(prefix):
            for page in obstore.list(self._bucket, f"{self._prefix}{check_folder(prefix)}"):
                found += [Entry(each["path"].removeprefix(self._prefix), each["size"]) for each in page]
        return sorted(found, key=lambda entry: entry.key)

    def need_room(self, size_bytes: int) -> None:
        pass  # there always is

    def prepare(self, prefix: str) -> None:
        pass  # there are no folders

    def clear(self, prefix: str) -> None:
        keys = [entry.key for entry in self.list(prefix)]
        if keys:
            self.delete(*keys)

    def settle(self, prefix: str) -> None:
        pass  # what S3 shows is durable

    def sign_put(self, key: str, size_bytes: int, digest: str, expires_seconds: int) -> SignedPut:
        checksum = base64.b64encode(bytes.fromhex(digest_hex(digest))).decode()
        headers = {"x-amz-checksum-sha256": checksum}
        url = self._presign("PUT", key, expires_seconds, headers=headers | {"content-length": str(size_bytes)})
        return SignedPut(url, headers)

    def sign_get(self, key: str, expires_seconds: int, filename: str | None = None) -> str:
        answer = {
            "response-content-disposition": f"attachment; filename*=UTF-8''{quote(filename or 'artifact', safe='')}",
            "response-content-type": "application/octet-stream",
        }
        return self._presign("GET", key, expires_seconds, query=answer)

    def _presign(
        self,
        method: str,
        key: str,
        expires_seconds: int,
        *,
        headers: dict[str, str] | None = None,
        query: dict[str, str] | None = None,
    ) -> str:
        return presign(
            method,
            f"{self._base_url}/{escape_path(self._name(key))}",
            self._credentials,
            self._region,
            now=self._clock.now(),
            expires_seconds=min(expires_seconds, LONGEST_SECONDS),
            headers=headers,
            query=query,
        )

    def _name(self, key: str) -> str:
        return self._prefix + check_key(key)


@contextmanager
def _told(key: str) -> Iterator[None]:
    """The client's errors, as ours."""
    try:
        yield
    except FileNotFoundError:
        raise ObjectMissing(key) from None
    except (BaseError, OSError) as error:
        first_line = str(error).partition("\n")[0][:300]
        raise StoreError(
            f"The object store did not do it: {first_line}",
            hint="Try again soon. If you run this hub: check AWS_ENDPOINT_URL, the bucket and the AWS_* keys.",
        ) from error
