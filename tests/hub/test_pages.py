"""The hub's first pages: safe by their headers and by what their files do not contain, and a browser's way in."""

import asyncio
import html.parser
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest
from fastapi import FastAPI
from support.browsers import page_in_browser
from support.waiting import patience

from computepool.hub import commands, pages
from computepool.hub.app import create_app
from computepool.hub.core.http_shell import content_policy, install_shell
from computepool.hub.core.settings import Settings
from computepool.hub.opening import open_engine
from computepool.hub.pages import FOLDER, FOR_EVER, Pages

PAGES = {"/": "index.html", "/device": "device.html", "/docs": "docs.html"}
PARTS = sorted(file.name for file in FOLDER.iterdir() if file.suffix in (".js", ".css", ".svg"))
SERVED = {**PAGES, **{f"/pages/{name}": name for name in PARTS}}
SCRIPTS = sorted(name for name in PARTS if name.endswith(".js"))
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}
SVG_NAMESPACE = "http://www.w3.org/2000/svg"


class Hub(NamedTuple):
    client: httpx.AsyncClient
    prepared: commands.Prepared

    @property
    def link_token(self) -> str:
        """As a browser reads it from the link that `up` prints."""
        path, _, token = self.prepared.sign_in_path.partition("#sign-in=")
        assert path == "/"
        return token


@asynccontextmanager
async def whole_hub(home: Path) -> AsyncIterator[Hub]:
    settings = Settings(home=home, database_url=f"sqlite:///{home / 'hub.db'}")
    await asyncio.to_thread(commands.migrate, settings)
    prepared = await commands.prepare(settings, None)
    engine = await open_engine(settings)
    app = create_app(engine)
    try:
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://hub.test") as client,
        ):
            yield Hub(client, prepared)
    finally:
        engine.context.db.close()


class Tags(html.parser.HTMLParser):
    """Every tag with its attributes, and the text inside scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.inline: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        if self.tags and self.tags[-1][0] in ("script", "style") and data.strip():
            self.inline.append(data)


@pytest.fixture(params=sorted(PAGES.values()))
def page(request) -> Tags:
    return Tags((FOLDER / request.param).read_text())


def test_pages_are_served_with_their_types_and_a_strict_policy(tmp_path):
    async def story():
        async with whole_hub(tmp_path) as hub:
            for path, name in SERVED.items():
                answer = await hub.client.get(path)
                assert answer.status_code == 200, path
                assert answer.headers["content-type"] == TYPES[Path(name).suffix]
                assert answer.headers["x-content-type-options"] == "nosniff"
                assert answer.headers["cache-control"] == "no-cache"
                assert answer.content == (FOLDER / name).read_bytes()
                if name.endswith(".html"):
                    policy = answer.headers["content-security-policy"]
                    assert "default-src 'none'; script-src 'self'; style-src 'self';" in policy
                    assert "unsafe" not in policy
            assert (await hub.client.get("/pages/__init__.py")).status_code == 404

    asyncio.run(story())


def test_file_that_the_browser_knows_is_not_sent_again(tmp_path):
    async def story():
        async with whole_hub(tmp_path) as hub:
            for path in SERVED:
                tag = (await hub.client.get(path)).headers["etag"]
                again = await hub.client.get(path, headers={"If-None-Match": tag})
                assert (again.status_code, again.content) == (304, b"")
            head = await hub.client.head("/")
            assert (head.status_code, head.content) == (200, b"")
            posted = await hub.client.post("/")
            assert (posted.status_code, posted.headers["allow"]) == (405, "GET, HEAD")

    asyncio.run(story())


PAGE = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


def test_address_that_nothing_answers_is_the_apps_own_but_never_below_the_api(tmp_path):
    async def story():
        async with whole_hub(tmp_path) as hub:
            index = (FOLDER / "index.html").read_text()
            for path in ("/jobs/job_1", "/market", "/models/ann/llama-3.1", "/apiary"):
                answer = await hub.client.get(path, headers=PAGE)
                assert (answer.status_code, answer.text) == (200, index), path
                assert "content-security-policy" in answer.headers
            reserved = ("api/v1/nothing", "api", "hf/nothing", "docs/nothing", "metrics/x", "assets/x.js", "pages/x.js")
            for path in (*reserved, "healthz/x", "readyz/x", "openapi.json/x"):
                answer = await hub.client.get(f"/{path}", headers=PAGE)
                assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found"), path
            for method, headers in (("GET", {}), ("GET", {"Accept": "*/*"}), ("POST", PAGE)):
                assert (await hub.client.request(method, "/jobs/job_1", headers=headers)).status_code == 404

    asyncio.run(story())


def test_check_of_the_api_finds_a_page_in_its_place(tmp_path, monkeypatch):
    monkeypatch.setattr(pages, "NOT_PAGES", set())
    with pytest.raises((AssertionError, ValueError)):
        test_address_that_nothing_answers_is_the_apps_own_but_never_below_the_api(tmp_path)


def test_built_app_is_served_from_its_folder(tmp_path):
    built = tmp_path / "web"
    (built / "assets").mkdir(parents=True)
    (built / "index.html").write_text("<style nonce=__CSP_NONCE__></style>")
    (built / "assets" / "app-1a2b3c.js").write_text("let x = 1;")
    (built / "assets" / "app-1a2b3c.js.br").write_bytes(b"compressed by the build")
    (built / "assets" / "notes.secret").write_text("of no type that is served")
    (built / "robots.txt").write_text("User-agent: *")
    app = FastAPI(openapi_url=None)
    install_shell(app)
    served = app.router.default = Pages(app.router.not_found, lambda nonce: content_policy(None, nonce), built)
    assert "/docs" in served.files
    assert "/device" not in served.files

    async def story():
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://hub.test") as client:
            asset = await client.get("/assets/app-1a2b3c.js", headers={"Accept-Encoding": "identity"})
            assert (asset.text, asset.headers["cache-control"]) == ("let x = 1;", FOR_EVER)
            assert asset.headers["content-type"].startswith("text/javascript")
            assert asset.headers["vary"] == "accept-encoding"
            async with client.stream("GET", "/assets/app-1a2b3c.js", headers={"Accept-Encoding": "br"}) as packed:
                assert packed.headers["content-encoding"] == "br"
            assert (await client.get("/assets/notes.secret", headers=PAGE)).status_code == 404
            assert (await client.get("/assets/gone-000000.js", headers=PAGE)).status_code == 404
            assert (await client.get("/assets/../index.html")).status_code == 404
            assert (await client.get("/robots.txt")).headers["cache-control"] == "no-cache"
            seen = set()
            for path in ("/", "/device", "/jobs/job_1"):
                page = await client.get(path, headers=PAGE)
                nonce = page.text.removeprefix("<style nonce=").removesuffix("></style>")
                assert f"style-src 'self' 'nonce-{nonce}';" in page.headers["content-security-policy"]
                assert page.headers["cache-control"] == "no-store"
                seen.add(nonce)
            assert len(seen) == 3

    asyncio.run(story())


def test_every_file_beside_the_pages_is_served():
    files = {file.name for file in FOLDER.iterdir() if file.is_file() and file.suffix != ".py"}
    assert files == set(SERVED.values())


def test_pages_have_no_inline_script_style_or_handler(page):
    assert page.inline == []
    assert "style" not in {tag for tag, _ in page.tags}
    attributes = {name for _, attributes in page.tags for name in attributes}
    assert not {name for name in attributes if name == "style" or name.startswith("on")}


def test_pages_load_only_what_the_hub_serves(page):
    loaded = [attributes.get("src") or attributes.get("href") for _, attributes in page.tags]
    for target in filter(None, loaded):
        assert target.split("#")[0] in {*SERVED, ""}, target


def test_forms_never_put_what_was_typed_into_an_address(page):
    assert all(attributes.get("method") == "post" for tag, attributes in page.tags if tag == "form")


def test_inputs_and_pictures_are_labelled(page):
    labelled = {attributes.get("for") for tag, attributes in page.tags if tag == "label"}
    for tag, attributes in page.tags:
        assert tag != "input" or attributes["id"] in labelled
        assert tag != "img" or "alt" in attributes


@pytest.mark.parametrize("name", [*SCRIPTS, "pool.css", "icon.svg", *PAGES.values()])
def test_no_file_names_an_address_outside(name):
    text = (FOLDER / name).read_text().replace(SVG_NAMESPACE, "")
    assert re.findall(r"(?:https?:|wss?:)?//[\w.-]+\.[a-z]{2,}", text) == []
    assert "@import" not in text


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_write_text_and_never_markup(name):
    text = (FOLDER / name).read_text()
    ways = (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "DOMParser",
        "srcdoc",
        "eval(",
        "Function(",
    )
    assert [way for way in ways if way in text] == []
    assert "localStorage" not in text, "a token must not outlive its tab"


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_import_only_each_other(name):
    imports = re.findall(r"from \"([^\"]+)\"", (FOLDER / name).read_text())
    assert all(target.removeprefix("./") in SCRIPTS for target in imports)


def test_scripts_call_only_routes_that_the_hub_has(tmp_path):
    async def story():
        async with whole_hub(tmp_path) as hub:
            paths = (await hub.client.get("/openapi.json")).json()["paths"]
            for path in ("stats", "version", "me", "nodes", "nodes/join-tokens", "jobs", "jobs/{job_id}", "wallet"):
                assert f"/api/v1/{path}" in paths
            called = {
                path for name in SCRIPTS for path in re.findall(r"\"(auth/[\w/-]+)\"", (FOLDER / name).read_text())
            }
            assert len(called) == 7
            assert all("post" in paths[f"/api/v1/{path}"] for path in called)
            for what in ("cancel", "why", "logs", "artifacts"):
                assert f"/api/v1/jobs/{{job_id}}/{what}" in paths

    asyncio.run(story())


def test_sign_in_link_opens_a_session_once(tmp_path):
    async def story():
        async with whole_hub(tmp_path) as hub:
            first = await hub.client.post("/api/v1/auth/one-time", json={"token": hub.link_token})
            assert first.status_code == 200
            pair = first.json()
            again = await hub.client.post("/api/v1/auth/one-time", json={"token": hub.link_token})
            assert (again.status_code, again.json()["error"]["code"]) == (401, "bad_sign_in_link")

            renewed = await hub.client.post("/api/v1/auth/refresh", json={"refresh_token": pair["refresh_token"]})
            headers = {"Authorization": f"Bearer {renewed.json()['access_token']}"}
            me = await hub.client.get("/api/v1/me", headers=headers)
            assert me.json()["id"] == hub.prepared.admin_id
            made = await hub.client.post("/api/v1/nodes/join-tokens", json={"uses": 1}, headers=headers)
            assert made.status_code == 201
            assert made.json()["uses"] == 1

            ended = {"refresh_token": renewed.json()["refresh_token"]}
            assert (await hub.client.post("/api/v1/auth/logout", json=ended)).status_code == 204
            assert (await hub.client.get("/api/v1/me", headers=headers)).status_code == 401

    asyncio.run(story())


def test_device_page_is_where_login_sends_people(tmp_path):
    async def story():
        async with whole_hub(tmp_path) as hub:
            begun = (await hub.client.post("/api/v1/auth/device")).json()
            page = await hub.client.get(begun["verification_uri_complete"])
            assert page.text == (FOLDER / "device.html").read_text()
            pair = (await hub.client.post("/api/v1/auth/one-time", json={"token": hub.link_token})).json()
            headers = {"Authorization": f"Bearer {pair['access_token']}"}
            body = {"user_code": begun["user_code"], "approve": True}
            approved = await hub.client.post("/api/v1/auth/device/approve", json=body, headers=headers)
            assert approved.status_code == 204
            device = await hub.client.post("/api/v1/auth/device/token", json={"device_code": begun["device_code"]})
            assert device.json()["user_id"] == hub.prepared.admin_id

    asyncio.run(story())


def test_docs_page_is_our_own_and_the_frameworks_are_gone(tmp_path):
    async def story():
        async with whole_hub(tmp_path) as hub:
            page = await hub.client.get("/docs")
            assert page.text == (FOLDER / "docs.html").read_text()
            for path in ("/redoc", "/docs/oauth2-redirect"):
                assert (await hub.client.get(path)).status_code == 404

    asyncio.run(story())


@asynccontextmanager
async def served_hub(home: Path) -> AsyncIterator[tuple[str, commands.Prepared]]:
    """On a real port, as a browser needs it."""
    settings = Settings(home=home, database_url=f"sqlite:///{home / 'hub.db'}")
    await asyncio.to_thread(commands.migrate, settings)
    prepared = await commands.prepare(settings, None)
    listener = commands.bind("127.0.0.1", 0)
    ready, stop = asyncio.Event(), asyncio.Event()
    serving = asyncio.create_task(commands.run_server(settings, [listener], ready=ready.set, stop=stop))
    await ready.wait()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", prepared
    finally:
        stop.set()
        await serving


@pytest.mark.slow
@pytest.mark.engine("chromium")
def test_docs_page_shows_every_route_with_its_scope(tmp_path):
    async def story():
        async with (
            served_hub(tmp_path / "home") as (url, _),
            httpx.AsyncClient(base_url=url, timeout=patience()) as client,
        ):
            api = (await client.get("/openapi.json")).json()
            place = f"{url}/docs#post-/api/v1/nodes/join-tokens"
            return api, await asyncio.to_thread(page_in_browser, place, tmp_path / "profile")

    api, shown = asyncio.run(story())
    routes = [(method, path, route) for path, methods in api["paths"].items() for method, route in methods.items()]
    assert len(routes) > 30
    for method, path, route in routes:
        begin = shown.index(f'id="{method}-{path}"')
        summary = shown[begin : shown.index("</summary>", begin)]
        assert f">{method.upper()}<" in summary
        assert f">{path}<" in summary
        assert f">{route.get('x-scope', route['x-visible'])}<" in summary
    opened = shown[shown.index('id="post-/api/v1/nodes/join-tokens"') :]
    assert opened.partition(">")[0].endswith('open=""')
    assert 'href="#schema-NewJoinToken"' in opened
    assert 'id="schema-NewJoinToken"' in opened
    assert "could not be read" not in shown


@pytest.mark.slow
@pytest.mark.engine("chromium")
def test_sign_in_link_signs_a_browser_in(tmp_path):
    async def story():
        async with served_hub(tmp_path / "home") as (url, prepared):
            token = {"Authorization": f"Bearer {prepared.cli_token}"}
            async with httpx.AsyncClient(base_url=url, headers=token, timeout=patience()) as client:
                job = {"run": "true", "name": "<b>bold</b>", "resources": {"gpu": "H100"}}
                assert (await client.post("/api/v1/jobs", json=job)).status_code == 201
            return await asyncio.to_thread(page_in_browser, url + prepared.sign_in_path, tmp_path / "profile")

    shown = asyncio.run(story())
    assert ">Sign out<" in shown
    assert 'class="badge is-queued">queued<' in shown
    assert "&lt;b&gt;bold&lt;/b&gt;" in shown
    assert "cpo_" not in shown
    assert '<span class="value">100</span> <span class="note">100 of it promotional</span>' in shown


@pytest.mark.slow
@pytest.mark.engine("chromium")
def test_sign_in_link_may_lead_to_a_job(tmp_path):
    async def story(job: str):
        async with served_hub(tmp_path / job) as (url, prepared):
            token = {"Authorization": f"Bearer {prepared.cli_token}"}
            async with httpx.AsyncClient(base_url=url, headers=token, timeout=patience()) as client:
                made = await client.post("/api/v1/jobs", json={"run": ["sh", "-c", "echo it's"]})
            place = f"{url}{prepared.sign_in_path}&job={made.json()['id'] if job == 'there' else 'job_nothing'}"
            return await asyncio.to_thread(page_in_browser, place, tmp_path / "profile")

    shown = asyncio.run(story("there"))
    assert """<code>sh -c 'echo it'"'"'s'</code>""" in shown
    assert "<dt>Cost</dt><dd><span>nothing</span></dd>" in shown
    assert "cpo_" not in shown
    shown = asyncio.run(story("nowhere"))
    assert ">No such job<" in shown
    assert '<div class="card" hidden="">' in shown  # where the facts would be
