"""How the text of `run` and `setup` is run: in bash where the sandbox or the image has one, else in sh."""

from enum import StrEnum


class Shell(StrEnum):
    STRICT = "strict"
    """Stops at the first line that fails, and in bash also where a part of a pipeline fails (`set -eo pipefail`)."""
    PLAIN = "plain"
    """Goes on after a line that fails, as a script without `set -e` does: the last line's exit code counts."""
