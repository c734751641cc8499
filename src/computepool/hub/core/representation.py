"""A body that is ready to be sent many times: plain, compressed, or as `304 Not Modified`."""

import asyncio
import hashlib
import zlib
from collections.abc import Iterable, Mapping

from starlette.types import Scope, Send

COMPRESS_FROM_BYTES = 1024
"""A smaller body gains nothing."""
GZIP_LEVEL = 6
PIECE_BYTES = 32 * 1024
"""Is compressed in about a millisecond."""
COMPRESSIBLE = ("text/", "application/json", "application/javascript", "application/manifest+json", "image/svg+xml")
NOT_COMPRESSIBLE = ("text/event-stream",)
"""It is sent as it comes."""

Headers = list[tuple[bytes, bytes]]


def is_compressible(content_type: str) -> bool:
    return content_type.startswith(COMPRESSIBLE) and not content_type.startswith(NOT_COMPRESSIBLE)


async def compressed(body: bytes) -> bytes:
    """gzip, in pieces, so that others have a turn in between. The same bytes for the same body: no time is in it."""
    packer, pieces = zlib.compressobj(GZIP_LEVEL, wbits=zlib.MAX_WBITS | 16), list[bytes]()
    for start in range(0, len(body), PIECE_BYTES):
        if start:
            await asyncio.sleep(0)
        pieces.append(packer.compress(body[start : start + PIECE_BYTES]))
    return b"".join([*pieces, packer.flush()])


def header_of(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> str:
    """The values of all headers of this name, with commas between them; empty where there is none."""
    return ", ".join(value.decode("latin-1") for found, value in headers if found == name)


def accepts_coding(scope: Scope, coding: str) -> bool:
    """Whether the client takes this Content-Encoding. What it does not name it gets plain, whatever `*` says."""
    for part in header_of(scope["headers"], b"accept-encoding").split(","):
        name, *parameters = (word.strip().lower() for word in part.split(";"))
        if name == coding:
            return not any(word.replace(" ", "") in ("q=0", "q=0.0", "q=0.00", "q=0.000") for word in parameters)
    return False


class Representation:
    def __init__(
        self,
        body: bytes,
        content_type: str,
        cache_control: str,
        *,
        encodings: Mapping[str, bytes] | None = None,
        more_headers: Iterable[tuple[bytes, bytes]] = (),
    ) -> None:
        """`encodings`: the body as it was compressed before, by the name of the coding. Where it has no gzip, that is
        made when somebody first asks for it."""
        self.body = body
        # Weak: the same for every encoding of the body.
        self.etag = f'W/"{hashlib.sha256(body).hexdigest()[:32]}"'
        self._encodings = dict(encodings or {})
        self._can_shrink = len(body) >= COMPRESS_FROM_BYTES and is_compressible(content_type)
        self._type = (b"content-type", content_type.encode())
        self._kept = [
            (b"etag", self.etag.encode()),
            (b"cache-control", cache_control.encode()),
            *more_headers,
        ]
        if self._can_shrink or self._encodings:
            self._kept.append((b"vary", b"accept-encoding"))

    async def send(self, scope: Scope, send: Send, status: int = 200) -> None:
        if status == 200 and self._is_known_to(scope):
            await send({"type": "http.response.start", "status": 304, "headers": self._kept})
            await send({"type": "http.response.body", "body": b""})
            return
        coding, body = await self._encoded(scope)
        headers = [*self._kept, self._type, (b"content-length", str(len(body)).encode())]
        if coding is not None:
            headers.append((b"content-encoding", coding.encode()))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    def take_encodings_of(self, other: "Representation") -> None:
        """`other` may have the same body: then it need not be compressed again."""
        if self.etag == other.etag:
            self._encodings = other._encodings

    def _is_known_to(self, scope: Scope) -> bool:
        known = [tag.strip() for tag in header_of(scope["headers"], b"if-none-match").split(",")]
        return "*" in known or self.etag in known or self.etag.removeprefix("W/") in known

    async def _encoded(self, scope: Scope) -> tuple[str | None, bytes]:
        if "br" in self._encodings and accepts_coding(scope, "br"):
            return "br", self._encodings["br"]
        if (self._can_shrink or "gzip" in self._encodings) and accepts_coding(scope, "gzip"):
            if "gzip" not in self._encodings:
                self._encodings["gzip"] = await compressed(self.body)
            return "gzip", self._encodings["gzip"]
        return None, self.body
