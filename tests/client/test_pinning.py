"""To whom a client sends its token: never in the clear to another machine, never to another key than the pinned one."""

import ssl
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest
from support.fake_api import TOKEN, FakeHub, prints
from support.planted import each_check, each_mutant
from support.secure_site import make_certificate
from support.taps import Tap, secure_tap, tap

import computepool.client.http
from computepool.client import Pool
from computepool.client.errors import ClientError, HubUnreachable, InsecureAddress, NotFound, TransferError, WrongKey
from computepool.client.http import Http
from computepool.protocol import pinning

WRONG = f"sha256:{'0' * 64}"


@pytest.fixture
def front(hub: FakeHub, tmp_path: Path) -> Iterator[Tap]:
    """The hub behind a certificate of its own."""
    with secure_tap(tmp_path / "tls", httpx.URL(hub.url).port) as made:
        yield made


@pytest.fixture
def site(front: Tap, hub: FakeHub, tmp_path: Path) -> SimpleNamespace:
    return SimpleNamespace(front=front, hub=hub, folder=tmp_path)


def opened(front: Tap, folder: Path, pin: str | None = None) -> Pool:
    pool = Pool(f"{front.https}#{pin or front.fingerprint}", TOKEN, folder / "home")
    pool._http.patience_seconds = 0  # whatever fails here fails for good
    return pool


def check_requests_transfers_and_streams_reach_a_hub_with_the_pinned_key(site):
    data = b"x" * 1000
    (site.folder / "data").write_bytes(data)
    job = site.hub.add_job({"run": "true"})
    prints(b"hello\n", 0, {"out": b"result"})(job)
    with opened(site.front, site.folder) as pool:
        assert site.hub.blobs[pool.upload(site.folder / "data").digest] == data
        assert b"".join(event.data for event in pool.follow(job.id) if hasattr(event, "data")) == b"hello\n"
        (fetched,) = pool.download_outputs(job.id, site.folder / "fetched")
        assert fetched.path.read_bytes() == b"result"
    assert TOKEN.encode() in site.front.heard


def check_no_byte_reaches_a_hub_with_another_key(site):
    with opened(site.front, site.folder, WRONG) as pool:
        with pytest.raises(WrongKey, match="another key") as refused:
            pool.me()
        assert site.front.fingerprint in str(refused.value)
        assert f"computepool login {site.front.address}" in str(refused.value.hint)
        with pytest.raises(WrongKey):
            list(pool.follow("job_1"))
        with pytest.raises(WrongKey):
            pool._http.put_part("/blobs/x", b"data", {})
        with pytest.raises(WrongKey), pool._http.open_signed("/blobs/x", 0):
            pass
    assert site.front.heard == b""


def check_pin_is_for_the_hub_and_not_for_a_store_elsewhere(site):
    """A store with a certificate of an authority is checked as usual; one without is refused, pinned key or not."""
    with secure_tap(site.folder / "store") as store, opened(site.front, site.folder) as pool:
        with pytest.raises(TransferError, match="cut off"):
            pool._http.put_part(f"{store.https}/part", b"data", {})
        assert store.heard == b""
        trusted = ssl.create_default_context(cafile=str(site.folder / "store/site.pem"))
        trusted.check_hostname = False
        pool._http._trust = trusted
        del pool._http._bare
        with pytest.raises(TransferError, match="404"):
            pool._http.put_part(f"{store.https}/part", b"data", {})
        assert b"PUT /part" in store.heard


def check_plain_http_to_another_machine_is_refused_before_anything_is_sent(site):
    with tap() as listener:
        with pytest.raises(InsecureAddress, match="Nothing was sent") as refused:
            Pool(listener.http, TOKEN, site.folder / "home")
        assert "--insecure" in str(refused.value.hint)
        assert (listener.connections, listener.heard) == (0, b"")
        with (
            Pool(listener.http, TOKEN, site.folder / "home", insecure=True) as pool,
            pytest.raises(NotFound),
        ):
            pool.me()
        assert TOKEN.encode() in listener.heard


def check_signed_url_is_not_redirected_into_the_clear(site):
    in_the_clear: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.scheme == "https":
            return httpx.Response(307, headers={"Location": "http://192.0.2.7/part?secret"})
        in_the_clear.append(request)
        return httpx.Response(200)

    with opened(site.front, site.folder) as pool:
        pool._http._bare._transport = httpx.MockTransport(answer)
        pool._http._bare._mounts = {}
        with pytest.raises(TransferError, match="plain HTTP"):
            pool._http.put_part("https://store.example.org/part?secret", b"data", {})
    assert not in_the_clear


def pin_is_not_compared(monkeypatch):
    monkeypatch.setattr(pinning.PinnedContext, "check", lambda self, certificate: None)


def objects_are_not_checked(monkeypatch):
    monkeypatch.setattr(pinning, "_check", lambda connection: None)


def every_store_is_pinned(monkeypatch):
    monkeypatch.setattr(computepool.client.http, "same_origin", lambda url, other: True)


def no_pin_for_transfers(monkeypatch):
    monkeypatch.setattr(computepool.client.http, "same_origin", lambda url, other: False)


def nothing_is_exposed(monkeypatch):
    monkeypatch.setattr(computepool.client.http, "is_exposed", lambda url: False)


def redirects_lead_anywhere(monkeypatch):
    monkeypatch.setattr(computepool.client.http, "_refuse_downgrade", lambda response: None)


MUTANTS = {
    check_requests_transfers_and_streams_reach_a_hub_with_the_pinned_key: [no_pin_for_transfers],
    check_no_byte_reaches_a_hub_with_another_key: [pin_is_not_compared, objects_are_not_checked],
    check_pin_is_for_the_hub_and_not_for_a_store_elsewhere: [every_store_is_pinned],
    check_plain_http_to_another_machine_is_refused_before_anything_is_sent: [nothing_is_exposed],
    check_signed_url_is_not_redirected_into_the_clear: [redirects_lead_anywhere],
}


@each_check(MUTANTS)
def test_client_sends_its_token_to_its_hub_alone(check, site):
    check(site)


@each_mutant(MUTANTS)
def test_check_finds_the_planted_bug(check, mutant, site, monkeypatch):
    mutant(monkeypatch)
    with pytest.raises((AssertionError, ClientError, pytest.fail.Exception)):
        check(site)


def test_certificate_that_nobody_vouches_for_says_how_to_name_it(front, tmp_path):
    with (
        Pool(front.https, TOKEN, tmp_path / "home", patience_seconds=0) as pool,
        pytest.raises(HubUnreachable, match="#sha256:"),
    ):
        pool.me()
    assert front.heard == b""


def test_certificate_of_an_authority_needs_no_pin(hub, tmp_path, monkeypatch):
    certificate = make_certificate(tmp_path, ["localhost"])
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with tap(httpx.URL(hub.url).port, certificate) as made:
        http = Http(f"https://localhost:{made.port}", TOKEN)
        http._trust.load_verify_locations(certificate)  # the environment is not asked about this machine itself
        assert http.get("/version")
        http.close()
