"""What the owner of a node should know, so that it gets the work it could get. Pure."""

from datetime import datetime

from computepool import __version__
from computepool.protocol.capacity import Capacity
from computepool.protocol.states import TAKES_IMAGES
from computepool.protocol.versions import is_older, unsafe_software

NOTICE_LIMIT = 300


def notice_for(
    version: str,
    minimum: str,
    capacity: Capacity,
    hub_version: str = __version__,
    *,
    past: str = "",
    clone_seen_at: datetime | None = None,
) -> str:
    """In one line, the most important first; empty if there is nothing to say. `past`: what its record says;
    `clone_seen_at`: when a second agent with its key was refused."""
    if clone_seen_at is not None:
        return (
            f"A second agent with this node's key was refused, last at {clone_seen_at:%Y-%m-%d %H:%M} UTC: was its "
            "disk copied? Replace the key on this machine: computepool agent stop, then agent rotate-key."
        )
    if is_older(version, minimum):
        return f"This agent is {version}; the hub gives strangers' work to {minimum} and newer. Upgrade it."
    unsafe = unsafe_software(capacity.software)
    if unsafe and any(level in TAKES_IMAGES for level in capacity.isolation):
        return f"No strangers' work in containers here until this is mended: {unsafe[0]}."[:NOTICE_LIMIT]
    if past:
        return past[:NOTICE_LIMIT]
    if is_older(version, hub_version):
        return f"This agent is {version}, the hub {hub_version}: an upgrade is due."
    return ""
