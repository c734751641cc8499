"""gzip for answers that are worth it.

Only for answers to GET that are sent in one piece: streams and files are left as they are. Never where a secret could
stand beside text that somebody else chose, as the length of the compressed answer would tell about the secret (BREACH):
tokens and codes are told in answers to POST, which are never compressed, and PRIVATE_PATHS have signed URLs beside the
names of a job's files. That nobody else's page can send a request with the reader's token is the other half: the API
takes no cookies.
"""

import re

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from computepool.hub.core.representation import (
    COMPRESS_FROM_BYTES,
    accepts_coding,
    compressed,
    header_of,
    is_compressible,
)

PRIVATE_PATHS = re.compile(
    r"/api/v1/(auth|tokens|blobs|files|artifacts)(/|$)|/api/v1/jobs/[^/]+/(artifacts|logs/info)$"
)


class Compression:
    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] not in ("GET", "HEAD") or PRIVATE_PATHS.match(scope["path"]):
            await self.app(scope, receive, send)
            return
        start: Message | None = None

        async def shrinking(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start" and _is_candidate(message):
                start = message  # what it is to say depends on the body
                return
            if start is not None and message["type"] == "http.response.body":
                first, start = start, None
                if not message.get("more_body"):
                    first, message = await _shrunk(scope, first, message)
                await send(first)
            await send(message)

        await self.app(scope, receive, shrinking)


def _is_candidate(start: Message) -> bool:
    """What brings an ETag of its own, as shared answers and pages do, is compressed already where it is worth it."""
    names = {name for name, _ in start["headers"]}
    return (
        start["status"] != 206
        and not names & {b"content-encoding", b"etag"}
        and is_compressible(header_of(start["headers"], b"content-type"))
    )


async def _shrunk(scope: Scope, start: Message, message: Message) -> tuple[Message, Message]:
    body = message.get("body", b"")
    if len(body) < COMPRESS_FROM_BYTES:
        return start, message
    headers = [*start["headers"], (b"vary", b"accept-encoding")]
    if accepts_coding(scope, "gzip"):
        body = await compressed(body)
        headers = [(name, value) for name, value in headers if name != b"content-length"]
        headers += [(b"content-encoding", b"gzip"), (b"content-length", str(len(body)).encode())]
    return {**start, "headers": headers}, {**message, "body": body}
