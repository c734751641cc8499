"""Machines made of files and small scripts, for tests of signals."""

import os
from pathlib import Path

from computepool.agent.owner.readings import Idle, Unknown
from computepool.agent.owner.signals.machine import Machine


def why(reading: object) -> str:
    """Of a reading that must be unknown."""
    assert isinstance(reading, Unknown), reading
    return reading.why


def seconds(reading: object) -> float:
    """Of a reading that must be known."""
    assert isinstance(reading, Idle), reading
    return reading.seconds


class FakeMachine:
    """A root folder to fill, a folder of tools, and clocks that stand still."""

    def __init__(self, folder: Path, platform="linux", environ=None, uid=None):
        self.root, self.tools = folder / "root", folder / "tools"
        self.root.mkdir()
        self.tools.mkdir()
        self.wall_seconds, self.seconds = 1_800_000_000.0, 5000.0
        self.environ: dict[str, str] = environ or {}
        self.machine = Machine(
            root=self.root,
            path=str(self.tools),
            environ=self.environ,
            platform=platform,
            uid=os.getuid() if uid is None else uid,
            wall=lambda: self.wall_seconds,
            monotonic=lambda: self.seconds,
        )

    def file(self, path, text="", idle=None):
        """With this text; if `idle`, last read that many seconds ago."""
        place = self.root / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        if idle is not None:
            os.utime(place, (self.wall_seconds - idle, self.wall_seconds - idle))
        return place

    def tool(self, name, script):
        path = self.tools / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def session(self, name, **values):
        defaults = {"UID": os.getuid(), "CLASS": "user", "TYPE": "x11", "SEAT": "seat0", "STATE": "active"}
        self.logind()
        text = "\n".join(f"{key}={value}" for key, value in {**defaults, **values}.items())
        self.file(f"/run/systemd/sessions/{name}", "# This is private data.\n" + text)

    def logind(self):
        self.file("/run/systemd/seats/seat0", "CAN_GRAPHICAL=1")
