"""Outputs by signed URLs: whole, in parts, to look at, and all as one archive."""

import io
import zipfile
from datetime import UTC, datetime, timedelta

import pytest
from support.buckets import Bucket
from support.engine import ALICE, BOB, play
from support.memory_store import MemoryStore
from support.scripted_agent import add_agent, digest

from computepool.hub.api.job_files import URL_SECONDS
from computepool.hub.artifacts.parts import PART_BYTES
from computepool.hub.artifacts.zip_layout import ZipEntry, ZipLayout
from computepool.protocol.messages import UploadFile, UploadGrant, UploadRequest
from computepool.protocol.receipt import OutputRef

SITE = "http://hub.test"
PAGE = b"<html><script>alert(1)</script></html>"
DRAWING = b'<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(100)
LARGE = bytes(range(256)) * (PART_BYTES // 256) + b"the second part"
SHOWN = {
    # name: bytes, media type by the name, and how it is shown: None for a file to keep
    "a.png": (PICTURE, "image/png", "image/png"),
    "b.PNG": (PAGE, "image/png", "text/plain; charset=utf-8"),
    "c.png": (b"\0\0", "image/png", None),
    "drawing.svg": (DRAWING, "image/svg+xml", "image/svg+xml"),
    "e.html": (PAGE, "text/html", "text/plain; charset=utf-8"),
    "f.csv": ("ä,b\n".encode() * 2000, "text/csv", "text/plain; charset=utf-8"),
    "g.ipynb": (b'{"cells": []}', "application/x-ipynb+json", "text/plain; charset=utf-8"),
    "h.txt": (b"\xff\xfe\0a", "text/plain", None),
    "i.mp4": (b"\0\0\0\x20ftypisom" + bytes(50), "video/mp4", "video/mp4"),
    "j.wav": (b"RIFF\0\0\0\0WAVE", "audio/wav", "audio/wav"),
    "README": (b"read me", "text/plain", "text/plain; charset=utf-8"),
    "empty.json": (b"", "application/json", "text/plain; charset=utf-8"),
}
KEPT = {"model.bin": "application/octet-stream", "paper.pdf": "application/pdf", ".png": "application/octet-stream"}
HOSTILE = "ä\"; filename=evil.html'<b>.txt"


async def done_job(pool, agent, *slices):
    """Succeeded, with these outputs of each slice."""
    job_id = await pool.submit(slices=len(slices))
    for _ in slices:
        work = await agent.take_offer()
        contents = slices[work.manifest.slice_index]
        await agent.update(work, "running")
        files = tuple(announced(path, data) for path, data in contents.items())
        grant = await agent.answer_to(UploadRequest(**work.ref.model_dump(), request=1, files=files, purpose="output"))
        assert isinstance(grant, UploadGrant), grant
        for target in grant.targets:
            for part, url in enumerate(target.urls):
                data = contents[target.path][part * PART_BYTES : (part + 1) * PART_BYTES]
                pool.store.put(url.removeprefix("memory:"), data)
        await agent.finish(
            work, outputs=tuple(OutputRef(path=f.path, digest=f.digest, size_bytes=f.size_bytes) for f in files)
        )
    await pool.settle()
    return job_id


def announced(path, data):
    parts = [data[start : start + PART_BYTES] for start in range(0, len(data), PART_BYTES)]
    digests = tuple(map(digest, parts)) if len(parts) > 1 else ()
    return UploadFile(path=path, size_bytes=len(data), digest=digest(data), part_digests=digests)


async def get(pool, url, status=200, method="GET", **headers):
    answer = await pool.call(method, SITE + url, user=None, headers=headers)
    assert answer.status_code == status, answer.text
    return answer


async def listed(pool, job_id):
    answer = await pool.call("GET", f"jobs/{job_id}/artifacts")
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.parametrize("kind", ["memory", "s3"])
def test_output_of_several_parts_is_one_file_and_all_are_one_archive(sqlite_hub, kind, request):
    async def story(pool):
        agent = await add_agent(pool)
        slices = ({"deep/large": LARGE, HOSTILE: b"one"}, {HOSTILE: b"two", "empty": b""})
        page = await listed(pool, await done_job(pool, agent, *slices))
        urls = {(item["slice"], item["path"]): item["url"] for item in page["items"]}
        large = urls[0, "deep/large"]
        whole = await get(pool, large)
        assert whole.content == LARGE
        assert whole.headers["Content-Length"] == str(len(LARGE))
        assert whole.headers["Content-Disposition"] == "attachment; filename*=UTF-8''large"
        head = await get(pool, large, method="HEAD")
        assert (head.content, head.headers["Content-Length"]) == (b"", str(len(LARGE)))
        for asked, start, stop in [
            (f"bytes={PART_BYTES - 3}-{PART_BYTES + 3}", PART_BYTES - 3, PART_BYTES + 4),
            ("bytes=-20", len(LARGE) - 20, len(LARGE)),
            (f"bytes={PART_BYTES + 5}-", PART_BYTES + 5, len(LARGE)),
            (f"bytes={len(LARGE) - 7}-{10**12}", len(LARGE) - 7, len(LARGE)),
        ]:
            part = await get(pool, large, 206, Range=asked)
            assert part.content == LARGE[start:stop]
            assert part.headers["Content-Range"] == f"bytes {start}-{stop - 1}/{len(LARGE)}"
        assert (await get(pool, urls[1, "empty"])).content == b""

        archive = await get(pool, page["zip_url"])
        assert archive.headers["Content-Length"] == str(len(archive.content))
        with zipfile.ZipFile(io.BytesIO(archive.content)) as opened:
            assert opened.testzip() is None
            found = {info.filename: opened.read(info) for info in opened.infolist()}
        assert found == {f"{i}/{path}": data for i, slice in enumerate(slices) for path, data in slice.items()}

    play(sqlite_hub, story, store=MemoryStore() if kind == "memory" else Bucket(request.getfixturevalue("s3")))


def test_range_that_makes_no_sense_is_refused_or_answered_with_the_whole(sqlite_hub):
    async def story(pool):
        page = await listed(pool, await done_job(pool, await add_agent(pool), {HOSTILE: b"0123456789", "b": b""}))
        by_path = {item["path"]: item["url"] for item in page["items"]}
        url = by_path[HOSTILE]
        name = "%C3%A4%22%3B%20filename%3Devil.html%27%3Cb%3E.txt"
        whole = await get(pool, url)
        assert whole.headers["Content-Disposition"] == f"attachment; filename*=UTF-8''{name}"
        assert (whole.headers["Content-Type"], whole.headers["X-Content-Type-Options"]) == (
            "application/octet-stream",
            "nosniff",
        )
        for asked in ("bytes=10-", "bytes=99-100", "bytes=-0"):
            assert (await get(pool, url, 416, Range=asked)).json()["error"]["code"] == "invalid"
        await get(pool, by_path["b"], 416, Range="bytes=0-")
        for asked in ("bytes=-", "bytes=5-2", "bytes=0-1,4-5", "lines=0-1", "bytes=1"):
            assert (await get(pool, url, Range=asked)).content == b"0123456789"
        etag = {"If-Range": whole.headers["ETag"]}
        assert (await get(pool, url, 206, Range="bytes=0-1", **etag)).content == b"01"
        assert (await get(pool, url, Range="bytes=0-1", **{"If-Range": '"other"'})).content == b"0123456789"
        archive = await get(pool, page["zip_url"])
        with zipfile.ZipFile(io.BytesIO(archive.content)) as opened:
            assert opened.namelist() == sorted([HOSTILE, "b"])  # of one slice: no folder for it

    play(sqlite_hub, story)


def test_only_safe_kinds_are_shown_and_nothing_in_them_can_run(sqlite_hub):
    async def story(pool):
        contents = {name: data for name, (data, _, _) in SHOWN.items()} | dict.fromkeys(KEPT, PAGE)
        page = await listed(pool, await done_job(pool, await add_agent(pool), contents))
        assert len(page["items"]) == len(contents)
        for item in page["items"]:
            name = item["path"]
            if name in KEPT:
                assert (item["media_type"], item["previewable"], item["preview_url"]) == (KEPT[name], False, None)
                continue
            data, media_type, shown_as = SHOWN[name]
            assert (item["media_type"], item["previewable"]) == (media_type, True)
            shown = await get(pool, item["preview_url"])
            headers = shown.headers
            assert shown.content == data
            assert headers["Content-Type"] == (shown_as or "application/octet-stream"), name
            assert headers["Content-Disposition"].startswith("inline;" if shown_as else "attachment;"), name
            assert {"sandbox", "default-src 'none'"} <= set(headers["Content-Security-Policy"].split("; "))
            assert (headers["X-Content-Type-Options"], headers["Cross-Origin-Resource-Policy"]) == (
                "nosniff",
                "same-origin",
            )
            assert "Content-Encoding" not in headers
        csv = next(item for item in page["items"] if item["path"] == "f.csv")
        assert (await get(pool, csv["preview_url"], 206, Range="bytes=0-4")).content == "ä,b\n".encode()

    play(sqlite_hub, story)


def test_url_opens_one_thing_for_an_hour_and_nothing_else(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool)
        page = await listed(pool, job_id := await done_job(pool, agent, {"a.txt": b"a", "b.txt": b"b"}))
        first, second = page["items"]
        urls = [first["url"], first["preview_url"], page["zip_url"]]
        for url in urls:
            path, _, query = url.partition("?")
            await get(pool, url)
            assert (await get(pool, path, 401)).json()["error"]["code"] == "signature_missing"
            for wrong in (
                f"{path}?{query}0",
                f"{path}?{query}&more=1",
                url.replace("expires=1", "expires=2"),
                f"{second['url'].partition('?')[0]}?{query}",
                f"{path.replace('/outputs/', '/previews/').replace('/zips/', '/logs/')}x?{query}",
            ):
                assert (await get(pool, wrong, 403)).json()["error"]["code"] == "signature_refused"
        crossed = first["url"].partition("?")[0].replace("/outputs/", "/previews/")
        await get(pool, f"{crossed}?{first['url'].partition('?')[2]}", 403)
        assert (await pool.call("GET", f"jobs/{job_id}/artifacts", user=BOB)).status_code == 404

        pool.clock.wall_error_seconds += URL_SECONDS - 1
        await get(pool, urls[0])
        pool.clock.wall_error_seconds += 2
        for url in urls:
            assert (await get(pool, url, 403)).json()["error"]["code"] == "url_expired"
        page = await listed(pool, job_id)
        assert (await pool.call("DELETE", f"jobs/{job_id}", user=ALICE)).status_code == 204
        for url in (page["items"][0]["url"], page["items"][0]["preview_url"], page["zip_url"]):
            await get(pool, url, 404)

    play(sqlite_hub, story)


def test_archive_may_be_larger_than_4_gib(tmp_path):
    """Of holes: nothing of it is on the disk."""
    at = datetime(2026, 1, 31, 12, 30, 10, tzinfo=UTC)
    entries = [ZipEntry("large", 5 * 1024**3, at), ZipEntry("small", 3, at + timedelta(days=1))]
    layout = ZipLayout(entries)
    with (tmp_path / "large.zip").open("wb") as file:
        file.write(layout.header(0))
        file.seek(entries[0].size_bytes, io.SEEK_CUR)
        file.write(layout.descriptor(0, 0) + layout.header(1) + b"abc" + layout.descriptor(1, 0x352441C2))
        for entry in layout.directory([0, 0x352441C2]):
            file.write(entry)
        assert file.tell() == layout.size_bytes
    with zipfile.ZipFile(tmp_path / "large.zip") as opened:
        large, small = opened.infolist()
        assert (large.file_size, large.date_time) == (5 * 1024**3, (2026, 1, 31, 12, 30, 10))
        assert opened.read(small) == b"abc"
