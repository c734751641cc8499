"""What a client asks of a proxy: CONNECT, or a whole URL. As strict as may be: what is unclear is refused."""

import asyncio
import re
from dataclasses import dataclass

MAX_HEAD_BYTES = 32 * 1024
MAX_LINE_BYTES = 1024

TOKEN = re.compile(rb"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
REQUEST_LINE = re.compile(rb"([A-Z]{1,20}) ([\x21-\x7e]+) HTTP/1\.[01]")
# Between client and proxy only, or naming headers that are.
HOP_BY_HOP = {b"connection", b"proxy-connection", b"proxy-authorization", b"keep-alive", b"te", b"upgrade"}


class BadRequest(Exception):
    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class Request:
    """`head` is what to send on, empty for a tunnel; then come `body_bytes`, or chunks."""

    method: str
    host: str
    port: int
    head: bytes = b""
    body_bytes: int = 0
    chunked: bool = False

    @property
    def is_tunnel(self) -> bool:
        return not self.head


async def read_request(reader: asyncio.StreamReader) -> Request | None:
    """None if the client left without a word. Raises BadRequest."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as error:
        if error.partial:
            raise BadRequest("the request is cut off") from error
        return None
    except asyncio.LimitOverrunError as error:
        raise BadRequest(f"the headers are longer than {MAX_HEAD_BYTES} bytes", 431) from error
    return parse_request(head)


def parse_request(head: bytes) -> Request:
    first, *lines = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    found = REQUEST_LINE.fullmatch(first)
    if not found:
        raise BadRequest("that is not an HTTP/1.1 request")
    method, target = found[1].decode(), found[2].decode()
    headers = [_header(line) for line in lines]
    if method == "CONNECT":
        return Request(method, *_split_authority(target, None))
    scheme, separator, rest = target.partition("://")
    if not separator:
        raise BadRequest("this is a job's proxy, not a web server: send a whole URL, or CONNECT")
    if scheme.lower() != "http":
        raise BadRequest(f"{scheme} goes through CONNECT here")
    authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
    path = rest[len(authority) :].partition("#")[0]
    host, port = _split_authority(authority, 80)
    body_bytes, chunked = _body(headers)
    # The name that was checked is the name that is asked for.
    kept = [(name, value) for name, value in headers if name.lower() not in HOP_BY_HOP | {b"host"}]
    sent = [(b"Host", authority.encode()), *kept, (b"Connection", b"close")]
    words = f"{method} {path if path.startswith('/') else f'/{path}'} HTTP/1.1\r\n".encode()
    text = words + b"".join(b"%s: %s\r\n" % header for header in sent) + b"\r\n"
    return Request(method, host, port, text, body_bytes, chunked)


def _header(line: bytes) -> tuple[bytes, bytes]:
    name, separator, value = line.partition(b":")
    if not separator or not TOKEN.fullmatch(name) or any(byte in value for byte in b"\r\n\0"):
        raise BadRequest("a header is malformed")
    return name, value.strip(b" \t")


def _split_authority(text: str, default_port: int | None) -> tuple[str, int]:
    """A host in its plain form (no brackets, no final dot, lower case) and a port."""
    found = re.fullmatch(r"(\[[^\[\]@]+\]|[^\[\]@:]+)(?::(\d{1,5}))?", text)
    if not found or (found[2] is None and default_port is None):
        raise BadRequest(f"{text[:200]!r} is not a host and port")
    port = int(found[2]) if found[2] else default_port or 0
    if not 0 < port < 65536:
        raise BadRequest(f"{port} is not a port")
    host = found[1].strip("[]") if found[1].startswith("[") else found[1]
    if found[1].startswith("[") and ":" not in host:
        raise BadRequest(f"{text[:200]!r} is not a host and port")
    return host.lower().removesuffix("."), port


def _body(headers: list[tuple[bytes, bytes]]) -> tuple[int, bool]:
    lengths = {value for name, value in headers if name.lower() == b"content-length"}
    codings = [value.lower() for name, value in headers if name.lower() == b"transfer-encoding"]
    if codings:
        if codings != [b"chunked"] or lengths:
            raise BadRequest("the length of the body is unclear")
        return 0, True
    if not lengths:
        return 0, False
    length = lengths.pop()
    if lengths or not re.fullmatch(rb"\d{1,18}", length):
        raise BadRequest("the length of the body is unclear")
    return int(length), False
