"""How a node knows its hub again where no authority vouches for it: joining, both kinds of line, transfers."""

import asyncio
import json
import tempfile
from types import SimpleNamespace

import httpx
import pytest
from support.agents import CAPACITY
from support.planted import each_check, each_mutant
from support.taps import secure_tap, tap

import computepool.agent.enrol
from computepool.agent.enrol import JoinFailed, find_again, join
from computepool.agent.home import AgentHome, NodeRecord
from computepool.agent.link.base import LinkUnavailable
from computepool.agent.link.posting import Poster
from computepool.agent.link.websocket import open_websocket
from computepool.agent.ports import TransferFailed
from computepool.agent.transfer import HttpTransfer
from computepool.protocol import pinning
from computepool.protocol.pinning import PinnedContext

WRONG = f"sha256:{'0' * 64}"
TOKEN = "cpj_something-secret"


class Sink:
    def begin(self, offset: int) -> None: ...

    def write(self, data: bytes) -> None: ...


@pytest.fixture
def site(tmp_path):
    """A server with a certificate of its own, and a home that joined nothing."""
    with secure_tap(tmp_path / "tls") as server:
        yield SimpleNamespace(server=server, home=AgentHome(tmp_path / "home"), folder=tmp_path)


def joining(site, url: str, **trust):
    return join(site.home, url, TOKEN, capacity=CAPACITY, agent_version="test", **trust)


async def check_every_way_to_the_hub_reaches_the_pinned_key(site):
    tls, url = PinnedContext(site.server.fingerprint), site.server.https
    with pytest.raises(JoinFailed, match="not a ComputePool hub"):
        joining(site, url, fingerprint=site.server.fingerprint)
    assert TOKEN.encode() in site.server.heard
    with pytest.raises(LinkUnavailable, match="404"):
        await open_websocket(url, "test", tls)
    poster = Poster("test", tls)
    assert (await poster.post(f"{url}/poll", b"", {}, 9.0))[0] == 404
    await poster.close()
    transfer = HttpTransfer(url, tls=tls)
    with pytest.raises(TransferFailed, match="404"):
        await transfer.download("/blob", offset=0, sink=Sink())
    await transfer.close()


async def check_no_way_leads_to_another_key(site):
    tls, url = PinnedContext(WRONG), site.server.https
    with pytest.raises(JoinFailed, match="another key") as refused:
        joining(site, url, fingerprint=WRONG)
    assert (refused.value.code, site.server.fingerprint in str(refused.value)) == ("wrong_key", True)
    with pytest.raises(LinkUnavailable, match="another key"):
        await open_websocket(url, "test", tls)
    poster = Poster("test", tls)
    with pytest.raises(ConnectionError, match="public key"):
        await poster.post(f"{url}/poll", b"", {}, 9.0)
    await poster.close()
    transfer = HttpTransfer(url, tls=tls)
    with pytest.raises(TransferFailed):
        await transfer.download("/blob", offset=0, sink=Sink())
    with tempfile.TemporaryFile() as file:
        file.write(b"123456789")
        with pytest.raises(TransferFailed):
            await transfer.upload("/blob", file, offset=0, size_bytes=9, headers={})
    await transfer.close()
    assert site.server.heard == b""
    assert not site.home.is_enrolled()


async def check_pin_of_the_hub_is_not_asked_of_a_store(site):
    transfer = HttpTransfer("https://192.0.2.7:8000", tls=PinnedContext(site.server.fingerprint))
    with pytest.raises(TransferFailed, match="CERTIFICATE_VERIFY_FAILED"):
        await transfer.download(f"{site.server.https}/blob", offset=0, sink=Sink())
    await transfer.close()
    assert site.server.heard == b""


async def check_token_is_not_sent_in_the_clear(site):
    with tap() as listener:
        with pytest.raises(JoinFailed, match="--insecure") as refused:
            joining(site, listener.http)
        assert refused.value.code == "insecure_address"
        assert (listener.connections, listener.heard) == (0, b"")
        with pytest.raises(JoinFailed, match="not a ComputePool hub"):
            joining(site, listener.http, insecure=True)
        assert TOKEN.encode() in listener.heard


def pin_is_not_compared(monkeypatch):
    monkeypatch.setattr(pinning.PinnedContext, "check", lambda self, certificate: None)


def pin_is_lost(monkeypatch):
    monkeypatch.setattr(computepool.agent.enrol, "_verify", lambda fingerprint: True)


def everything_is_pinned(monkeypatch):
    monkeypatch.setattr("computepool.agent.transfer.same_origin", lambda url, other: True)


def nothing_is_exposed(monkeypatch):
    monkeypatch.setattr(computepool.agent.enrol, "is_exposed", lambda url: False)


MUTANTS = {
    check_every_way_to_the_hub_reaches_the_pinned_key: [pin_is_lost],
    check_no_way_leads_to_another_key: [pin_is_not_compared],
    check_pin_of_the_hub_is_not_asked_of_a_store: [everything_is_pinned],
    check_token_is_not_sent_in_the_clear: [nothing_is_exposed],
}


@each_check(MUTANTS)
def test_node_talks_to_its_hub_alone(check, site):
    asyncio.run(check(site))


@each_mutant(MUTANTS)
def test_check_finds_the_planted_bug(check, mutant, site, monkeypatch):
    mutant(monkeypatch)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        asyncio.run(check(site))


# ── a hub that has moved ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def moved(site, monkeypatch):
    """The hub that was joined in the clear, and answers with a certificate now."""
    site.home.save_node(
        NodeRecord(hub_url="http://192.0.2.7:8000", hub_id="hub_1", node_id="node_1", name="x", hub_keys=())
    )
    asked: list[object] = []

    def get(url: str, **options):
        asked.append(options["verify"])
        return httpx.Response(200, content=json.dumps({"hub_id": site.hub_id, "items": []}))

    site.hub_id = "hub_1"
    site.asked = asked
    monkeypatch.setattr(httpx, "get", get)
    return site


def test_joined_machine_takes_the_new_address_and_certificate_of_its_hub(moved):
    assert find_again(moved.home, "https://192.0.2.7:8000", WRONG, insecure=False)
    node = moved.home.node()
    assert (node.hub_url, node.fingerprint, node.node_id) == ("https://192.0.2.7:8000", WRONG, "node_1")
    assert moved.asked[0].fingerprint == WRONG
    assert find_again(moved.home, "https://192.0.2.7:8000", None, insecure=False)
    assert moved.home.node().fingerprint == WRONG
    assert len(moved.asked) == 1


def test_joined_machine_stays_with_its_hub_when_another_answers(moved):
    moved.hub_id = "hub_2"
    assert not find_again(moved.home, "https://192.0.2.7:8000", WRONG, insecure=False)
    assert moved.home.node().hub_url == "http://192.0.2.7:8000"


def test_joined_machine_is_not_asked_in_the_clear(moved):
    with pytest.raises(JoinFailed, match="--insecure"):
        find_again(moved.home, "http://192.0.2.7:8000", None, insecure=False)
    assert moved.asked == []
