"""A wall between an agent and its hub, as company networks have them: HTTP passes, WebSockets may not."""

import contextlib
import socket
import threading
from collections.abc import Iterator

HEAD_LIMIT_BYTES = 64 * 1024
REFUSAL = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class Wall:
    """Forwards connections to the hub; refuses those that ask for an upgrade while `blocks` is set."""

    def __init__(self, hub_port: int) -> None:
        self.blocks = True
        self.refused = 0
        self.upgraded = 0
        self._hub = ("127.0.0.1", hub_port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._open: set[socket.socket] = set()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        # Closing alone would leave a thread waiting in accept.
        for each in (self._listener, *self._open):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                inside, _ = self._listener.accept()
                self._open.add(inside)
                threading.Thread(target=self._serve, args=(inside,), daemon=True).start()

    def _serve(self, inside: socket.socket) -> None:
        with contextlib.suppress(OSError), inside:
            head = _read_head(inside)
            wants_upgrade = b"upgrade: websocket" in head.lower()
            if wants_upgrade and self.blocks:
                self.refused += 1
                inside.sendall(REFUSAL)
                return
            self.upgraded += wants_upgrade
            with socket.create_connection(self._hub) as outside:
                self._open.add(outside)
                outside.sendall(head)
                back = threading.Thread(target=_copy, args=(outside, inside), daemon=True)
                back.start()
                _copy(inside, outside)
                back.join()
        self._open.discard(inside)


def _read_head(source: socket.socket) -> bytes:
    head = b""
    while b"\r\n\r\n" not in head and len(head) < HEAD_LIMIT_BYTES:
        data = source.recv(4096)
        if not data:
            break
        head += data
    return head


def _copy(source: socket.socket, target: socket.socket) -> None:
    """Until the source ends; the other side hears of it."""
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)


@contextlib.contextmanager
def wall_before(hub_port: int) -> Iterator[Wall]:
    wall = Wall(hub_port)
    try:
        yield wall
    finally:
        wall.close()
