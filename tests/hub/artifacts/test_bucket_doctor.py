"""`hub doctor` asks the bucket, as a browser does, whether pages of the hub may use it."""

import contextlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from computepool.hub.core.settings import Settings
from computepool.hub.doctor import Check, _bucket

ORIGIN = "https://pool.example.org"
ALLOWED = {
    "Access-Control-Allow-Origin": ORIGIN,
    "Access-Control-Allow-Methods": "GET, PUT",
    "Access-Control-Allow-Headers": "x-amz-checksum-sha256",
}


@contextlib.contextmanager
def bucket(answer: dict[str, str]) -> Iterator[str]:
    class Answering(BaseHTTPRequestHandler):
        def do_OPTIONS(self) -> None:
            assert self.headers["Origin"] == ORIGIN
            self.send_response(200)
            for name, value in answer.items():
                self.send_header(name, value)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Answering) as server:
        serving = threading.Thread(target=server.serve_forever, args=(0.01,))
        serving.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            serving.join()


def look(monkeypatch: pytest.MonkeyPatch, home, endpoint: str, **changes: str | None) -> Check:
    for name, value in (("ENDPOINT_URL", endpoint), ("ACCESS_KEY_ID", "a"), ("SECRET_ACCESS_KEY", "b")):
        monkeypatch.setenv(f"AWS_{name}", value)
    chosen: dict[str, Any] = {"storage_url": "s3://pool", "public_url": ORIGIN, **changes}
    return _bucket(Settings(home=home, **chosen))


def test_bucket_that_lets_pages_in_is_fine(monkeypatch, tmp_path):
    for answer in (ALLOWED, {**ALLOWED, "Access-Control-Allow-Origin": "*", "Access-Control-Allow-Headers": "*"}):
        with bucket(answer) as endpoint:
            found = look(monkeypatch, tmp_path, endpoint)
        assert (found.level, found.message) == ("ok", f"pages of {ORIGIN} may upload and download")


@pytest.mark.parametrize(
    ("changes", "refused"),
    [
        ({"Access-Control-Allow-Origin": "https://other.example.org"}, "PUT or GET"),
        ({"Access-Control-Allow-Methods": "GET, HEAD"}, "PUT"),
        ({"Access-Control-Allow-Methods": "PUT"}, "GET"),
        ({"Access-Control-Allow-Headers": "content-type"}, "PUT"),
    ],
)
def test_what_browsers_may_not_do_is_told_with_what_to_do(monkeypatch, tmp_path, changes, refused):
    with bucket(ALLOWED | changes) as endpoint:
        found = look(monkeypatch, tmp_path, endpoint)
    assert (found.level, found.message) == ("warn", f"pages of {ORIGIN} may not {refused} there")
    assert "CORS rules" in (found.hint or "")


def test_real_store_that_lets_everybody_in_is_fine(monkeypatch, tmp_path, s3):
    found = look(monkeypatch, tmp_path, s3.endpoint_url, storage_url=f"s3://{s3.bucket}")
    assert (found.level, found.message) == ("ok", f"pages of {ORIGIN} may upload and download")


def test_no_bucket_no_address_and_no_answer_are_told(monkeypatch, tmp_path):
    assert look(monkeypatch, tmp_path, "http://127.0.0.1:9", storage_url=None).message.startswith("none")
    assert look(monkeypatch, tmp_path, "http://127.0.0.1:9", public_url=None).level == "warn"
    away = look(monkeypatch, tmp_path, "http://127.0.0.1:9")
    assert (away.level, away.message.partition(":")[0]) == ("failed", "it does not answer")
