"""A real X server without a screen, for tests of what a machine shows of its owner."""

import contextlib
import os
import subprocess
import tempfile
from pathlib import Path

from support import engines
from support.waiting import patience


class Screen:
    def __init__(self, number, authority=None):
        self.number = number
        self.environ = {"DISPLAY": f":{number}", **({"XAUTHORITY": str(authority)} if authority else {})}

    def run(self, *command):
        """What it prints."""
        environ = {**os.environ, **self.environ}
        return subprocess.run(command, env=environ, capture_output=True, check=True, timeout=patience()).stdout

    def press_key(self):
        self.run("xdotool", "key", "a")


@contextlib.contextmanager
def screen(cookie: bytes | None = None):
    """An Xvfb on a free display; with a cookie, only its holders may connect."""
    engines.require("xvfb")
    with tempfile.TemporaryDirectory() as folder:
        authority = Path(folder) / "authority"
        more = []
        if cookie is not None:
            # 65535: whatever the address; an empty number: whatever the display.
            parts = [b"", b"", b"MIT-MAGIC-COOKIE-1", cookie]
            authority.write_bytes(b"\xff\xff" + b"".join(len(one).to_bytes(2, "big") + one for one in parts))
            more = ["-auth", str(authority)]
        reading, writing = os.pipe()
        server = subprocess.Popen(
            ["Xvfb", "-displayfd", str(writing), "-screen", "0", "640x480x24", "-nolisten", "tcp", "-noreset", *more],
            pass_fds=[writing],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(writing)
        try:
            with os.fdopen(reading) as answer:
                number = int(answer.readline())
            yield Screen(number, authority if cookie is not None else None)
        finally:
            server.terminate()
            server.wait(patience())
