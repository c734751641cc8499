"""Trouble of the node's own disk, told apart from every other error."""

import errno
import shutil

NO_ROOM_BYTES = 16 * 1024 * 1024
DISK_TROUBLE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.ENFILE, errno.EMFILE, errno.ENOMEM})


FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


def is_full(error: OSError) -> bool:
    """There is no room for it, and may be in a moment."""
    return error.errno in FULL


def is_disk_trouble(error: OSError) -> bool:
    """The machine ran out of something that is its own. A job within its grant cannot have done that."""
    return error.errno in DISK_TROUBLE


def has_no_room_left(folder: str) -> bool:
    """Whether a command that failed here may have failed because the machine's disk is full, not its own allowance."""
    try:
        return shutil.disk_usage(folder).free < NO_ROOM_BYTES
    except OSError:
        return False
