"""Trouble of the node's own disk, told apart from every other error."""

import errno

DISK_TROUBLE = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS, errno.ENFILE, errno.EMFILE, errno.ENOMEM}
)


def is_disk_trouble(error: OSError) -> bool:
    """The machine ran out of something that is its own: nothing that the renter did, or could mend."""
    return error.errno in DISK_TROUBLE
