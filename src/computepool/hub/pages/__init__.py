"""The hub's own first pages: plain files, no build. They show what the public API tells, and sign a person in."""

from pathlib import Path

from fastapi import APIRouter
from starlette.responses import FileResponse

from computepool.hub.core.http import Authenticate, Routes

FOLDER = Path(__file__).parent
PAGES = {"/": "index.html", "/device": "device.html", "/docs": "docs.html"}
PARTS = (
    "pool.css",
    "icon.svg",
    "pool.js",
    "job.js",
    "log.js",
    "outputs.js",
    "device.js",
    "docs.js",
    "account.js",
    "session.js",
    "parts.js",
    "wallet.js",
)
# Said here and not guessed: some systems have other ideas of .js, and browsers then refuse the script.
TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


def pages_router(authenticate: Authenticate) -> APIRouter:
    routes = Routes(authenticate, prefix="", tags=["pages"])
    for path, name in [*PAGES.items(), *((f"/pages/{name}", name) for name in PARTS)]:
        _add(routes, path, FOLDER / name)
    return routes.router


def _add(routes: Routes, path: str, file: Path) -> None:
    @routes.get(path, visible="public", include_in_schema=False, response_class=FileResponse)
    async def page() -> FileResponse:
        return FileResponse(file, media_type=TYPES[file.suffix], headers={"Cache-Control": "no-cache"})
