"""The web app: the files that its build has put into `dist`, served from memory to anybody.

An address that no route has is the app's own: its router shows the page. An unknown address of the API never is. Where
the app was not built, its pages say how to get it; once it is built, they are there without a restart.
"""

import functools
import html
import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import structlog
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Scope, Send

from computepool.hub.core.representation import Representation, header_of

log = structlog.get_logger()

DIST = Path(__file__).parent / "dist"
STAMP = ".made-of"
"""Written last by the build: the digest of the sources."""
# Said here and not guessed: some systems have other ideas of .js, and browsers then refuse the script.
TYPES = {
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
PAGE_TYPE = "text/html; charset=utf-8"
COMPRESSED = {".gz": "gzip", ".br": "br"}
"""Beside a file, the same file as the build has compressed it."""
CHECKED = "no-cache"
"""May be kept, and is asked about each time: 304 unless it changed."""
FOR_EVER = "public, max-age=31536000, immutable"
ASSETS = "/assets/"
"""The build names these files by their content."""
SAME_ORIGIN = (b"cross-origin-resource-policy", b"same-origin")
NONCE = "__CSP_NONCE__"
"""Stands in a built page where its style elements are to name the nonce of the policy."""
PAGES = {
    "", "account", "admin", "device", "docs", "jobs", "leaderboard", "map", "market", "models", "nodes", "shared",
    "sign-in", "sign-up", "submit", "wallet",
}  # fmt: skip
"""First parts of the addresses that the app has. Others show its page for what is not there, with status 404."""
NOT_PAGES = {"api", "hf", "openapi.json", "healthz", "readyz", "metrics", "assets"}
"""First parts of addresses below which nothing is a page of the app."""
MISSING = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="color-scheme" content="light dark">
<meta http-equiv="refresh" content="5"><title>ComputePool</title>
<h1>The web app is not here yet</h1>
<p>This hub works: its API is at <a href="/openapi.json">/openapi.json</a>, and the <code>computepool</code> CLI
uses it.</p>
<p>{}</p>
</html>
"""
HOW = (
    "The app is built by ./dev up in a checkout, which takes about half a minute; this page shows it when it is done. "
    "If it stays away, ./dev web build says why. The packaged version has it built in."
)


@dataclass(frozen=True)
class Build:
    """The files of one build, in memory."""

    files: Mapping[str, Representation]
    index: str
    landing: str


class WebApp:
    """For every address that no route has."""

    def __init__(self, otherwise: ASGIApp, policy: Callable[[str], str], folder: Path = DIST) -> None:
        """`otherwise`: tells that nothing is there. `policy`: of a page whose style elements have this nonce."""
        self._otherwise = otherwise
        self._policy = policy
        self._folder = folder
        missing = MISSING.format(html.escape(HOW))
        self._build = Build({}, index=missing, landing=missing)
        self._refresh()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._otherwise(scope, receive, send)
            return
        file = self._build.files.get(scope["path"])
        if file is None and not _is_page(scope):
            await self._otherwise(scope, receive, send)
        elif scope["method"] not in ("GET", "HEAD"):
            raise HTTPException(405, headers={"Allow": "GET, HEAD"})
        elif file is not None:
            await file.send(scope, send)
        else:
            self._refresh()
            status = 200 if scope["path"].split("/")[1] in PAGES else 404
            page = self._build.landing if scope["path"] == "/" else self._build.index
            await self._fill(page).send(scope, send, status)

    def _refresh(self) -> None:
        """Reads the files again if the app was built since. Costs one `stat` for each page that is opened."""
        try:
            made_at = (self._folder / STAMP).stat().st_mtime_ns
        except OSError:
            return
        try:
            self._build = _read_build(self._folder, made_at)
        except OSError:
            log.warning("web.unreadable", folder=str(self._folder))  # a build is replacing the files just now

    def _fill(self, page: str) -> Representation:
        """Not to be kept: an old nonce would not fit the next policy."""
        nonce = secrets.token_urlsafe(16)
        policy = (b"content-security-policy", self._policy(nonce).encode())
        return Representation(page.replace(NONCE, nonce).encode(), PAGE_TYPE, "no-store", more_headers=[policy])


def _is_page(scope: Scope) -> bool:
    """As a browser that goes to an address asks; one that loads a script or a picture does not."""
    first = next(filter(None, scope["path"].split("/")), "")  # of //api, too
    if scope["path"] == "/":
        return True
    if scope["method"] not in ("GET", "HEAD") or first in NOT_PAGES:
        return False
    return "text/html" in header_of(scope["headers"], b"accept")


@functools.lru_cache(maxsize=1)  # all apps of a process serve the same build
def _read_build(folder: Path, made_at: int) -> Build:
    files = {path: _read(path, file) for path, file in _files(folder)}
    return Build(files, index=(folder / "index.html").read_text(), landing=(folder / "landing.html").read_text())


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    for file in folder.rglob("*"):
        if file.is_file() and file.suffix in TYPES and not file.relative_to(folder).parts[0].startswith("."):
            yield "/" + file.relative_to(folder).as_posix(), file


def _read(path: str, file: Path) -> Representation:
    beside = {coding: file.with_name(file.name + suffix) for suffix, coding in COMPRESSED.items()}
    return Representation(
        file.read_bytes(),
        TYPES[file.suffix],
        FOR_EVER if path.startswith(ASSETS) else CHECKED,
        encodings={coding: found.read_bytes() for coding, found in beside.items() if found.is_file()},
        more_headers=[SAME_ORIGIN],
    )
