import asyncio
import json
from typing import Annotated

import httpx
import pytest
from fastapi import APIRouter, FastAPI, Query, Request, WebSocket
from pydantic import BaseModel
from starlette.responses import HTMLResponse, PlainTextResponse
from starlette.routing import Mount, Route
from structlog.testing import capture_logs
from support.seen_codes import NOTED

from computepool.hub.core.errors import Conflict, NotFound, TooMany, Unauthenticated
from computepool.hub.core.http import (
    BODY_LIMIT_BYTES,
    Caller,
    IdempotencyKey,
    Principal,
    Role,
    Routes,
    Scope,
    add_routes,
    principal_of,
)
from computepool.hub.core.http_shell import install_shell
from computepool.hub.core.route_table import RouteEntry, UndeclaredRouteError, check_routes, route_table


def person(role=Role.USER, scopes=None):
    return Principal("user_1", role, role.scopes if scopes is None else scopes, frozenset({"user_1"}), "access")


PEOPLE = {
    "user": person(),
    "admin": person(Role.ADMIN),
    "reader": person(scopes=frozenset({Scope.JOBS_READ})),
    "quiet-admin": person(Role.ADMIN, scopes=Role.USER.scopes),
    "impostor": person(Role.USER, scopes=frozenset(Scope)),
}


def authenticate(token):
    if token not in PEOPLE:
        raise Unauthenticated("Who?")
    return PEOPLE[token]


class Order(BaseModel):
    count: int
    password: str = ""


def routes_of_a_shop():
    routes = Routes(authenticate, tags=["shop"])

    @routes.get("/orders/{order_id}", scope=Scope.JOBS_READ, visible="own")
    async def show(order_id: str, caller: Caller, request: Request) -> dict[str, str]:
        assert principal_of(request) is caller
        return {"id": order_id, "user": caller.user_id}

    @routes.get("/orders", visible="public")
    async def look(size: str = "any", colour: Annotated[list[str] | None, Query()] = None) -> dict[str, object]:
        return {"size": size, "colour": colour}

    @routes.post("/orders", scope=Scope.JOBS_WRITE, visible="own", status_code=201)
    async def create(body: Order, key: IdempotencyKey = None) -> dict[str, object]:
        return {"count": body.count, "key": key}

    @routes.put("/blobs", visible="signed", body_limit_bytes=10)
    async def put(request: Request) -> dict[str, int]:
        return {"size_bytes": len(await request.body())}

    @routes.patch("/orders", scope=Scope.JOBS_WRITE, visible="own")
    async def change() -> None: ...

    @routes.delete("/orders", visible="admin")
    async def remove() -> dict[str, bool]:
        return {"removed": True}

    @routes.get("/fail/{how}", visible="public")
    async def fail(how: str) -> None:
        if how == "conflict":
            raise Conflict("Not now.", code="node_state", hint="Later.")
        if how == "busy":
            error = TooMany("Slowly.")
            error.retry_after_seconds = 7
            raise error
        if how == "missing":
            raise NotFound("No such thing.")
        raise RuntimeError("the database password is hunter2")

    @routes.get("/page", visible="public", response_class=HTMLResponse)
    async def page() -> HTMLResponse:
        return HTMLResponse("<p>hello")

    @routes.websocket("/stream", scope=Scope.JOBS_READ, visible="own")
    async def stream(websocket: WebSocket, caller: Caller) -> None:
        await websocket.accept()
        await websocket.send_text(caller.user_id)
        raise Conflict("Enough.", code="queue_full")

    return routes.router


def shop(nested=False):
    app = FastAPI()
    install_shell(app)
    if nested:
        middle = APIRouter()
        middle.include_router(routes_of_a_shop())
        app.include_router(middle)
    else:
        add_routes(app, routes_of_a_shop())
    return app


def ask(method, path, *, token=None, app=None, **more):
    async def story():
        transport = httpx.ASGITransport(app or shop(), raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://hub.test", event_hooks=NOTED) as client:
            headers = {"Authorization": f"Bearer {token}"} if token else {}
            headers |= more.pop("headers", {})
            return await client.request(method, f"/api/v1{path}", headers=headers, **more)

    return asyncio.run(story())


def error_of(answer):
    assert set(answer.json()) == {"error"}
    return answer.json()["error"]


@pytest.mark.parametrize("nested", [False, True])
def test_route_table_lists_every_route_with_scope_and_visibility(nested):
    app = shop(nested)
    check_routes(app)
    assert route_table(app) == [
        RouteEntry("PUT", "/api/v1/blobs", None, "signed"),
        RouteEntry("GET", "/api/v1/fail/{how}", None, "public"),
        RouteEntry("DELETE", "/api/v1/orders", Scope.ADMIN_WRITE, "admin"),
        RouteEntry("GET", "/api/v1/orders", None, "public"),
        RouteEntry("PATCH", "/api/v1/orders", Scope.JOBS_WRITE, "own"),
        RouteEntry("POST", "/api/v1/orders", Scope.JOBS_WRITE, "own"),
        RouteEntry("GET", "/api/v1/orders/{order_id}", Scope.JOBS_READ, "own"),
        RouteEntry("GET", "/api/v1/page", None, "public"),
        RouteEntry("WS", "/api/v1/stream", Scope.JOBS_READ, "own"),
    ]


@pytest.mark.parametrize("nested", [False, True])
def test_gate_guards_however_routers_are_nested(nested):
    app = shop(nested)
    assert ask("GET", "/orders/1", app=app).status_code == 401
    assert ask("GET", "/orders/1", token="user", app=app).json() == {"id": "1", "user": "user_1"}
    assert ask("POST", "/orders", token="reader", json={"count": 1}, app=app).status_code == 403


def test_routes_are_found_behind_the_prefix_of_a_proxy():
    async def story():
        transport = httpx.ASGITransport(shop(), root_path="/pool")
        async with httpx.AsyncClient(transport=transport, base_url="http://hub.test") as client:
            assert (await client.get("/pool/api/v1/orders")).json()["size"] == "any"
            assert (await client.get("/pool/api/v1/nothing")).status_code == 404

    asyncio.run(story())


def test_routes_that_declare_nothing_stop_the_start_and_are_all_named():
    app = shop()

    @app.get("/open")
    async def open_by_mistake() -> None: ...

    @app.websocket("/socket")
    async def socket_by_mistake(websocket: WebSocket) -> None: ...

    hidden = APIRouter(prefix="/hidden")

    @hidden.get("/deep")
    async def deep_by_mistake() -> None: ...

    app.include_router(hidden)
    app.router.routes.append(Mount("/mounted", routes=[Route("/inner", lambda request: PlainTextResponse("x"))]))
    app.mount("/files", PlainTextResponse("x"))
    with pytest.raises(UndeclaredRouteError) as refused:
        check_routes(app)
    names = str(refused.value).split(": ")[1].split(", ")
    assert names == ["/files", "/hidden/deep", "/mounted/inner", "/open", "/socket"]


def test_folders_of_public_files_are_named_to_the_check():
    app = shop()
    app.mount("/assets", PlainTextResponse("x"))
    check_routes(app, public_mounts=["/assets"])


@pytest.mark.parametrize(
    "declared",
    [{"visible": "own"}, {"visible": "public", "scope": Scope.JOBS_READ}, {"visible": "everybody"}, {"visible": ""}],
)
def test_declaration_that_contradicts_itself_is_refused(declared):
    with pytest.raises(ValueError, match="visible"):
        Routes(authenticate).get("/x", **declared)


@pytest.mark.parametrize(
    "header", [None, "", "Bearer", "Bearer ", "bearer", "Basic dXNlcjp1c2Vy", "user", "Bearer nobody", "Token user"]
)
def test_missing_or_wrong_bearer_is_401_and_says_how_to_authenticate(header):
    answer = ask("GET", "/orders/1", headers={} if header is None else {"Authorization": header})
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == 'Bearer realm="computepool"'
    assert error_of(answer)["code"] == "unauthenticated"


def test_two_authorization_headers_are_refused():
    headers = [("Authorization", "Bearer user"), ("Authorization", "Bearer admin")]

    async def story():
        async with httpx.AsyncClient(transport=httpx.ASGITransport(shop()), base_url="http://hub.test") as client:
            return await client.get("/api/v1/orders/1", headers=headers)

    assert asyncio.run(story()).status_code == 401


def test_missing_scope_is_403_and_named():
    error = error_of(ask("POST", "/orders", token="reader", json={"count": 1}))
    assert error["code"] == "missing_scope"
    assert "jobs:write" in error["message"]
    assert "token create NAME --scope jobs:write" in error["hint"]


def test_who_is_no_admin_is_not_told_to_make_an_admins_token():
    hints = {name: error_of(ask("DELETE", "/orders", token=name))["hint"] for name in ("user", "quiet-admin")}
    assert "ask an operator" in hints["user"]
    assert "token create NAME --scope admin" in hints["quiet-admin"]


def test_admin_route_wants_role_and_scope():
    codes = {name: ask("DELETE", "/orders", token=name).status_code for name in PEOPLE}
    assert codes == {"user": 403, "admin": 200, "reader": 403, "quiet-admin": 403, "impostor": 403}


def test_stranger_is_refused_before_the_body_is_read():
    assert ask("POST", "/orders", content=b"{not json").status_code == 401

    async def endless():
        raise AssertionError("the body was read")
        yield b""

    assert ask("POST", "/orders", content=endless()).status_code == 401


def test_wrong_method_is_405_without_a_token():
    answer = ask("PUT", "/orders")
    assert answer.status_code == 405
    assert error_of(answer)["code"] == "method_not_allowed"


@pytest.mark.parametrize(
    ("query", "field", "hint"),
    [("siz=1", "siz", "size"), ("size=1&size=1", "size", None), ("colour=a&size=1&colour=b&size=", "size", None)],
)
def test_unknown_or_repeated_parameter_is_refused(query, field, hint):
    answer = ask("GET", f"/orders?{query}")
    assert answer.status_code == 422
    (told,) = answer.json()["error"]["fields"]
    assert (told["field"], told.get("hint")) == (field, hint)


def test_list_takes_a_parameter_several_times():
    assert ask("GET", "/orders?colour=a&size=1&colour=b").json() == {"size": "1", "colour": ["a", "b"]}


def test_unknown_path_is_404_in_the_common_shape():
    assert error_of(ask("GET", "/nothing")) == {"code": "not_found", "message": "There is nothing at /api/v1/nothing."}


def test_pool_errors_keep_code_status_message_and_hint():
    answer = ask("GET", "/fail/conflict")
    assert answer.status_code == 409
    assert error_of(answer) == {"code": "node_state", "message": "Not now.", "hint": "Later."}
    assert ask("GET", "/fail/missing").status_code == 404
    assert ask("GET", "/fail/busy").headers["retry-after"] == "7"


def test_invalid_body_names_each_field_but_tells_no_secret_back():
    answer = ask("POST", "/orders", token="user", json={"count": "many", "password": 12345678})
    assert answer.status_code == 422
    fields = {each["field"]: each for each in error_of(answer)["fields"]}
    assert set(fields) == {"count", "password"}
    assert fields["count"]["value"] == "many"
    assert "12345678" not in answer.text
    broken = ask("POST", "/orders", token="user", content=b"{no", headers={"Content-Type": "application/json"})
    assert broken.status_code == 422
    long = ask("POST", "/orders", token="user", json={"count": "9" * 5000 + "x"})
    assert len(long.text) < 1000


def test_unexpected_error_leaks_nothing_but_an_id():
    with capture_logs() as logs:
        answer = ask("GET", "/fail/unexpectedly")
    assert answer.status_code == 500
    error = error_of(answer)
    assert error["code"] == "internal"
    assert "hunter2" not in answer.text
    assert "RuntimeError" not in answer.text
    assert error["hint"].endswith(logs[0]["error_id"])
    assert logs[0]["event"] == "request.failed"


def test_body_over_the_limit_is_413_declared_or_not():
    assert ask("PUT", "/blobs", content=b"x" * 10).json() == {"size_bytes": 10}
    assert error_of(ask("PUT", "/blobs", content=b"x" * 11))["code"] == "too_large"

    async def chunks(count):
        for _ in range(count):
            yield b"xxxxx"

    assert ask("PUT", "/blobs", content=chunks(2)).json() == {"size_bytes": 10}
    answer = ask("PUT", "/blobs", content=chunks(3))
    assert answer.status_code == 413
    assert error_of(answer)["code"] == "too_large"
    body = json.dumps({"count": 1, "password": "x" * BODY_LIMIT_BYTES}).encode()

    async def whole():
        yield body

    for content in (body, whole()):  # through FastAPI's own reading of the body, too
        headers = {"Content-Type": "application/json"}
        assert ask("POST", "/orders", token="user", content=content, headers=headers).status_code == 413


def test_every_answer_has_safe_headers_and_pages_a_policy():
    for path in ("/page", "/nothing", "/fail/unexpectedly", "/fail/conflict"):
        headers = ask("GET", path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] == "no-store"
        assert "camera=()" in headers["permissions-policy"]
    assert "default-src 'none'" in ask("GET", "/page").headers["content-security-policy"]
    assert "content-security-policy" not in ask("GET", "/nothing").headers


def test_idempotency_key_is_taken_from_its_header_and_bounded():
    answer = ask("POST", "/orders", token="user", json={"count": 1}, headers={"Idempotency-Key": "abc"})
    assert answer.json() == {"count": 1, "key": "abc"}
    for key in ("", "x" * 201):
        answer = ask("POST", "/orders", token="user", json={"count": 1}, headers={"Idempotency-Key": key})
        assert answer.status_code == 422


def test_openapi_says_which_routes_want_a_token_and_which_scope():
    paths = shop().openapi()["paths"]
    show = paths["/api/v1/orders/{order_id}"]["get"]
    assert show["security"] == [{"bearer": []}]
    assert (show["x-scope"], show["x-visible"]) == ("jobs:read", "own")
    assert "security" not in paths["/api/v1/page"]["get"]


def connect(app, headers, *, extensions):
    """Speak ASGI to a WebSocket route; what it sent."""
    sent = []

    async def story():
        incoming = [{"type": "websocket.connect"}]

        async def receive():
            return incoming.pop(0) if incoming else {"type": "websocket.disconnect", "code": 1006}

        async def send(message):
            sent.append(message)

        scope = {"type": "websocket", "path": "/api/v1/stream", "raw_path": b"/api/v1/stream", "query_string": b""}
        scope |= {"headers": headers, "subprotocols": [], "extensions": extensions, "root_path": "", "scheme": "ws"}
        await app(scope, receive, send)

    asyncio.run(story())
    return sent


def test_websocket_is_refused_before_it_is_accepted_with_the_http_answer():
    sent = connect(shop(), [], extensions={"websocket.http.response": {}})
    assert sent[0]["type"] == "websocket.http.response.start"
    assert sent[0]["status"] == 401
    assert json.loads(sent[1]["body"])["error"]["code"] == "unauthenticated"
    assert [each["type"] for each in connect(shop(), [], extensions={})] == ["websocket.close"]


def test_websocket_with_a_token_is_accepted_and_an_error_closes_it_with_its_code():
    sent = connect(shop(), [(b"authorization", b"Bearer user")], extensions={})
    assert [each["type"] for each in sent] == ["websocket.accept", "websocket.send", "websocket.close"]
    assert sent[1]["text"] == "user_1"
    assert sent[2]["reason"] == "queue_full"
