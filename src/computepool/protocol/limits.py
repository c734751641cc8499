"""Limits on the names, counts and lists of a job's files.

The node that collects files keeps them and the hub checks the same ones, so that nothing that a node accepts from a job
is refused later. No import: every other module of the protocol may use them.
"""

NAME_LIMIT_BYTES = 255
"""Of one file or folder: no file system of a node takes a longer one."""
PATH_LIMIT_BYTES = 1024
"""Of an output, an input or a file of a checkpoint, below the folder that it belongs to."""
DEPTH_LIMIT = 64
"""Folders that an output or a file of a checkpoint may lie in, one inside the other."""
OUTPUT_FILES_LIMIT = 5_000
"""Of one attempt."""
OUTPUT_LIST_LIMIT_BYTES = 3 * 1024 * 1024
"""Of all names and digests of outputs together, as they travel: all in one receipt, which is one message."""
CHECKPOINT_FILES_LIMIT = 1_000
"""Each is named in the next attempt's manifest."""
CHECKPOINT_LIST_LIMIT_BYTES = 1024 * 1024
"""Of a checkpoint's files as they travel: in a manifest, that in an offer, and that in the reply to a poll."""
DETAIL_LIMIT_CHARACTERS = 500
"""Of what a receipt says in words about an attempt's end."""
