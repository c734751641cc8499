"""Where a job may go. Pure: names and addresses in, a refusal or nothing out."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import IPv4Address, IPv6Address

from .addresses import Address, Network, is_home, may_be_allowed, plain, why_not_public

WEB_PORTS = frozenset({80, 443})
MAIL_PORTS = frozenset({25, 465, 587})
LOCAL_NAMES = (
    "localhost", "localdomain", "local", "internal", "intranet", "lan", "home", "corp", "private", "home.arpa",
    "ip6-localhost", "ip6-loopback", "onion", "invalid", "test",
)  # fmt: skip
NAME = re.compile(r"(?=.{1,253}\Z)[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*")
# What some libraries read as an IPv4 address: 2130706433, 0x7f.1, 0177.0.0.1
LOOKS_LIKE_NUMBER = re.compile(r"(.*\.)?(\d+|0x[0-9a-f]*)")

NOT_PUBLIC = "jobs reach the public internet only, never this machine or the network around it"


class Mode(StrEnum):
    INDEXES = "indexes"
    INTERNET = "internet"


class Refused(Exception):
    """`why` is short enough for a status line; `advice` says what the renter or the host can do."""

    def __init__(self, code: str, why: str, advice: str) -> None:
        super().__init__(f"{why}; {advice}")
        self.code = code
        self.why = why
        self.advice = advice


@dataclass(frozen=True)
class EgressPolicy:
    """`indexes` are what this machine's own tools are configured for, `added` what the operator adds, `allowed` what
    the host allows by name (`network.indexes` in policy.toml): `host` for the web's ports, `host:port` for one port.
    Only the allowed ones may be at a private address or on this machine, and jobs with the internet reach them too."""

    mode: Mode
    indexes: frozenset[str] = frozenset()
    added: frozenset[str] = frozenset()
    allowed: frozenset[str] = frozenset()
    more_ports: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        if self.more_ports & MAIL_PORTS:
            raise ValueError("jobs never send mail: remove 25, 465 and 587 from the ports that are open to them")

    def check_name(self, host: str, port: int) -> Address | None:
        """The address, if the host is written as one; None for a name, which is to be resolved. Raises Refused."""
        literal = _literal(host)
        if self._is_allowed(host, port):
            return literal
        if self.mode is Mode.INDEXES:
            self._check_index(host, port)
        elif port not in WEB_PORTS | self.more_ports:
            ports = ", ".join(map(str, sorted(WEB_PORTS | self.more_ports)))
            raise Refused("port", f"port {port} is not open to jobs", f"use {ports}")
        if literal is None and _is_local_name(host):
            raise Refused("local_name", f"{host} is a name of a local network", self._advice(host, port))
        return literal

    def check_addresses(self, host: str, port: int, addresses: Iterable[Address], around: frozenset[Network]) -> None:
        """One bad address is enough: a name that leads to several is not to be tried until it fits. Raises Refused."""
        for address in addresses:
            if self._is_allowed(host, port) and may_be_allowed(address):
                continue
            target = plain(address)
            if any(target in network for network in around):
                raise Refused("around", f"{host} is this machine, or on the same network", self._advice(host, port))
            why = why_not_public(address)
            if why:
                raise Refused("not_public", f"{host} leads to {address}: {why}", self._advice(host, port))

    def _check_index(self, host: str, port: int) -> None:
        if not _is_listed(host, port, self.indexes | self.added):
            raise Refused(
                "not_an_index",
                f"{host}:{port} is not a package index that this node knows",
                "fetch it in `run` with network: true, or bring it along as an input; if it is an index, the node's"
                f" owner allows it with {_setting(host, port)}",
            )

    def _is_allowed(self, host: str, port: int) -> bool:
        return _is_listed(host, port, self.allowed)

    def _advice(self, host: str, port: int) -> str:
        if _is_listed(host, port, self.indexes | self.added):
            return f"the node's owner allows this package index with {_setting(host, port)}"
        return NOT_PUBLIC


@dataclass(frozen=True)
class HomePolicy(EgressPolicy):
    """For an image that the owner's own job names at `registry`, a host on this machine or the network around it.

    The registry stays at home: were its name to lead elsewhere later, what it is told at home would leave the house.
    Where it sends the agent, for a token or for content, may be at home or public.
    """

    registry: str = ""

    def check_name(self, host: str, port: int) -> Address | None:
        if port in MAIL_PORTS:
            raise Refused("port", f"port {port} is for mail", "use another one")
        return _literal(host)

    def check_addresses(self, host: str, port: int, addresses: Iterable[Address], around: frozenset[Network]) -> None:
        del port
        for address in addresses:
            if is_home(address, around):
                continue
            why = "not on this machine or its network any more" if host == self.registry else why_not_public(address)
            if why:
                raise Refused("not_home", f"{host} leads to {address}: {why}", "check the registry's configuration")


def _is_listed(host: str, port: int, listed: frozenset[str]) -> bool:
    shown = f"[{host}]" if ":" in host else host
    return f"{shown}:{port}" in listed or (port in WEB_PORTS and shown in listed)


def _setting(host: str, port: int) -> str:
    shown = f"[{host}]" if ":" in host else host
    place = shown if port in WEB_PORTS else f"{shown}:{port}"
    return f'indexes = ["{place}"] under [network] in policy.toml'


def _literal(host: str) -> Address | None:
    if ":" in host:
        if "%" in host:
            raise Refused("spelling", "addresses with a zone are of the local network", NOT_PUBLIC)
        try:
            return IPv6Address(host)
        except ValueError:
            raise Refused("spelling", "that is not an address", "write it as in RFC 5952, or use a name") from None
    if LOOKS_LIKE_NUMBER.fullmatch(host):
        try:
            return IPv4Address(host)
        except ValueError:
            raise Refused(
                "spelling", "that is an unusual way to write an address", "write four decimal numbers, or use a name"
            ) from None
    if not NAME.fullmatch(host):
        raise Refused("spelling", "that is not a host name", "international names are written in their xn-- form")
    return None


def _is_local_name(host: str) -> bool:
    return "." not in host or any(host == name or host.endswith(f".{name}") for name in LOCAL_NAMES)
