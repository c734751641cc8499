"""Whether a command can be run at all, known before it is tried, in a shell's words."""

import os

Problem = tuple[int, str]
"""The exit code that a shell would end with, and what it would say."""

NOT_FOUND: Problem = (127, "command not found")
NOT_EXECUTABLE: Problem = (126, "is not executable")
_IN_WORDS = {NOT_FOUND: "command not found", NOT_EXECUTABLE: "not an executable file"}
_SHOWN_CHARS = 200


def names_of(argv0: str, search_path: str) -> list[str]:
    """The files that a shell would try, in its order."""
    return [argv0] if "/" in argv0 else [f"{place or '.'}/{argv0}" for place in search_path.split(":")]


def problem_on_host(argv0: str, *, cwd: str, search_path: str) -> Problem | None:
    """For a command that sees the host's files as they are. None if it can be run, or if only the kernel can tell."""
    found_something = False
    for name in names_of(argv0, search_path):
        path = os.path.join(cwd, name)  # noqa: PTH118 - it may be anything at all
        if os.path.isfile(path) and os.access(path, os.X_OK):  # noqa: PTH113
            return None
        found_something = found_something or os.path.exists(path)  # noqa: PTH110
    return NOT_EXECUTABLE if found_something else NOT_FOUND


def in_words(problem: Problem | None, argv0: str) -> str:
    """For the receipt; empty where there is none."""
    return f"{_IN_WORDS[problem]}: {argv0[:_SHOWN_CHARS]}" if problem else ""
