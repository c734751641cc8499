"""The OpenAPI document of all routes."""

from collections.abc import Callable
from typing import Any

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from computepool.hub.core.http import Routes
from computepool.hub.engine import Engine


def router(engine: Engine, document: Callable[[], dict[str, Any]]) -> APIRouter:
    """`document`: of the whole app."""
    routes = Routes(engine.directory.authenticate, prefix="", tags=["public"])

    @routes.get("/openapi.json", visible="public", shared_seconds=60, include_in_schema=False)
    async def openapi() -> JSONResponse:
        return JSONResponse(document())

    return routes.router
