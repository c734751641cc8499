"""URLs that work without a token: to blobs on the hub's own disk, and to files that the hub puts together.

The signature covers the method, the path and every parameter.

They are relative to the hub's address: an agent in the same network, one on the internet and a browser each reach
the hub under another name, and each resolves them against the one it uses.
"""

import hashlib
import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal
from urllib.parse import parse_qsl, quote, urlencode

from computepool.hub.core.clock import Clock
from computepool.hub.core.errors import Forbidden, Unauthenticated
from computepool.hub.core.secrets import derive_key

BLOB_PATH = "/api/v1/blobs/"
FILE_PATH = "/api/v1/files/"
PURPOSE = "artifact URLs"
QUERY_LIMIT = 2_000
"""Of a signed URL's query, in characters."""

_NUMBER = re.compile(r"(0|[1-9][0-9]{0,15})")
_PUT_FIELDS = frozenset({"expires", "size", "sha256", "signature"})
_GET_FIELDS = frozenset({"expires", "filename", "signature"})
_FILE_FIELDS = frozenset({"expires", "signature"})

FileKind = Literal["logs", "outputs", "previews", "zips"]
"""What a URL below FILE_PATH gives: an attempt's log, an output to keep or to look at, all outputs of a job."""


@dataclass(frozen=True, slots=True)
class PutRight:
    key: str
    size_bytes: int
    digest: str


@dataclass(frozen=True, slots=True)
class GetRight:
    key: str
    filename: str


class NotSigned(Unauthenticated):
    code = "signature_missing"

    def __init__(self) -> None:
        super().__init__("This address only works with a signature.", hint="Ask the hub for a signed URL.")


class BadSignature(Forbidden):
    code = "signature_refused"

    def __init__(self) -> None:
        super().__init__("The signature does not fit this request.", hint="Use the URL exactly as the hub gave it.")


class UrlExpired(Forbidden):
    code = "url_expired"

    def __init__(self) -> None:
        super().__init__("This URL has expired.", hint="Ask the hub for a new one; what was uploaded is still there.")


class BlobSigner:
    def __init__(self, secret_key: bytes, clock: Clock) -> None:
        self._key = derive_key(secret_key, PURPOSE)
        self._clock = clock

    def sign_put(self, key: str, size_bytes: int, sha256_hex: str, expires_seconds: int) -> str:
        fields = {"expires": self._expiry(expires_seconds), "size": str(size_bytes), "sha256": sha256_hex}
        return self._url("PUT", key, fields)

    def sign_get(self, key: str, expires_seconds: int, filename: str | None) -> str:
        return self._url("GET", key, {"expires": self._expiry(expires_seconds), "filename": filename or "artifact"})

    def sign_file(self, kind: FileKind, key: str, expires_seconds: int) -> str:
        """`key`: the id of what it is about."""
        return self._url("GET", key, {"expires": self._expiry(expires_seconds)}, f"{FILE_PATH}{kind}/")

    def check_put(self, key: str, query: str) -> PutRight:
        fields = self._check("PUT", key, query, _PUT_FIELDS)
        return PutRight(key, int(fields["size"]), f"sha256:{fields['sha256']}")

    def check_get(self, key: str, query: str) -> GetRight:
        """For GET and HEAD: one tells no more than the other."""
        return GetRight(key, self._check("GET", key, query, _GET_FIELDS)["filename"])

    def check_file(self, kind: FileKind, key: str, query: str) -> None:
        self._check("GET", key, query, _FILE_FIELDS, f"{FILE_PATH}{kind}/")

    def _expiry(self, expires_seconds: int) -> str:
        return str(int(self._clock.now().timestamp()) + expires_seconds)

    def _url(self, method: str, key: str, fields: Mapping[str, str], path: str = BLOB_PATH) -> str:
        signed = dict(fields) | {"signature": self._signature(method, key, fields, path)}
        return f"{path}{quote(key)}?{urlencode(signed)}"

    def _check(
        self, method: str, key: str, query: str, expected: frozenset[str], path: str = BLOB_PATH
    ) -> Mapping[str, str]:
        """The fields, if every one of them is there once, none is foreign, and all are as they were signed."""
        if len(query) > QUERY_LIMIT:
            raise BadSignature
        try:
            pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=True) if query else []
        except ValueError:
            raise BadSignature from None
        fields = dict(pairs)
        if "signature" not in fields:
            raise NotSigned
        if fields.keys() != expected or len(pairs) != len(fields):
            raise BadSignature
        given = fields.pop("signature")
        if not given.isascii() or not hmac.compare_digest(given, self._signature(method, key, fields, path)):
            raise BadSignature
        if not _NUMBER.fullmatch(fields["expires"]):
            raise BadSignature
        if self._clock.now().timestamp() >= int(fields["expires"]):
            raise UrlExpired
        return fields

    def _signature(self, method: str, key: str, fields: Mapping[str, str], path: str) -> str:
        """Over the escaped form, in which no value can look like the beginning of the next."""
        # Those of blobs are signed as ever, so that a new hub takes the URLs of an old one.
        where = quote(key) if path == BLOB_PATH else f"{path}{quote(key)}"
        text = f"{method}\n{where}\n{urlencode(sorted(fields.items()))}"
        return hmac.new(self._key, text.encode(), hashlib.sha256).hexdigest()
