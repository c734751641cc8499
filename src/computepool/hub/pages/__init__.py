"""The hub's own first pages: plain files, no build. They show what the public API tells, and sign a person in."""

from pathlib import Path

from fastapi import APIRouter
from starlette.responses import FileResponse

from computepool.hub.core.http import Authenticate, Routes

FOLDER = Path(__file__).parent
PAGES = {"/": "index.html", "/device": "device.html", "/pages/pool.js": "pool.js", "/pages/pool.css": "pool.css"}


def pages_router(authenticate: Authenticate) -> APIRouter:
    routes = Routes(authenticate, prefix="", tags=["pages"])
    for path, name in PAGES.items():
        _add(routes, path, FOLDER / name)
    return routes.router


def _add(routes: Routes, path: str, file: Path) -> None:
    @routes.get(path, visible="public", include_in_schema=False, response_class=FileResponse)
    async def page() -> FileResponse:
        return FileResponse(file, headers={"Cache-Control": "no-cache"})
