"""What the name of an image means: at which registry it is, and what is wanted there."""

import re
from dataclasses import dataclass

from computepool.agent.images import ImageMissing

HTTP_PORT, HTTPS_PORT = 80, 443
DEFAULT_REGISTRY = "docker.io"
DEFAULT_HOST = "registry-1.docker.io"
"""Where names without a registry are, as Docker reads them; podman's service does the same."""
_DEFAULT_NAMES = frozenset({DEFAULT_REGISTRY, "index.docker.io", DEFAULT_HOST})
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_PATH = re.compile(rf"{_PART}(?:/{_PART})*")
_REGISTRY = re.compile(r"([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)(?::([0-9]{1,5}))?")
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
PATH_LIMIT = 255


@dataclass(frozen=True)
class ImageName:
    """`repository` as it was written, and what is wanted of it: a tag, or exactly one content."""

    repository: str
    tag: str
    digest: str | None
    host: str
    port: int
    path: str

    @property
    def reference(self) -> str:
        return f"{self.repository}@{self.digest}" if self.digest else self.tagged

    @property
    def tagged(self) -> str:
        return f"{self.repository}:{self.tag}"

    @property
    def wanted(self) -> str:
        return self.digest or self.tag

    @property
    def registry(self) -> str:
        """Who answers for it, whatever it is called."""
        return f"{self.host}:{self.port}"


def read_name(name: str, digest: str | None) -> ImageName:
    """`python:3.12-slim`, `ghcr.io/team/model@sha256:…`. Raises ImageMissing for what is no name, or names two."""
    plain, _, pinned = name.partition("@")
    if pinned and digest and pinned != digest:
        raise ImageMissing(f"{name} is pinned to another digest than {digest}; give one of them")
    for given in filter(None, (pinned, digest)):
        if not DIGEST.fullmatch(given):
            raise ImageMissing(f"{given} is not a digest; it looks like sha256: and 64 hexadecimal digits")
    head, slash, last = plain.rpartition("/")
    last, _, tag = last.partition(":")
    repository = f"{head}{slash}{last}"
    host, port, path = _place(repository)
    if host is None or len(path) > PATH_LIMIT or not _PATH.fullmatch(path) or not _TAG.fullmatch(tag or "latest"):
        raise ImageMissing(f"{name!r} is not an image name; write it as repository:tag or repository@sha256:…")
    return ImageName(repository, tag or "latest", pinned or digest, host, port, path)


def _place(repository: str) -> tuple[str | None, int, str]:
    """The registry's host and port, and what the image is called there; no host for what cannot be one."""
    first, slash, rest = repository.partition("/")
    if not slash or not ("." in first or ":" in first or first.lower() == "localhost"):
        first, rest = DEFAULT_REGISTRY, repository
    found = _REGISTRY.fullmatch(first)
    if found is None or (found[2] and not 0 < int(found[2]) < 65536):
        return None, 0, rest
    if first.lower() in _DEFAULT_NAMES:
        return DEFAULT_HOST, HTTPS_PORT, rest if "/" in rest else f"library/{rest}"
    return found[1].lower(), int(found[2] or HTTPS_PORT), rest
