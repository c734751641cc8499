"""Wherever a registry sends the agent, it is never the host's own network that is asked, and tokens stay with whom they
are for."""

import pytest
from support.fake_registry import Reply
from support.secure_registry import AUTH, INSIDE, REGISTRY, STORE
from support.secure_site import PUBLIC

from computepool.agent.images import ImageMissing, RegistryUnreachable

HOME = [
    "127.0.0.1", "10.1.2.3", "172.16.0.9", "192.168.1.1", "100.64.0.1", "169.254.169.254", "168.63.129.16", "0.0.0.0",
    "::1", "::", "fd00::1", "fe80::1", "fec0::1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "ff02::1",
]  # fmt: skip
URLS = [
    "http://127.0.0.1/secret", "https://127.0.0.1/secret", "https://localhost/secret", "https://router.lan/secret",
    "https://[::1]/secret", "https://[fe80::1%25eth0]/secret", "https://[::ffff:127.0.0.1]/secret",
    "https://2130706433/secret", "https://0x7f.1/secret", "https://0177.0.0.1/secret", "https://127.1/secret",
    "https://169.254.169.254/latest/meta-data", f"https://{INSIDE}:22/secret", f"https://{INSIDE}:0/secret",
    f"http://{INSIDE}/secret", f"http://{PUBLIC}/secret", "file:///etc/passwd", "ftp://files.example.org/x", "//[",
    "https://[", "https://", "https://user@127.0.0.1/secret", "https://127.0.0.1\\@registry.example.org/odd",
    "https://registry.example.org:443@127.0.0.1/secret",
]  # fmt: skip
WAYS = ["registry", "realm", "token", "manifest", "config", "layer"]


@pytest.fixture(autouse=True)
def _image(world):
    world.registry.blobs.clear()
    world.registry.layers.clear()
    world.registry.add("team/model", "1", {"file": b"x"})


def blob_path(world, kind):
    (layer,) = world.registry.layers
    digest = layer if kind == "layer" else next(one for one in world.registry.blobs if one != layer)
    return f"/v2/team/model/blobs/{digest}"


def lead(world, way, url):
    """Make the registry send whoever pulls the image to this URL."""
    registry = world.registry
    moved = Reply(status=307, headers={"Location": url})
    if way == "realm":
        registry.realm = url
    elif way == "token":
        registry.realm = f"https://{AUTH}/token"
        registry.replies[f"{AUTH}/token"] = moved
    else:
        path = "/v2/team/model/manifests/1" if way == "manifest" else blob_path(world, way)
        registry.replies[f"{REGISTRY}{path}"] = moved


@pytest.mark.parametrize("way", WAYS)
def test_name_that_leads_home_is_never_connected_to(world, pull, way):
    if way != "registry":
        lead(world, way, f"https://{INSIDE}/secret")
    name = REGISTRY if way == "registry" else INSIDE
    for address in HOME if way == "realm" else HOME[WAYS.index(way) :: 5]:
        world.addresses[name] = [f"{PUBLIC} {address}"]
        with pytest.raises(ImageMissing, match="was refused: "):
            pull()
    assert set(world.targets) == (set() if way == "registry" else {f"{PUBLIC}:443"})
    assert not [asked for asked in world.registry.seen if asked.host == INSIDE]
    # The control: the way leads somewhere.
    world.addresses.clear()
    if way == "registry":
        pull()
    else:
        with pytest.raises(ImageMissing):
            pull()
        assert world.registry.seen[-1].host == INSIDE


@pytest.mark.parametrize("way", WAYS[1:])
def test_address_that_is_the_hosts_own_is_never_connected_to(world, pull, way):
    world.addresses[INSIDE] = ["10.1.1.1"]
    for url in URLS if way == "realm" else URLS[WAYS.index(way) :: 5]:
        lead(world, way, url)
        with pytest.raises((ImageMissing, RegistryUnreachable)):
            pull()
    assert set(world.targets) == {f"{PUBLIC}:443"}
    assert "secret" not in "".join(asked.path for asked in world.registry.seen)


@pytest.mark.parametrize(
    "image",
    [
        "127.0.0.1:80/owners/private", "127.0.0.1:5000/owners/private", "localhost:5000/x", "localhost/x",
        "192.168.1.1:80/x", "169.254.169.254/latest", "router.lan/x", "registry.example.org:22/x", "2130706433:443/x",
    ],
)  # fmt: skip
def test_strangers_images_never_come_from_the_network_around(world, pull, image):
    with pytest.raises(ImageMissing, match="was refused: "):
        pull(image)
    assert world.targets == []


@pytest.mark.parametrize("host", [REGISTRY, AUTH, STORE])
def test_name_that_means_something_else_at_the_next_connection_is_checked_again(world, pull, host):
    """Each host closes every connection, so that each request needs a new one."""
    registry, path = world.registry, blob_path(world, "layer")
    last = {"Connection": "close"}
    registry.realm = f"https://{AUTH}/token"
    registry.replies |= {
        f"{REGISTRY}{path}": Reply(status=307, headers={"Location": f"https://{STORE}/first", **last}),
        f"{STORE}/first": Reply(status=307, headers={"Location": "/second", **last}),
        f"{STORE}/second": Reply(registry.blobs[path.rpartition("/")[2]], headers=last),
        f"{AUTH}/token": Reply(status=307, headers={"Location": "/again", **last}),
        f"{AUTH}/again": Reply(b'{"token": "everybodys"}', headers=last),
    }
    # The control: a name that keeps its meaning is asked for at least twice.
    pull(fresh=True)
    assert world.lookups.count(host) >= 2
    world.lookups.clear()
    world.addresses[host] = [PUBLIC, "127.0.0.1"]
    with pytest.raises(ImageMissing, match=f"was refused: {host} is this machine"):
        pull(fresh=True)
    assert set(world.targets) == {f"{PUBLIC}:443"}


def test_token_goes_to_its_registry_and_to_nobody_else(world, pull):
    registry = world.registry
    registry.realm = f"https://{AUTH}/token"
    for kind in ("layer", "config"):
        path = blob_path(world, kind)
        registry.replies[f"{REGISTRY}{path}"] = Reply(status=302, headers={"Location": f"https://{STORE}/{kind}"})
        registry.replies[f"{STORE}/{kind}"] = Reply(registry.blobs[path.rpartition("/")[2]])
    pull()
    assert {asked.host for asked in registry.seen} == {REGISTRY, AUTH, STORE}
    assert {asked.host for asked in registry.seen if asked.authorization} == {REGISTRY}
    assert {asked.authorization for asked in registry.seen} == {"", f"Bearer {registry.token}"}


def test_token_is_not_sent_to_another_port_of_the_registry(world, pull):
    registry = world.registry
    registry.realm = f"https://{AUTH}/token"
    path = blob_path(world, "layer")
    registry.replies[f"{REGISTRY}{path}"] = Reply(status=302, headers={"Location": f"https://{REGISTRY}:80/x"})
    with pytest.raises(ImageMissing):
        pull()
    assert (registry.seen[-1].host, registry.seen[-1].path, registry.seen[-1].authorization) == (REGISTRY, "/x", "")
