"""X servers that are none: whatever they say, a look ends soon, and with a clear word."""

import contextlib
import socket
import struct
import threading
import time

import pytest
from support.fake_machines import why
from support.waiting import patience

from computepool.agent.owner.signals import x11
from computepool.agent.owner.signals.kept import KeptConnection
from computepool.agent.owner.signals.x11 import XDisplay, XLine

GREETING = struct.pack("<BBHHH", 1, 0, 11, 0, 10) + struct.pack("<IIIIHHBBBBBBBBI", *[0] * 15) + b"\0" * 8
EVENT = bytes([2]) + b"\0" * 31


@contextlib.contextmanager
def server(folder, *says, endless=b""):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(folder / "X1"))
    listener.listen(5)

    def talk():
        with contextlib.suppress(OSError):
            line, _ = listener.accept()
            with line, contextlib.suppress(OSError):
                for one in says:
                    line.recv(4096)
                    line.sendall(one)
                while endless:
                    line.sendall(endless)
                line.recv(4096)

    talker = threading.Thread(target=talk)
    talker.start()
    try:
        yield
    finally:
        listener.close()
        talker.join(patience())


@pytest.mark.parametrize(
    ("says", "endless"),
    [
        ((b"",), b""),
        ((b"\x00\x04\x0b\x00\x00\x00\x01\x00nope",), b""),
        ((b"\x01" + b"\xff" * 400_000,), b""),
        ((b"\x01\x00\x0b\x00\x00\x00\x01\x00abcd",), b""),
        ((GREETING,), EVENT),
        ((GREETING, bytes([1]) + b"\xff" * 31), b""),
        ((GREETING, bytes([1, 0, 1, 0]) + b"\0" * 28, bytes([0, 3, 2, 0]) + b"\0" * 28), b""),
    ],
    ids=["silent", "refuses", "too much", "too little", "endless", "nonsense", "errors"],
)
def test_look_at_a_server_that_is_none_ends(tmp_path, monkeypatch, says, endless):
    monkeypatch.setattr(x11, "ANSWER_SECONDS", 0.3)
    with server(tmp_path, *says, endless=endless):
        kept = KeptConnection(lambda: XLine(XDisplay(1), tmp_path), time.monotonic)
        assert why(kept.use(lambda line: line.idle_seconds()))
        assert why(kept.use(lambda line: line.full_screen())), "not tried again at once"
        kept.close()
