"""A signed URL is good for one method, one key, one size, one hash and one time, on local disk and on S3."""

import asyncio
import base64
import hashlib
import http.client
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import httpx
import pytest

from computepool.hub.api.blobs import SMALL_BYTES, UnderWay, _gathered
from computepool.hub.artifacts.local import LocalStore
from computepool.hub.artifacts.parts import PART_BYTES
from computepool.hub.artifacts.store import SignedPut

DATA = b"the very bytes that were announced"
OTHER = b"other bytes, though just as many!!"
KEY, OTHER_KEY = "artifacts/artifact_a/000000", "artifacts/artifact_b/000000"


def digest_of(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


@dataclass
class Attack:
    server: "Server"  # type: ignore[name-defined]  # noqa: F821 (of conftest, which tests cannot import)
    signed: SignedPut
    download: str
    clock: "HandClock"  # type: ignore[name-defined]  # noqa: F821

    def put(self, data: bytes = DATA, *, url: str | None = None, **headers: str) -> httpx.Response:
        sent = {name: value for name, value in (self.signed.headers | headers).items() if value}
        return self.server.put(url or self.signed.url, data, sent)

    def send(self, method: str, url: str, data: bytes | None = None, **headers: str) -> httpx.Response:
        return self.server.request(method, url, data, headers)


@pytest.fixture
def attack(server, clock) -> Attack:
    store = server.hub.store
    store.put(OTHER_KEY, b"somebody else's")
    store.prepare(KEY.rpartition("/")[0] + "/")
    signed = store.sign_put(KEY, len(DATA), digest_of(DATA), 600)
    return Attack(server, signed, store.sign_get(OTHER_KEY, 600), clock)


def altered(url: str, **changes: str | None) -> str:
    """The same URL with some parameters changed, added, or (None) left out."""
    parts = urlsplit(url)
    fields = dict(parse_qsl(parts.query, keep_blank_values=True))
    for name, value in changes.items():
        real = next((each for each in fields if each.lower().replace("-", "_").removeprefix("x_amz_") == name), name)
        if value is None:
            fields.pop(real, None)
        else:
            fields[real] = value
    return urlunsplit(parts._replace(query=urlencode(fields)))


def at_key(url: str, key: str) -> str:
    parts = urlsplit(url)
    path = parts.path.replace(KEY, key).replace(OTHER_KEY, key)
    return urlunsplit(parts._replace(path=path))


def flipped(url: str) -> str:
    """With the last letter of the signature changed."""
    return url[:-1] + ("0" if url[-1] != "0" else "1")


def expired_put(a: Attack) -> httpx.Response:
    with a.clock.moved(timedelta(days=-1)):
        old = a.server.hub.store.sign_put(KEY, len(DATA), digest_of(DATA), 600)
    return a.server.put(old.url, DATA, old.headers)


def expired_get(a: Attack) -> httpx.Response:
    with a.clock.moved(timedelta(days=-1)):
        old = a.server.hub.store.sign_get(OTHER_KEY, 600)
    return a.send("GET", old)


def signed_by_another(a: Attack) -> httpx.Response:
    """A hub, or an account, with another secret."""
    url = a.server.hub.store.sign_get(KEY, 600)
    mixed = dict(parse_qsl(urlsplit(url).query)) | {}
    name = "signature" if "signature" in mixed else "X-Amz-Signature"
    return a.put(url=altered(a.signed.url, signature=mixed[name]))


def chunked(a: Attack, data: bytes) -> httpx.Response:
    """Without a Content-Length."""
    return a.server.request("PUT", a.signed.url, iter([data]), a.signed.headers)


MISUSES: dict[str, Callable[[Attack], httpx.Response]] = {
    "other bytes of the same size": lambda a: a.put(OTHER),
    "one byte more": lambda a: a.put(DATA + b"x"),
    "one byte fewer": lambda a: a.put(DATA[:-1]),
    "no bytes": lambda a: a.put(b""),
    "much more": lambda a: a.put(DATA * 10_000),
    "other bytes in chunks": lambda a: chunked(a, OTHER),
    "more bytes in chunks": lambda a: chunked(a, DATA + b"x"),
    "for another key": lambda a: a.put(url=at_key(a.signed.url, OTHER_KEY)),
    "for a key below": lambda a: a.put(url=at_key(a.signed.url, KEY + "/x")),
    "for a longer key": lambda a: a.put(url=at_key(a.signed.url, KEY + "0")),
    "for the folder": lambda a: a.put(url=at_key(a.signed.url, "artifacts/artifact_a")),
    "up and away": lambda a: a.put(url=at_key(a.signed.url, "artifacts/artifact_a/../artifact_b/000000")),
    "up and away, escaped": lambda a: a.put(url=at_key(a.signed.url, "artifacts/artifact_a/%2e%2e/artifact_b/000000")),
    "out of the store": lambda a: a.put(url=at_key(a.signed.url, "..%2f..%2f..%2ftmp%2fx")),
    "in other letters": lambda a: a.put(url=at_key(a.signed.url, KEY.upper())),
    "expired": expired_put,
    "expiry moved": lambda a: a.put(url=altered(a.signed.url, expires="4000000000")),
    "expiry gone": lambda a: a.put(url=altered(a.signed.url, expires=None)),
    "signature flipped": lambda a: a.put(url=flipped(a.signed.url)),
    "signature empty": lambda a: a.put(url=altered(a.signed.url, signature="")),
    "signature gone": lambda a: a.put(url=altered(a.signed.url, signature=None)),
    "signature cut": lambda a: a.put(url=a.signed.url[:-8]),
    "signature of a download": signed_by_another,
    "no query": lambda a: a.put(url=a.signed.url.partition("?")[0]),
    "a parameter more": lambda a: a.put(url=altered(a.signed.url, extra="1")),
    "a parameter twice": lambda a: a.put(url=a.signed.url + "&" + a.signed.url.partition("?")[2]),
    "size moved": lambda a: a.put(DATA + b"x", url=altered(a.signed.url, size=str(len(DATA) + 1))),
    "hash moved": lambda a: a.put(OTHER, url=altered(a.signed.url, sha256=digest_of(OTHER)[7:])),
    "checksum header moved": lambda a: a.put(
        OTHER, **{"x-amz-checksum-sha256": base64.b64encode(hashlib.sha256(OTHER).digest()).decode()}
    ),
    "reading with a right to write": lambda a: a.send("GET", a.signed.url),
    "looking with a right to write": lambda a: a.send("HEAD", a.signed.url),
    "deleting with a right to write": lambda a: a.send("DELETE", a.signed.url),
    "posting with a right to write": lambda a: a.send("POST", a.signed.url, DATA),
    "writing with a right to read": lambda a: a.send("PUT", a.download, DATA),
    "deleting with a right to read": lambda a: a.send("DELETE", a.download),
    "reading another key": lambda a: a.send("GET", at_key(a.download, "artifacts/artifact_c/000000")),
    "reading with an expired right": expired_get,
    "reading with a flipped signature": lambda a: a.send("GET", flipped(a.download)),
    "reading without a signature": lambda a: a.send("GET", a.download.partition("?")[0]),
    "reading under another name": lambda a: a.send(
        "GET", altered(altered(a.download, filename="x.html"), **{"response-content-type": "text/html"})
    ),
}


def test_the_right_use_is_taken(attack: Attack):
    assert attack.put().status_code in (200, 201)
    assert attack.put().status_code in (200, 201)  # a lost answer: the same once more
    assert attack.server.hub.store.read(KEY, 0, len(DATA)) == DATA
    assert attack.send("GET", attack.download).content == b"somebody else's"


def test_there_are_enough_misuses():
    assert len(MISUSES) >= 30


@pytest.mark.parametrize("misuse", MISUSES)
def test_misuse_is_refused_and_changes_nothing(attack: Attack, misuse: str):
    store = attack.server.hub.store
    response = MISUSES[misuse](attack)
    assert 400 <= response.status_code < 500, response.status_code
    if isinstance(store, LocalStore) and response.content:
        assert response.json()["error"]["code"]
    assert [entry.key for entry in store.list("artifacts/")] == [OTHER_KEY]
    assert store.read(OTHER_KEY, 0, 15) == b"somebody else's"


def test_a_refused_upload_does_not_harm_the_stored_one(attack: Attack):
    attack.put()
    assert attack.put(OTHER).status_code >= 400
    assert attack.server.hub.store.read(KEY, 0, len(DATA)) == DATA


def test_a_wrong_size_is_refused_before_the_bytes_are_taken(attack: Attack):
    """On S3 by the signature, which covers Content-Length: nobody can make it swallow gigabytes first."""
    expected = 422 if isinstance(attack.server.hub.store, LocalStore) else 403
    assert attack.put(DATA * 100_000).status_code == expected


def test_a_wrong_or_expired_signature_is_403(attack: Attack):
    assert attack.put(url=flipped(attack.signed.url)).status_code == 403
    assert expired_put(attack).status_code == 403
    assert expired_get(attack).status_code == 403
    if isinstance(attack.server.hub.store, LocalStore):
        assert expired_put(attack).json()["error"]["code"] == "url_expired"
        assert attack.put(url=attack.signed.url.partition("?")[0]).status_code == 401
        assert attack.send("PUT", attack.signed.url, b"x" * (PART_BYTES + 1)).status_code == 413


def test_an_interrupted_upload_is_simply_put_again(attack: Attack):
    parts = urlsplit(attack.server.absolute(attack.signed.url))
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port)
    connection.putrequest("PUT", f"{parts.path}?{parts.query}")
    for name, value in (attack.signed.headers | {"Content-Length": str(len(DATA))}).items():
        connection.putheader(name, value)
    connection.endheaders()
    connection.send(DATA[:10])
    connection.close()
    assert attack.put().status_code in (200, 201)
    store = attack.server.hub.store
    assert store.read(KEY, 0, len(DATA)) == DATA
    if isinstance(store, LocalStore):
        for _ in range(200):
            if not list((store.root / ".incoming").iterdir()):
                break
            attack.server.get("/")  # let the server notice that the other one went away
        assert list((store.root / ".incoming").iterdir()) == []


def test_a_download_resumes_and_is_never_shown_as_a_page(attack: Attack):
    store = attack.server.hub.store
    store.put("artifacts/page/000000", b"<script>alert(1)</script>")
    url = store.sign_get("artifacts/page/000000", 60, 'päge "x".html')
    whole = attack.send("GET", url)
    assert whole.status_code == 200
    assert whole.content == b"<script>alert(1)</script>"
    assert whole.headers["content-type"] == "application/octet-stream"
    assert whole.headers["content-disposition"] == "attachment; filename*=UTF-8''p%C3%A4ge%20%22x%22.html"
    part = attack.send("GET", url, range="bytes=8-")
    assert part.status_code == 206
    assert part.content == b"alert(1)</script>"
    assert attack.send("GET", url, range="bytes=25-").status_code == 416
    if isinstance(store, LocalStore):
        assert whole.headers["x-content-type-options"] == "nosniff"
        head = attack.send("HEAD", url)
        assert (head.status_code, head.headers["content-length"], head.content) == (200, "25", b"")


def test_upload_in_many_small_pieces_arrives_as_it_was_and_is_no_object_for_each():
    sizes = [1] * 5_000 + [SMALL_BYTES, 3, 7, SMALL_BYTES + 1]
    sent = [bytes([number % 251]) * size for number, size in enumerate(sizes)]

    async def pieces():
        for piece in sent:
            yield piece

    async def story():
        return [gathered async for gathered in _gathered(pieces(), UnderWay())]

    (gathered,) = asyncio.run(story())
    assert b"".join(gathered) == b"".join(sent)
    assert [len(piece) for piece in gathered] == [5_000, SMALL_BYTES, 10, SMALL_BYTES + 1]
