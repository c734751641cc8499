"""Versions of the software that stands between a job and its host, and which of them are known to be unsafe.

Pure: the agent's doctor says it to the owner, and the hub decides with it who gets strangers' work. Distributions mend
old versions without raising the number (Debian's runc 1.1.5+ds1-1+deb12u2): such a one is said to be below the minimum,
because its number is all that is known.
"""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from computepool.protocol.capacity import Software
from computepool.protocol.states import TAKES_IMAGES, IsolationLevel

DOCKER, PODMAN, BUBBLEWRAP = "docker", "podman", "bubblewrap"
RUNC, CRUN, RUNSC = "runc", "crun", "runsc"
NVIDIA_TOOLKIT, NVIDIA_DRIVER = "nvidia-container-toolkit", "nvidia-driver"

AGENT_MINIMUM = "0.1"
"""Older agents keep less than this version promises: they get no strangers' work."""

_NUMBERS = re.compile(r"(?<![0-9A-Za-z.])v?([0-9]+(?:\.[0-9]+)+|[0-9]{8}(?:\.[0-9]+)*)")
_AS_WRITTEN = re.compile(_NUMBERS.pattern + r"[-+~.0-9A-Za-z]*")
_EARLY = re.compile(r"[-~.]?(alpha|beta|a|b|dev|pre|rc)[-.]?([0-9]*)")
_EARLY_RANK = {"dev": 0, "alpha": 1, "a": 1, "beta": 2, "b": 2, "pre": 3, "rc": 4}
_RELEASED = (9, 0)


@dataclass(frozen=True, order=True)
class Version:
    """Compares as releases follow each other: 1.9 < 1.10, 1.3.0-rc.2 < 1.3.0, 1.3 = 1.3.0."""

    numbers: tuple[int, ...]
    stage: tuple[int, int] = _RELEASED
    """A release, or what came before it: its kind and count."""

    def branch(self, length: int) -> tuple[int, ...]:
        return (*self.numbers, *([0] * length))[:length]


@dataclass(frozen=True)
class Minimum:
    """Safe are those from `since` on, except what is on one of the `branches` and older than its mended version."""

    name: str
    since: str
    branches: tuple[str, ...] = ()
    why: str = ""

    def accepts(self, version: Version) -> bool:
        return all(version >= mended for mended in self._for(version))

    def needed_by(self, version: Version) -> str:
        """The nearest version that would do."""
        texts = {read_version(text): text for text in (self.since, *self.branches)}
        return texts[max(self._for(version))]

    def _for(self, version: Version) -> list[Version]:
        mended = [_must_read(text) for text in self.branches]
        return [_must_read(self.since), *(one for one in mended if one.branch(2) == version.branch(2))]


MINIMUMS = (
    Minimum(
        RUNC,
        since="1.2.8",
        branches=("1.3.3", "1.4.0-rc.3"),
        why="jobs can escape from older ones (CVE-2025-31133, CVE-2025-52565, CVE-2025-52881)",
    ),
    Minimum(
        NVIDIA_TOOLKIT,
        since="1.17.8",
        why="jobs can escape from older ones (CVE-2024-0132, CVE-2025-23359, CVE-2025-23266)",
    ),
)


@dataclass(frozen=True)
class UnsafeSoftware:
    name: str
    version: str
    needed: str
    why: str

    def __str__(self) -> str:
        return f"{self.name} {self.version} is below the minimum {self.needed}: {self.why}"


def read_version(text: str) -> Version | None:
    """The first version in a text such as `runc version 1.1.5+ds1`; None where there is none."""
    found = _NUMBERS.search(text[:1000])
    if found is None:
        return None
    numbers = [int(part[:12]) for part in found[1].split(".")]
    while len(numbers) > 1 and numbers[-1] == 0:
        numbers.pop()
    early = _EARLY.match(text.lower(), found.end())
    stage = (_EARLY_RANK[early[1]], int(early[2][:9] or 0)) if early else _RELEASED
    return Version(tuple(numbers), stage)


def version_text(text: str) -> str:
    """The first version in a text, as it is written there: `1.1.5+ds1` of `runc version 1.1.5+ds1`."""
    found = _AS_WRITTEN.search(text[:1000])
    return found[0].rstrip(".-+~") if found else ""


def unsafe_software(software: Iterable[Software], minimums: Iterable[Minimum] = MINIMUMS) -> list[UnsafeSoftware]:
    """What is older than it may be. A version that cannot be read counts: nobody knows that it is safe."""
    wanted = {minimum.name: minimum for minimum in minimums}
    found = []
    for one in software:
        minimum, version = wanted.get(one.name), read_version(one.version)
        if minimum is None:
            continue
        if version is None:
            why = "its version cannot be read, so that nobody knows whether it is safe"
            found.append(UnsafeSoftware(one.name, one.version or "(no version)", minimum.since, why))
        elif not minimum.accepts(version):
            found.append(UnsafeSoftware(one.name, one.version, minimum.needed_by(version), minimum.why))
    return found


def is_escapable(level: IsolationLevel, unsafe: Collection[str], *, uses_gpu: bool) -> bool:
    """Whether jobs are known to escape from this level where such software is unsafe. gVisor does without runc."""
    if level is IsolationLevel.CONTAINER and RUNC in unsafe:
        return True
    return uses_gpu and level in TAKES_IMAGES and NVIDIA_TOOLKIT in unsafe


def is_older(version: str, than: str) -> bool:
    """Of two versions of ours. One that cannot be read is not older: a build of somebody's own."""
    one, other = read_version(version), read_version(than)
    return one is not None and other is not None and one < other


def _must_read(text: str) -> Version:
    version = read_version(text)
    assert version is not None, text
    return version
