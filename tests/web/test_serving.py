"""How the hub serves the built app: from memory, under a strict policy, and never in place of an answer of the API."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from computepool.hub import web
from computepool.hub.core.http_shell import content_policy, install_shell
from computepool.hub.web import FOR_EVER, STAMP, WebApp

PAGE = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
SCRIPT = "let x = 1;"


def put_app(folder: Path, title: str = "app") -> None:
    (folder / "assets").mkdir(parents=True, exist_ok=True)
    (folder / "index.html").write_text(f"<title>{title}</title><style nonce=__CSP_NONCE__></style>")
    (folder / "landing.html").write_text(f"<title>{title} landing</title><style nonce=__CSP_NONCE__></style>")
    (folder / "assets" / "app-1a2b3c.js").write_text(SCRIPT)
    (folder / "assets" / "app-1a2b3c.js.br").write_bytes(b"compressed by the build")
    (folder / "assets" / "notes.secret").write_text("of no type that is served")
    (folder / ".vite").mkdir(exist_ok=True)
    (folder / ".vite" / "manifest.json").write_text("{}")
    (folder / "licences.txt").write_text("MIT")
    (folder / STAMP).write_text(title)


@asynccontextmanager
async def serving(folder: Path) -> AsyncIterator[httpx.AsyncClient]:
    app = FastAPI(openapi_url=None)
    install_shell(app)
    app.get("/api/v1/me")(lambda: "me")
    app.router.default = WebApp(app.router.not_found, lambda nonce: content_policy(None, nonce), folder)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://hub.test") as client:
        yield client


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    put_app(tmp_path / "dist")
    return tmp_path / "dist"


def test_files_are_served_with_their_types_and_kept_by_browsers(folder):
    async def story():
        async with serving(folder) as client:
            asset = await client.get("/assets/app-1a2b3c.js", headers={"Accept-Encoding": "identity"})
            assert (asset.text, asset.headers["cache-control"]) == (SCRIPT, FOR_EVER)
            assert asset.headers["content-type"].startswith("text/javascript")
            assert asset.headers["vary"] == "accept-encoding"
            assert asset.headers["x-content-type-options"] == "nosniff"
            assert asset.headers["cross-origin-resource-policy"] == "same-origin"
            async with client.stream("GET", "/assets/app-1a2b3c.js", headers={"Accept-Encoding": "br"}) as packed:
                assert packed.headers["content-encoding"] == "br"
            told = await client.get("/licences.txt")
            assert told.headers["cache-control"] == "no-cache"
            again = await client.get("/licences.txt", headers={"If-None-Match": told.headers["etag"]})
            assert (again.status_code, again.content) == (304, b"")
            head = await client.head("/")
            assert (head.status_code, head.content) == (200, b"")
            posted = await client.post("/")
            assert (posted.status_code, posted.headers["allow"]) == (405, "GET, HEAD")
            for path in ("assets/notes.secret", "assets/gone-0.js", "assets/../index.html", ".vite/manifest.json"):
                assert (await client.get(f"/{path}")).status_code == 404, path

    asyncio.run(story())


def test_every_page_has_a_nonce_and_a_policy_of_its_own(folder):
    async def story():
        async with serving(folder) as client:
            seen = set()
            for path in ("/", "/device", "/jobs/job_1"):
                page = await client.get(path, headers=PAGE)
                nonce = page.text.partition("nonce=")[2].partition(">")[0]
                policy = page.headers["content-security-policy"]
                assert policy.startswith("default-src 'none'; script-src 'self'; ")
                assert f"style-src 'self' 'nonce-{nonce}';" in policy
                assert policy.endswith("require-trusted-types-for 'script'; trusted-types computepool")
                assert "unsafe" not in policy
                assert page.headers["cache-control"] == "no-store"
                seen.add(nonce)
            assert len(seen) == 3
            assert "landing" in (await client.get("/")).text

    asyncio.run(story())


def test_address_that_nothing_answers_is_the_apps_own_but_never_below_the_api(folder):
    async def story():
        async with serving(folder) as client:
            for path in ("/jobs/job_1", "/models/ann/llama-3.1", *(f"/{page}" for page in sorted(web.PAGES - {""}))):
                answer = await client.get(path, headers=PAGE)
                assert (answer.status_code, "<title>app</title>" in answer.text) == (200, True), path
            assert (await client.get("/apiary", headers=PAGE)).status_code == 404  # the app says so
            for path in ("api/v1/nothing", "api", "hf/nothing", "metrics/x", "assets/x.js", "healthz/x", "readyz/x"):
                answer = await client.get(f"/{path}", headers=PAGE)
                assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found"), path
            twice = await client.get(client.base_url.copy_with(path="//api/v1/jobs"), headers=PAGE)
            assert (twice.status_code, twice.json()["error"]["code"]) == (404, "not_found")
            for method, headers in (("GET", {}), ("GET", {"Accept": "*/*"}), ("POST", PAGE)):
                answer = await client.request(method, "/jobs/job_1", headers=headers)
                assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")

    asyncio.run(story())


def test_check_of_the_api_finds_a_page_in_its_place(folder, monkeypatch):
    monkeypatch.setattr(web, "NOT_PAGES", set())
    with pytest.raises((AssertionError, ValueError)):
        test_address_that_nothing_answers_is_the_apps_own_but_never_below_the_api(folder)


def test_hub_without_the_app_says_how_to_get_it_and_shows_it_once_it_is_built(tmp_path):
    async def story():
        async with serving(tmp_path / "dist") as client:
            missing = await client.get("/jobs", headers=PAGE)
            assert (missing.status_code, "./dev web build" in missing.text) == (200, True)
            assert (await client.get("/api/v1/me")).status_code == 200
            put_app(tmp_path / "dist")
            assert "<title>app</title>" in (await client.get("/jobs", headers=PAGE)).text
            assert (await client.get("/assets/app-1a2b3c.js")).status_code == 200
            put_app(tmp_path / "dist", "newer")
            stamp = tmp_path / "dist" / STAMP
            os.utime(stamp, ns=(0, stamp.stat().st_mtime_ns + 1))
            assert "<title>newer</title>" in (await client.get("/jobs", headers=PAGE)).text

    asyncio.run(story())
