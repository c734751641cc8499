"""A line between an agent and its hub that counts what passes, in both directions."""

import contextlib
import socket
import threading
from collections.abc import Iterator

PIECE_BYTES = 65_536


class CountingLine:
    def __init__(self, target_port: int) -> None:
        self._target_port = target_port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._counting = threading.Lock()
        self.port: int = self._listener.getsockname()[1]
        self.bytes = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(near,), daemon=True).start()

    def _serve(self, near: socket.socket) -> None:
        with near, contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self._target_port)) as far:
            back = threading.Thread(target=self._carry, args=(far, near), daemon=True)
            back.start()
            self._carry(near, far)
            back.join()

    def _carry(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while piece := source.recv(PIECE_BYTES):
                with self._counting:
                    self.bytes += len(piece)
                target.sendall(piece)
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)  # ends the wait for the next connection
        self._listener.close()


@contextlib.contextmanager
def counting_line(target_port: int) -> Iterator[CountingLine]:
    line = CountingLine(target_port)
    try:
        yield line
    finally:
        line.close()
