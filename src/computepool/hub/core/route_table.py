"""Every route of a hub, with what it declares; and the refusal to start with one that declares nothing."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from fastapi import FastAPI
from starlette.routing import BaseRoute, Mount

from computepool.hub.core.http import Scope, Visible, gate_of


class RouteEntry(NamedTuple):
    method: str
    """An HTTP method, or WS."""
    path: str
    scope: Scope | None
    visible: Visible


class UndeclaredRouteError(Exception):
    """A route says nothing about who may call it."""


def check_routes(app: FastAPI, *, public_mounts: Iterable[str] = ()) -> None:
    """Call it when the app is complete. `public_mounts` are folders of files that anybody may read."""
    known = {app.openapi_url, app.docs_url, app.redoc_url, app.swagger_ui_oauth2_redirect_url, *public_mounts}
    missing = [path for path, route in _walk(app.routes) if gate_of(route) is None and path not in known]
    if missing:
        raise UndeclaredRouteError(f"routes that declare no scope and visibility: {', '.join(sorted(set(missing)))}")


def route_table(app: FastAPI) -> list[RouteEntry]:
    """Every declared route, for the docs and for the tests that try each of them."""
    table: list[RouteEntry] = []
    for path, route in _walk(app.routes):
        gate = gate_of(route)
        if gate is not None:
            methods = getattr(route, "methods", None) or ("WS",)
            table += [RouteEntry(method, path, gate.scope, gate.visible) for method in methods]
    return sorted(table, key=lambda entry: (entry.path, entry.method))


def _walk(routes: Iterable[BaseRoute], prefix: str = "") -> Iterator[tuple[str, object]]:
    """Every leaf with its whole path: through mounted apps, and through routers that FastAPI includes lazily."""
    for route in routes:
        included = getattr(route, "effective_route_contexts", None)
        if included is not None:
            for context in included():
                leaf = context.starlette_route or context
                yield from _walk([leaf], prefix)
        elif isinstance(route, Mount) and route.routes:
            yield from _walk(route.routes, prefix + route.path)
        else:
            yield prefix + getattr(route, "path", repr(route)), route
