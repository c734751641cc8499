"""Ends an agent's containers when the agent is gone, however it went.

It runs by itself: `python lifeline.py SOCKET LABEL` waits until its input ends, which happens when the agent does, and
then removes every container with the label. It uses the standard library alone, so that it is small and starts quickly.
"""

import contextlib
import http.client
import json
import socket
import sys
import time
from urllib.parse import quote

ROUNDS = 200
QUIET_ROUNDS = 3
"""Rounds in a row that find nothing: the engine may still be making what it was asked for last."""
PAUSE_SECONDS = 0.3
ANSWER_SECONDS = 30.0
FAREWELL = b"."
"""From an agent that ends in order, and has removed its containers."""


class _Connection(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("engine", timeout=ANSWER_SECONDS)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(ANSWER_SECONDS)
        self.sock.connect(self._path)


def _ask(path: str, method: str, target: str) -> bytes:
    with contextlib.closing(_Connection(path)) as connection:
        connection.request(method, target)
        return connection.getresponse().read()


def remove_labelled(path: str, label: str) -> int:
    """How many there were."""
    filters = quote(json.dumps({"label": [label]}))
    found = json.loads(_ask(path, "GET", f"/containers/json?all=true&filters={filters}"))
    for container in found:
        _ask(path, "DELETE", f"/containers/{container['Id']}?force=true&v=true")
    return len(found)


def hold(path: str, label: str) -> None:
    if sys.stdin.buffer.read() == FAREWELL:
        return
    quiet = 0
    for _ in range(ROUNDS):
        try:
            quiet = 0 if remove_labelled(path, label) else quiet + 1
        except (OSError, ValueError, KeyError, TypeError, http.client.HTTPException):
            quiet = 0  # the engine may come back
        if quiet >= QUIET_ROUNDS:
            return
        time.sleep(PAUSE_SECONDS)


if __name__ == "__main__":
    hold(sys.argv[1], sys.argv[2])
