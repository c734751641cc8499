"""The host's own way out, where there is one: a company's proxy, taken from the agent's environment."""

import asyncio
import base64
import contextlib
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from urllib.parse import unquote, urlsplit

ANSWER_SECONDS = 20.0
VARIABLES = ("HTTPS_PROXY", "ALL_PROXY", "HTTP_PROXY")

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class UpstreamUnusable(ValueError):
    """The proxy that the environment names is of a kind that the agent does not speak."""


class UpstreamRefused(OSError):
    """The host's proxy does not let us through."""


@dataclass(frozen=True)
class Upstream:
    """`resolves_names` is the host's word that its proxy leads to the internet only. Without it a job's targets are
    given to the proxy as the addresses that were checked here: a name could mean something else to it."""

    host: str
    port: int
    tls: bool = False
    authorization: str | None = None
    no_proxy: str = ""
    resolves_names: bool = False

    def covers(self, host: str) -> bool:
        return not any(_is_exempt(host, entry.strip().lower()) for entry in self.no_proxy.split(","))

    async def connect(self, host: str, port: int, *, limit: int) -> Streams:
        """A tunnel to a target. Raises OSError."""
        reader, writer = await asyncio.open_connection(
            self.host, self.port, ssl=ssl.create_default_context() if self.tls else None, limit=limit
        )
        try:
            place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
            lines = [f"CONNECT {place} HTTP/1.1", f"Host: {place}"]
            if self.authorization:
                lines.append(f"Proxy-Authorization: {self.authorization}")
            writer.write("\r\n".join([*lines, "", ""]).encode())
            async with asyncio.timeout(ANSWER_SECONDS):
                answer = await reader.readuntil(b"\r\n\r\n")
            words = answer.split(b"\r\n", 1)[0].decode("latin-1").split(" ", 2)
            if len(words) < 2 or not words[1].startswith("2"):
                raise UpstreamRefused(f"the host's own proxy answered {' '.join(words[1:])[:100] or 'nonsense'}")
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
            writer.transport.abort()
            raise UpstreamRefused("the host's own proxy gave no answer") from error
        except BaseException:
            writer.transport.abort()
            raise
        return reader, writer


def _is_exempt(host: str, entry: str) -> bool:
    """By an entry of NO_PROXY: everything, a name with all below it, an address, or a network."""
    if entry == "*":
        return True
    with contextlib.suppress(ValueError):
        return ip_address(host) in ip_network(entry, strict=False)
    name = entry.partition(":")[0].removeprefix("*").removeprefix(".")
    return bool(name) and (host == name or host.endswith(f".{name}"))


def find_upstream(environ: Mapping[str, str], *, resolves_names: bool = False) -> Upstream | None:
    """None if this machine has a way out of its own. Raises UpstreamUnusable."""
    values = [environ.get(name) or environ.get(name.lower()) for name in VARIABLES]
    url = next((value for value in values if value), None)
    if url is None:
        return None
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        port = parts.port
    except ValueError as error:
        raise UpstreamUnusable(f"the proxy in this environment is no URL: {error}; write http://HOST:PORT") from error
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise UpstreamUnusable(
            f"the agent cannot use a proxy of kind {parts.scheme!r}; set HTTPS_PROXY=http://HOST:PORT"
        )
    authorization = None
    if parts.username is not None:
        words = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        authorization = f"Basic {base64.b64encode(words.encode()).decode()}"
    return Upstream(
        host=parts.hostname,
        port=port or (443 if parts.scheme == "https" else 80),
        tls=parts.scheme == "https",
        authorization=authorization,
        no_proxy=environ.get("NO_PROXY") or environ.get("no_proxy") or "",
        resolves_names=resolves_names,
    )
