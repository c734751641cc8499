"""Pages of other origins: refused unless the operator names them; and tokens of WebSockets as subprotocols."""

import asyncio

import httpx
import pytest
from fastapi import FastAPI, WebSocket
from support.asgi_socket import Denied, connected
from support.planted import each_mutant

from computepool.hub.core import websocket_tokens
from computepool.hub.core.errors import Unauthenticated
from computepool.hub.core.http import Caller, Principal, Role, Routes, Scope, add_routes
from computepool.hub.core.http_shell import install_shell
from computepool.hub.core.origins import CrossOrigin, origin_of
from computepool.hub.core.websocket_tokens import split_credentials

PUBLIC, APP = "https://pool.example.org", "https://app.example.org"


def authenticate(token):
    if not token.startswith("user"):
        raise Unauthenticated("Who?")
    return Principal(token, Role.USER, Role.USER.scopes, frozenset({token}), "access")


def site(*allowed):
    app = FastAPI(openapi_url=None)
    install_shell(app)
    app.add_middleware(CrossOrigin, public=PUBLIC, allowed=allowed)
    routes = Routes(authenticate)

    @routes.get("/mine", visible="own", scope=Scope.JOBS_READ)
    async def mine(caller: Caller) -> str:
        return caller.user_id

    @routes.websocket("/stream", visible="own", scope=Scope.JOBS_READ)
    async def stream(socket: WebSocket, caller: Caller) -> None:
        await socket.accept()
        await socket.send_json([caller.user_id, socket.scope["subprotocols"], dict(socket.headers)])
        await socket.close()

    add_routes(app, routes.router)
    return app


def ask(app, method="GET", path="/api/v1/mine", **headers):
    async def story():
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://hub.test") as client:
            return await client.request(
                method, path, headers={name.replace("_", "-"): value for name, value in headers.items()}
            )

    return asyncio.run(story())


def cors_of(answer):
    return {name for name in answer.headers if name.startswith("access-control")}


def test_no_other_origin_is_allowed_unless_named():
    for origin in (APP, PUBLIC, "null"):
        answer = ask(site(), Origin=origin, Authorization="Bearer user")
        assert (answer.status_code, cors_of(answer)) == (200, set())
        preflight = ask(site(), "OPTIONS", Origin=origin, Access_Control_Request_Method="GET")
        assert (preflight.status_code, cors_of(preflight)) == (405, set())


def test_named_origin_may_read_but_not_with_cookies():
    app = site(APP, "http://localhost:5173")
    answer = ask(app, Origin=APP, Authorization="Bearer user")
    assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (200, APP)
    assert "X-Next-Offset" in answer.headers["access-control-expose-headers"]
    assert "origin" in answer.headers["vary"]
    refused = ask(app, Origin=APP)
    assert (refused.status_code, refused.headers["access-control-allow-origin"]) == (401, APP)
    for origin in ("https://evil.example", APP + ".evil.example", APP + ":8443", "http://app.example.org", "null"):
        answer = ask(app, Origin=origin, Authorization="Bearer user")
        assert cors_of(answer) == set()
        assert "origin" in answer.headers["vary"]
    assert "origin" in ask(app, Authorization="Bearer user").headers["vary"]
    assert cors_of(ask(app, path="/", Origin=APP)) == set()


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://Pool.Example.org:443/x?y", "https://pool.example.org"),
        ("http://localhost:80", "http://localhost"),
        ("https://pool.example.org:8443/", "https://pool.example.org:8443"),
        ("http://[::1]:8000", "http://[::1]:8000"),
        ("https://pool.example.org:80", "https://pool.example.org:80"),
    ],
)
def test_origin_is_written_as_browsers_do(url, origin):
    assert origin_of(url) == origin
    answer = ask(site(url), Origin=origin, Authorization="Bearer user")
    assert answer.headers["access-control-allow-origin"] == origin


def test_preflight_is_answered_once_for_two_hours():
    app = site(APP)
    asked = {"Access_Control_Request_Method": "PATCH", "Access_Control_Request_Headers": "authorization"}
    answer = ask(app, "OPTIONS", Origin=APP, **asked)
    assert (answer.status_code, answer.headers["access-control-max-age"]) == (204, "7200")
    assert answer.headers["access-control-allow-origin"] == APP
    assert "PATCH" in answer.headers["access-control-allow-methods"]
    assert "Authorization" in answer.headers["access-control-allow-headers"]
    assert "access-control-allow-credentials" not in answer.headers
    assert cors_of(ask(app, "OPTIONS", Origin="https://evil.example", **asked)) == set()
    assert ask(app, "OPTIONS", Origin=APP).status_code == 405  # no preflight


def open_stream(app, **headers):
    headers = {name.replace("_", "-"): value for name, value in headers.items()}

    async def story():
        async with connected(app, "/api/v1/stream", headers) as socket:
            return [*await socket.receive(), socket.subprotocol]

    return asyncio.run(story())


OFFERED = {"Sec_WebSocket_Protocol": "computepool.v1, bearer.user.of-this_token"}


def test_browser_sends_its_token_as_a_subprotocol():
    user, offered, headers, chosen = open_stream(site(), **OFFERED)
    assert (user, offered, chosen) == ("user.of-this_token", ["computepool.v1"], "computepool.v1")
    assert headers["sec-websocket-protocol"] == "computepool.v1"
    assert open_stream(site(), Authorization="Bearer user1")[3] is None  # programs have headers
    assert open_stream(site(), Authorization="Bearer user1", Sec_WebSocket_Protocol="computepool.v1")[3] is not None


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec_WebSocket_Protocol": "bearer.user1"},
        {"Sec_WebSocket_Protocol": "computepool.v2, bearer.user1"},
        {"Sec_WebSocket_Protocol": "computepool.v1, bearer."},
        {"Sec_WebSocket_Protocol": "computepool.v1, BEARER.user1"},
        {"Sec_WebSocket_Protocol": "computepool.v1, bearer.nobody"},
        {"Sec_WebSocket_Protocol": "computepool.v1, bearer.user1, bearer.user2"},
        {"Sec_WebSocket_Protocol": "computepool.v1, bearer.user1", "Authorization": "Bearer user2"},
        {"Cookie": "__Host-cp-refresh=user1; bearer=user1; Authorization=user1"},
        {},
    ],
)
def test_stream_without_exactly_one_good_token_is_refused(headers):
    with pytest.raises(Denied) as denied:
        open_stream(site(), **headers)
    assert denied.value.status == 401


@pytest.mark.parametrize("origin", [PUBLIC, APP, "http://hub.test"])
def test_stream_is_opened_by_own_pages_and_named_origins(origin):
    assert open_stream(site(APP), Origin=origin, Host="hub.test", **OFFERED)[0] == "user.of-this_token"


@pytest.mark.parametrize("origin", ["https://evil.example", "null", PUBLIC + ".evil.example", "http://hub.test:81"])
@pytest.mark.parametrize("credentials", [OFFERED, {"Authorization": "Bearer user1"}])
def test_stream_is_refused_to_other_pages(origin, credentials):
    with pytest.raises(Denied) as denied:
        open_stream(site(APP), Origin=origin, Host="hub.test", **credentials)
    assert (denied.value.status, denied.value.error["code"]) == (403, "foreign_page")


def test_what_may_be_logged_has_no_token():
    headers = [
        (b"Host", b"hub"),
        (b"authorization", b"Bearer secret1"),
        (b"sec-websocket-protocol", b"bearer.secret2"),
        (b"sec-websocket-protocol", b"computepool.v1"),
    ]
    plain, credentials = split_credentials(headers)
    assert plain == [(b"Host", b"hub"), (b"sec-websocket-protocol", b"computepool.v1")]
    assert credentials == [(b"authorization", b"Bearer secret1"), (b"authorization", b"Bearer secret2")]
    assert b"secret" not in repr(split_credentials([(b"sec-websocket-protocol", b"bearer.secret")])).encode()


# ── bugs that were put in on purpose ─────────────────────────────────────────────────────────────────────────────────


def foreign_stream():
    test_stream_is_refused_to_other_pages("https://evil.example", OFFERED)


def two_tokens():
    test_stream_without_exactly_one_good_token_is_refused(
        {"Sec_WebSocket_Protocol": "computepool.v1, bearer.user1", "Authorization": "Bearer user2"}
    )


def every_page_is_welcome(monkeypatch):
    monkeypatch.setattr(CrossOrigin, "_is_welcome", lambda self, origin, scope: True)


def every_origin_is_allowed(monkeypatch):
    class Everything(frozenset):
        def __contains__(self, origin):
            return True

    before = CrossOrigin.__init__

    def init(self, app, *, public, allowed):
        before(self, app, public=public, allowed=allowed)
        self._allowed = Everything({"*"})

    monkeypatch.setattr(CrossOrigin, "__init__", init)


def token_is_echoed(monkeypatch):
    monkeypatch.setattr(websocket_tokens, "SUBPROTOCOL", "bearer.user.of-this_token")
    monkeypatch.setattr(websocket_tokens, "BEARER", b"never")


def one_token_hides_the_other(monkeypatch):
    before = websocket_tokens.split_credentials
    monkeypatch.setattr(
        websocket_tokens, "split_credentials", lambda headers: (before(headers)[0], before(headers)[1][:1])
    )


MUTANTS = {
    foreign_stream: [every_page_is_welcome],
    test_no_other_origin_is_allowed_unless_named: [every_origin_is_allowed],
    test_named_origin_may_read_but_not_with_cookies: [every_origin_is_allowed],
    test_browser_sends_its_token_as_a_subprotocol: [token_is_echoed],
    two_tokens: [one_token_hides_the_other],
}


@each_mutant(MUTANTS)
def test_check_finds_the_bug(check, mutant, monkeypatch):
    mutant(monkeypatch)
    with pytest.raises((AssertionError, Denied, pytest.fail.Exception)):
        check()
