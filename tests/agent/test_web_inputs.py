"""Inputs from URLs: fetched by the agent itself, never from the network around it, counted, resumed and checked."""

import asyncio
import hashlib
import os

import pytest
from support.agents import running_agent
from support.fake_hub import MEGABYTE, FakeHub
from support.secure_site import HOSTS, PUBLIC, Page, secure_site

from computepool.agent.clock import SystemClock
from computepool.agent.egress import Allowance
from computepool.agent.inputs import BadInput, InputCache, InputFailed, InputUnreachable
from computepool.agent.ports import offload_to_threads
from computepool.agent.web import FromWeb, NotFetchedHere
from computepool.protocol.manifest import Grant, InputRef
from computepool.protocol.receipt import EndReason

FILES, MIRROR, INSIDE = HOSTS
DATA = os.urandom(300_000)


def digest_of(data):
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


class NoTransfer:
    async def download(self, *_, **__):
        raise AssertionError("the hub is not asked")

    upload = download


def story(tell):
    async def run():
        async with secure_site() as site:
            site.pages["/data"] = Page(DATA)
            await tell(site)

    asyncio.run(run())


async def fetch(
    site, folder, url=f"https://{FILES}/data", *, digest=None, own=False, limit=10 * MEGABYTE, tries=4, **outside
):
    cache = InputCache(folder, NoTransfer(), offload_to_threads)
    source = FromWeb(site.outside(**outside), url, own=own, limit_bytes=limit, tries=tries)
    path = await cache.get_from(digest or digest_of(DATA), None, source, limit_bytes=limit)
    return path.read_bytes()


def test_url_is_fetched_and_lies_at_its_path(tmp_path):
    async def tell(site):
        async with FakeHub() as hub, running_agent(hub, tmp_path, outside=site.outside()) as running:
            inputs = (InputRef(path="data/x", digest=digest_of(DATA), url=f"https://{FILES}/data"),)
            for _ in range(2):
                attempt_id = hub.offer(running.node, "/usr/bin/sha256sum", "data/x", inputs=inputs)
                await hub.until(lambda: attempt_id in hub.receipts)  # noqa: B023
                assert bytes(hub.logs[attempt_id]).split()[0].decode() == digest_of(DATA)[7:]
            assert site.requests == [(FILES, "/data", "")]

    story(tell)


@pytest.mark.parametrize(
    ("page", "reason"),
    [
        (Page(b"something else"), EndReason.BAD_INPUT),
        (Page(status=404), EndReason.BAD_INPUT),
        (Page(status=410), EndReason.BAD_INPUT),
        (Page(status=403), EndReason.UNREACHABLE),
        (Page(bytes(3 * MEGABYTE)), EndReason.BAD_INPUT),
    ],
)
def test_whose_doing_it_is_that_a_url_cannot_be_used(tmp_path, page, reason):
    async def tell(site):
        site.pages["/data"] = page
        async with FakeHub() as hub, running_agent(hub, tmp_path, outside=site.outside()) as running:
            inputs = (InputRef(path="x", digest=digest_of(DATA), url=f"https://{FILES}/data"),)
            grant = Grant(cpus=0.1, memory_bytes=64 * MEGABYTE, disk_bytes=2 * MEGABYTE)
            attempt_id = hub.offer(running.node, "/bin/true", inputs=inputs, grant=grant)
            await hub.until(lambda: attempt_id in hub.receipts)
            receipt = hub.receipts[attempt_id]
            assert (receipt.reason, receipt.exit_code) == (reason, None), receipt.detail
            assert not [path for path in running.home.cache.iterdir() if path.suffix != ".part"]

    story(tell)


# ── never the network around ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "address", ["127.0.0.1", "10.1.2.3", "192.168.1.1", "169.254.169.254", "100.64.0.1", "::1", "fd00::1", "fe80::1"]
)
@pytest.mark.parametrize("own", [True, False])
def test_name_that_leads_home_is_refused_before_anything_is_sent(tmp_path, address, own):
    async def tell(site):
        site.addresses[FILES] = [PUBLIC, address]
        with pytest.raises(BadInput, match="public internet only"):
            await fetch(site, tmp_path, own=own)
        assert (site.targets, site.requests) == ([], [])

    story(tell)


@pytest.mark.parametrize(
    "url",
    [
        "https://127.0.0.1/data",
        "https://[::1]/data",
        "https://localhost/data",
        "https://router.lan/",
        "https://0x7f.1/",
    ],
)
def test_url_that_names_this_machine_is_refused(tmp_path, url):
    async def tell(site):
        with pytest.raises(BadInput, match=r"was refused|not an address"):
            await fetch(site, tmp_path, url)
        assert site.targets == []

    story(tell)


def test_redirect_to_the_network_around_is_refused(tmp_path):
    async def tell(site):
        site.addresses[INSIDE] = ["192.168.1.1"]
        site.pages["/data"] = Page(status=302, location=f"https://{INSIDE}/secret")
        site.pages["/secret"] = Page(DATA)
        with pytest.raises(BadInput, match="private network"):
            await fetch(site, tmp_path)
        assert [host for host, _, _ in site.requests] == [FILES]

    story(tell)


def test_name_that_changes_between_two_connections_is_looked_at_again(tmp_path):
    async def tell(site):
        site.pages["/data"] = Page(DATA, breaks=[100_000])
        asked = []

        async def lookup(host, port):
            asked.append(host)
            site.addresses[host] = [PUBLIC] if len(asked) == 1 else ["127.0.0.1"]
            return await type(site).lookup(site, host, port)

        site.lookup = lookup
        with pytest.raises(BadInput, match="this machine"):
            await fetch(site, tmp_path)
        assert len(site.requests) == 1

    story(tell)


def test_redirects_are_followed_but_never_to_http_nor_for_ever(tmp_path):
    async def tell(site):
        site.pages["/a"] = Page(status=301, location=f"https://{MIRROR}/b")
        site.pages["/b"] = Page(status=307, location="/data")
        assert await fetch(site, tmp_path, f"https://{FILES}/a") == DATA
        assert site.requests == [(FILES, "/a", ""), (MIRROR, "/b", ""), (MIRROR, "/data", "")]
        site.pages["/plain"] = Page(status=302, location=f"http://{FILES}/data")
        site.pages["/round"] = Page(status=302, location="/round")
        for path, words in (("plain", "not an https URL"), ("round", "more than 5 times")):
            with pytest.raises(BadInput, match=words):
                await fetch(site, tmp_path, f"https://{FILES}/{path}")

    story(tell)


def test_site_that_cannot_prove_its_name_is_not_believed(tmp_path):
    async def tell(site):
        with pytest.raises(InputUnreachable, match="certificate"):
            await fetch(site, tmp_path, "https://other.example.org/data", tries=1)

    story(tell)


# ── resumed, counted, bounded ────────────────────────────────────────────────────────────────────────────────────────


def test_broken_download_goes_on_where_it_broke_off(tmp_path):
    async def tell(site):
        site.pages["/data"] = Page(DATA, breaks=[100_000, 50_000])
        assert await fetch(site, tmp_path) == DATA
        first, second, third = [asked for *_, asked in site.requests]
        assert first == ""
        assert 0 < int(second[6:-1]) <= 100_000
        assert int(second[6:-1]) < int(third[6:-1]) <= 150_000

    story(tell)


def test_site_without_ranges_is_read_from_the_beginning(tmp_path):
    async def tell(site):
        site.pages["/data"] = Page(DATA, ranges=False, breaks=[100_000])
        assert await fetch(site, tmp_path) == DATA

    story(tell)


def test_content_that_changed_in_the_middle_is_fetched_anew(tmp_path):
    async def tell(site):
        site.pages["/data"] = Page(bytes(len(DATA)), breaks=[100_000])
        with pytest.raises(InputUnreachable):
            await fetch(site, tmp_path, tries=1)
        site.pages["/data"] = Page(DATA)
        assert await fetch(site, tmp_path) == DATA
        assert [asked == "" for *_, asked in site.requests] == [True, False, True]

    story(tell)


def test_no_more_is_taken_than_the_job_has_disk_for(tmp_path):
    async def tell(site):
        for length in (True, False):
            site.pages["/data"] = Page(DATA, length=length)
            with pytest.raises(BadInput, match=r"resources\.disk"):
                await fetch(site, tmp_path, limit=100_000)
        assert list(tmp_path.iterdir()) == []
        assert await fetch(site, tmp_path) == DATA

    story(tell)


def test_room_is_asked_for_before_it_is_needed_even_if_nobody_says_how_much(tmp_path):
    async def tell(site):
        for length in (True, False):
            site.pages["/data"] = Page(DATA, length=length)
            asked: list[int] = []

            async def make_room(count, asked=asked):
                asked.append(count)

            cache = InputCache(tmp_path / str(length), NoTransfer(), offload_to_threads, make_room=make_room)
            (tmp_path / str(length)).mkdir()
            source = FromWeb(site.outside(), f"https://{FILES}/data", own=False, limit_bytes=MEGABYTE)
            await cache.get_from(digest_of(DATA), None, source, limit_bytes=MEGABYTE)
            assert asked[0] >= len(DATA)
            assert len(asked) == 2

    story(tell)


def test_what_is_fetched_for_strangers_is_counted_and_ends_with_the_allowance(tmp_path):
    async def tell(site):
        file = tmp_path / "network.json"
        cache = tmp_path / "cache"
        cache.mkdir()
        allowance = Allowance(file, SystemClock(), limit_bytes=400_000, offload=offload_to_threads)
        assert await fetch(site, cache, allowance=allowance) == DATA
        assert len(DATA) < allowance.used_bytes < 350_000
        other = os.urandom(300_000)
        site.pages["/other"] = Page(other)
        url = f"https://{FILES}/other"
        with pytest.raises(NotFetchedHere, match="allowance"):
            await fetch(site, cache, url, digest=digest_of(other), allowance=allowance)
        # The owner's own work uses nothing of it.
        assert await fetch(site, cache, url, digest=digest_of(other), allowance=allowance, own=True) == other
        await allowance.close()

    story(tell)


def test_who_knows_a_digest_gets_nothing_that_came_from_elsewhere(tmp_path):
    """The hub's files and those of other URLs are others': to name a digest is not to have the content."""

    async def tell(site):
        (tmp_path / digest_of(DATA)[7:]).write_bytes(DATA)
        assert await fetch(site, tmp_path) == DATA
        assert len(site.requests) == 1
        with pytest.raises(InputFailed, match="404"):
            await fetch(site, tmp_path, f"https://{MIRROR}/nothing")
        assert await fetch(site, tmp_path) == DATA
        assert len(site.requests) == 2

    story(tell)


def test_node_without_a_way_out_does_not_take_the_job(tmp_path):
    async def run():
        async with FakeHub() as hub, running_agent(hub, tmp_path) as running:
            inputs = (InputRef(path="x", digest=digest_of(DATA), url=f"https://{FILES}/data"),)
            attempt_id = hub.offer(running.node, "/bin/true", inputs=inputs)
            await hub.until(lambda: attempt_id in hub.receipts)
            assert hub.receipts[attempt_id].reason is EndReason.DECLINED

    asyncio.run(run())
