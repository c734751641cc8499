"""Artifacts over HTTP, as the CLI does it, on local disk and on a real S3."""

import hashlib
import random

import pytest

from computepool.hub.artifacts.parts import PART_BYTES

DATA = b"a bundle of files"


def digest_of(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def announcement(data: bytes) -> dict:
    parts = [data[start : start + PART_BYTES] for start in range(0, len(data), PART_BYTES)]
    body = {"digest": digest_of(data), "size_bytes": len(data)}
    return body | ({"part_digests": [digest_of(part) for part in parts]} if len(parts) > 1 else {})


def put_all(server, answer: dict, data: bytes) -> None:
    for upload in answer["uploads"]:
        start = upload["part"] * answer["part_bytes"]
        piece = data[start : start + upload["size_bytes"]]
        assert server.put(upload["url"], piece, upload["headers"]).status_code in (200, 201)


@pytest.mark.parametrize("data", [b"", DATA, bytes(range(256)) * 4096 * 33], ids=["empty", "small", "33 MiB"])
def test_what_goes_up_comes_down(server, data):
    answer = server.api("POST", "artifacts", announcement(data)).json()
    assert (answer["state"], answer["part_bytes"]) == ("uploading", PART_BYTES)
    put_all(server, answer, data)
    done = server.api("POST", f"artifacts/{answer['id']}/complete")
    assert (done.status_code, done.json()["state"]) == (200, "stored")
    shown = server.api("GET", f"artifacts/{answer['id']}").json()
    assert (shown["digest"], shown["size_bytes"]) == (digest_of(data), len(data))
    assert b"".join(server.get(url).content for url in shown["downloads"]) == data
    again = server.api("POST", "artifacts", announcement(data)).json()
    assert (again["id"], again["state"], again["uploads"]) == (answer["id"], "stored", [])


@pytest.mark.parametrize("size", [100, 100_000], ids=["small", "in pieces"])
@pytest.mark.parametrize("sent", [-1, 0, 1, 200_000], ids=["fewer", "others", "more", "many more"])
def test_other_bytes_than_announced_are_refused_and_nothing_is_kept(server, size, sent):
    """Without a length in its head, as a chunked body."""
    data = random.Random(size + sent).randbytes(size)
    answer = server.api("POST", "artifacts", announcement(data)).json()
    (upload,) = answer["uploads"]
    refused = server.put(upload["url"], iter([b"x" * (size + sent)]), upload["headers"])
    assert 400 <= refused.status_code < 500
    assert server.api("POST", f"artifacts/{answer['id']}/complete").status_code == 409
    assert server.api("GET", f"artifacts/{answer['id']}").json()["state"] == "uploading"
    put_all(server, answer, data)


def test_an_unfinished_upload_shows_no_downloads_and_is_not_completed(server):
    answer = server.api("POST", "artifacts", announcement(DATA)).json()
    assert server.api("GET", f"artifacts/{answer['id']}").json()["downloads"] == []
    refused = server.api("POST", f"artifacts/{answer['id']}/complete")
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "upload_incomplete")


def test_others_and_strangers_get_nothing(server):
    answer = server.api("POST", "artifacts", announcement(DATA)).json()
    for method, path in [("GET", f"artifacts/{answer['id']}"), ("POST", f"artifacts/{answer['id']}/complete")]:
        assert server.api(method, path, token="user_bob").status_code == 404
        assert server.api(method, path, token="nobody").status_code == 401
    assert server.api("POST", "artifacts", announcement(DATA), token="nobody").status_code == 401


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({"digest": "sha256:x", "size_bytes": 1}, 422, "digest"),
        ({"digest": digest_of(DATA), "size_bytes": -1}, 422, "size_bytes"),
        ({"digest": digest_of(DATA), "size_bytes": "many"}, 422, "size_bytes"),
        ({"digest": digest_of(DATA), "size_bytes": 1, "kind": "output"}, 422, "kind"),
        ({"digest": digest_of(DATA), "size_bytes": PART_BYTES + 1}, 422, "part_digests"),
        ({"digest": digest_of(DATA)}, 422, "size_bytes"),
        ({"digest": digest_of(DATA), "size_bytes": 10**15}, 413, None),
    ],
)
def test_a_bad_announcement_is_told_by_field(server, body, status, field):
    response = server.api("POST", "artifacts", body)
    assert response.status_code == status
    fields = response.json()["error"].get("fields") or [{"field": None}]
    assert fields[0]["field"] == field
