"""A real D-Bus daemon, and services on it that answer what a test tells them to."""

import contextlib
import os
import socket
import struct
import subprocess
import tempfile
import threading
from pathlib import Path

from support import engines
from support.waiting import patience

CONFIG = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>session</type><listen>unix:path={path}</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/>
</policy></busconfig>"""


@contextlib.contextmanager
def bus(path: Path | None = None):
    """The path of its socket."""
    engines.require("dbus")
    with tempfile.TemporaryDirectory() as folder:
        place = path or Path(folder) / "bus"
        config = Path(folder) / "config"
        config.write_text(CONFIG.format(path=place))
        daemon = subprocess.Popen(
            ["dbus-daemon", f"--config-file={config}", "--nofork", "--print-address=1"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        try:
            assert daemon.stdout is not None
            assert daemon.stdout.readline()
            yield place
        finally:
            daemon.terminate()
            daemon.communicate(timeout=patience())


def _text(text):
    data = text.encode()
    return struct.pack("<I", len(data)) + data + b"\0"


def _message(kind, serial, fields, body=b""):
    packed = b""
    for code, signature, value in fields:
        packed += b"\0" * (-len(packed) % 8) + bytes([code, 1]) + signature.encode() + b"\0" + value
    head = struct.pack("<cBBBIII", b"l", kind, 0, 1, len(body), serial, len(packed)) + packed
    return head + b"\0" * (-len(head) % 8) + body


class Service:
    """Owns a name. `answers` by (path, member, second text or ""): (signature, value), or None for an error."""

    def __init__(self, path, name, answers):
        self.answers = answers
        self.calls = []
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(str(path))
        self._socket.sendall(b"\0AUTH EXTERNAL " + str(os.getuid()).encode().hex().encode() + b"\r\n")
        assert self._socket.recv(1000).startswith(b"OK")
        self._socket.sendall(b"BEGIN\r\n")
        self._serial = 0
        daemon = "org.freedesktop.DBus"
        self._call(daemon, "/org/freedesktop/DBus", daemon, "Hello")
        self._call(daemon, "/org/freedesktop/DBus", daemon, "RequestName", "su", _text(name), struct.pack("<I", 4))
        while self._read()[0] != 2 or self._last_reply != 2:
            pass
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self):
        self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join(patience())
        self._socket.close()

    def _call(self, name, path, interface, member, signature="", *values):
        body = b""
        for value in values:
            body += b"\0" * (-len(body) % 4) + value
        self._serial += 1
        fields = [(1, "o", _text(path)), (2, "s", _text(interface)), (3, "s", _text(member)), (6, "s", _text(name))]
        if signature:
            fields.append((8, "g", bytes([len(signature)]) + signature.encode() + b"\0"))
        self._socket.sendall(_message(1, self._serial, fields, body))

    def _take(self, size):
        data = b""
        while len(data) < size:
            piece = self._socket.recv(size - len(data))
            if not piece:
                raise ConnectionError
            data += piece
        return data

    def _read(self):
        head = self._take(16)
        body_bytes, serial, fields_bytes = struct.unpack("<III", head[4:])
        fields, body = self._take((fields_bytes + 7) // 8 * 8), self._take(body_bytes)
        values, at = {}, 0
        while at < fields_bytes:
            at += -at % 8
            code, kind = fields[at], chr(fields[at + 2])
            at += 4
            if kind in "so":
                (length,) = struct.unpack_from("<I", fields, at)
                values[code] = fields[at + 4 : at + 4 + length].decode()
                at += 5 + length
            elif kind == "g":
                values[code] = fields[at + 1 : at + 1 + fields[at]].decode()
                at += 2 + fields[at]
            else:
                (values[code],) = struct.unpack_from("<I", fields, at)
                at += 4
        self._last_reply = values.get(5, 0)
        return head[1], serial, values, body

    def _serve(self):
        with contextlib.suppress(OSError):
            while True:
                kind, serial, values, body = self._read()
                if kind == 1:
                    self._answer(serial, values, body)

    def _answer(self, serial, values, body):
        texts, at = [], 0
        for _ in values.get(8, ""):
            at += -at % 4
            (length,) = struct.unpack_from("<I", body, at)
            texts.append(body[at + 4 : at + 4 + length].decode())
            at += 5 + length
        key = (values[1], values[3], texts[1] if len(texts) > 1 else "")
        self.calls.append(key)
        answer = self.answers.get(key)
        self._serial += 1
        fields = [(5, "u", struct.pack("<I", serial)), (6, "s", _text(values[7]))]
        if answer is None:
            fields.append((4, "s", _text("org.example.Error.Refused")))
            self._socket.sendall(_message(3, self._serial, fields))
            return
        signature, value = answer
        packed = struct.pack({"t": "<Q", "u": "<I", "b": "<I"}[signature], value)
        if values[3] == "Get":
            # A variant: its own signature first, the value at its own alignment.
            head = bytes([1]) + signature.encode() + b"\0"
            packed, signature = head + b"\0" * (-len(head) % len(packed)) + packed, "v"
        fields.append((8, "g", bytes([1]) + signature.encode() + b"\0"))
        self._socket.sendall(_message(2, self._serial, fields, packed))
