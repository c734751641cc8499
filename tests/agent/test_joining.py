"""`join`: keys made here, shown to the hub, the hub's pinned; refusals say what to do."""

import asyncio

import pytest
from support.agents import CAPACITY
from support.fake_hub import FakeHub

from computepool.agent.enrol import JoinFailed, join
from computepool.agent.home import AgentHome
from computepool.protocol.enrol import ENROL_PROOF, enrol_proof_body
from computepool.protocol.signing import Signed, load_public_key, verify


def attempt_join(tmp_path, **changes):
    """Joins a fake hub; the hub and the home, or JoinFailed."""

    async def story():
        async with FakeHub() as hub:
            home = AgentHome(tmp_path / "agent")
            given = {"url": hub.url, "token": "token", "name": "box", "country": "in", "tags": ("lab",)} | changes
            url, token = given.pop("url"), given.pop("token")
            await asyncio.to_thread(join, home, url, token, capacity=CAPACITY, agent_version="1", **given)
            return hub, home

    return asyncio.run(story())


def test_joined_machine_proved_its_key_and_pinned_the_hubs(tmp_path):
    hub, home = attempt_join(tmp_path)
    (request,) = hub.enrolments
    assert (request.name, request.country, request.tags) == ("box", "IN", ("lab",))
    body = enrol_proof_body("token", request.sign_key, request.seal_key).decode()
    signed = Signed(type=ENROL_PROOF, key_id="k", body=body, signature=request.signature)
    verify(signed, ENROL_PROOF, {"k": load_public_key(hub.nodes[home.node().node_id].sign_key)})
    assert home.node().hub_id == hub.hub_id
    assert home.node().hub_keys == hub.hub_keys
    assert request.sign_key == home.identity().public_sign_key


def test_used_token_tells_to_make_a_new_one(tmp_path):
    with pytest.raises(JoinFailed, match="node join-token") as failed:
        attempt_join(tmp_path, token="spent")
    assert failed.value.code == "bad_join_token"
    assert not AgentHome(tmp_path / "agent").is_enrolled()


def test_wrong_country_is_refused_before_anything_is_sent(tmp_path):
    with pytest.raises(JoinFailed, match="two capital letters"):
        attempt_join(tmp_path, country="India")


def test_hub_that_is_not_there_is_named(tmp_path):
    with pytest.raises(JoinFailed, match=r"127\.0\.0\.1:9 cannot be reached"):
        attempt_join(tmp_path, url="127.0.0.1:9")


@pytest.mark.parametrize("url", ["ftp://hub", "http://", "://"])
def test_strange_address_is_refused(tmp_path, url):
    with pytest.raises(JoinFailed, match="looks like"):
        attempt_join(tmp_path, url=url)


def test_something_that_is_no_hub_is_recognised(tmp_path):
    async def story():
        async with FakeHub() as hub:
            home = AgentHome(tmp_path / "agent")
            with pytest.raises(JoinFailed, match="not a ComputePool hub"):
                await asyncio.to_thread(
                    join, home, f"{hub.url}/elsewhere", "token", capacity=CAPACITY, agent_version="1"
                )

    asyncio.run(story())


def test_machine_that_joined_already_says_so(tmp_path):
    attempt_join(tmp_path)
    with pytest.raises(JoinFailed, match="already"):
        attempt_join(tmp_path)
