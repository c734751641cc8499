"""The way to the hub, step by step: the first step that fails is the one to mend."""

import asyncio
import contextlib
import email.utils
import socket
import ssl
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx

from computepool.agent.clock import Clock
from computepool.agent.home import AgentHome
from computepool.agent.link.base import LinkUnavailable
from computepool.agent.link.websocket import open_websocket
from computepool.agent.main import agent_version
from computepool.protocol.addresses import is_exposed
from computepool.protocol.pinning import COMPARE_KEYS, PinMismatch
from computepool.protocol.versions import read_version

from .model import Check, warn

SKEW_LIMIT_SECONDS = 120.0
HUB_SECONDS = 10.0
PROXY_HINT = "Check the address, the network and any proxy (HTTPS_PROXY). Running jobs continue meanwhile"


async def check_network(home: AgentHome, clock: Clock) -> list[Check]:
    node = home.node()
    url = node.hub_url
    host, port, secure = _target(url)
    proxy = proxy_for(url)
    checks = []
    if is_exposed(url):
        hint = "Run the join command of the pool's https:// address: this machine stays the same node"
        checks.append(
            warn("encryption", "none: plain HTTP to another machine, which the networks between can read", hint)
        )
    if proxy is not None:
        checks.append(proxy)
    else:
        # Behind a proxy neither names nor ports of the outside are ours to reach.
        steps = await _check_connection(host, port, (node.tls or ssl.create_default_context()) if secure else None)
        if not steps[-1].ok:
            failed = steps[-1]
            return [*steps[:-1], Check("hub", False, f"{url} cannot be reached: {failed.message}", failed.hint)]
        checks += steps
    try:
        async with httpx.AsyncClient(timeout=HUB_SECONDS, verify=node.tls or True) as client:
            response = await client.get(f"{url}/api/v1/version")
            response.raise_for_status()
            document = response.json()
    except (httpx.HTTPError, ValueError) as error:
        why = str(error) or type(error).__name__
        return [*checks, Check("hub", False, f"{url} cannot be reached: {why}", PROXY_HINT)]
    told = document if isinstance(document, dict) else {}
    checks.append(Check("hub", True, f"{url} answers, version {told.get('version', 'unknown')}"))
    skew = _skew(response.headers.get("Date"), clock.now())
    if skew is not None:
        ok = abs(skew) <= SKEW_LIMIT_SECONDS
        hint = "" if ok else "Turn on time synchronisation (`timedatectl set-ntp true`). The agent uses the hub's time"
        checks.append(Check("clock", ok, f"{skew:+.0f} s against the hub", hint))
    return [*checks, *_check_versions(told), await _check_websocket(url, node.tls)]


def _target(url: str) -> tuple[str, int, bool]:
    parts = urlsplit(url)
    secure = parts.scheme == "https"
    return parts.hostname or "", parts.port or (443 if secure else 80), secure


def proxy_for(url: str) -> Check | None:
    """Whether the environment sends us through a proxy; its password is nobody's business."""
    parts = urlsplit(url)
    proxy = getproxies().get(parts.scheme) or getproxies().get("all")
    if not proxy or proxy_bypass(parts.hostname or ""):
        return None
    shown = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
    return Check("proxy", True, f"through {shown.hostname}:{shown.port or 80}, from the environment variables")


async def _check_connection(host: str, port: int, tls: ssl.SSLContext | None) -> list[Check]:
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(HUB_SECONDS):
            found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, TimeoutError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or "no answer in time"
        hint = f"{PROXY_HINT}. Test it with `getent hosts {host}`; see /etc/resolv.conf"
        return [Check("name", False, f"the name {host} is not found ({why})", hint)]
    name = Check("name", True, f"{host} is {', '.join(sorted({str(one[4][0]) for one in found}))}")
    try:
        async with asyncio.timeout(HUB_SECONDS):
            _, writer = await asyncio.open_connection(host, port, ssl=tls)
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()
    except PinMismatch as mismatch:
        hint = (
            f"{COMPARE_KEYS}, run the join command that is printed there. If not, another server answers in its place"
        )
        return [name, Check("connection", False, f"its key is not the pinned one: {mismatch}", hint)]
    except ssl.SSLCertVerificationError as error:
        hint = "Check the clock. If a proxy inspects TLS, put its CA into SSL_CERT_FILE"
        return [name, Check("connection", False, f"its certificate is not trusted ({error.verify_message})", hint)]
    except (OSError, TimeoutError) as error:
        why = getattr(error, "strerror", None) or str(error) or "no answer in time"
        return [name, Check("connection", False, f"port {port} cannot be reached ({why})", PROXY_HINT)]
    return [name, Check("connection", True, f"port {port} is open{', with TLS' if tls is not None else ''}")]


def _check_versions(told: Mapping[str, Any]) -> list[Check]:
    own, least = agent_version(), str(told.get("agent_minimum") or "")
    if not least:
        return [Check("version", True, f"agent {own}; the hub requires no minimum")]
    mine, needed = read_version(own), read_version(least)
    if mine is None or needed is None:
        return [warn("version", f"agent {own}, the hub requires {least}: these cannot be compared")]
    if mine < needed:
        hint = "Update ComputePool and restart the agent. Until then it gets no strangers' jobs"
        return [Check("version", False, f"agent {own} is older than the hub's minimum {least}", hint)]
    return [Check("version", True, f"agent {own}; the hub's minimum is {least}")]


async def _check_websocket(url: str, tls: ssl.SSLContext | None) -> Check:
    """Opened and closed again, without a word: the hub takes that for a line that broke."""
    try:
        link = await open_websocket(url, agent_version(), tls)
    except LinkUnavailable as error:
        hint = "No action needed: the agent uses long polling. A proxy that allows WebSockets has less overhead"
        return warn("websocket", f"not possible here ({error})", hint)
    await link.close()
    return Check("websocket", True, "possible")


def _skew(date: str | None, now: datetime) -> float | None:
    if not date:
        return None
    try:
        hub = email.utils.parsedate_to_datetime(date)
    except ValueError:
        return None
    # The header counts whole seconds.
    return (now - hub.astimezone(UTC) - timedelta(seconds=0.5)).total_seconds()
