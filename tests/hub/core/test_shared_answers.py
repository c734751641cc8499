"""Public answers: made at most once a second for everybody, conditional, compressed; and HEAD for every GET."""

import asyncio
import gzip
import re

import httpx
import pytest
from fastapi import FastAPI
from starlette.responses import PlainTextResponse, StreamingResponse
from support.planted import each_mutant
from support.waiting import async_eventually, patience

from computepool.hub.core import compression, http, shared_answers
from computepool.hub.core.errors import Unavailable
from computepool.hub.core.http import Principal, Role, Routes, Scope, add_routes
from computepool.hub.core.http_shell import install_shell
from computepool.hub.core.lazy_route import LazyRoute
from computepool.hub.core.representation import Representation, accepts_coding

TEXT = "all work and no play " * 200


def authenticate(token: str) -> Principal:
    return Principal(token, Role.USER, Role.USER.scopes, frozenset(), "access")


class Site:
    """An app whose public figure can be changed, slow, or broken, and that counts how often it was asked."""

    def __init__(self):
        self.made = 0
        self.value = TEXT
        self.is_broken = False
        self.gate = asyncio.Event()
        self.gate.set()
        app = FastAPI(openapi_url=None)
        install_shell(app)
        routes = Routes(authenticate)

        @routes.get("/figure", visible="public", shared_seconds=5)
        async def figure() -> dict[str, str]:
            self.made += 1
            await self.gate.wait()
            if self.is_broken:
                raise Unavailable("Broken.")
            return {"value": self.value}

        @routes.get("/list", visible="public", shared_seconds=1)
        async def listed(page: int = 0) -> list[int]:
            self.made += 1
            return [page] * 1000

        @routes.get("/mine", visible="own", scope=Scope.JOBS_READ)
        async def mine() -> dict[str, str]:
            self.made += 1
            return {"value": TEXT}

        @routes.post("/both", visible="public")
        async def change() -> None: ...

        @routes.get("/both", visible="public")
        async def both() -> dict[str, str]:
            return {"value": TEXT}

        @routes.get("/small", visible="public")
        async def small() -> dict[str, str]:
            return {"value": "x"}

        @routes.post("/auth/pair", visible="public")
        async def pair() -> dict[str, str]:
            return {"token": TEXT}

        @routes.get("/jobs/{job_id}/artifacts", visible="public")
        async def artifacts(job_id: str) -> dict[str, str]:
            return {"url": TEXT}

        @routes.get("/stream", visible="public", response_class=StreamingResponse)
        async def stream() -> StreamingResponse:
            async def pieces():
                yield TEXT.encode()
                yield TEXT.encode()

            return StreamingResponse(pieces(), media_type="text/plain")

        @routes.get("/raw", visible="public", response_class=PlainTextResponse)
        async def raw() -> PlainTextResponse:
            return PlainTextResponse(TEXT, media_type="application/octet-stream")

        add_routes(app, routes.router)
        self.client = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://hub.test/api/v1")

    async def get(self, path, *, method="GET", token=None, **headers):
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        headers.setdefault("Accept-Encoding", "identity")
        if token:
            headers["Authorization"] = f"Bearer {token}"
        return await self.client.request(method, path, headers=headers)


def play(story):
    async def whole():
        site = Site()
        async with site.client, asyncio.timeout(patience()):
            await story(site)

    asyncio.run(whole())


def let_it_age(monkeypatch):
    monkeypatch.setattr(shared_answers, "FRESH_SECONDS", 0.0)


def test_many_who_ask_at_once_share_one_answer():
    async def story(site):
        site.gate.clear()
        asking = [asyncio.create_task(site.get("/figure")) for _ in range(20)]
        await async_eventually(lambda: site.made, "the first to be asked")
        site.gate.set()
        answers = await asyncio.gather(*asking)
        assert site.made == 1
        assert {answer.status_code for answer in answers} == {200}
        assert {answer.json()["value"] for answer in answers} == {TEXT}
        assert (await site.get("/figure", **{"If-None-Match": '"other"'})).status_code == 200
        assert (await site.get("/figure?made=up")).status_code == 422  # it takes no parameters
        assert site.made == 1

    play(story)


def test_answer_is_made_anew_after_its_second(monkeypatch):
    let_it_age(monkeypatch)

    async def story(site):
        first = await site.get("/figure")
        site.value = "other"
        second = await site.get("/figure")
        assert (site.made, second.json()["value"]) == (2, "other")
        assert first.headers["etag"] != second.headers["etag"]

    play(story)


def test_one_who_gives_up_does_not_hold_up_the_others():
    async def story(site):
        site.gate.clear()
        first = asyncio.create_task(site.get("/figure"))
        await async_eventually(lambda: site.made, "the first to be asked")
        second = asyncio.create_task(site.get("/figure"))
        await asyncio.sleep(0)
        first.cancel()
        site.gate.set()
        assert (await second).status_code == 200

    play(story)


def test_errors_are_not_kept():
    async def story(site):
        site.is_broken = True
        assert (await site.get("/figure")).status_code == 503
        site.is_broken = False
        assert (await site.get("/figure")).status_code == 200

    play(story)


def test_known_answer_is_not_sent_again():
    async def story(site):
        whole = await site.get("/figure")
        assert whole.headers["cache-control"] == "public, max-age=5"
        assert "accept-encoding" in whole.headers["vary"]
        tag = whole.headers["etag"]
        for known in (tag, f'"other", {tag}', tag.removeprefix("W/"), "*"):
            answer = await site.get("/figure", **{"If-None-Match": known, "Accept-Encoding": "gzip"})
            assert (answer.status_code, answer.content) == (304, b"")
            assert answer.headers["etag"] == tag
            assert answer.headers["cache-control"] == "public, max-age=5"
            assert "accept-encoding" in answer.headers["vary"]
            assert "content-type" not in answer.headers
        assert (await site.get("/figure", **{"If-None-Match": 'W/"other"'})).status_code == 200

    play(story)


def test_kept_answers_are_bounded_by_number_and_size(monkeypatch):
    async def story(site):
        route = next(one for one in site.client._transport.app.routes if one.path.endswith("/list"))
        kept = route.gate.shared._kept
        for page in range(200):
            assert (await site.get(f"/list?page={page}")).json()[0] == page
        assert len(kept) == shared_answers.KEYS_LIMIT
        monkeypatch.setattr(shared_answers, "KEPT_BYTES", 10_000)
        await site.get("/list?page=1000")
        assert sum(len(one.answer.body) for one in kept.values()) <= 10_000
        assert site.made == 201

    play(story)


@pytest.mark.parametrize("path", ["/figure", "/mine"])
@pytest.mark.parametrize("coding", ["gzip", "deflate, gzip;q=0.5", "GZIP"])
def test_compressible_answer_is_compressed_for_who_takes_it(path, coding):
    async def story(site):
        plain = await site.get(path, token="user")
        assert "content-encoding" not in plain.headers
        assert "accept-encoding" in plain.headers["vary"]
        raw = site.client.stream("GET", path, headers={"Accept-Encoding": coding, "Authorization": "Bearer user"})
        async with raw as answer:
            body = b"".join([piece async for piece in answer.aiter_raw()])
        assert answer.headers["content-encoding"] == "gzip"
        assert int(answer.headers["content-length"]) == len(body) < len(plain.content) / 10
        assert gzip.decompress(body) == plain.content
        assert answer.headers.get_list("content-length", split_commas=True) == [str(len(body))]

    play(story)


@pytest.mark.parametrize("path", ["/small", "/stream", "/raw", "/jobs/job_1/artifacts"])
def test_small_streamed_foreign_and_private_answers_are_not_compressed(path):
    async def story(site):
        answer = await site.get(path, **{"Accept-Encoding": "gzip"})
        assert answer.status_code == 200
        assert "content-encoding" not in answer.headers

    play(story)


def test_tokens_are_never_compressed():
    async def story(site):
        answer = await site.client.post("/auth/pair", headers={"Accept-Encoding": "gzip"})
        assert answer.json()["token"] == TEXT
        assert "content-encoding" not in answer.headers

    play(story)


@pytest.mark.parametrize(
    ("header", "taken"),
    [
        ("gzip", True),
        ("br, gzip ; q=0.1", True),
        ("gzip;q=0", False),
        ("gzip; q=0.000", False),
        ("*", False),
        ("", False),
    ],
)
def test_client_says_whether_it_takes_gzip(header, taken):
    scope = {"headers": [(b"accept-encoding", header.encode())] if header else []}
    assert accepts_coding(scope, "gzip") is taken


@pytest.mark.parametrize("path", ["/figure", "/mine", "/both", "/small", "/stream", "/raw"])
@pytest.mark.parametrize("coding", ["identity", "gzip"])
def test_head_has_the_headers_of_get_and_no_body(path, coding):
    async def story(site):
        got = await site.get(path, token="user", **{"Accept-Encoding": coding})
        made = site.made
        told = await site.get(path, method="HEAD", token="user", **{"Accept-Encoding": coding})
        assert (told.status_code, told.content) == (200, b"")
        assert dict(told.headers) == dict(got.headers)
        assert site.made - made == (1 if path == "/mine" else 0)

    play(story)


def test_head_is_refused_as_get_is():
    async def story(site):
        assert (await site.get("/mine", method="HEAD")).status_code == 401
        assert (await site.get("/nothing", method="HEAD")).status_code == 404
        assert (await site.get("/auth/pair", method="HEAD")).status_code == 405

    play(story)


def test_only_public_answers_to_get_can_be_shared():
    routes = Routes(authenticate)
    with pytest.raises(ValueError, match="public route"):
        routes.get("/x", visible="own", scope=Scope.JOBS_READ, shared_seconds=1)
    with pytest.raises(ValueError, match="public route"):
        routes.get("/x", visible="signed", shared_seconds=1)
    with pytest.raises(ValueError, match="public route"):
        routes.post("/x", visible="public", shared_seconds=1)


def test_built_file_is_sent_as_the_build_compressed_it():
    sent = []

    async def send(message):
        sent.append(message)

    async def story():
        file = Representation(b"x" * 5000, "text/css", "no-cache", encodings={"br": b"BR", "gzip": b"GZ"})
        for accepted in (b"gzip, br", b"gzip", b""):
            await file.send({"headers": [(b"accept-encoding", accepted)]}, send)

    asyncio.run(story())
    bodies = [message["body"] for message in sent if "body" in message]
    assert bodies == [b"BR", b"GZ", b"x" * 5000]
    codings = [dict(message["headers"]).get(b"content-encoding") for message in sent if "headers" in message]
    assert codings == [b"br", b"gzip", None]
    assert len({dict(message["headers"])[b"etag"] for message in sent if "headers" in message}) == 1


# ── bugs that were put in on purpose ─────────────────────────────────────────────────────────────────────────────────


class NoLock:
    async def __aenter__(self):
        pass

    async def __aexit__(self, *_):
        pass


def everybody_makes_their_own(monkeypatch):
    no_lock = property(lambda self: NoLock(), lambda self, lock: None)
    monkeypatch.setattr(shared_answers._Kept, "making", no_lock, raising=False)


def nothing_is_forgotten(monkeypatch):
    monkeypatch.setattr(shared_answers.SharedAnswers, "_forget", lambda self: None)


def known_is_never_asked(monkeypatch):
    monkeypatch.setattr(Representation, "_is_known_to", lambda self, scope: False)


def nothing_is_private(monkeypatch):
    monkeypatch.setattr(compression, "PRIVATE_PATHS", re.compile("(?!)"))


def everything_is_compressible(monkeypatch):
    monkeypatch.setattr(compression, "is_compressible", lambda content_type: True)


def head_is_not_get(monkeypatch):
    monkeypatch.setattr(http.GatedRoute, "matches", LazyRoute.matches)


def small_ones(path="/jobs/job_1/artifacts"):
    test_small_streamed_foreign_and_private_answers_are_not_compressed(path)


def raw_ones():
    small_ones("/raw")


def head():
    test_head_has_the_headers_of_get_and_no_body("/both", "gzip")


MUTANTS = {
    test_many_who_ask_at_once_share_one_answer: [everybody_makes_their_own],
    test_known_answer_is_not_sent_again: [known_is_never_asked],
    small_ones: [nothing_is_private],
    raw_ones: [everything_is_compressible],
    head: [head_is_not_get],
}


@each_mutant(MUTANTS)
def test_check_finds_the_bug(check, mutant, monkeypatch):
    mutant(monkeypatch)
    with pytest.raises(AssertionError):
        check()


def test_check_of_the_bounds_finds_the_bug(monkeypatch):
    nothing_is_forgotten(monkeypatch)
    with pytest.raises(AssertionError):
        test_kept_answers_are_bounded_by_number_and_size(monkeypatch)
