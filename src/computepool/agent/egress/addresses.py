"""Which addresses are the internet, and which are this machine, somebody's home, or nobody's."""

import contextlib
import socket
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from pathlib import Path

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

# Prefixes that are shorter are no wire but a way to everywhere, as tunnels have.
SHORTEST_WIRE = 16
# What a provider gives to one home; all of it is behind the same front door.
HOME_PREFIX = 56

THE_MACHINE = "the machine itself"
RESERVED = "reserved or broadcast"
_NOT_PUBLIC_V4 = {
    "0.0.0.0/8": "this network",
    "10.0.0.0/8": "a private network",
    "100.64.0.0/10": "a provider's inner network",
    "127.0.0.0/8": THE_MACHINE,
    "168.63.129.16/32": "a cloud's metadata",
    "169.254.0.0/16": "link-local, where clouds keep their metadata",
    "172.16.0.0/12": "a private network",
    "192.0.0.0/24": "reserved",
    "192.0.2.0/24": "for documentation",
    "192.88.99.0/24": "a relay of old",
    "192.168.0.0/16": "a private network",
    "198.18.0.0/15": "for measurements",
    "198.51.100.0/24": "for documentation",
    "203.0.113.0/24": "for documentation",
    "224.0.0.0/4": "multicast",
    "240.0.0.0/4": RESERVED,
}
# Everything outside of 2000::/3 is refused, with these of it.
_NOT_PUBLIC_V6 = {
    "2001::/32": "a tunnel (Teredo)",
    "2001::/23": "reserved",
    "2001:db8::/32": "for documentation",
    "2002::/16": "a tunnel (6to4)",
    "3fff::/20": "for documentation",
}
_KINDS_V6 = {
    "::/128": "no address",
    "::1/128": THE_MACHINE,
    "64:ff9b:1::/48": "a translator's inner network",
    "fc00::/7": "a private network",
    "fe80::/10": "link-local",
    "fec0::/10": "a private network",
    "ff00::/8": "multicast",
}
INNER = {"a private network", "a provider's inner network", "for documentation", "for measurements"}
_V4 = [(IPv4Network(text), why) for text, why in _NOT_PUBLIC_V4.items()]
_V6 = [(IPv6Network(text), why) for text, why in (_NOT_PUBLIC_V6 | _KINDS_V6).items()]
_GLOBAL_V6 = IPv6Network("2000::/3")
_TRANSLATED = IPv6Network("64:ff9b::/96")  # NAT64: an IPv4 address in its last four bytes
_ISATAP = (0x00005EFE, 0x02005EFE)


def plain(address: Address) -> Address:
    """The IPv4 address that an IPv6 address merely wraps, and that packets would go to."""
    if isinstance(address, IPv4Address):
        return address
    if address.ipv4_mapped:
        return address.ipv4_mapped
    if address in _TRANSLATED:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address


def why_not_public(address: Address) -> str | None:
    """What an address is, if it is not on the public internet."""
    target = plain(address)
    if isinstance(target, IPv4Address):
        return next((why for network, why in _V4 if target in network), None)
    for network, why in _V6:
        if target in network:
            return why
    if target not in _GLOBAL_V6:
        return "reserved"
    if (int(target) >> 32) & 0xFFFFFFFF in _ISATAP:
        return "a tunnel (ISATAP)"
    return None


def may_be_allowed(address: Address) -> bool:
    """Where a host's own package index may be: anywhere but on the link and at a cloud's metadata."""
    return why_not_public(address) in {None, THE_MACHINE, RESERVED, *INNER}


def is_home(address: Address, around: frozenset[Network]) -> bool:
    """This machine, or what its owner has around it. Neither link-local nor a cloud's metadata, which nobody runs."""
    why = why_not_public(address)
    if why is not None:
        return why in INNER or why == THE_MACHINE
    return any(plain(address) in network for network in around)


def surroundings(proc: Path = Path("/proc")) -> frozenset[Network]:
    """This machine's own addresses, and what is on its wires: public ones too, as IPv6 gives to everything at home."""
    found: set[Network] = set()
    with contextlib.suppress(OSError):
        found |= _wires_v4((proc / "net" / "fib_trie").read_text())
    with contextlib.suppress(OSError):
        found |= _wires_v6((proc / "net" / "if_inet6").read_text())
    return frozenset(found or _by_name())


def _wires_v4(trie: str) -> set[Network]:
    found: set[Network] = set()
    address = ""
    for line in trie.splitlines():
        words = line.split()
        if words[:1] == ["|--"]:
            address = words[1]
        elif len(words) == 3 and words[0].startswith("/"):
            length, scope, kind = words
            is_wire = scope == "link" and kind == "UNICAST" and int(length[1:]) >= SHORTEST_WIRE
            if kind == "LOCAL" or is_wire:
                found.add(IPv4Network(f"{address}{length}", strict=False))
    return found


def _wires_v6(table: str) -> set[Network]:
    found: set[Network] = set()
    for line in table.splitlines():
        digits, _, length, *_ = line.split()
        address = IPv6Address(int(digits, 16))
        prefix = min(int(length, 16), HOME_PREFIX) if address in _GLOBAL_V6 else 128
        found.add(IPv6Network((address, prefix), strict=False))
    return found


def _by_name() -> set[Network]:
    """For systems without /proc: what this machine's name leads to, and what it would send from."""
    found: set[Network] = set()
    with contextlib.suppress(OSError):
        for *_, place in socket.getaddrinfo(socket.gethostname(), None):
            found.add(_alone(str(place[0])))
    for family, anywhere in ((socket.AF_INET, "192.88.99.1"), (socket.AF_INET6, "2001:db8::1")):
        # Connecting a datagram socket sends nothing.
        with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((anywhere, 9))
            found.add(_alone(probe.getsockname()[0]))
    return found


def _alone(text: str) -> Network:
    address = ip_address(text.partition("%")[0])
    if isinstance(address, IPv6Address) and address in _GLOBAL_V6:
        return IPv6Network((address, HOME_PREFIX), strict=False)
    return IPv4Network(address) if isinstance(address, IPv4Address) else IPv6Network(address)
