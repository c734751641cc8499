"""What the agent asks of whoever keeps container images. The engines' own is in `sandbox.containers`."""

from collections.abc import Callable
from typing import Protocol


class ImageMissing(Exception):
    """There is no such image, or nobody may have it: the renter's to mend."""


class ImageUnavailable(Exception):
    """It could not be had now, and that is this node's doing: no room, no engine."""


class RegistryUnreachable(ImageUnavailable):
    """Whoever keeps it does not answer, or not well: that says nothing about this node."""


class Images(Protocol):
    async def ensure(self, name: str, digest: str | None, progress: Callable[[str], None]) -> str:
        """The digest of the image, which is here when this returns.

        Raises ImageMissing, ImageUnavailable, RegistryUnreachable.
        """
        ...
