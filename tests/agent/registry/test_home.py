"""The owner's own jobs may name a registry on this machine, or on the network around it. It cannot lead further than
that, and a public registry cannot lead there."""

from ipaddress import ip_address, ip_network

import pytest
from support.fake_registry import Reply, digest_of, fake_registry
from support.secure_registry import AUTH, INSIDE, REGISTRY, STORE
from support.secure_site import PUBLIC

from computepool.agent.egress import HomePolicy, Mode, Refused
from computepool.agent.images import ImageMissing, RegistryUnreachable

HOME = "home.example.org"


@pytest.fixture(scope="module")
def kept_home():
    with fake_registry() as registry:
        yield registry


@pytest.fixture
def home(world, kept_home):
    """A registry on this machine that speaks plain HTTP."""
    kept_home.behave()
    kept_home.add("team/model", "1", {"file": b"at home"})
    world.addresses[HOME] = ["127.0.0.1"]
    return kept_home


def port_of(home):
    return home.address.partition(":")[2]


@pytest.mark.parametrize("host", ["127.0.0.1", HOME])
def test_registry_at_home_serves_own_jobs_and_nobody_else(world, home, pull, host):
    name = f"{host}:{port_of(home)}/team/model:1"
    with pytest.raises(ImageMissing, match="refused"):
        pull(name)
    assert home.seen == []
    assert pull(name, own=True) == digest_of(home.manifests["team/model", "1"])
    assert world.targets == [], "the company's proxy knows nothing of this house"


def test_registry_at_home_may_have_its_tokens_and_content_at_home_or_outside(world, home, pull):
    home.realm = f"http://{home.address}/token"
    (layer,) = home.layers
    elsewhere = f"http://{HOME}:{port_of(home)}/elsewhere"
    home.replies[f"/v2/team/model/blobs/{layer}"] = Reply(status=307, headers={"Location": elsewhere})
    home.replies[f"{HOME}/elsewhere"] = Reply(home.blobs[layer])
    pull(f"{home.address}/team/model:1", own=True)
    assert {asked.host for asked in home.seen if asked.authorization} == {"127.0.0.1"}


@pytest.mark.parametrize("target", ["http://169.254.169.254/latest", f"http://{INSIDE}/secret"])
def test_registry_at_home_cannot_lead_to_the_metadata_of_a_cloud(world, home, pull, target):
    world.addresses[INSIDE] = ["168.63.129.16"]
    home.realm = target
    with pytest.raises(ImageMissing, match="refused"):
        pull(f"{home.address}/team/model:1", own=True)


def test_registry_that_leaves_the_house_gets_nothing_that_was_given_there(world, home, pull):
    """Its name leads home first, so that it is trusted with a token of the house, and then outside."""
    home.realm = f"http://{home.address}/token"
    home.replies["/v2/"] = Reply(headers={"Connection": "close"})
    world.addresses[HOME] = ["127.0.0.1", "127.0.0.1", "127.0.0.1", PUBLIC]
    with pytest.raises(
        ImageMissing, match=r"was refused: home.example.org leads to 93.184.216.34: not on this machine"
    ):
        pull(f"{HOME}:{port_of(home)}/team/model:1", own=True)


@pytest.mark.parametrize("way", ["realm", "layer"])
def test_public_registry_cannot_lead_home_for_own_jobs_either(world, home, pull, way):
    registry = world.registry
    registry.add("team/model", "1", {"file": b"public"})
    if way == "realm":
        registry.realm = f"http://{home.address}/token"
    else:
        for layer in registry.layers:
            moved = Reply(status=307, headers={"Location": f"https://{HOME}:{port_of(home)}/x"})
            registry.replies[f"{REGISTRY}/v2/team/model/blobs/{layer}"] = moved
    with pytest.raises(ImageMissing, match="a place that"):
        pull(own=True)
    assert home.seen == []


def test_own_jobs_may_use_other_ports_of_public_registries(world, pull):
    digest = world.registry.add("team/model", "1", {"file": b"public"})
    world.registry.realm = f"https://{AUTH}/token"
    assert pull(f"{STORE}:8443/team/model:1", own=True) == digest
    with pytest.raises(ImageMissing, match="port 25"):
        pull(f"{STORE}:25/team/model:1", own=True)


def test_bad_certificate_at_home_is_no_reason_to_speak_plainly(world, pull):
    world.addresses["localhost"] = ["127.0.0.1"]
    with pytest.raises(RegistryUnreachable, match="certificate"):
        pull(f"localhost:{world.registry.address.partition(':')[2]}/team/model:1", own=True)
    assert world.registry.seen == []


@pytest.mark.parametrize(
    ("host", "address", "welcome"),
    [
        ("registry", "127.0.0.1", True),
        ("registry", "::1", True),
        ("registry", "192.168.1.9", True),
        ("registry", "fd00::9", True),
        ("registry", "100.64.0.9", True),
        ("registry", "8.8.4.4", True),  # on a wire of this machine
        ("registry", "8.8.8.8", False),
        ("registry", "169.254.169.254", False),
        ("registry", "168.63.129.16", False),
        ("registry", "fe80::1", False),
        ("realm", "8.8.8.8", True),
        ("realm", "10.0.0.1", True),
        ("realm", "169.254.169.254", False),
        ("realm", "0.0.0.0", False),
        ("realm", "::", False),
        ("realm", "224.0.0.1", False),
    ],
)
def test_home_is_this_machine_and_what_is_around_it(host, address, welcome):
    policy = HomePolicy(Mode.INTERNET, registry="registry")
    around = frozenset({ip_network("8.8.4.0/24")})
    try:
        policy.check_addresses(host, 443, [ip_address(address)], around)
    except Refused:
        assert not welcome
    else:
        assert welcome
