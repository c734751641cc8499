"""A pool that other machines can reach: nothing of it crosses the network in the clear, and nobody can stand in for it.

The addresses are 0.0.0.0, which the product takes for another machine, and which is this one (support/taps.py).
"""

import json
import re
from pathlib import Path

import pytest
from support.pool import Pool, running_pool
from support.taps import BEYOND_LOOPBACK, tap

pytestmark = pytest.mark.slow

JOIN_TOKEN, TOKEN = "cpj_a-join-token-that-is-secret", "cp_a-personal-token-that-is-secret"
MARK = "a sentence that only the renter and the node may read"


@pytest.fixture
def nobody(tmp_path):
    """A home without a hub."""
    with running_pool(tmp_path / "pool", hub=False) as pool:
        yield pool


@pytest.fixture
def pool(tmp_path):
    with running_pool(tmp_path / "pool", hub=False) as pool:
        pool.start_hub("--host", BEYOND_LOOPBACK)
        yield pool


def pin_of(pool: Pool) -> str:
    assert pool.hub is not None
    return pool.hub.wait_for(r"join https://\S+#(sha256:[0-9a-f]{64})")


def save(path: Path, **document: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document))


def test_no_command_sends_a_token_in_the_clear_to_another_machine(nobody):
    with tap() as listener:
        url, enough = listener.http, ("--insecure", "https://")
        signed_in, joined = nobody.folder / "signed-in", nobody.folder / "joined"
        save(signed_in / "credentials.json", url=url, token=TOKEN)  # as an earlier version kept them
        save(joined / "agent/node.json", hub_url=url, hub_id="hub_1", node_id="node_1", name="attic", hub_keys=[])
        environment = {"COMPUTEPOOL_URL": url, "COMPUTEPOOL_TOKEN": TOKEN}
        for words, more in (
            (("join", url, "--token", JOIN_TOKEN, "--enrol-only"), {}),
            (("login", url, "--token", TOKEN), {}),
            (("login", url), {}),
            (("ps",), environment),
            (("run", "--home", str(signed_in), "--", "true"), {}),
            (("agent", "start", "--home", str(joined)), {}),
        ):
            done = nobody.cli(*words, environment=more)
            assert done.code != 0, done.words
            assert (listener.connections, listener.heard) == (0, b""), done.words
            assert all(word in done.err for word in enough), f"{done.words}: {done.err}"
        # The same listener hears whoever insists.
        nobody.cli("login", url, "--token", TOKEN, "--insecure")
        nobody.cli("join", url, "--token", JOIN_TOKEN, "--insecure", "--enrol-only")
        assert TOKEN.encode() in listener.heard
        assert JOIN_TOKEN.encode() in listener.heard


@pytest.mark.engine("bwrap")  # rita is not the owner of the machine
def test_second_machine_works_over_https_and_an_eavesdropper_reads_nothing(pool):
    pin = pin_of(pool)
    with tap(pool.port) as way:
        address = f"{way.https}#{pin}"
        agent = pool.join("attic", url=address)
        rita = pool.client.create_token("rita")["token"]
        pool.cli("login", address, "--token", rita, "--home", str(pool.folder / "rita")).expect(0)
        script = pool.folder / "work.sh"
        script.write_text(f"echo '{MARK}'; echo '{MARK}' >$COMPUTEPOOL_OUTPUT/result\n")
        done = pool.cli("run", "--home", str(pool.folder / "rita"), "-o", "fetched", "work.sh").expect(0)
        assert done.text.strip() == MARK
        assert (pool.folder / "fetched/result").read_text().strip() == MARK
        assert agent.link == "websocket"
        for secret in (b"cpj_", rita.encode(), MARK.encode(), b"HTTP/1.1", b"Authorization"):
            assert secret not in way.heard
        assert len(way.heard) > 10_000
        # A machine with another pin hears why it is refused, and what to compare.
        token = pool.client.join_token().token
        wrong = f"{way.https}#sha256:{'0' * 64}"
        for words in (("join", wrong, "--token", token, "--enrol-only"), ("login", wrong, "--token", rita)):
            refused = pool.cli(*words, "--home", str(pool.folder / "other"))
            assert refused.code != 0
            assert "another key" in refused.err
            assert pin in refused.err


def test_pin_outlives_the_certificate_and_a_new_key_is_refused_until_it_is_named(pool):
    pin = pin_of(pool)
    agent = pool.join("attic", url=f"https://{BEYOND_LOOPBACK}:{pool.port}#{pin}")
    node_id = agent.node_id
    # Renewed: the same key, another certificate.
    before = (pool.home / "tls.crt").read_bytes()
    (pool.home / "tls.crt").unlink()
    assert pool.hub.stop() == 0
    pool.start_hub("--host", BEYOND_LOOPBACK)
    assert pin_of(pool) == pin
    assert (pool.home / "tls.crt").read_bytes() != before
    pool.until(lambda: agent.link is not None, "the agent is back")
    rita = pool.folder / "rita"
    token = pool.client.create_token("rita")["token"]
    pool.cli("login", f"https://{BEYOND_LOOPBACK}:{pool.port}#{pin}", "--token", token, "--home", str(rita)).expect(0)
    # Another key: somebody else for all that the others know.
    (pool.home / "tls.key").unlink()
    assert pool.hub.stop() == 0
    pool.start_hub("--host", BEYOND_LOOPBACK)
    new = pin_of(pool)
    assert new != pin
    refused = pool.cli("ps", "--home", str(rita))
    assert (refused.code, "another key" in refused.err) == (1, True)
    pool.until(lambda: "another key" in (agent.status() or {}).get("trouble", ""), "the agent says why it waits")
    agent.stop()
    again = re.search(r"computepool login (\S+)", refused.err)
    assert again is not None
    pool.cli("login", again[1], "--token", token, "--home", str(rita)).expect(0)
    pool.cli("ps", "--home", str(rita)).expect(0)
    agent.run("join", f"https://{BEYOND_LOOPBACK}:{pool.port}#{new}", "--token", "cpj_not-needed")
    assert agent.node_id == node_id
