"""A file system in memory whose size can be changed under its users, mounted without being root.

It is mounted in a user and mount namespace of its own, where everybody may mount. A process that stays there holds it,
and everybody of this user reaches it through that process's root in /proc. What runs *in* a folder of it cannot name
its working directory, as that is in another namespace; everything else is as on any disk.

Where namespaces are not allowed, the engine `small-disk` is missing: see support/engines.py.
"""

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

from support import engines

NAME = "computepool-test"
HOLD = f'mount -t tmpfs -o "size=$1,mode=700" {NAME} "$0" && echo mounted && exec cat'


class SmallDisk:
    def __init__(self, path: Path, holder: int, mounted_on: Path) -> None:
        self.path = path
        self._holder = holder
        self._mounted_on = mounted_on

    def resize(self, size: str) -> None:
        enter = ["nsenter", "--user", "--preserve-credentials", "--mount", "--target", str(self._holder)]
        # With its name, so that it is not asked for the options that it has: its owner has another number inside.
        mount = ["mount", "-o", f"remount,size={size}", NAME, str(self._mounted_on)]
        subprocess.run([*enter, *mount], check=True, capture_output=True)

    def fill(self) -> None:
        """Nothing more fits."""
        used = sum(path.lstat().st_blocks * 512 for path in self.path.rglob("*"))
        self.resize(str(max(used, 4096)))


@contextlib.contextmanager
def small_disk(place: Path, size: str) -> Iterator[SmallDisk]:
    """Empty; gone at the end, or when the tests die. `place` is where its holder mounts it."""
    engines.require("small-disk")
    place.mkdir(parents=True, exist_ok=True)
    command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", HOLD, str(place), size]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        try:
            assert holder.stdout
            assert holder.stdout.readline() == b"mounted\n", "no small disk could be mounted"
            yield SmallDisk(Path(f"/proc/{holder.pid}/root", *place.absolute().parts[1:]), holder.pid, place)
        finally:
            holder.kill()
