"""The hub's pages: files that anybody may read, served from memory.

`hub/web` is the folder of the built app, where there is one. Until then the plain pages beside this file are the app.
Either way every file of the folder is served, and an address that nothing else answers is the app's own: its router
shows the page. An unknown address of the API never is.
"""

import secrets
from collections.abc import Callable, Iterator
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Scope, Send

from computepool.hub.core.representation import Representation, header_of

FOLDER = Path(__file__).parent
BUILT = FOLDER.parent / "web"
# Said here and not guessed: some systems have other ideas of .js, and browsers then refuse the script.
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".webmanifest": "application/manifest+json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".woff2": "font/woff2",
    ".txt": "text/plain; charset=utf-8",
}
COMPRESSED = {".gz": "gzip", ".br": "br"}
"""Beside a file, the same file as the build has compressed it."""
CHECKED = "no-cache"
"""May be kept, and is asked about each time: 304 unless it changed."""
FOR_EVER = "public, max-age=31536000, immutable"
ASSETS = "/assets/"
"""The build names these files by their content."""
NONCE = b"__CSP_NONCE__"
"""Stands in a built page where its style elements are to name the nonce of the policy."""
NOT_PAGES = {"api", "hf", "docs", "openapi.json", "healthz", "readyz", "metrics", "pages", "assets"}
"""First parts of addresses below which nothing is a page of the app."""


class Pages:
    """The app for every address that no route has."""

    def __init__(self, otherwise: ASGIApp, policy: Callable[[str], str], built: Path = BUILT) -> None:
        """`otherwise`: tells that nothing is there. `policy`: of a page whose style elements have this nonce."""
        self._otherwise = otherwise
        self._policy = policy
        self.files = {path: _read(path, file) for path, file in _files(built)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        found = self._find(scope) if scope["type"] == "http" else None
        if found is None:
            await self._otherwise(scope, receive, send)
        elif scope["method"] not in ("GET", "HEAD"):
            raise HTTPException(405, headers={"Allow": "GET, HEAD"})
        elif NONCE in found.body:
            await self._fill(found.body).send(scope, send)
        else:
            await found.send(scope, send)

    def _find(self, scope: Scope) -> Representation | None:
        found = self.files.get(scope["path"])
        first = scope["path"].split("/")[1]
        if found is None and scope["method"] in ("GET", "HEAD") and first not in NOT_PAGES and _wants_page(scope):
            return self.files["/"]
        return found

    def _fill(self, body: bytes) -> Representation:
        """Not to be kept: an old nonce would not fit the next policy."""
        nonce = secrets.token_urlsafe(16)
        policy = (b"content-security-policy", self._policy(nonce).encode())
        filled = body.replace(NONCE, nonce.encode())
        return Representation(filled, TYPES[".html"], "no-store", more_headers=[policy])


def _wants_page(scope: Scope) -> bool:
    """As a browser that goes to an address does; one that loads a script or a picture does not."""
    return "text/html" in header_of(scope["headers"], b"accept")


def _files(built: Path) -> Iterator[tuple[str, Path]]:
    """Addresses and files, of which a later one replaces an earlier one."""
    is_built = (built / "index.html").is_file()
    for file in FOLDER.iterdir():
        if file.suffix == ".html":
            if not is_built or file.stem == "docs":
                yield "/" if file.stem == "index" else f"/{file.stem}", file
        elif file.suffix in TYPES:
            yield f"/pages/{file.name}", file
    if is_built:
        for file in built.rglob("*"):
            path = "/" + file.relative_to(built).as_posix()
            if file.is_file() and file.suffix in TYPES:
                yield "/" if path == "/index.html" else path, file


def _read(path: str, file: Path) -> Representation:
    beside = {coding: file.with_name(file.name + suffix) for suffix, coding in COMPRESSED.items()}
    return Representation(
        file.read_bytes(),
        TYPES[file.suffix],
        FOR_EVER if path.startswith(ASSETS) else CHECKED,
        encodings={coding: found.read_bytes() for coding, found in beside.items() if found.is_file()},
    )
