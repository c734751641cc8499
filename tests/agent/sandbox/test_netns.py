"""Whether a listener can be put into a sandbox is tried while the rest of the agent goes on."""

import os
import threading
import time
from pathlib import Path

import pytest

from computepool.agent.sandbox.netns import can_listen_in


def test_trying_it_closes_nobody_elses_files(tmp_path: Path) -> None:
    """A number that was closed is given to the next file that anybody opens, and must not be closed once more."""
    slow = tmp_path / "bwrap"
    slow.write_text("#!/bin/sh\nsleep 0.5\n")
    slow.chmod(0o755)
    found: list[bool] = []
    trying = threading.Thread(target=lambda: found.append(can_listen_in(str(slow))))
    trying.start()
    time.sleep(0.25)
    ours = [os.open(os.devnull, os.O_RDONLY) for _ in range(8)]
    trying.join()
    assert found == [False]
    for fd in ours:
        try:
            os.close(fd)
        except OSError:
            pytest.fail("a file was closed behind its owner's back")
