"""What an exit code means, in words: one table for nodes, the hub and the command line."""

from collections.abc import Mapping

SIGNALLED = 128
"""What a shell adds to the number of the signal that ended a command."""
KILLED = SIGNALLED + 9

_CODES: Mapping[int, str] = {
    126: "the command was found, but cannot be run: it is no program, or not executable",
    127: "the command was not found: is it installed, and on the PATH?",
}
_SIGNALS: Mapping[int, tuple[str, str]] = {
    1: ("SIGHUP", "its terminal went away"),
    2: ("SIGINT", "it was interrupted"),
    3: ("SIGQUIT", "it was told to quit"),
    4: ("SIGILL", "it used an instruction that the processor does not have: built for another processor?"),
    6: ("SIGABRT", "it aborted by itself, as after a failed assertion in native code"),
    7: ("SIGBUS", "it used memory that is gone: a mapped file that was cut, or a full /dev/shm"),
    8: ("SIGFPE", "an arithmetic error, such as a whole number divided by zero"),
    9: ("SIGKILL", "it was killed, mostly for lack of memory"),
    11: ("SIGSEGV", "it used memory that is not its own: a bug in native code, or libraries that do not fit together"),
    13: ("SIGPIPE", "it wrote to a pipe whose reader had ended, as in `… | head`; `set +o pipefail` ignores that"),
    14: ("SIGALRM", "a timer of its own ran out"),
    15: ("SIGTERM", "it was told to end"),
    24: ("SIGXCPU", "it used more processor time than a limit of its own allows"),
    25: ("SIGXFSZ", "it wrote a file that is larger than its disk"),
    31: ("SIGSYS", "it made a system call that the sandbox does not allow"),
}
"""By their numbers on Linux, where jobs run."""


def exit_words(code: int) -> str:
    """What it says beyond its number; empty for what only the program itself knows."""
    if code in _CODES:
        return _CODES[code]
    name, meaning = _SIGNALS.get(code - SIGNALLED, ("", ""))
    return f"{name}, {meaning}" if name else ""


def exit_sentence(code: int) -> str:
    words = exit_words(code)
    return f"The command ended with exit code {code}{f' ({words})' if words else ''}."
