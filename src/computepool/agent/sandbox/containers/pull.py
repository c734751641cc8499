"""One pull of an image: its progress in a person's words, an eye on the disk, and whose trouble it is when it fails."""

import contextlib
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from computepool.agent.images import ImageMissing, ImageUnavailable, RegistryUnreachable

from .engine import Engine, EngineGone, EngineRefused, Json

SILENCE_SECONDS = 120.0
PROGRESS_SECONDS = 2.0
GROWTH = 3
"""What a layer takes when it is here: itself while it is being unpacked, and about twice of that."""
MEGABYTE = 1_000_000

DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
# Words of engines and registries. What a registry says is written by whoever runs it, who may be the renter: so only
# what an engine says of the machine itself is the node's trouble, and what nobody knows is nobody's.
_NODES_TROUBLE = re.compile(
    r"no space left|disk quota|read-only file system|input/output error|cannot allocate memory"
    r"|failed to register layer|storage.driver",
    re.IGNORECASE,
)
# Before the renter's: some of them name what was "not found" too.
_REGISTRYS_TROUBLE = re.compile(
    r"no such host|time.?out|timed out|refused|unreachable|reset by peer|\bEOF\b|TLS|x509|certificate"
    r"|too ?many ?requests|temporary failure|network is|server misbehaving|HTTP status: 5"
    r"|status code from registry 5",
    re.IGNORECASE,
)
_RENTERS_TROUBLE = re.compile(
    r"not found|unknown|denied|unauthorized|authentication required|does not exist|invalid reference|invalid repository"
    r"|must be lowercase|verification failed|does not match|no matching manifest|no image found in|forbidden",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Name:
    """`repository` as the engine knows it, and what is wanted of it: a tag, or exactly one content."""

    repository: str
    tag: str
    digest: str | None

    @property
    def reference(self) -> str:
        return f"{self.repository}@{self.digest}" if self.digest else f"{self.repository}:{self.tag}"

    @property
    def wanted(self) -> str:
        return self.digest or self.tag


def read_name(name: str, digest: str | None) -> Name:
    """`python:3.12-slim`, `ghcr.io/team/model@sha256:…`. Raises ImageMissing for what is no name, or names two."""
    plain, _, pinned = name.partition("@")
    if pinned and digest and pinned != digest:
        raise ImageMissing(f"{name} is pinned to another digest than {digest}; give one of them")
    for given in filter(None, (pinned, digest)):
        if not DIGEST.fullmatch(given):
            raise ImageMissing(f"{given} is no digest; it looks like sha256: and 64 hexadecimal digits")
    head, slash, last = plain.rpartition("/")
    last, _, tag = last.partition(":")
    repository = f"{head}{slash}{last}"
    if not re.fullmatch(r"[\w.:\-/]+", repository) or not re.fullmatch(r"[\w.\-]{1,128}", tag or "latest"):
        raise ImageMissing(f"{name!r} is no name of an image; write it as repository:tag or repository@sha256:…")
    return Name(repository, tag or "latest", pinned or digest)


@dataclass
class Pull:
    engine: Engine
    name: Name
    progress: Callable[[str], None]
    # Free bytes where the engine keeps images, and what of them is not to be used; None where it cannot be seen.
    free_bytes: Callable[[], int | None]
    floor_bytes: int
    monotonic: Callable[[], float] = time.monotonic
    passed: Callable[[int], None] = lambda count: None
    counted_bytes: int = 0
    """That were told to have come, in this try and those before."""
    _counted: dict[str, int] = field(default_factory=dict)
    _totals: dict[str, int] = field(default_factory=dict)
    _have: dict[str, int] = field(default_factory=dict)
    _said_at: float = float("-inf")

    async def run(self) -> None:
        """Returns when the image is here. Raises ImageMissing, ImageUnavailable, RegistryUnreachable."""
        self._watch_room(0)
        query = {"fromImage": self.name.repository, "tag": self.name.wanted}
        try:
            said = self.engine.stream("POST", "/images/create", query=query, silence_seconds=SILENCE_SECONDS)
            async with contextlib.aclosing(said):
                async for line in said:
                    if line.get("error"):
                        raise self.trouble(str(line["error"]))
                    self.note(line)
        except EngineRefused as error:
            raise self.trouble(str(error)) from error
        except EngineGone as error:
            raise ImageUnavailable(f"{self.name.reference} could not be pulled: {error}") from error

    def note(self, line: Json) -> None:
        """One of the lines in which an engine tells how far it is."""
        layer, detail = str(line.get("id") or ""), line.get("progressDetail") or {}
        status = str(line.get("status") or "")
        if status == "Downloading" and detail.get("total"):
            self._totals[layer] = int(detail["total"])
            self._have[layer] = int(detail.get("current") or 0)
            self._count(layer)
        elif status in {"Download complete", "Verifying Checksum"} and layer in self._totals:
            self._have[layer] = self._totals[layer]
            self._count(layer)
        elif status == "Pull complete":
            self._totals.pop(layer, None)
            self._have.pop(layer, None)
        now = self.monotonic()
        if now - self._said_at >= PROGRESS_SECONDS:
            self._said_at = now
            self._watch_room(self._still_needed())
            if self._totals:
                self.progress(self._in_words())

    def _count(self, layer: str) -> None:
        """Once, however often a broken pull is taken up again: engines go on where they were."""
        more = self._have[layer] - self._counted.get(layer, 0)
        if more > 0:
            self._counted[layer] = self._have[layer]
            self.counted_bytes += more
            self.passed(more)

    def _still_needed(self) -> int:
        return sum(total * GROWTH - self._have.get(layer, 0) for layer, total in self._totals.items())

    def _in_words(self) -> str:
        have, total = sum(self._have.values()), sum(self._totals.values())
        return f"pulling {self.name.reference}: {have / MEGABYTE:.0f} of {total / MEGABYTE:.0f} MB"

    def _watch_room(self, needed: int) -> None:
        """Leaving in the middle ends the pull; the engine keeps the layers that are whole."""
        free = self.free_bytes()
        if free is not None and free - needed < self.floor_bytes:
            more = f" and about {needed / MEGABYTE:.0f} MB more are needed" if needed else ""
            raise ImageUnavailable(
                f"no room for {self.name.reference}: the node has {free / MEGABYTE:.0f} MB of disk left{more}; "
                f"{self.floor_bytes / MEGABYTE:.0f} MB are always kept free"
            )

    def trouble(self, message: str) -> ImageMissing | ImageUnavailable:
        if "no space left" in message:
            return ImageUnavailable(f"no room for {self.name.reference}: the node's disk is full")
        if _NODES_TROUBLE.search(message):
            return ImageUnavailable(f"{self.name.reference} could not be kept: {message}")
        if _RENTERS_TROUBLE.search(message) and not _REGISTRYS_TROUBLE.search(message):
            return ImageMissing(
                f"there is no image {self.name.reference} that everybody may pull: {message}; check its name, "
                "and that it is public and made for this kind of machine"
            )
        return RegistryUnreachable(f"{self.name.reference} could not be pulled: {message}")
