"""Browser sessions in a real browser: the cookie works for the hub's own pages, and for nobody else's."""

import asyncio
import json
import re
import ssl
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from sqlalchemy import create_engine, text
from support.browsers import Browser, Tab, browser
from support.contract import operations
from support.secure_site import make_certificate
from support.web import built_app

from computepool.hub import commands
from computepool.hub.core.errors import PoolError
from computepool.hub.core.http import Gate
from computepool.hub.core.settings import Settings
from computepool.protocol.states import JobState

HUB, OTHER = "pool.test", "evil.test"
OPTIONS = ("--ignore-certificate-errors", f"--host-resolver-rules=MAP {HUB} 127.0.0.1, MAP {OTHER} 127.0.0.1")
PASSWORD = "correct horse battery"

CALL = """async (path, body, token) => {
  const headers = {"Content-Type": "application/json", ...(token ? {Authorization: `Bearer ${token}`} : {})};
  const answer = await fetch(path, {method: "POST", headers, body: JSON.stringify(body)});
  return [answer.status, answer.status === 204 ? null : await answer.json()];
}"""
ATTACK = """async (url) => {
  const json = {mode: "cors", headers: {"Content-Type": "application/json"}, body: "{}"};
  const tries = [{mode: "no-cors"}, {mode: "cors"}, json];
  const told = [];
  for (const options of tries) {
    try {
      const answer = await fetch(url, {method: "POST", credentials: "include", ...options});
      told.push([answer.type, answer.status]);
    } catch (error) { told.push(error.name); }
  }
  return told;
}"""
ATTACK_ALL = """(calls) => Promise.all(calls.map(async ([method, url]) => {
  const simple = method === "GET" || method === "POST";
  const options = {method, credentials: "include", mode: simple ? "no-cors" : "cors"};
  try { return (await fetch(url, options)).type; } catch (error) { return error.name; }
}))"""
SUBMIT = """(url) => {
  const form = Object.assign(document.createElement("form"), {method: "post", action: url, enctype: "text/plain"});
  document.body.append(form);
  form.submit();
}"""
STREAM = """(url, protocols) => new Promise((resolve) => {
  const socket = new WebSocket(url, protocols);
  socket.onmessage = ({data}) => { resolve([socket.protocol, JSON.parse(data).type]); socket.close(); };
  socket.onerror = () => resolve("refused");
})"""


class Sites(NamedTuple):
    hub: str
    """The hub's own origin."""
    other_port: str
    """The same host, another server."""
    other_site: str
    settings: Settings
    heard: list[str]
    """The heads of requests to the other server."""

    def heard_by(self, host: str) -> list[str]:
        """The heads of requests under a host name. A browser may ask for an icon after another page was opened."""
        heads = [head for head in self.heard if f"\r\nHost: {host}:" in head]
        assert heads, f"no request to {host}"
        return heads

    def sessions(self) -> list[tuple[int, bool]]:
        """Of each session how often it was renewed, and whether it ended."""
        engine = create_engine(self.settings.effective_database_url)
        try:
            with engine.connect() as connection:
                rows = connection.execute(text("SELECT generation, revoked_at IS NOT NULL FROM sessions ORDER BY id"))
                return [(generation, bool(ended)) for generation, ended in rows]
        finally:
            engine.dispose()


@asynccontextmanager
async def sites(home: Path) -> AsyncIterator[Sites]:
    certificate = make_certificate(home, [HUB, OTHER])
    listener = commands.bind("127.0.0.1", 0)
    hub = f"https://{HUB}:{listener.getsockname()[1]}"
    settings = Settings(
        home=home, database_url=f"sqlite:///{home / 'hub.db'}", public_url=hub, tls_certificate=certificate
    )
    await asyncio.to_thread(commands.migrate, settings)
    ready, stop = asyncio.Event(), asyncio.Event()
    serving = asyncio.create_task(
        commands.run_server(
            settings,
            [listener],
            ready=ready.set,
            stop=stop,
            certificate=commands.certificate_of(settings, "127.0.0.1"),
        )
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    heard: list[str] = []

    async def blank(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append((await reader.readuntil(b"\r\n\r\n")).decode())
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 6\r\nConnection: close\r\n\r\n<body>"
        )
        await writer.drain()
        writer.close()

    other = await asyncio.start_server(blank, "127.0.0.1", 0, ssl=context)
    port = other.sockets[0].getsockname()[1]
    await ready.wait()
    try:
        yield Sites(hub, f"https://{HUB}:{port}/", f"https://{OTHER}:{port}/", settings, heard)
    finally:
        other.close()
        stop.set()
        await serving


def guarded_calls(hub: str) -> list[tuple[str, str]]:
    """Every operation of the document that wants a token, as a method and an address."""
    return [
        (operation.method, hub + re.sub(r"\{[^}]*\}", "x", operation.path))
        for operation in operations()
        if "security" in operation.described
    ]


@contextmanager
def heard_by_gates() -> Iterator[list[tuple[str, bool, int]]]:
    """Of every request that comes to a gate: its method, whether it has the cookie, and the status of its refusal, or
    200. A page of another origin does not learn how it was answered."""
    heard: list[tuple[str, bool, int]] = []
    check = Gate.check

    def listening(gate: Gate, scope: dict[str, Any]) -> None:
        has_cookie = any(b"__Host-cp-refresh=" in value for name, value in scope["headers"] if name == b"cookie")
        assert not any(name == b"authorization" for name, _ in scope["headers"])
        status = 200
        try:
            check(gate, scope)
        except PoolError as error:
            status = error.status
            raise
        finally:
            heard.append((scope["method"], has_cookie, status))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Gate, "check", listening)
        yield heard


async def attack_every_operation(tab: Tab, hub: str, *, with_cookie: bool) -> None:
    """What a browser sends without asking is refused, and what it asks about first is never sent."""
    calls = guarded_calls(hub)
    assert len(calls) > 100
    with heard_by_gates() as heard:
        told = await tab.run(f"({ATTACK_ALL})({argument(calls)})")
    simple = [method for method, _ in calls if method in ("GET", "POST")]
    assert Counter(told) == {"opaque": len(simple), "TypeError": len(calls) - len(simple)}
    assert Counter(heard) == Counter((method, with_cookie, 401) for method in simple)


def argument(*values: object) -> str:
    return ", ".join(json.dumps(value) for value in values)


async def call(tab: Tab, path: str, body: object = None, token: str | None = None) -> tuple[int, dict]:
    status, answer = await tab.run(f"({CALL})({argument('/api/v1/' + path, body or {}, token)})")
    return status, answer


async def sign_up(tab: Tab) -> str:
    person = {"email": "ann@example.org", "password": PASSWORD, "name": "Ann", "browser": True}
    status, pair = await call(tab, "auth/register", person)
    assert status == 201
    assert pair["refresh_token"] is None
    await tab.run("localStorage.setItem('computepool.has-session', '1')")  # as the web app does
    return pair["access_token"]


@pytest.mark.slow
@pytest.mark.engine("chromium")
@pytest.mark.engine("node")
def test_cookie_works_for_the_hubs_own_pages_and_for_no_others(tmp_path):
    async def story(web: Browser, all_sites: Sites) -> None:
        own = await web.open(f"{all_sites.hub}/docs")
        access = await sign_up(own)
        assert await own.run("document.cookie") == ""  # no script can read it

        other_port = await web.open(all_sites.other_port)
        other_site = await web.open(all_sites.other_site)
        # Cookies ignore ports: why SECURITY.md wants a host name that no other server shares.
        assert all("__Host-cp-refresh=" in head for head in all_sites.heard_by(HUB))
        assert not any("__Host-cp-refresh" in head for head in all_sites.heard_by(OTHER))
        await attack_every_operation(other_port, all_sites.hub, with_cookie=True)
        await attack_every_operation(other_site, all_sites.hub, with_cookie=False)
        for tab in (other_port, other_site):
            for path in ("auth/refresh", "auth/logout"):
                told = await tab.run(f"({ATTACK})({argument(f'{all_sites.hub}/api/v1/{path}')})")
                assert told == [["opaque", 0], "TypeError", "TypeError"]
            assert all_sites.sessions() == [(0, False)]
        for tab in (other_port, other_site):
            await tab.run(f"({SUBMIT})({argument(f'{all_sites.hub}/api/v1/auth/logout')})")
            await tab.until(f"location.origin === {argument(all_sites.hub)} && document.readyState === 'complete'")
        assert all_sites.sessions() == [(0, False)]

        status, pair = await call(own, "auth/refresh", {"browser": True})
        assert (status, pair["refresh_token"]) == (200, None)
        assert all_sites.sessions() == [(1, False)]
        # A new tab is signed in by the cookie alone: the page asks for an access token.
        page = await web.open(f"{all_sites.hub}/")
        await page.until("document.querySelector('[aria-label=Account\\\\ of\\\\ Ann]') !== null")
        assert await page.run("sessionStorage.length") == 0

        _, begun = await call(own, "auth/device")
        device = await web.open(f"{all_sites.hub}/device?code={begun['user_code']}")
        asked = "127.0.0.1, the address of this browser"
        await device.until(f"document.body.innerText.includes({argument(asked)})")

        body = {"name": "x", "run": "sleep 1", "resources": {"gpu": "H100"}}
        status, job = await call(own, "jobs", body, access)
        assert (status, job["state"]) == (201, JobState.QUEUED)
        stream = f"{all_sites.hub.replace('https', 'wss')}/api/v1/jobs/{job['id']}/stream"
        protocols = ["computepool.v1", f"bearer.{access}"]
        assert await own.run(f"({STREAM})({argument(stream, protocols)})") == ["computepool.v1", "job"]
        assert await own.run(f"({STREAM})({argument(stream, protocols[:1])})") == "refused"
        await other_site.go(all_sites.other_site)
        assert await other_site.run(f"({STREAM})({argument(stream, protocols)})") == "refused"

        assert (await call(own, "auth/logout"))[0] == 204
        assert all_sites.sessions()[0][1] is True
        assert (await call(own, "auth/refresh", {"browser": True}))[0] == 401

    built_app()

    async def whole() -> None:
        async with sites(tmp_path) as all_sites, browser(tmp_path / "profile", *OPTIONS) as web:
            await story(web, all_sites)

    asyncio.run(whole())
