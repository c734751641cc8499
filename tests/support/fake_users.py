"""The people of a pool, as the CLI's tests need them."""

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route


def person(name: str, **changes: Any) -> dict[str, Any]:
    return {
        "id": f"user_{name}",
        "email": f"{name}@example.org",
        "name": name.title(),
        "country": None,
        "role": "user",
        "created_at": "2026-11-02T03:04:05Z",
        "disabled_at": None,
        **changes,
    }


class FakeUsers:
    """The newest is the first of the list."""

    def __init__(self) -> None:
        self.people = [person("rita"), person("hugo"), person("ada", role="admin")]

    def routes(self, api: str) -> list[Route]:
        return [
            Route(f"{api}/admin/users", self._list),
            Route(f"{api}/admin/users/{{user}}", self._show),
            Route(f"{api}/admin/users/{{user}}/role", self._change, methods=["PUT"]),
        ]

    async def _list(self, request: Request) -> Response:
        asked = request.query_params
        found = [
            one
            for one in self.people
            if asked.get("search", "") in one["email"] and asked.get("role", one["role"]) == one["role"]
        ]
        start = [one["id"] for one in found].index(asked["cursor"]) + 1 if "cursor" in asked else 0
        items = found[start : start + int(asked["limit"])]
        is_more = len(found) > start + len(items)
        return JSONResponse({"items": items, "next": items[-1]["id"] if is_more else None})

    def _find(self, request: Request) -> dict[str, Any] | None:
        name = request.path_params["user"]
        return next((one for one in self.people if name in (one["id"], one["email"])), None)

    async def _show(self, request: Request) -> Response:
        found = self._find(request)
        if found is None:
            error = {"code": "not_found", "message": f"There is no user {request.path_params['user']}."}
            return JSONResponse({"error": error}, 404)
        return JSONResponse(found)

    async def _change(self, request: Request) -> Response:
        found = self._find(request)
        assert found is not None
        role = (await request.json())["role"]
        if role == "user" and [one["id"] for one in self.people if one["role"] == "admin"] == [found["id"]]:
            message = f"{found['email']} is the only admin, and a pool needs at least one."
            return JSONResponse({"error": {"code": "last_admin", "message": message}}, 409)
        found["role"] = role
        return JSONResponse(found)
