"""The address of a hub, as people write it: `https://pool.example.org`, or with the fingerprint of the hub's own
certificate, `https://192.0.2.7:8000#sha256:…`. A fragment is never sent.
"""

import ipaddress
import re
from urllib.parse import urlsplit

FINGERPRINT = re.compile(r"sha256:[0-9a-f]{64}")


def is_loopback(host: str) -> bool:
    """Whether what is sent there stays on this machine. A name other than localhost may lead anywhere."""
    name = host.lower().strip("[]").rstrip(".")
    if name == "localhost":
        return True
    try:
        address = ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_loopback


def is_exposed(url: str) -> bool:
    """Whether everybody on the way reads what is sent to this address: plain HTTP beyond loopback."""
    parts = urlsplit(url)
    return parts.scheme != "https" and not is_loopback(parts.hostname or "")


def same_origin(url: str, other: str) -> bool:
    return _origin(url) == _origin(other)


def with_scheme(address: str) -> str:
    """`pool.example.org` means https: tokens travel there. Only this machine itself is reached without."""
    text = address.strip()
    if "://" in text:
        return text
    place = text.split("/", 1)[0].partition("#")[0]
    host = place[1:].split("]", 1)[0] if place.startswith("[") else place.rsplit(":", 1)[0]
    return f"{'http' if is_loopback(host) else 'https'}://{text}"


def split_fingerprint(address: str) -> tuple[str, str | None]:
    """The address without its fragment, and the fingerprint in it. Raises ValueError where that is none."""
    url, mark, fragment = address.strip().partition("#")
    if not mark:
        return url, None
    return url, read_fingerprint(fragment)


def read_fingerprint(text: str) -> str:
    """As it was typed, also in capitals or with colons between the bytes. Raises ValueError."""
    kind, _, digits = text.strip().lower().partition(":")
    fingerprint = f"{kind}:{digits.replace(':', '').replace(' ', '')}"
    if FINGERPRINT.fullmatch(fingerprint) is None:
        raise ValueError(f"{text!r} is not a fingerprint: expected sha256: and 64 hexadecimal digits")
    return fingerprint


def with_fingerprint(url: str, fingerprint: str | None) -> str:
    """One text for `join`, `login` and COMPUTEPOOL_URL."""
    return f"{url}#{fingerprint}" if fingerprint else url


def join_line(address: str, token: str, owner_key: str | None = None) -> str:
    """What to type on the machine that joins. `owner_key` signs the jobs that are its owner's own there."""
    line = f"computepool join {address} --token {token}" + (f" --owner-key {owner_key}" if owner_key else "")
    return line + (" --insecure" if is_exposed(address) else "")


def insecure_message(url: str) -> str:
    return (
        f"{url} is plain HTTP to another machine: everybody on the way could read the token and the jobs. Nothing was"
        " sent"
    )


INSECURE_HINT = (
    "use the https:// address that `computepool up --host` prints there, with its #sha256:… part; --insecure sends it "
    "all the same"
)


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or {"http": 80, "https": 443}.get(parts.scheme)
