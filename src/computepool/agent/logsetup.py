"""The agent's log: an event and its ids on one line, on the terminal and in a file that stays small.

A secret has no place here. Events are logged with ids alone; what slips in with the text of an error (the signature of
an upload's address, a token, a password in a proxy's address) is taken out where lines are made.
"""

import contextlib
import logging
import logging.handlers
import os
import re
import sys
import time
from pathlib import Path
from typing import Any, TextIO

LOG_FOLDER = "logs"
LOG_NAME = "agent.log"
SERVICE_OUTPUT_NAME = "service.log"
"""What a service manager catches of an agent that could not even begin to log."""
FILE_BYTES = 2_000_000
FILES = 5
LOGGER = "computepool.agent"

_STANDARD = frozenset(logging.LogRecord("", 0, "", 0, "", (), None).__dict__) | {"message", "asctime", "taskName"}
_SECRETS = (
    (re.compile(r"(https?://[^\s?'\"<>]*)\?[^\s'\"<>)]*"), r"\1?…"),
    (re.compile(r"(\w+://)[^\s/@'\"]+@"), r"\1…@"),
    (re.compile(r"\b(cp[jrdo]?_)[\w.-]{8,}"), r"\1…"),
    (re.compile(r"(?i)\b(bearer|basic)(\s+)[A-Za-z0-9._~+/=-]{8,}"), r"\1\2…"),
)


def log_folder(root: Path) -> Path:
    """Where the agent whose folder this is keeps its log."""
    return root / LOG_FOLDER


def log_files(root: Path) -> list[Path]:
    """All that there are, oldest first."""
    newest = log_folder(root) / LOG_NAME
    older = [newest.with_name(f"{LOG_NAME}.{number}") for number in range(FILES - 1, 0, -1)]
    return [path for path in (*older, newest) if path.is_file()]


class EventFormatter(logging.Formatter):
    """`12:00:01 info attempt.finished attempt_id=… reason=exited`"""

    def __init__(self, time_format: str = "%H:%M:%S", *, utc: bool = False) -> None:
        super().__init__()
        self._time_format = time_format
        if utc:
            self.converter = time.gmtime  # how logging itself wants it done

    def format(self, record: logging.LogRecord) -> str:
        ids = " ".join(f"{name}={_shown(value)}" for name, value in record.__dict__.items() if name not in _STANDARD)
        at = self.formatTime(record, self._time_format)
        line = f"{at} {record.levelname.lower():7} {record.getMessage()} {ids}".rstrip()
        if record.exc_info:
            line += "\n" + self.formatException(record.exc_info)
        return without_secrets(line)


def _shown(value: object) -> str:
    text = str(value)
    plain = text.isprintable() and " " not in text and text
    return text if plain else repr(text)


def without_secrets(text: str) -> str:
    for pattern, kept in _SECRETS:
        text = pattern.sub(kept, text)
    return text


class RotatingLog(logging.handlers.RotatingFileHandler):
    """At most `FILES` files of `FILE_BYTES` each, closed to others.

    Files move by renaming: a crash in the middle leaves whole lines in files that the next start finds. A disk that is
    full loses lines, never the agent.
    """

    def __init__(self, folder: Path, file_bytes: int = FILE_BYTES, files: int = FILES) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        super().__init__(
            folder / LOG_NAME,
            maxBytes=file_bytes,
            backupCount=files - 1,
            encoding="utf-8",
            delay=True,
            errors="replace",
        )
        self.setFormatter(EventFormatter("%Y-%m-%dT%H:%M:%SZ", utc=True))

    def _open(self) -> Any:
        # A name that somebody replaced by a link is not followed.
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0)
        fd = os.open(self.baseFilename, flags, 0o600)
        return os.fdopen(fd, "a", encoding="utf-8", errors="replace")

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - logging's own name
        """Nothing: where a line cannot be written, neither can the complaint about it."""


def log_to(
    stream: TextIO | None = sys.stderr, level: int = logging.INFO, *, folder: Path | None = None
) -> list[logging.Handler]:
    """To a stream, to files in a folder, or both; what was set up before goes."""
    handlers: list[logging.Handler] = []
    if stream is not None:
        handlers.append(logging.StreamHandler(stream))
        handlers[0].setFormatter(EventFormatter())
    if folder is not None:
        handlers.append(RotatingLog(folder))
        _shorten(folder / SERVICE_OUTPUT_NAME)
    logger = logging.getLogger(LOGGER)
    for old in logger.handlers:
        old.close()
    logger.handlers[:] = handlers
    logger.setLevel(level)
    logger.propagate = False
    return handlers


def _shorten(path: Path) -> None:
    """Nobody else rotates it, and an agent that fails at each start would fill the disk in the end."""
    with contextlib.suppress(OSError):
        if path.stat().st_size > FILE_BYTES:
            os.truncate(path, 0)
