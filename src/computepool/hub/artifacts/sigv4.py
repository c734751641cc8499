"""Presigned S3 URLs (AWS Signature Version 4, in the query) that also sign headers.

Why not the S3 client's own: it signs only the host, so a URL made by it takes any body. With `content-length` and
`x-amz-checksum-sha256` among the signed headers a PUT is bound to one size and one SHA-256, which the store checks.
"""

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import quote, urlsplit

ALGORITHM = "AWS4-HMAC-SHA256"
LONGEST_SECONDS = 7 * 24 * 3600
"""S3 takes no presigned URL that is valid for longer."""


@dataclass(frozen=True)
class Credentials:
    access_key_id: str
    secret_access_key: str
    session_token: str | None = None


def presign(
    method: str,
    url: str,
    credentials: Credentials,
    region: str,
    *,
    now: datetime,
    expires_seconds: int,
    headers: Mapping[str, str] | None = None,
    query: Mapping[str, str] | None = None,
) -> str:
    """`url` with a signature in its query. Whoever uses it must send `headers` exactly as they are here."""
    if not 1 <= expires_seconds <= LONGEST_SECONDS:
        raise ValueError(f"a presigned URL lives from 1 to {LONGEST_SECONDS} seconds, not {expires_seconds}")
    at = now.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
    scope = f"{at[:8]}/{region}/s3/aws4_request"
    parts = urlsplit(url)
    signed = {"host": parts.netloc} | {name.lower(): value.strip() for name, value in (headers or {}).items()}
    parameters = dict(query or {}) | {
        "X-Amz-Algorithm": ALGORITHM,
        "X-Amz-Credential": f"{credentials.access_key_id}/{scope}",
        "X-Amz-Date": at,
        "X-Amz-Expires": str(expires_seconds),
        "X-Amz-SignedHeaders": ";".join(sorted(signed)),
    }
    if credentials.session_token:
        parameters["X-Amz-Security-Token"] = credentials.session_token
    canonical_query = "&".join(f"{_escape(name)}={_escape(value)}" for name, value in sorted(parameters.items()))
    canonical_request = "\n".join(
        (
            method,
            parts.path,
            canonical_query,
            *(f"{name}:{value}" for name, value in sorted(signed.items())),
            "",
            parameters["X-Amz-SignedHeaders"],
            "UNSIGNED-PAYLOAD",
        )
    )
    text = "\n".join((ALGORITHM, at, scope, hashlib.sha256(canonical_request.encode()).hexdigest()))
    signature = hmac.new(_signing_key(credentials, scope), text.encode(), hashlib.sha256).hexdigest()
    return f"{parts.scheme}://{parts.netloc}{parts.path}?{canonical_query}&X-Amz-Signature={signature}"


def escape_path(path: str) -> str:
    """A key as it stands in a URL; S3 signs the path as it is sent, so it must be escaped exactly once."""
    return quote(path, safe="/-_.~")


def _signing_key(credentials: Credentials, scope: str) -> bytes:
    key = b"AWS4" + credentials.secret_access_key.encode()
    for step in scope.split("/"):
        key = hmac.new(key, step.encode(), hashlib.sha256).digest()
    return key


def _escape(text: str) -> str:
    return quote(text, safe="-_.~")
