"""Questions to a D-Bus service, over a line that stays open: texts out, one simple value back.

A program per question (`gdbus`, `busctl`) would cost more than all the rest of an idle agent.
"""

import os
import re
import socket
import struct
from urllib.parse import unquote

ANSWER_SECONDS = 1.0
MESSAGE_LIMIT_BYTES = 256 * 1024
MOST_SIGNALS = 1000
"""Before an answer."""
_CALL, _RETURN, _ERROR = 1, 2, 3
_DO_NOT_START = 2
"""A service that does not run has nothing to tell, and is not to be started."""
_PATH, _INTERFACE, _MEMBER, _REPLY_SERIAL, _DESTINATION, _SIGNATURE = 1, 2, 3, 5, 6, 8
_NUMBERS = {"y": "B", "b": "I", "n": "h", "q": "H", "i": "i", "u": "I", "x": "q", "t": "Q", "d": "d"}

Value = int | float | str


class BusTrouble(Exception):
    """Nobody answers there, or the answer cannot be used."""


class BusRefused(BusTrouble):
    """The bus or the service said no. The line is good."""


def socket_of(address: str) -> str | None:
    """The socket of an address such as `unix:path=/run/user/1000/bus`; abstract ones begin with a zero byte."""
    for one in address.split(";"):
        found = re.match(r"unix:(?:.*,)?(path|abstract)=([^,]+)", one)
        if found:
            return ("\0" if found[1] == "abstract" else "") + unquote(found[2])
    return None


class BusLine:
    """An open line. Not for two threads at once."""

    def __init__(self, path: str, uid: int | None = None) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(ANSWER_SECONDS)
        self._serial = 0
        try:
            self._socket.connect(path)
            self._greet(os.getuid() if uid is None else uid)
            self.ask("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "Hello")
        except (OSError, BusTrouble) as error:
            self.close()
            raise BusTrouble(f"the bus does not answer: {error}") from None

    def close(self) -> None:
        self._socket.close()

    def ask(self, service: str, path: str, interface: str, member: str, *texts: str) -> Value:
        """The first value of the answer. Raises BusTrouble."""
        self._serial += 1
        try:
            self._socket.sendall(_call(self._serial, service, path, interface, member, texts))
            for _ in range(MOST_SIGNALS):
                kind, replies_to, signature, body = self._message()
                if replies_to != self._serial:
                    continue
                if kind == _ERROR:
                    raise BusRefused(f"{service} refused {member}")
                if kind == _RETURN:
                    return _first_value(signature, body)
            raise BusTrouble("the bus talks without end")
        except OSError as error:
            raise BusTrouble(f"the bus is gone: {error}") from None
        except (struct.error, IndexError, UnicodeDecodeError):
            raise BusTrouble("the bus talks nonsense") from None

    def property(self, service: str, path: str, interface: str, name: str) -> Value:
        return self.ask(service, path, "org.freedesktop.DBus.Properties", "Get", interface, name)

    def _greet(self, uid: int) -> None:
        self._socket.sendall(b"\0AUTH EXTERNAL " + str(uid).encode().hex().encode() + b"\r\n")
        answer = bytearray()
        while not answer.endswith(b"\r\n"):
            piece = self._socket.recv(1)
            if not piece or len(answer) > 1000:
                raise BusTrouble("it hung up")
            answer += piece
        if not answer.startswith(b"OK "):
            raise BusTrouble("it does not let the agent in")
        self._socket.sendall(b"BEGIN\r\n")

    def _message(self) -> tuple[int, int, str, "_Reader"]:
        head = self._read(16)
        order = "<" if head[:1] == b"l" else ">"
        body_bytes, _, fields_bytes = struct.unpack(f"{order}III", head[4:16])
        if body_bytes + fields_bytes > MESSAGE_LIMIT_BYTES:
            raise BusTrouble("the bus talks nonsense")
        fields = self._read((fields_bytes + 7) // 8 * 8)
        body = self._read(body_bytes)
        replies_to, signature = 0, ""
        reader = _Reader(fields[:fields_bytes], order)
        while not reader.is_done:
            reader.align(8)
            code = reader.number("y")
            value = reader.value("v")
            if code == _REPLY_SERIAL:
                replies_to = int(value)
            elif code == _SIGNATURE:
                signature = str(value)
        return head[1], replies_to, signature, _Reader(body, order)

    def _read(self, size: int) -> bytes:
        parts = bytearray()
        while len(parts) < size:
            piece = self._socket.recv(size - len(parts))
            if not piece:
                raise BusTrouble("the bus hung up")
            parts += piece
        return bytes(parts)


class _Reader:
    def __init__(self, data: bytes, order: str) -> None:
        self._data, self._order, self._at = data, order, 0

    @property
    def is_done(self) -> bool:
        return self._at >= len(self._data)

    def align(self, size: int) -> None:
        self._at += -self._at % size

    def number(self, code: str) -> int | float:
        size = struct.calcsize(f"<{_NUMBERS[code]}")
        self.align(size)
        (value,) = struct.unpack_from(f"{self._order}{_NUMBERS[code]}", self._data, self._at)
        self._at += size
        assert isinstance(value, int | float)
        return value

    def value(self, signature: str) -> Value:
        code = signature[:1]
        if code == "v":
            return self.value(str(self.value("g")))
        if code in _NUMBERS:
            return self.number(code)
        if code in {"s", "o", "g"}:
            length = int(self.number("y" if code == "g" else "u"))
            text = self._data[self._at : self._at + length].decode()
            self._at += length + 1
            return text
        raise BusTrouble(f"an answer of the kind {signature!r} was not expected")


def _first_value(signature: str, body: _Reader) -> Value:
    return body.value(signature) if signature else 0


def _call(serial: int, service: str, path: str, interface: str, member: str, texts: tuple[str, ...]) -> bytes:
    body = bytearray()
    for text in texts:
        body += b"\0" * (-len(body) % 4) + _text(text)
    fields = bytearray()
    for code, kind, value in (
        (_PATH, b"o", _text(path)),
        (_INTERFACE, b"s", _text(interface)),
        (_MEMBER, b"s", _text(member)),
        (_DESTINATION, b"s", _text(service)),
        *([(_SIGNATURE, b"g", bytes([len(texts)]) + b"s" * len(texts) + b"\0")] if texts else []),
    ):
        # A structure begins at a multiple of eight; the code, and the signature of what follows, fill four bytes.
        fields += b"\0" * (-len(fields) % 8) + bytes([code, 1]) + kind + b"\0" + value
    head = struct.pack("<cBBBIII", b"l", _CALL, _DO_NOT_START, 1, len(body), serial, len(fields))
    whole = head + bytes(fields)
    return whole + b"\0" * (-len(whole) % 8) + bytes(body)


def _text(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<I", len(data)) + data + b"\0"
