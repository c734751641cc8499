"""A host behind a company's proxy: jobs go through it, and still not into the company's network."""

import asyncio
import base64

import pytest
from support.egress import WEB, Site, SmallInternet, internet, names, proxy, server

from computepool.agent.egress import Mode, UpstreamUnusable, find_upstream


class CompanyProxy:
    """Tunnels everything to one site, whatever it is called, and keeps what it was asked."""

    def __init__(self, site_port: int, answer: bytes = b"HTTP/1.1 200 OK\r\n\r\n") -> None:
        self.asked: list[str] = []
        self._site_port = site_port
        self._answer = answer

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.asked.append((await reader.readuntil(b"\r\n\r\n")).decode())
        writer.write(self._answer)
        if b" 200 " in self._answer:
            site_reader, site_writer = await asyncio.open_connection(WEB, self._site_port)
            site_writer.write(await reader.readuntil(b"\r\n\r\n"))
            writer.write(await site_reader.read())
            site_writer.close()
        writer.close()

    @property
    def places(self) -> list[str]:
        return [asked.split()[1] for asked in self.asked]


def through(policy, known, ask, *, answer: bytes = b"HTTP/1.1 200 OK\r\n\r\n", no_proxy="", resolves_names=False):
    """What a client gets for a place, and what the company's proxy was asked."""

    async def story():
        site = Site(b"from far away")
        async with server(site) as site_port:
            company = CompanyProxy(site_port, answer)
            async with server(company, "127.0.0.1") as port:
                environ = {"HTTPS_PROXY": f"http://me:w%20rd@127.0.0.1:{port}", "NO_PROXY": no_proxy}
                upstream = find_upstream(environ, resolves_names=resolves_names)
                async with proxy(policy, known, upstream=upstream) as (_, client):
                    return await client.get(ask), company

    return asyncio.run(story())


def test_job_goes_through_the_hosts_proxy_to_the_address_that_was_checked():
    answer, company = through(internet(), names(site_example="127.1.0.7"), "site.example")
    assert answer.endswith(b"from far away")
    assert company.places == ["127.1.0.7:80"]
    assert f"Proxy-Authorization: Basic {base64.b64encode(b'me:w rd').decode()}\r\n" in company.asked[0]


def test_private_targets_are_refused_before_the_hosts_proxy_hears_of_them():
    for place in ("inside.example", "10.0.0.1", "[fd00::1]", "intranet", "wiki.corp"):
        answer, company = through(internet(), names(inside_example="10.1.1.1"), place)
        assert b" 403 " in answer
        assert company.asked == []


def test_name_that_only_the_hosts_proxy_knows_needs_the_hosts_word():
    """It could be a name of the company, or one that is made to look unknown from here."""
    answer, company = through(internet(), names(), "far.example")
    assert b" 502 " in answer
    assert company.asked == []
    answer, company = through(internet(), names(), "far.example", resolves_names=True)
    assert answer.endswith(b"from far away")
    assert company.places == ["far.example:80"]


def test_indexes_are_asked_for_by_name():
    """Such proxies often know names only, and these names are the machine's own."""
    policy = SmallInternet(Mode.INDEXES, indexes=frozenset({"index.example"}))
    for known in (names(), names(index_example="127.1.0.7")):
        answer, company = through(policy, known, "index.example")
        assert answer.endswith(b"from far away")
        assert company.places == ["index.example:80"]


def test_proxy_that_refuses_is_quoted():
    answer, _ = through(internet(), names(site_example=WEB), "site.example", answer=b"HTTP/1.1 407 Who Are You\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 502 ")
    assert b"the host's own proxy answered 407 Who Are You" in answer
    answer, _ = through(internet(), names(site_example=WEB), "site.example", answer=b"")
    assert b"the host's own proxy gave no answer" in answer


def test_what_needs_no_proxy_goes_directly():
    _, company = through(
        internet(), names(site_example="127.1.0.9"), "site.example", no_proxy="other.example, .example"
    )
    assert company.asked == []


@pytest.mark.parametrize(
    ("no_proxy", "host", "covered"),
    [
        ("", "a.example", True), ("*", "a.example", False), ("example", "a.example", False),
        (".a.example", "a.example", False), ("*.example", "b.a.example", False), ("a.example", "ba.example", True),
        ("a.example:443", "a.example", False), ("10.0.0.0/8", "10.1.2.3", False), ("10.0.0.0/8", "11.1.2.3", True),
        (" , ,", "a.example", True),
    ],
)  # fmt: skip
def test_exceptions_are_understood(no_proxy, host, covered):
    upstream = find_upstream({"https_proxy": "proxy.example:3128", "no_proxy": no_proxy})
    assert upstream
    assert upstream.covers(host) == covered


def test_proxy_is_found_in_the_environment():
    assert find_upstream({}) is None
    assert find_upstream({"HTTPS_PROXY": ""}) is None
    found = find_upstream({"HTTPS_PROXY": "https://proxy.example", "HTTP_PROXY": "http://other.example:1"})
    assert found
    assert (found.host, found.port, found.tls, found.authorization) == ("proxy.example", 443, True, None)
    for url in ("socks5://proxy.example:1080", "http://", "http://x:port"):
        with pytest.raises(UpstreamUnusable, match="http://HOST:PORT"):
            find_upstream({"ALL_PROXY": url})
