"""What the agent asks of whoever keeps container images, and the ways in which that fails.

ImageFailed
├── ImageMissing             the renter's to mend
├── ImageTooSlow             the registry is too slow: the renter chose it
└── ImageUnavailable         not on this node, not now
    └── RegistryUnreachable  and perhaps nowhere
"""

from collections.abc import Callable
from typing import Protocol


class ImageFailed(Exception):
    """The image is not here."""


class ImageMissing(ImageFailed):
    """There is no such image, nobody may have it, or it is not what an image should be: the renter's to mend."""


class ImageTooSlow(ImageFailed):
    """Its registry brings it so slowly that it only keeps the node busy."""


class ImageUnavailable(ImageFailed):
    """Another node may well have it: here is no room for one of this size, no data allowance left, or no engine."""


class RegistryUnreachable(ImageUnavailable):
    """Whoever keeps it does not answer, or not well: that says nothing about this node."""


class Images(Protocol):
    async def ensure(self, name: str, digest: str | None, progress: Callable[[str], None], *, own: bool) -> str:
        """The digest of the image, which is here when this returns. `own` is the owner's own work.

        Raises ImageFailed.
        """
        ...
