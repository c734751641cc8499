"""Bugs put in on purpose where inputs are fetched and placed: the checks must find them, or they prove nothing."""

import asyncio
import contextlib
import hashlib
import os
from pathlib import Path
from typing import Any

import pytest
from support.planted import each_check, each_mutant
from support.secure_site import HOSTS, PUBLIC, Page, secure_site

from computepool.agent.egress.policy import EgressPolicy
from computepool.agent.inputs import InputCache, InputFailed
from computepool.agent.partial import Partial
from computepool.agent.placing import InTheWay, place_input
from computepool.agent.ports import TransferFailed, offload_to_threads
from computepool.agent.web import FromWeb
from computepool.protocol.manifest import BundleRef

DATA = os.urandom(5000)
DIGEST = f"sha256:{hashlib.sha256(DATA).hexdigest()}"
REF = BundleRef(digest=DIGEST, size_bytes=len(DATA))


class Line:
    """Gives what it has, and is cut once after so many bytes."""

    def __init__(self, data: bytes, cut: int | None = None) -> None:
        self.data, self.cut = data, cut
        self.sent = 0

    async def download(self, url, *, offset, sink):
        end, self.cut = self.cut, None
        sink.begin(offset)
        sink.write(self.data[offset:end])
        self.sent += len(self.data[offset:end])
        if end is not None:
            raise TransferFailed("cut", retry=False)

    async def upload(self, *_, **__):
        raise AssertionError("nothing is uploaded here")


# ── checks ───────────────────────────────────────────────────────────────────────────────────────────────────────────


async def only_what_has_the_digest_is_ever_handed_out(folder):
    cache = InputCache(folder, Line(bytes(len(DATA))), offload_to_threads)
    for _ in range(2):
        with contextlib.suppress(InputFailed):
            assert (await cache.get(REF, ("/x",))).read_bytes() == DATA


async def what_has_come_is_not_fetched_again(folder):
    line = Line(DATA, cut=4000)
    with contextlib.suppress(InputFailed):
        await InputCache(folder, line, offload_to_threads).get(REF, ("/x",))
    await InputCache(folder, line, offload_to_threads).get(REF, ("/x",))
    assert line.sent == len(DATA)


async def digest_alone_gives_nothing_of_anothers(folder):
    await InputCache(folder, Line(DATA), offload_to_threads).get(REF, ("/x",))
    async with secure_site() as site:
        got = await _from_web(folder, site)
    assert got is None


async def no_url_leads_into_the_network_around(folder):
    async with secure_site() as site:
        site.pages["/data"] = Page(DATA)
        site.addresses[HOSTS[0]] = [PUBLIC, "192.168.1.1"]
        assert await _from_web(folder, site) is None
        assert site.requests == []


async def links_are_not_written_through(folder):
    work, elsewhere, content = folder / "work", folder / "elsewhere", folder / "content"
    work.mkdir()
    elsewhere.mkdir()
    content.write_bytes(DATA)
    (work / "folder").symlink_to(elsewhere)
    with contextlib.suppress(InTheWay):
        place_input(work, ["folder/x"], content)
    assert list(elsewhere.iterdir()) == []


async def _from_web(folder: Path, site: Any) -> bytes | None:
    source = FromWeb(site.outside(), f"https://{HOSTS[0]}/data", own=True, limit_bytes=10_000, tries=1)
    cache = InputCache(folder, Line(b""), offload_to_threads)
    try:
        return (await cache.get_from(DIGEST, None, source, limit_bytes=10_000)).read_bytes()
    except InputFailed:
        return None


# ── bugs ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def every_digest_is_believed(patch):
    patch.setattr(Partial, "digest", DIGEST)


def broken_downloads_are_thrown_away(patch):
    real = Partial.close

    def careless(self):
        real(self)
        self._path.unlink(missing_ok=True)

    patch.setattr(Partial, "close", careless)


def origin_does_not_matter(patch):
    patch.setattr(FromWeb, "tag", property(lambda self: "", lambda self, value: None), raising=False)


def addresses_are_not_looked_at(patch):
    patch.setattr(EgressPolicy, "check_addresses", lambda self, host, port, addresses, around: None)


def links_pass_for_folders(patch):
    patch.setattr(Path, "is_symlink", lambda self: False)


MUTANTS: dict[Any, list[Any]] = {
    only_what_has_the_digest_is_ever_handed_out: [every_digest_is_believed],
    what_has_come_is_not_fetched_again: [broken_downloads_are_thrown_away],
    digest_alone_gives_nothing_of_anothers: [origin_does_not_matter],
    no_url_leads_into_the_network_around: [addresses_are_not_looked_at],
    links_are_not_written_through: [links_pass_for_folders],
}


@each_check(MUTANTS)
def test_check_holds(tmp_path, check):
    asyncio.run(check(tmp_path))


@each_mutant(MUTANTS)
def test_mutant_is_found(tmp_path, monkeypatch, check, mutant):
    mutant(monkeypatch)
    with pytest.raises(AssertionError):
        asyncio.run(check(tmp_path))
