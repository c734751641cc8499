"""Which files can be a checkpoint: one rule for the node that saves it and the hub that takes it."""

import json
from collections.abc import Sequence
from pathlib import PurePosixPath

from computepool.protocol.limits import CHECKPOINT_FILES_LIMIT, CHECKPOINT_LIST_LIMIT_BYTES
from computepool.protocol.manifest import SavedFile
from computepool.protocol.output_paths import find_path_problem, show_path

_ID_BYTES = 80
"""At most, of the place where the hub keeps a file: it is written into the list, too."""


def find_list_problem(files: Sequence[SavedFile]) -> str | None:
    """Why no node could be told of these files, or put them back; None for a good list."""
    paths = {file.path for file in files}
    if len(files) > CHECKPOINT_FILES_LIMIT:
        return f"a checkpoint has at most {CHECKPOINT_FILES_LIMIT} files: pack them into one archive"
    if len(paths) != len(files):
        return "the same path twice"
    for path in paths:
        problem = find_path_problem(path)
        if problem is not None:
            return f'"{show_path(path)}" {problem}'
        folder = next((str(one) for one in PurePosixPath(path).parents if str(one) in paths), None)
        if folder is not None:
            return f'"{show_path(folder)}" is a file, and the folder of "{show_path(path)}"'
    if sum(_travelling_bytes(file) for file in files) > CHECKPOINT_LIST_LIMIT_BYTES:
        return "the names of the files are too long for one message: pack them into one archive"
    return None


def _travelling_bytes(file: SavedFile) -> int:
    text = file.model_copy(update={"artifact_id": "x" * _ID_BYTES}).model_dump_json()
    for _ in range(2):
        text = json.dumps(text, ensure_ascii=False)[1:-1]
    return len(text.encode())
