"""Runs one service for the tests and makes sure that it ends with them.

    python guardian.py FOLDER UID SIGNAL [LEFTOVER...] -- COMMAND...

The tests hold the other end of stdin. When that closes, because they are done or because they were killed, the service
is stopped; its folder, and what it is known to have elsewhere, are removed. Nothing has to run in the dying
process for this to work.
"""

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

STOP_SECONDS = 3


def main() -> int:
    folder, uid, stop_signal, *rest = sys.argv[1:]
    leftovers, command = rest[: rest.index("--")], rest[rest.index("--") + 1 :]
    with Path(folder, "log").open("ab") as log:
        service = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=folder,
            start_new_session=True,
            **account(int(uid)),
        )
    # A service that dies by itself ends the guardian too, so that whoever waits for the service hears of it at once.
    threading.Thread(target=wait_for_tests, args=(service, int(stop_signal)), daemon=True).start()
    code = service.wait()
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(service.pid, signal.SIGKILL)
    if stopping.is_set():
        shutil.rmtree(folder, ignore_errors=True)
        for path in map(Path, leftovers):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
    return code


stopping = threading.Event()


def account(uid: int) -> dict:
    """The arguments of Popen that give up the rights of root; none for somebody who has no such rights."""
    if uid == os.getuid():
        return {}
    return {"user": uid, "group": pwd.getpwuid(uid).pw_gid, "extra_groups": []}


def wait_for_tests(service: subprocess.Popen, stop_signal: int) -> None:
    sys.stdin.buffer.read()
    stopping.set()
    service.send_signal(stop_signal)
    try:
        service.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        service.kill()


if __name__ == "__main__":
    sys.exit(main())
