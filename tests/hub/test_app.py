"""The whole app: every route says who may call it, and nobody reaches what is another's (promise 21)."""

import asyncio
import re
from datetime import timedelta

import pytest
from fastapi import APIRouter
from support.asgi_socket import Closed, Denied, connected
from support.engine import ADMIN, ALICE, BOB, SECRET_KEY, play
from support.memory_store import MemoryStore
from support.scripted_agent import add_agent, digest
from support.small_hub import HandClock
from support.snapshots import compare
from support.tenants import things_of

from computepool.hub.accounts.directory import LiveToken
from computepool.hub.accounts.tokens import hash_of, new_personal_token
from computepool.hub.api import mail
from computepool.hub.app import create_app
from computepool.hub.artifacts.blob_urls import BlobSigner
from computepool.hub.artifacts.local import LocalStore
from computepool.hub.artifacts.tables import Artifact
from computepool.hub.core.http import Role, Scope
from computepool.hub.core.route_table import UndeclaredRouteError, route_table
from computepool.protocol.messages import Challenge, Hello
from computepool.protocol.spec import MAX_SLICES

OWN_OBJECTS = {
    # Every route with an object in its path, and how its owner calls it. A new one must be listed here.
    "GET /api/v1/jobs/{job_id}": 200,
    "POST /api/v1/jobs/{job_id}/cancel": 200,
    "POST /api/v1/jobs/{job_id}/retry": 201,
    "GET /api/v1/jobs/{job_id}/why": 200,
    "GET /api/v1/jobs/{job_id}/checks": 200,
    "GET /api/v1/jobs/{job_id}/explain": 200,
    "GET /api/v1/jobs/{job_id}/artifacts": 200,
    "GET /api/v1/jobs/{job_id}/receipts": 200,
    "GET /api/v1/jobs/{job_id}/logs": 200,
    "GET /api/v1/jobs/{job_id}/logs/info": 200,
    "GET /api/v1/jobs/{job_id}/logs/raw": 200,
    "GET /api/v1/jobs/{job_id}/usage": 200,
    "GET /api/v1/jobs/{job_id}/timeline": 200,
    "GET /api/v1/jobs/{job_id}/slices": 200,
    "GET /api/v1/jobs/{job_id}/clone": 200,
    "GET /api/v1/jobs/{job_id}/shares": 200,
    "WS /api/v1/jobs/{job_id}/stream": 200,
    "GET /api/v1/nodes/{node_id}": 200,
    "GET /api/v1/nodes/{node_id}/reliability": 200,
    "GET /api/v1/nodes/{node_id}/telemetry": 200,
    "GET /api/v1/nodes/{node_id}/policy": 200,
    "GET /api/v1/nodes/{node_id}/attempts": 200,
    "PATCH /api/v1/nodes/{node_id}": 200,
    "POST /api/v1/nodes/{node_id}/drain": 200,
    "POST /api/v1/nodes/{node_id}/resume": 200,
    "POST /api/v1/nodes/{node_id}/ban": 200,
    "GET /api/v1/artifacts/{artifact_id}": 200,
    "POST /api/v1/artifacts/{artifact_id}/complete": 200,
    "DELETE /api/v1/tokens/{token_id}": 204,
    "DELETE /api/v1/sessions/{session_id}": 204,
}
NOT_OBJECTS = {
    "GET /api/v1/blobs/{key:path}": "whoever holds a URL that the hub signed; tests/hub/artifacts/test_signed_urls.py",
    "PUT /api/v1/blobs/{key:path}": "whoever holds a URL that the hub signed; tests/hub/artifacts/test_signed_urls.py",
    "HEAD /api/v1/blobs/{key:path}": "whoever holds a URL that the hub signed; tests/hub/artifacts/test_signed_urls.py",
    "GET /api/v1/files/logs/{attempt_id}": "whoever holds a URL that the hub signed; tests/hub/jobs/test_files.py",
    "GET /api/v1/files/outputs/{artifact_id}": "whoever holds a URL that the hub signed; tests/hub/jobs/test_files.py",
    "GET /api/v1/files/previews/{artifact_id}": "whoever holds a URL that the hub signed; tests/hub/jobs/test_files.py",
    "GET /api/v1/files/zips/{job_id}": "whoever holds a URL that the hub signed; tests/hub/jobs/test_files.py",
    "POST /api/v1/nodes/{node_id}/key": "whoever holds the node's key; tests/hub/nodes/test_key_rotation.py",
    "GET /api/v1/nodes/{node_id}/price-preview": "tests/hub/nodes/test_price_preview.py",
    "PATCH /api/v1/nodes/{node_id}/policy": "tests/hub/nodes/test_node_policy.py",
    "POST /api/v1/nodes/{node_id}/pause": "tests/hub/nodes/test_node_policy.py",
    "POST /api/v1/nodes/{node_id}/unpause": "tests/hub/nodes/test_node_policy.py",
    "GET /api/v1/market/nodes/{node_id}": "for everybody; tests/hub/test_world.py",
    "DELETE /api/v1/nodes/join-tokens/{token_id}": "tests/hub/nodes/test_node_lists.py",
    "POST /api/v1/nodes/{node_id}/reliability/{event_id}/contest": "tests/hub/reputation/test_contests.py",
    "GET /api/v1/wallet/top-ups/{top_up_id}": "tests/hub/payments/test_top_ups.py",
    "GET /api/v1/wallet/cash-outs/{cash_out_id}": "tests/hub/payments/test_cash_outs.py",
    "POST /api/v1/wallet/cash-outs/{cash_out_id}/cancel": "tests/hub/payments/test_cash_outs.py",
    "POST /api/v1/jobs/{job_id}/dispute": "tests/hub/disputes/test_disputes.py",
    "GET /api/v1/disputes/{dispute_id}": "tests/hub/disputes/test_disputes.py",
    "DELETE /api/v1/jobs/{job_id}": "tests/hub/jobs/test_removal.py",
    "GET /api/v1/jobs/{job_id}/verification": "needs a receipt; tests/hub/jobs/test_actions.py",
    "POST /api/v1/jobs/{job_id}/shares": "tests/hub/jobs/test_shares.py",
    "DELETE /api/v1/jobs/{job_id}/shares/{share_id}": "tests/hub/jobs/test_shares.py",
    "GET /api/v1/public/shares/{token}": "whoever has the link; tests/hub/jobs/test_shares.py",
    "GET /api/v1/public/shares/{token}/log": "whoever has the link; tests/hub/jobs/test_shares.py",
    "GET /api/v1/public/shares/{token}/outputs": "whoever has the link; tests/hub/jobs/test_shares.py",
    "DELETE /api/v1/artifacts/{artifact_id}": "tests/hub/jobs/test_removal.py",
    "GET /api/v1/wallet/statements/{period}": "of one's own wallet; tests/hub/wallet/test_statements.py",
}
PUBLIC_URL = "https://pool.example.org"
HTTP_OBJECTS = [route for route in OWN_OBJECTS if route.startswith(("GET", "POST", "PATCH", "DELETE"))]
IN_ACCOUNTS = ("DELETE /api/v1/tokens/{token_id}", "DELETE /api/v1/sessions/{session_id}")


def table_of(pool):
    return route_table(pool.client._transport.app)


@pytest.fixture
def local(tmp_path):
    """The store that has routes of its own."""

    def play_with_files(url, story, **options):
        play(url, story, store=LocalStore(tmp_path / "artifacts", BlobSigner(SECRET_KEY, HandClock())), **options)

    return play_with_files


# ── who may call what ────────────────────────────────────────────────────────────────────────────────────────────────


def test_every_route_declares_its_scope_and_visibility_as_in_the_snapshot(sqlite_hub, local):
    async def story(pool):
        table = [f"{e.method} {e.path} — {e.visible}" + (f", {e.scope}" if e.scope else "") for e in table_of(pool)]
        compare("routes.json", table)

    local(sqlite_hub, story)


def test_every_route_with_an_object_is_tried_with_a_strangers(sqlite_hub, local):
    async def story(pool):
        # Those of admins are nobody's own: that no user's token opens them is tried below.
        # Those of teams are in tests/hub/test_authorization.py.
        objects = [e for e in table_of(pool) if "{" in e.path and e.visible != "admin" and "{team}" not in e.path]
        with_object = {f"{e.method} {e.path}" for e in objects}
        assert with_object - NOT_OBJECTS.keys() == OWN_OBJECTS.keys(), "list the new route in OWN_OBJECTS, and try it"

    local(sqlite_hub, story)


def test_every_route_that_wants_a_token_refuses_without_one(sqlite_hub, local):
    async def story(pool):
        for entry in table_of(pool):
            path = re.sub(r"\{[^}]*\}", "x", entry.path)
            if entry.visible not in ("own", "admin"):
                continue
            if entry.method == "WS":
                with pytest.raises(Denied) as denied:
                    async with connected(pool.client._transport.app, path):
                        raise AssertionError("it was accepted")
                assert denied.value.status == 401
                continue
            answer = await pool.client.request(entry.method, f"http://hub.test{path}")
            assert answer.status_code == 401, entry
            assert answer.json()["error"]["code"] == "unauthenticated"

    local(sqlite_hub, story)


def test_cookies_open_no_operation_of_the_document(sqlite_hub, local):
    """The API is blind to cookies: where a bearer token is wanted, no cookie is one, from whatever page."""

    async def story(pool):
        answer = await pool.client.post(
            "http://hub.test/api/v1/auth/register",
            json={"email": "ann@example.org", "password": "correct horse battery", "name": "Ann", "browser": True},
            headers={"Origin": PUBLIC_URL},
        )
        kept = answer.cookies["__Host-cp-refresh"]
        pool.client.cookies.clear()
        access = answer.json()["access_token"]
        cookies = (
            f"__Host-cp-refresh={kept}; __Host-cp-refresh-2={kept}; Authorization=Bearer {access}; bearer={access}"
        )
        headers = {"Cookie": cookies, "Origin": PUBLIC_URL, "Sec-Fetch-Site": "same-origin"}
        operations = [
            (method, path, operation)
            for path, methods in pool.client._transport.app.openapi()["paths"].items()
            for method, operation in methods.items()
        ]
        assert len(operations) > 100
        open_ones = set()
        for method, path, operation in operations:
            place = re.sub(r"\{[^}]*\}", "x", path)
            if "security" in operation:
                answer = await pool.client.request(method, f"http://hub.test{place}", headers=headers)
                assert (answer.status_code, answer.json()["error"]["code"]) == (401, "unauthenticated"), (method, path)
                assert "set-cookie" not in answer.headers
            elif operation["x-visible"] == "public":
                open_ones.add(f"{method.upper()} {path}")
        # Of those that want no token, two read the cookie: tests/hub/accounts/test_browser_sessions.py.
        assert {"POST /api/v1/auth/refresh", "POST /api/v1/auth/logout"} < open_ones
        for entry in table_of(pool):
            if entry.method == "WS" and entry.visible == "own":
                with pytest.raises(Denied) as denied:
                    async with connected(pool.client._transport.app, re.sub(r"\{[^}]*\}", "x", entry.path), headers):
                        raise AssertionError("it was accepted")
                assert denied.value.status == 401

    local(sqlite_hub, story, settings={"public_url": PUBLIC_URL})


STREAMS = {"/api/v1/events", "/api/v1/public/events"}
"""That do not end by themselves."""


def test_token_without_the_scope_is_refused_by_every_route(sqlite_hub, local):
    """A personal token with one scope, against each route that wants another."""

    async def story(pool):
        tokens = {}
        for scope in Scope:
            text = new_personal_token(pool.rng.getrandbits)
            later = pool.clock.now() + timedelta(days=1)
            live = LiveToken(f"token_{scope}", hash_of(text), ALICE, Role.USER, frozenset({scope}), later)
            pool.engine.directory.admit_token(live)
            tokens[scope] = text
        for entry in table_of(pool):
            if entry.method == "WS" or entry.scope is None:
                continue
            path = re.sub(r"\{[^}]*\}", "x", entry.path)
            query = {"follow": "false"} if path in STREAMS else None
            for scope, text in tokens.items():
                headers = {"Authorization": f"Bearer {text}"}
                answer = await pool.client.request(
                    entry.method, f"http://hub.test{path}", headers=headers, params=query
                )
                refused = answer.status_code == 403 and answer.json()["error"]["code"] == "missing_scope"
                assert refused == (scope is not entry.scope or scope not in Role.USER.scopes), (entry, scope)

    local(sqlite_hub, story)


# ── two tenants ──────────────────────────────────────────────────────────────────────────────────────────────────────


def path_to(route, things):
    path = route.split(" ", 1)[1].removeprefix("/api/v1/")
    for name in ("job_id", "node_id", "artifact_id"):
        path = path.replace(f"{{{name}}}", things[name])
    return path


@pytest.mark.parametrize("url", ["sqlite_hub", "postgres_hub"])
def test_no_tenant_reads_or_changes_anothers_object(url, local, request):
    async def story(pool):
        alices, bobs = await things_of(pool, ALICE), await things_of(pool, BOB)
        before = pool.truth()
        for route in HTTP_OBJECTS:
            if route in IN_ACCOUNTS:
                continue  # tests/hub/accounts
            method = route.split(" ")[0]
            body = {"name": "stolen"} if method == "PATCH" else None
            for thief, victim in ((ALICE, bobs), (BOB, alices)):
                answer = await pool.call(method, path_to(route, victim), body, user=thief)
                assert answer.status_code == 404, f"{route} of another: {answer.status_code} {answer.text}"
                nobody = await pool.call(method, path_to(route, dict.fromkeys(victim, "x_of_nobody")), body, user=thief)
                assert nobody.status_code == 404
                mine, theirs = (re.sub(r"\w+_\w+", "…", each.json()["error"]["message"]) for each in (nobody, answer))
                assert mine == theirs, "whether it exists is not the caller's affair"
        assert pool.truth() == before
        order = sorted(HTTP_OBJECTS, key=lambda route: ("/ban" in route, route))
        for route in order:
            if route in IN_ACCOUNTS:
                continue
            method = route.split(" ")[0]
            body = {"name": "renamed"} if method == "PATCH" else None
            answer = await pool.call(method, path_to(route, alices), body, user=ALICE)
            assert answer.status_code == OWN_OBJECTS[route], f"{route} of one's own: {answer.text}"

    local(request.getfixturevalue(url), story)


def test_lists_show_only_ones_own_and_public_ones_nobodys(sqlite_hub, local):
    async def story(pool):
        things = {user: await things_of(pool, user) for user in (ALICE, BOB)}
        names = ("job_id", "running", "node_id", "artifact_id")
        plain = [e for e in table_of(pool) if e.method == "GET" and "{" not in e.path and e.path not in STREAMS]
        own, public = (
            [e.path.removeprefix("/api/v1/") for e in plain if e.visible == kind and e.path.startswith("/api/v1/")]
            for kind in ("own", "public")
        )
        assert {"artifacts", "disputes", "jobs", "nodes", "nodes/join-tokens", "notices", "wallet/entries"} <= {*own}
        assert {"leaderboard", "map", "market/offers", "stats"} <= {*public}
        for user, other in ((ALICE, BOB), (BOB, ALICE)):
            hidden = {other, f"node of {other}", *(things[other][name] for name in names)}
            for path in own:
                answer = await pool.call("GET", path, user=user)
                assert answer.status_code in (200, 404, 422), f"{path}: {answer.text}"
                assert [word for word in hidden if word in answer.text] == [], path
        everything = (await pool.call("GET", "jobs", user=ADMIN)).json()["items"]
        assert len(everything) == 4
        for path in public:  # of nodes that take anybody's work, everybody sees the ids
            text = (await pool.call("GET", path, user=None)).text
            private = {*things, *(f"node of {user}" for user in things)}
            private |= {found[name] for found in things.values() for name in names if name != "node_id"}
            assert [word for word in private if word in text] == [], path

    local(sqlite_hub, story)


def test_live_stream_of_another_is_refused_before_it_begins(sqlite_hub, local):
    async def story(pool):
        things = await things_of(pool, ALICE)
        app = pool.client._transport.app
        path = f"/api/v1/jobs/{things['job_id']}/stream"
        with pytest.raises(Denied) as denied:
            async with connected(app, path, {"Authorization": f"Bearer {pool.token(BOB)}"}):
                raise AssertionError("it was accepted")
        assert (denied.value.status, denied.value.error["code"]) == (404, "no_such_job")
        async with connected(app, path, {"Authorization": f"Bearer {pool.token(ALICE)}"}) as socket:
            assert (await socket.receive())["job"]["id"] == things["job_id"]

    local(sqlite_hub, story)


def test_events_of_one_tenant_do_not_reach_another(sqlite_hub, local):
    async def story(pool):
        with pool.engine.context.bus.listen(f"owner/{BOB}") as heard:
            await things_of(pool, ALICE)
            await pool.settle()
            assert heard.empty()
            await pool.submit(user=BOB)
            await pool.settle()
            assert not heard.empty()

    local(sqlite_hub, story)


def test_same_content_of_two_tenants_is_two_artifacts(sqlite_hub, local):
    async def story(pool):
        for user in (ALICE, BOB):
            await things_of(pool, user)
        rows = [row for row in pool.rows(Artifact) if row.digest == digest(b"x")]
        assert len({row.id for row in rows}) == len({row.owner_id for row in rows}) == 2

    local(sqlite_hub, story)


# ── errors, health, the link ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "nothing/here", 404, "not_found"),
        ("PUT", "jobs", 405, "method_not_allowed"),
        ("GET", "jobs/job_of_nobody", 404, "no_such_job"),
        ("GET", "jobs?limit=many", 422, "invalid"),
        ("POST", "nodes/join-tokens", 422, "invalid"),
        ("GET", "jobs/a%00b", 422, "invalid"),
        ("POST", "nodes/a%00b/drain", 422, "invalid"),
        ("GET", "jobs?cursor=a%00b", 422, "invalid"),
    ],
)
def test_errors_have_one_shape(postgres_hub, method, path, status, code):
    async def story(pool):
        answer = await pool.call(method, path)
        assert answer.status_code == status, answer.text
        error = answer.json()
        assert set(error) == {"error"}
        assert error["error"]["code"] == code
        assert error["error"]["message"]
        assert answer.headers["x-content-type-options"] == "nosniff"

    play(postgres_hub, story)


def test_health_says_that_the_process_lives_and_readiness_that_the_database_answers(hub_url):
    async def story(pool):
        alive = await pool.client.get("http://hub.test/healthz")
        ready = await pool.client.get("http://hub.test/readyz")
        assert (alive.json(), ready.json()) == ({"status": "ok"}, {"status": "ready"})
        real = pool.db.read

        async def broken(*_args, **_kwargs):
            raise OSError("no such host")

        pool.db.read = broken
        assert (await pool.client.get("http://hub.test/healthz")).status_code == 200
        answer = await pool.client.get("http://hub.test/readyz")
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "unavailable")
        assert "no such host" not in answer.text
        pool.db.read = real

    play(hub_url, story)


def test_public_routes_tell_numbers_and_no_names(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool, name="a private name", cpus=4)
        await pool.submit(slices=5)
        stats = (await pool.client.get("stats")).json()
        assert (stats["nodes_online"], stats["cpus_free"], stats["slices_running"], stats["slices_queued"]) == (
            1,
            0,
            4,
            1,
        )
        assert "private" not in str(stats)
        assert agent.node_id not in str(stats)
        keys = (await pool.client.get("keys")).json()
        assert (keys["hub_id"], keys["items"][0]["key_id"]) == ("hub_test", pool.engine.keyring.current_id)
        assert (await pool.client.get("version")).json()["api"] == "v1"

    play(sqlite_hub, story)


SHARED = ("stats", "market/offers", "market/prices", "version", "keys", "config", "openapi.json")


@pytest.mark.parametrize("name", SHARED)
def test_public_answers_are_shared_and_conditional(sqlite_hub, name):
    async def story(pool):
        path = f"http://hub.test/{name}" if name == "openapi.json" else f"http://hub.test/api/v1/{name}"
        whole = await pool.client.get(path)
        assert whole.status_code == 200
        assert re.fullmatch(r"public, max-age=\d+", whole.headers["cache-control"])
        known = await pool.client.get(path, headers={"If-None-Match": whole.headers["etag"]})
        assert (known.status_code, known.content) == (304, b"")
        told = await pool.client.head(path)
        assert (told.status_code, told.headers["etag"]) == (200, whole.headers["etag"])
        is_packed = whole.headers.get("content-encoding") == "gzip"
        assert is_packed == (len(whole.content) >= 1024)

    play(sqlite_hub, story)


def test_private_answers_are_not_kept(sqlite_hub):
    async def story(pool):
        for path in ("jobs", "nodes", "wallet", "tokens", "sessions"):
            answer = await pool.call("GET", path)
            assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-store")
            assert "etag" not in answer.headers

    play(sqlite_hub, story)


def test_config_tells_what_a_page_needs_before_sign_in(sqlite_hub):
    secrets = {
        "stripe_secret_key": "sk_test_secretkey",
        "stripe_webhook_secret": "whsec_secret",
        "smtp_url": "smtp://user:secret@mail.example.org",
    }

    async def story(pool):
        answer = await pool.client.get("http://hub.test/api/v1/config")
        told = answer.json()
        assert told["sign_in"] == {
            "registration": "closed",
            "methods": ["password", "link", "device"],
            "providers": [],
            "browser_cookie": True,
        }
        assert (told["money"], told["currency"], told["mail"]) == (True, "eur", True)
        assert told["features"] == {"top_ups": True, "direct_storage": False}
        assert told["limits"]["slices"] == MAX_SLICES
        assert told["websocket_subprotocol"] == "computepool.v1"
        assert "secret" not in answer.text

    play(sqlite_hub, story, settings={"registration": "closed", "currency": "eur", "public_url": PUBLIC_URL, **secrets})


def test_pages_may_reach_the_bucket_where_artifacts_are_in_one(sqlite_hub):
    store = MemoryStore()
    store.origin = "https://pool.s3.example.org"

    async def story(pool):
        policy = (await pool.client.get("http://hub.test/")).headers["content-security-policy"]
        allowed = {part.split()[0] for part in policy.split("; ") if "https://pool.s3.example.org" in part.split()}
        assert allowed == {"connect-src", "img-src", "media-src"}
        assert (await pool.client.get("http://hub.test/api/v1/config")).json()["features"]["direct_storage"] is True

    play(sqlite_hub, story, store=store)


def test_agents_link_speaks_over_a_websocket(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool, connect=False)
        async with connected(pool.client._transport.app, "/api/v1/agent/link") as socket:
            hello = Hello(node_id=agent.node_id, instance_id=agent.instance_id, agent_version="1")
            await socket.send(hello.to_bytes().decode())
            assert (await socket.receive())["type"] == Challenge.model_fields["type"].default
            await socket.send(b'{"type": "heartbeat"}')  # binary, and not what was asked for
            goodbye = await socket.receive()
            assert (goodbye["type"], goodbye["code"]) == ("goodbye", "handshake")
            with pytest.raises(Closed):
                await socket.receive()

    play(sqlite_hub, story)


def test_agent_that_hangs_up_is_noticed_at_once(sqlite_hub):
    async def story(pool):
        async with connected(pool.client._transport.app, "/api/v1/agent/link"):
            pass
        assert len(asyncio.all_tasks()) < 30

    play(sqlite_hub, story)


def test_app_with_a_route_that_declares_nothing_does_not_start(sqlite_hub, monkeypatch):
    async def story(pool):
        careless = APIRouter()

        @careless.get("/forgotten")
        async def forgotten() -> None: ...

        monkeypatch.setattr(mail, "router", lambda engine: careless)
        with pytest.raises(UndeclaredRouteError, match="/forgotten"):
            create_app(pool.engine)

    play(sqlite_hub, story)
