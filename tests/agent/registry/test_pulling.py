"""Images come by digest, once, in parts that are shared; a registry that lies is told apart from one in trouble."""

import gzip
import json
import os

import pytest
from support.fake_registry import LAYER, Reply, digest_of, make_layer
from support.secure_registry import AUTH, REGISTRY, STORE

from computepool.agent.clock import SystemClock
from computepool.agent.egress import Allowance
from computepool.agent.images import ImageMissing, ImageUnavailable, RegistryUnreachable
from computepool.agent.inputs import InputTooSlow
from computepool.agent.ports import offload_to_threads
from computepool.agent.registry import pulling, session
from computepool.agent.web import DownloadPace

NAME = f"{REGISTRY}/team/model:1"
BIG = os.urandom(300_000)


@pytest.fixture
def registry(world):
    for kept in (world.registry.blobs, world.registry.layers, world.registry.manifests):
        kept.clear()
    return world.registry


def asked(registry, kind="/"):
    return [one.path for one in registry.seen if kind in one.path]


def blobs_asked(registry):
    return sum(count for what, count in registry.asked.items() if what.startswith("blobs"))


def test_tag_is_resolved_to_its_digest_and_pulled_once(registry, pull, store):
    digest = registry.add("team/model", "1", {"file": b"x"})
    assert pull() == digest
    assert store.files[digest] == [make_layer({"file": b"x"})[0]]
    before = blobs_asked(registry)
    assert pull() == pull(NAME, digest) == pull(f"{REGISTRY}/team/model@{digest}") == digest
    assert blobs_asked(registry) == before
    moved = registry.add("team/model", "1", {"file": b"y"})
    assert pull() == moved
    assert pull(NAME, digest) == digest


def test_image_for_this_machine_comes_from_a_list_whose_digest_is_what_is_pinned(registry, pull, store):
    for_arm = registry.add("team/model", "arm", {"file": b"arm"})
    for_us = registry.add("team/model", "amd", {"file": b"amd"})
    both = registry.add_list("team/model", "1", linux_arm64=for_arm, linux_amd64=for_us, windows_amd64=for_arm)
    assert pull() == both
    assert store.files[both] == [make_layer({"file": b"amd"})[0]]
    # A pin of the one manifest, as podman reported it, means the same image.
    assert pull(NAME, for_us, fresh=True) == for_us
    only_arm = registry.add_list("team/model", "2", linux_arm64=for_arm)
    with pytest.raises(ImageMissing, match="made for linux/arm64, not for linux/amd64"):
        pull(f"{REGISTRY}/team/model@{only_arm}")


def test_layers_are_shared_by_images_and_within_one(registry, pull, store):
    base, top = {"base": BIG}, {"top": b"x"}
    registry.add("team/model", "1", base, top)
    registry.add("team/other", "1", base, {"top": b"y"}, base)
    pull()
    shared = digest_of(make_layer(base)[0])
    assert registry.asked[f"blobs {shared}"] == 1
    digest = pull(f"{REGISTRY}/team/other:1")
    assert registry.asked[f"blobs {shared}"] == 1
    first, _, last = store.files[digest]
    assert first == last == make_layer(base)[0]


def test_who_knows_a_digest_gets_nothing_that_another_registry_gave(world, registry, pull, store):
    """Neither a layer out of the cache, nor an image that is in the engine."""
    secret = registry.add("team/model", "1", {"secret": BIG})
    pull()
    layer = digest_of(make_layer({"secret": BIG})[0])
    thief = f"{STORE}/team/model"
    for path in (f"/v2/team/model/manifests/{secret}", f"/v2/team/model/blobs/{layer}"):
        registry.replies[f"{STORE}{path}"] = Reply(status=404)
    with pytest.raises(ImageMissing, match="404"):
        pull(f"{thief}@{secret}")
    # It claims the digest for a tag, and has the manifest, but not the content.
    del registry.replies[f"{STORE}/v2/team/model/manifests/{secret}"]
    for wanted in (f"{thief}:1", f"{thief}@{secret}"):
        with pytest.raises(ImageMissing, match="404"):
            pull(wanted)
    assert store.given_by == {secret: {f"{REGISTRY}:443"}}
    # The control: with the content it may.
    registry.replies.clear()
    assert pull(f"{thief}:1") == secret
    assert len(store.given_by[secret]) == 2


def test_layer_that_is_another_than_the_configuration_says_is_refused(registry, pull, store):
    """An engine would take the layer that it has already under the digest in the configuration."""
    registry.add("team/model", "1", {"secret": b"the owner's"})
    described = json.loads(registry.manifests["team/model", "1"])
    other = gzip.compress(b"whatever", mtime=0)
    described["layers"] = [registry._keep(other, LAYER)]
    registry.put_manifest("team/model", "1", described)
    with pytest.raises(ImageMissing, match="its configuration says"):
        pull()
    assert store.files == {}


def test_broken_download_goes_on_where_it_broke_off(registry, pull, store):
    digest = registry.add("team/model", "1", {"file": BIG}, {"small": b"x"})
    big, small = (layer["digest"] for layer in json.loads(registry.manifests["team/model", "1"])["layers"])
    registry.break_off_after[big] = 100_000
    assert pull() == digest
    assert (registry.asked[f"blobs {big}"], registry.asked[f"blobs {small}"]) == (2, 1)
    assert store.files[digest][0] == registry.blobs[big]


def test_pull_that_was_given_up_is_taken_up_by_the_next(registry, pull, tmp_path):
    registry.add("team/model", "1", {"file": BIG})
    (layer,) = registry.layers
    path = f"/v2/team/model/blobs/{layer}"
    content, given = registry.blobs[layer], 100_000
    registry.replies[f"{REGISTRY}{path}"] = Reply(content[:given], headers={"Content-Length": str(len(content))})
    # Whoever asks for the rest gets nothing: the line stays broken.
    with pytest.raises(RegistryUnreachable):
        pull()
    (part,) = (tmp_path / "layers").iterdir()
    assert 0 < part.stat().st_size <= given
    registry.replies.clear()
    pull()
    assert [one.stat().st_size for one in (tmp_path / "layers").iterdir()] == [len(content)]


def test_tag_that_cannot_be_asked_for_now_means_what_it_meant_last(registry, pull):
    digest = registry.add("team/model", "1", {"file": b"x"})
    lines: list[str] = []
    pull()
    registry.out_of_order = 503
    assert pull(say=lines.append) == digest
    assert "pulled last" in lines[-1]
    with pytest.raises(RegistryUnreachable, match="503"):
        pull(f"{REGISTRY}/team/other:1")
    # For another registry with the same name and tag it means nothing.
    with pytest.raises(RegistryUnreachable, match="503"):
        pull(f"{STORE}/team/model:1")


def test_pull_tells_how_far_it_is(registry, pull, monkeypatch):
    registry.add("team/model", "1", {"file": os.urandom(3_000_000)})
    monkeypatch.setattr(pulling, "PROGRESS_SECONDS", 0.0)
    lines: list[str] = []
    pull(say=lines.append)
    assert lines[0] == f"pulling {NAME}"
    assert lines[-1] == f"pulling {NAME}: 3 of 3 MB"


def test_bytes_for_strangers_are_counted_and_end_with_the_allowance(registry, pull, tmp_path):
    registry.add("team/model", "1", {"file": BIG})
    allowance = Allowance(tmp_path / "network.json", SystemClock(), limit_bytes=400_000, offload=offload_to_threads)
    pull(outside={"allowance": allowance}, fresh=True)
    assert len(BIG) < allowance.used_bytes < 350_000
    with pytest.raises(ImageUnavailable, match="allowance"):
        pull(outside={"allowance": allowance}, fresh=True)
    # The owner's own work uses nothing of it.
    pull(outside={"allowance": allowance}, fresh=True, own=True)


def test_image_that_has_no_room_speaks_against_nobody(registry, pull):
    registry.add("team/model", "1", {"file": BIG})
    for free in (0, 10_000_000, 10_000_000 + 2 * len(BIG)):
        with pytest.raises(ImageUnavailable, match="no room for it: the node has"):
            pull(free_bytes=lambda free=free: free, floor_bytes=10_000_000)
    assert asked(registry, next(iter(registry.layers))) == []
    pull(free_bytes=lambda: 10_000_000 + 4 * len(BIG), floor_bytes=10_000_000)


# ── tokens ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "body",
    [b'{"token": "everybodys"}', b'{"access_token": "everybodys"}', b'{"token": "", "access_token": "everybodys"}'],
)
def test_token_is_fetched_once_and_used(registry, pull, body):
    digest = registry.add("team/model", "1", {"file": b"x"})
    registry.realm = f"https://{AUTH}/token?a=b"
    registry.replies[f"{AUTH}/token"] = Reply(body)
    assert pull() == digest
    assert asked(registry, "/token") == ["/token?a=b&service=fake&scope=repository%3Ateam%2Fmodel%3Apull"]


def test_token_that_ends_is_fetched_again(registry, pull):
    registry.add("team/model", "1", {"file": b"x"})
    registry.realm = f"https://{AUTH}/token"
    (layer,) = registry.layers
    old, registry.token = registry.token, "the-next"
    registry.replies[f"{REGISTRY}/v2/team/model/manifests/1"] = Reply(registry.manifests["team/model", "1"])
    pull()
    assert [one.authorization for one in registry.seen if layer in one.path][-1] == "Bearer the-next"
    registry.token = old


@pytest.mark.parametrize(
    ("challenge", "text"),
    [
        ("", "wants a password"),
        ('Basic realm="registry"', "wants a password"),
        ("Bearer", "wants a password"),
        ('Bearer service="x"', "wants a password"),
        ("Negotiate", "wants a password"),
        (f'Bearer realm="https://{AUTH}/nothing"', "HTTP 404"),
        (f'Basic realm="x", Bearer realm="https://{AUTH}/token",scope="aws"', "answers HTTP 401"),
        (f"bearer realm=https://{AUTH}/token", "answers HTTP 401"),
    ],
)
def test_registry_that_is_never_content_ends_the_pull(registry, pull, challenge, text):
    registry.add("team/model", "1", {"file": b"x"})
    path = f"{REGISTRY}/v2/team/model/manifests/1"
    registry.replies[path] = Reply(status=401, headers={"WWW-Authenticate": challenge})
    with pytest.raises(ImageMissing, match=text):
        pull()
    assert len(registry.seen) <= 6


@pytest.mark.parametrize(
    "reply",
    [
        Reply(b"{}"), Reply(b"[]"), Reply(b"no"), Reply(b"[" * 100_000), Reply(b'{"token": 1}'), Reply(status=401),
        Reply(b'{"token": "a b"}'), Reply(b'{"token": "a\\r\\nX-Evil: 1"}'), Reply(b'{"token": "\xc3\xa4"}'),
        Reply(b'{"token": "' + b"a" * 70_000 + b'"}'), Reply(b" " * 100_000, endless=True), Reply(status=204),
    ],
)  # fmt: skip
def test_service_that_gives_no_token_ends_the_pull(registry, pull, reply):
    registry.add("team/model", "1", {"file": b"x"})
    registry.realm = f"https://{AUTH}/token"
    registry.replies[f"{AUTH}/token"] = reply
    with pytest.raises((ImageMissing, RegistryUnreachable)):
        pull()
    assert {one.authorization for one in registry.seen} == {""}


# ── registries that lie, or are in trouble ───────────────────────────────────────────────────────────────────────────


def lie_in(registry, where, reply):
    (layer,) = registry.layers
    config = next(digest for digest in registry.blobs if digest != layer)
    path = {"manifest": "manifests/1", "config": f"blobs/{config}", "layer": f"blobs/{layer}"}[where]
    registry.replies[f"{REGISTRY}/v2/team/model/{path}"] = reply


LIES = {
    "nothing": Reply(),
    "something else": Reply(b'{"schemaVersion": 2}'),
    "not found": Reply(status=404),
    "forbidden": Reply(status=403),
    "gone": Reply(status=410),
    "teapot": Reply(status=418),
    "a page": Reply(b"<html>" * 100),
    "endless": Reply(b"x" * 1_000_000, endless=True),
    "to itself": Reply(status=307, headers={"Location": "?again"}),
    "nowhere": Reply(status=307),
}
TROUBLE = {
    "too many requests": Reply(status=429),
    "out of order": Reply(status=503),
    "bad gateway": Reply(status=502),
    "odd": Reply(status=299),
    "less than it says": Reply(b"x", headers={"Content-Length": "100000"}),
}


@pytest.mark.parametrize("where", ["manifest", "config", "layer"])
@pytest.mark.parametrize("what", [*LIES, *TROUBLE])
def test_whose_doing_it_is_that_an_image_does_not_come(registry, pull, store, where, what):
    registry.add("team/model", "1", {"file": b"x"})
    lie_in(registry, where, (LIES | TROUBLE)[what])
    expected: tuple[type[Exception], ...] = (ImageMissing,) if what in LIES else (RegistryUnreachable,)
    if (where, what) in (("config", "less than it says"), ("layer", "less than it says")):
        expected = (ImageMissing, RegistryUnreachable)  # it is more than is due, too
    with pytest.raises(expected):
        pull()
    assert (store.files, len(registry.seen) < 60) == ({}, True)


def test_manifest_that_is_not_what_its_digest_says_is_refused(registry, pull):
    registry.add("team/model", "1", {"file": b"x"})
    lie = digest_of(b"something")
    registry.manifests["team/model", lie] = registry.manifests["team/model", "1"]
    with pytest.raises(ImageMissing, match=f"for {lie}"):
        pull(NAME, lie)


def test_list_that_leads_to_another_list_is_refused(registry, pull):
    image = registry.add("team/model", "image", {"file": b"x"})
    inner = registry.add_list("team/model", "inner", linux_amd64=image)
    registry.add_list("team/model", "1", linux_amd64=inner)
    with pytest.raises(ImageMissing, match="names another list"):
        pull()


@pytest.mark.parametrize("size", [0, 5, 1 << 39])
def test_layer_of_another_size_than_declared_is_refused(registry, pull, size):
    registry.add("team/model", "1", {"file": BIG})
    described = json.loads(registry.manifests["team/model", "1"])
    described["layers"][0]["size"] = size
    registry.put_manifest("team/model", "1", described)
    with pytest.raises(ImageMissing):
        pull()


def test_manifest_that_is_too_large_is_refused(registry, pull):
    registry.put_manifest("team/model", "1", b" " * (5 << 20))
    with pytest.raises(ImageMissing, match="more than 4194304 bytes"):
        pull()


def test_bomb_is_refused(registry, pull, monkeypatch):
    monkeypatch.setattr(pulling, "SMALL_BYTES", 1000)
    registry.add("team/model", "1", {"zeros": bytes(3_000_000)})
    with pytest.raises(ImageMissing, match="unpack to more than"):
        pull()


def test_registry_that_cannot_prove_its_name_is_not_believed(registry, pull):
    with pytest.raises(RegistryUnreachable, match="certificate"):
        pull("other.example.org/team/model:1")


def test_name_that_nobody_knows_is_nobodys_doing_here(world, registry, pull):
    world.addresses[REGISTRY] = [""]
    with pytest.raises(RegistryUnreachable, match="is not known here"):
        pull()


def test_registry_that_says_nothing_for_too_long_is_given_up(registry, pull, monkeypatch):
    monkeypatch.setattr(session, "DOCUMENT_SECONDS", 0.0)
    with pytest.raises(RegistryUnreachable, match="did not answer within"):
        pull()


def test_image_that_only_drips_is_given_up():
    now = 0.0

    class Clock(SystemClock):
        def monotonic(self):
            return now

    pace = DownloadPace(Clock())
    for _ in range(1000):
        now += 1.0
        pace.note(40_000)
    # A machine that slept is no slow download.
    now += 3600
    pace.note(40_000)

    def drip():
        nonlocal now
        for _ in range(1000):
            now += 1.0
            pace.note(100)

    with pytest.raises(InputTooSlow, match=r"only .* in 1\d\d seconds"):
        drip()


def test_registry_without_head_is_asked_for_the_whole_manifest(registry, pull):
    digest = registry.add("team/model", "1", {"file": b"x"})
    registry.no_head = True
    assert pull() == digest
    registry.no_head = False


def test_oci_image_without_compression_comes_too(registry, pull, store):
    content = gzip.decompress(make_layer({"file": b"x"})[0])
    config = {"architecture": "amd64", "os": "linux", "rootfs": {"type": "layers", "diff_ids": [digest_of(content)]}}
    layer = registry._keep(content, "application/vnd.oci.image.layer.v1.tar")
    described = registry._keep(json.dumps(config).encode(), "application/vnd.oci.image.config.v1+json")
    manifest = {"schemaVersion": 2, "config": described, "layers": [layer]}
    digest = registry.put_manifest("team/model", "1", manifest)
    assert pull() == digest
    assert store.files[digest] == [content]


def test_image_without_layers_comes_too(registry, pull, store):
    digest = registry.add("team/model", "1")
    assert pull() == digest
    assert store.files[digest] == []
