"""Bugs put in on purpose where images are fetched: the checks must find them, or they prove nothing."""

import asyncio
import contextlib
import gzip
import hashlib
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.fake_registry import LAYER, Reply, digest_of, fake_registry, make_layer
from support.images import MemoryStore, puller_of
from support.planted import each_check, each_mutant
from support.secure_registry import AUTH, INSIDE, REGISTRY, STORE, SecureRegistry
from support.secure_site import PUBLIC

from computepool.agent import web
from computepool.agent.clock import SystemClock
from computepool.agent.egress.policy import EgressPolicy, HomePolicy
from computepool.agent.images import ImageFailed, ImageMissing
from computepool.agent.inputs import InputTooSlow
from computepool.agent.partial import Partial
from computepool.agent.ports import TransferFailed
from computepool.agent.registry import content, layers, pulling, session
from computepool.agent.registry.session import RegistrySession
from computepool.agent.sandbox.containers.images import EngineImages, StoredImage, engine_name

NAME = f"{REGISTRY}/team/model:1"


class Node:
    """A machine that pulls."""

    def __init__(self, world: SecureRegistry, folder: Path) -> None:
        self.world, self.registry, self.folder = world, world.registry, folder
        self.store = MemoryStore()
        for kept in (self.registry.blobs, self.registry.layers, self.registry.manifests):
            kept.clear()
        self.digest = self.registry.add("team/model", "1", {"file": b"x"})

    async def pull(self, name: str = NAME, digest: str | None = None, *, own: bool = False, **more: Any) -> str:
        puller = puller_of(self.store, self.folder, self.world.outside(), **more)
        return await puller.ensure(name, digest, lambda line: None, own=own)

    def moved(self, path: str, location: str) -> None:
        self.registry.replies[path] = Reply(status=307, headers={"Location": location})


# ── checks ───────────────────────────────────────────────────────────────────────────────────────────────────────────


async def the_house_is_never_asked(node: Node) -> None:
    node.world.addresses[INSIDE] = ["192.168.1.1"]
    for realm in (f"https://{INSIDE}/token", "https://169.254.169.254/token"):
        node.registry.realm = realm
        with contextlib.suppress(ImageFailed):
            await node.pull()
    assert set(node.world.targets) == {f"{PUBLIC}:443"}


async def strangers_images_come_by_https_alone(node: Node) -> None:
    node.moved(f"{REGISTRY}/v2/team/model/manifests/1", f"http://{STORE}/x")
    with contextlib.suppress(ImageFailed):
        await node.pull()
    assert set(node.world.targets) == {f"{PUBLIC}:443"}


async def tokens_stay_with_their_registry(node: Node) -> None:
    node.registry.realm = f"https://{AUTH}/token"
    (layer,) = node.registry.layers
    for place in (f"https://{STORE}/x", f"https://{REGISTRY}:80/x"):
        node.moved(f"{REGISTRY}/v2/team/model/blobs/{layer}", place)
        with contextlib.suppress(ImageFailed):
            await node.pull()
    asked = [one for one in node.registry.seen if one.path == "/x"]
    assert [one.authorization for one in asked] == ["", ""]


async def own_registry_stays_at_home(node: Node) -> None:
    with fake_registry() as home:
        digest = home.add("team/model", "1", {"file": b"y"})
        home.replies["/v2/"] = Reply(headers={"Connection": "close"})
        node.world.addresses["home.example.org"] = ["127.0.0.1", "127.0.0.1", "127.0.0.1", PUBLIC]
        with pytest.raises(ImageMissing, match="not on this machine"):
            await node.pull(f"home.example.org:{home.address.partition(':')[2]}/team/model:1", own=True)
        assert digest not in node.store.files


async def everything_is_what_its_digest_says(node: Node) -> None:
    other = digest_of(b"other")
    node.registry.manifests["team/model", other] = node.registry.manifests["team/model", "1"]
    (layer,) = node.registry.layers
    config = next(digest for digest in node.registry.blobs if digest != layer)
    with pytest.raises(ImageMissing):
        await node.pull(NAME, other)
    for blob in (config, layer):
        kept = node.registry.blobs[blob]
        node.registry.blobs[blob] = kept[:-1] + bytes([kept[-1] ^ 1])
        with pytest.raises(ImageMissing, match=r"the registry gives|what was downloaded is"):
            await node.pull()
        node.registry.blobs[blob] = kept
    assert await node.pull() == node.digest


async def layers_are_what_the_configuration_says(node: Node) -> None:
    described = json.loads(node.registry.manifests["team/model", "1"])
    described["layers"] = [node.registry._keep(gzip.compress(b"other", mtime=0), LAYER)]
    node.registry.put_manifest("team/model", "1", described)
    with pytest.raises(ImageMissing, match="its configuration says"):
        await node.pull()


async def content_of_one_registry_is_not_given_to_another(node: Node) -> None:
    await node.pull()
    (layer,) = node.registry.layers
    node.registry.replies[f"{STORE}/v2/team/model/blobs/{layer}"] = Reply(status=404)
    with pytest.raises(ImageMissing, match="404"):
        await node.pull(f"{STORE}/team/model:1")


async def image_of_one_registry_is_not_here_for_another(node: Node) -> None:
    engine: Any = SimpleNamespace(find_image=_shown, path=Path("/nowhere"))
    store = EngineImages(engine, Any, state=node.folder / "images.json", clock=SystemClock())  # type: ignore[arg-type]
    reference = engine_name(node.digest)
    image = StoredImage(node.digest, NAME, reference, 1, SystemClock().now(), ("one:443",))
    store._images[reference] = image
    assert await store.has(node.digest, "one:443")
    assert not await store.has(node.digest, "other:443")
    assert await store.digest_last_used(NAME, "other:443") is None


async def _shown(name: str) -> dict[str, Any]:
    return {"Id": name}


async def sizes_have_an_end(node: Node) -> None:
    manifest = node.registry.manifests["team/model", "1"]
    node.registry.put_manifest("team/model", "1", manifest + b" " * content.DOCUMENT_LIMIT_BYTES)
    with pytest.raises(ImageMissing, match="more than 4194304 bytes"):
        await node.pull()
    described = json.loads(manifest)
    packed, _ = make_layer({"zeros": bytes(5_000_000)})
    described["layers"] = [node.registry._keep(packed, LAYER)]
    node.registry.put_manifest("team/model", "1", described)
    with pytest.raises(ImageMissing, match="unpack to more than"):
        await node.pull(free_bytes=lambda: 10**12)


async def redirects_and_challenges_have_an_end(node: Node) -> None:
    path = f"{REGISTRY}/v2/team/model/manifests/1"
    node.moved(path, "?again")
    with contextlib.suppress(ImageFailed):
        await node.pull()
    challenge = {"WWW-Authenticate": f'Bearer realm="https://{AUTH}/token"'}
    node.registry.replies[path] = Reply(status=401, headers=challenge)
    with contextlib.suppress(ImageFailed):
        await node.pull()
    assert len(node.registry.seen) < 30


async def downloads_that_drip_are_given_up(node: Node) -> None:
    clock: Any = SimpleNamespace(now=0.0, monotonic=lambda: clock.now)
    pace = web.DownloadPace(clock)

    def drip() -> None:
        for _ in range(500):
            clock.now += 1
            pace.note(100)

    with pytest.raises(InputTooSlow):
        drip()


async def image_that_does_not_fit_is_not_begun(node: Node) -> None:
    with contextlib.suppress(ImageFailed):
        await node.pull(free_bytes=lambda: 1_000, floor_bytes=1_000)
    (layer,) = node.registry.layers
    assert node.registry.asked[f"blobs {layer}"] == 0


# ── planted bugs ─────────────────────────────────────────────────────────────────────────────────────────────────────


def addresses_are_not_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EgressPolicy, "check_addresses", lambda *_: None)


def strangers_have_the_owners_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "EgressPolicy", lambda mode: HomePolicy(mode, registry="none"))


def plain_http_will_do(monkeypatch: pytest.MonkeyPatch) -> None:
    begin = RegistrySession.__init__

    def init(self: Any, outside: Any, image: Any, egress: Any, client: Any, schemes: Any) -> None:
        begin(self, outside, image, egress, client, ("https", "http"))

    monkeypatch.setattr(RegistrySession, "__init__", init)


def everybody_gets_the_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RegistrySession, "_is_ours", lambda self, request: True)


def every_port_gets_the_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RegistrySession, "_is_ours", lambda self, request: request.url.host == self._image.host)


def home_is_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HomePolicy, "check_addresses", lambda *_: None)


def documents_are_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is compared with it."""

    class Anything(str):
        __slots__ = ()

        def __eq__(self, other: object) -> bool:
            return True

        def __ne__(self, other: object) -> bool:
            return False

        __hash__ = str.__hash__

    monkeypatch.setattr(session, "digest_of", lambda content: Anything("sha256:" + "0" * 64))


def layers_are_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    name = Partial.__init__

    def init(self: Any, folder: Any, name_of: str, *more: Any) -> None:
        name(self, folder, name_of, *more)
        self.wanted = f"sha256:{name_of[:64]}"

    monkeypatch.setattr(Partial, "__init__", init)
    monkeypatch.setattr(Partial, "digest", property(lambda self: self.wanted))


def unpacked_layers_are_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Believed:
        def __init__(self, diff_id: str) -> None:
            self.hexdigest = lambda: diff_id.removeprefix("sha256:")
            self.update = lambda data: None

    check = layers.check_layer

    def lax(path: Path, diff_id: str, limit_bytes: int) -> Any:
        with pytest.MonkeyPatch.context() as inner:
            inner.setattr(hashlib, "sha256", lambda: Believed(diff_id))
            return check(path, diff_id, limit_bytes)

    monkeypatch.setattr(pulling, "check_layer", lax)


def all_registries_share_a_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RegistrySession, "tag", "0" * 32)


def an_image_is_here_for_everybody(monkeypatch: pytest.MonkeyPatch) -> None:
    has, last = EngineImages.has, EngineImages.digest_last_used

    def everybodys(store: EngineImages, registry: str) -> None:
        store._images = {key: replace(image, registries=(registry,)) for key, image in store._images.items()}

    async def lax_has(self: EngineImages, digest: str, registry: str) -> bool:
        everybodys(self, registry)
        return await has(self, digest, registry)

    async def lax_last(self: EngineImages, name: str, registry: str) -> str | None:
        everybodys(self, registry)
        return await last(self, name, registry)

    monkeypatch.setattr(EngineImages, "has", lax_has)
    monkeypatch.setattr(EngineImages, "digest_last_used", lax_last)


def documents_have_no_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "DOCUMENT_LIMIT_BYTES", 1 << 40)


def layers_have_no_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pulling, "SMALL_BYTES", 1 << 40)


def redirects_have_no_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "REDIRECTS", 20)


def challenges_are_met_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pulling, "TRIES", 10)
    monkeypatch.setattr(RegistrySession, "_failed", lambda *_: TransferFailed("again", retry=True))


def slowness_is_forgiven(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web, "SLOW_BYTES_PER_SECOND", 0)


def room_is_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pulling.Puller, "_check_room", lambda *_: None)


MUTANTS = {
    the_house_is_never_asked: [addresses_are_not_checked, strangers_have_the_owners_rules],
    strangers_images_come_by_https_alone: [plain_http_will_do],
    tokens_stay_with_their_registry: [everybody_gets_the_token, every_port_gets_the_token],
    own_registry_stays_at_home: [home_is_everywhere],
    everything_is_what_its_digest_says: [documents_are_believed, layers_are_believed],
    layers_are_what_the_configuration_says: [unpacked_layers_are_believed],
    content_of_one_registry_is_not_given_to_another: [all_registries_share_a_cache],
    image_of_one_registry_is_not_here_for_another: [an_image_is_here_for_everybody],
    sizes_have_an_end: [documents_have_no_limit, layers_have_no_limit],
    redirects_and_challenges_have_an_end: [redirects_have_no_limit, challenges_are_met_again_and_again],
    downloads_that_drip_are_given_up: [slowness_is_forgiven],
    image_that_does_not_fit_is_not_begun: [room_is_not_looked_at],
}


@pytest.fixture
def node(world: SecureRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Node:
    monkeypatch.setattr(pulling, "SMALL_BYTES", 1_000_000)
    return Node(world, tmp_path)


@each_check(MUTANTS)
def test_checks_hold(check, node):
    asyncio.run(check(node))


@each_mutant(MUTANTS)
def test_planted_bug_is_found(check, mutant, node, monkeypatch):
    mutant(monkeypatch)
    with pytest.raises((AssertionError, pytest.fail.Exception, ImageFailed)):
        asyncio.run(check(node))
