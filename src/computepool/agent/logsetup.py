"""The agent's log: an event and its ids on one line."""

import logging
import sys
from typing import TextIO

_STANDARD = frozenset(logging.LogRecord("", 0, "", 0, "", (), None).__dict__) | {"message", "asctime", "taskName"}


class EventFormatter(logging.Formatter):
    """`12:00:01 info attempt.finished attempt_id=… reason=exited`"""

    def format(self, record: logging.LogRecord) -> str:
        ids = " ".join(f"{name}={_shown(value)}" for name, value in record.__dict__.items() if name not in _STANDARD)
        time = self.formatTime(record, "%H:%M:%S")
        line = f"{time} {record.levelname.lower():7} {record.getMessage()} {ids}".rstrip()
        if record.exc_info:
            line += "\n" + self.formatException(record.exc_info)
        return line


def _shown(value: object) -> str:
    text = str(value)
    plain = text.isprintable() and " " not in text and text
    return text if plain else repr(text)


def log_to(stream: TextIO = sys.stderr, level: int = logging.INFO) -> None:
    handler = logging.StreamHandler(stream)
    handler.setFormatter(EventFormatter())
    root = logging.getLogger("computepool.agent")
    root.handlers[:] = [handler]
    root.setLevel(level)
    root.propagate = False
