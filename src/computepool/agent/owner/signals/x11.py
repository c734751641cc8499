"""An X server's idle time and full-screen windows, over a line of our own that stays open.

The few requests that are needed are spoken here, not through Xlib: Xlib ends the whole process when its server goes
away, which happens at every logout, and its screen saver part is often not installed.
"""

import contextlib
import os
import re
import socket
import stat
import struct
from dataclasses import dataclass
from pathlib import Path

SOCKETS = "/tmp/.X11-unix"  # noqa: S108 - where X servers listen
ANSWER_SECONDS = 1.0
AUTHORITY_LIMIT_BYTES = 64 * 1024
REPLY_LIMIT_BYTES = 1024 * 1024
MOST_WINDOWS = 64
MOST_EVENTS = 1000
"""Before an answer."""
COOKIE = b"MIT-MAGIC-COOKIE-1"
_DISPLAY = re.compile(r"(?:unix)?:(\d{1,5})(?:\.\d+)?")

_INTERN_ATOM, _GET_PROPERTY, _QUERY_EXTENSION = 16, 20, 98
_QUERY_INFO = 1
_ANY_TYPE = 0
_REPLY, _ERROR = 1, 0
_HEADER_BYTES = 32


class XTrouble(Exception):
    """The server is not there, does not let us in, or cannot tell."""


class XRefused(XTrouble):
    """It refused one request: a window that has just gone, for example. The line is good."""


@dataclass(frozen=True)
class XDisplay:
    number: int
    authority: Path | None = None
    uid: int | None = None
    """Whose authority file it must be."""


def local_display(text: str) -> int | None:
    """The number of a display of this machine. `host:10.0` is another one's screen, as with `ssh -X`."""
    found = _DISPLAY.fullmatch(text.strip())
    return int(found[1]) if found else None


def cookie_of(display: XDisplay) -> bytes:
    """The secret that lets us in; empty if there is none.

    A file that belongs to somebody else is not used: an agent that runs as root would carry one user's secret to
    another user's server.
    """
    if display.authority is None:
        return b""
    try:
        fd = os.open(display.authority, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return b""
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode) or (display.uid is not None and found.st_uid != display.uid):
            return b""
        data = os.read(fd, AUTHORITY_LIMIT_BYTES)
    except OSError:
        return b""
    finally:
        os.close(fd)
    return _find_cookie(data, str(display.number).encode())


def _find_cookie(data: bytes, number: bytes) -> bytes:
    at = 2
    while at < len(data):
        fields = []
        for _ in range(4):
            length = int.from_bytes(data[at : at + 2], "big")
            fields.append(data[at + 2 : at + 2 + length])
            at += 2 + length
        _, wanted, name, secret = fields
        if name == COOKIE and wanted in (number, b""):
            return secret
        at += 2
    return b""


class XLine:
    """An open line. Not for two threads at once."""

    def __init__(self, display: XDisplay, sockets: Path = Path(SOCKETS)) -> None:
        self._socket = _connect(display.number, sockets)
        self._sequence = 0
        self._atoms: dict[str, int] = {}
        try:
            self.root = self._greet(cookie_of(display))
            self._saver = self._extension("MIT-SCREEN-SAVER")
            self.is_wayland = self._extension("XWAYLAND") is not None
        except (OSError, struct.error, XTrouble) as error:
            self.close()
            raise error if isinstance(error, XTrouble) else XTrouble(f"the X server: {error}") from None

    def close(self) -> None:
        self._socket.close()

    def idle_seconds(self) -> float:
        """Since a key was pressed or the mouse moved. Raises XTrouble."""
        if self._saver is None:
            raise XTrouble("the X server does not tell how long it was idle")
        reply = self._ask(struct.pack("<BBHI", self._saver, _QUERY_INFO, 2, self.root))
        milliseconds: int = struct.unpack_from("<I", reply, 16)[0]
        return milliseconds / 1000

    def full_screen(self) -> str | None:
        """The program whose window fills the screen; None for none. Raises XTrouble."""
        active = self._numbers(self.root, "_NET_ACTIVE_WINDOW")[:1]
        others = self._numbers(self.root, "_NET_CLIENT_LIST")[:MOST_WINDOWS]
        full, hidden = self._atom("_NET_WM_STATE_FULLSCREEN"), self._atom("_NET_WM_STATE_HIDDEN")
        for window in dict.fromkeys([*active, *others]):
            # A window may go between two questions.
            with contextlib.suppress(XRefused):
                states = self._numbers(window, "_NET_WM_STATE")
                if window and full in states and hidden not in states and self._is_on_this_desktop(window):
                    return self._program(window)
        return None

    def _is_on_this_desktop(self, window: int) -> bool:
        here, there = self._numbers(self.root, "_NET_CURRENT_DESKTOP"), self._numbers(window, "_NET_WM_DESKTOP")
        return not here or not there or there[0] in (here[0], 0xFFFFFFFF)

    def _program(self, window: int) -> str:
        words = self._property(window, "WM_CLASS").rstrip(b"\0").split(b"\0")
        return words[-1].decode(errors="replace")[:60]

    # ── the protocol ──

    def _greet(self, cookie: bytes) -> int:
        """The root window of the first screen."""
        name = COOKIE if cookie else b""
        head = struct.pack("<BxHHHHxx", ord("l"), 11, 0, len(name), len(cookie))
        self._socket.sendall(head + _padded(name) + _padded(cookie))
        status, reason_bytes, _, _, words = struct.unpack("<BBHHH", self._read(8))
        rest = self._read(words * 4)
        if status != 1:
            why = rest[:reason_bytes].decode(errors="replace").strip()
            raise XTrouble(f"the X server does not let the agent in: {why or 'no reason given'}")
        vendor_bytes, formats = struct.unpack_from("<H", rest, 16)[0], rest[21]
        root: int = struct.unpack_from("<I", rest, 32 + (vendor_bytes + 3) // 4 * 4 + formats * 8)[0]
        return root

    def _extension(self, name: str) -> int | None:
        text = name.encode()
        words = 2 + (len(text) + 3) // 4
        reply = self._ask(struct.pack("<BxHHxx", _QUERY_EXTENSION, words, len(text)) + _padded(text))
        return reply[9] if reply[8] else None

    def _atom(self, name: str) -> int:
        if name not in self._atoms:
            text = name.encode()
            words = 2 + (len(text) + 3) // 4
            reply = self._ask(struct.pack("<BBHHxx", _INTERN_ATOM, 0, words, len(text)) + _padded(text))
            self._atoms[name] = struct.unpack_from("<I", reply, 8)[0]
        return self._atoms[name]

    def _property(self, window: int, name: str) -> bytes:
        request = struct.pack("<BBHIIIII", _GET_PROPERTY, 0, 6, window, self._atom(name), _ANY_TYPE, 0, 1024)
        reply = self._ask(request)
        size = reply[1] // 8 * int(struct.unpack_from("<I", reply, 16)[0])
        return reply[_HEADER_BYTES : _HEADER_BYTES + size]

    def _numbers(self, window: int, name: str) -> list[int]:
        data = self._property(window, name)
        return list(struct.unpack(f"<{len(data) // 4}I", data[: len(data) // 4 * 4]))

    def _ask(self, request: bytes) -> bytes:
        try:
            self._socket.sendall(request)
            self._sequence = (self._sequence + 1) & 0xFFFF
            return self._answer()
        except OSError as error:
            raise XTrouble(f"the X server is gone: {error}") from None

    def _answer(self) -> bytes:
        for _ in range(MOST_EVENTS):
            head = self._read(_HEADER_BYTES)
            sequence, words = struct.unpack_from("<HI", head, 2)
            if head[0] == _REPLY:
                if words * 4 > REPLY_LIMIT_BYTES:
                    raise XTrouble("the X server talks nonsense")
                whole = head + self._read(words * 4)
                if sequence == self._sequence:
                    return whole
            elif head[0] == _ERROR and sequence == self._sequence:
                raise XRefused(f"the X server refused a request (error {head[1]})")
            # Anything else is an event. We asked for none, but everybody gets some.
        raise XTrouble("the X server talks without end")

    def _read(self, size: int) -> bytes:
        parts = bytearray()
        while len(parts) < size:
            piece = self._socket.recv(size - len(parts))
            if not piece:
                raise XTrouble("the X server is gone")
            parts += piece
        return bytes(parts)


def _connect(number: int, sockets: Path) -> socket.socket:
    line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    line.settimeout(ANSWER_SECONDS)
    path = str(sockets / f"X{number}")
    try:
        line.connect(path)
    except OSError:
        try:
            # Some servers listen in the abstract namespace alone.
            line.connect(f"\0{path}")
        except OSError as error:
            line.close()
            raise XTrouble(f"no X server answers on display :{number} ({error.strerror or 'timed out'})") from None
    return line


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 4)
