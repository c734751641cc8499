"""Where mails are handed over, and from whom they are: two settings, read and checked when the hub starts.

`smtp://` begins in the clear and goes on with STARTTLS, port 587; `smtps://` is TLS from the first byte, port 465.
"""

import email.errors
import unicodedata
from dataclasses import dataclass, field
from email.headerregistry import Address
from enum import StrEnum
from ipaddress import ip_address
from urllib.parse import parse_qs, unquote, urlsplit

EXPECTED_URL = "expected smtp://user:password@host:587 or smtps://user:password@host:465"
ESCAPED = "write / ? # @ : and % in a password as %2F %3F %23 %40 %3A and %25"
EXPECTED_SENDER = "expected an address such as pool@example.org or ComputePool <pool@example.org>"
SENDER_NAME = "ComputePool"
_PORTS = {"smtp": 587, "smtps": 465}
_NOWHERE = ("localhost", "invalid")
"""Names that no mail goes to, by themselves or as the last part of one."""
_SPECIAL = frozenset('()<>[]:;,"\\')


class Security(StrEnum):
    TLS = "tls"
    OFFERED = "offered"
    """STARTTLS if the server offers it; a password is not sent without."""
    REQUIRED = "required"
    NEVER = "never"
    """For a server on the same machine or network."""


@dataclass(frozen=True)
class SmtpPlace:
    host: str
    port: int
    user: str
    password: str = field(repr=False)
    security: Security

    @property
    def words(self) -> str:
        """Without what is secret."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'smtps' if self.security is Security.TLS else 'smtp'}://{host}:{self.port}"


def parse_smtp_url(text: str) -> SmtpPlace:
    """Raises ValueError, whose text never has anything of what was written: there may be a password in it."""
    try:
        url = urlsplit(text)
        host, port = url.hostname, url.port
        asked = parse_qs(url.query, strict_parsing=True) if url.query else {}
    except ValueError:
        raise ValueError(f"{EXPECTED_URL}; {ESCAPED}") from None
    if url.scheme not in _PORTS or not host or url.path not in ("", "/") or url.fragment or port == 0:
        raise ValueError(f"{EXPECTED_URL}; {ESCAPED}")
    if url.password is not None and not url.username:
        raise ValueError(f"{EXPECTED_URL}: a password needs a user")
    user, password = unquote(url.username or ""), unquote(url.password or "")
    if any(unicodedata.category(letter) == "Cc" for letter in user + password + host):
        raise ValueError(f"{EXPECTED_URL}: there is a control character in it")
    security = _security(url.scheme, asked)
    return SmtpPlace(host, port or _PORTS[url.scheme], user, password, security)


def _security(scheme: str, asked: dict[str, list[str]]) -> Security:
    wanted = asked.pop("starttls", [""])[-1]
    if asked:
        raise ValueError("expected no option but starttls=required or starttls=never")
    if scheme == "smtps":
        if wanted:
            raise ValueError("smtps:// is TLS from the beginning: leave starttls out, or write smtp://")
        return Security.TLS
    if wanted not in ("", Security.REQUIRED, Security.NEVER):
        raise ValueError("expected starttls=required or starttls=never")
    return Security(wanted) if wanted else Security.OFFERED


def parse_sender(text: str) -> Address:
    """Raises ValueError. What it returns can be a mail's From, and its address an envelope's."""
    name, bracket, rest = text.strip().partition("<")
    address = rest.removesuffix(">") if bracket else name
    if bracket and not rest.endswith(">"):
        raise ValueError(EXPECTED_SENDER)
    found = usable_address(address.strip())
    if found is None or not found.addr_spec.isascii() or any(unicodedata.category(c) == "Cc" for c in name):
        raise ValueError(EXPECTED_SENDER)
    spoken = name.strip().strip('"') if bracket else SENDER_NAME
    return Address(spoken, username=found.username, domain=found.domain)


def default_sender(public_url: str | None) -> Address | None:
    """`computepool@` the hub's own name; None where it has none that a mail could come from."""
    host = urlsplit(public_url).hostname if public_url else None
    if host is None or _is_number(host):
        return None
    found = usable_address(f"computepool@{host}")
    return Address(SENDER_NAME, username=found.username, domain=found.domain) if found and "." in found.domain else None


def _is_number(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def usable_address(text: str) -> Address | None:
    """None where no mail could arrive. The domain of another script is written as mail servers write it."""
    name, _, domain = text.rpartition("@")
    if not name or domain.startswith("["):  # a number in place of a name leads into somebody's own network
        return None
    if any(letter.isspace() or unicodedata.category(letter) in ("Cc", "Cs") for letter in text):
        return None
    try:
        domain = domain.encode("idna").decode()
        # What is in a header is read again by others: an address that could be read in two ways is none.
        plain = Address(addr_spec=f"{'x' if not name.isascii() else name}@{domain}")
    except (UnicodeError, ValueError, IndexError, email.errors.MessageError):
        return None
    found = plain if name.isascii() else Address(username=name, domain=domain)
    if found.addr_spec != f"{name}@{domain}" or (not name.isascii() and _SPECIAL & set(name)):
        return None
    return None if f".{domain}".endswith(tuple(f".{one}" for one in _NOWHERE)) else found
