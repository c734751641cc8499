"""A line to somebody who may go and come back: opened when it is needed, and again some time after it broke."""

import contextlib
import struct
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from computepool.agent.owner.readings import Unknown
from computepool.agent.owner.signals.dbus import BusRefused, BusTrouble
from computepool.agent.owner.signals.x11 import XRefused, XTrouble

RETRY_SECONDS = 5.0


class Line(Protocol):
    def close(self) -> None: ...


L = TypeVar("L", bound=Line)
T = TypeVar("T")


class KeptConnection(Generic[L]):
    def __init__(self, open_line: Callable[[], L], monotonic: Callable[[], float]) -> None:
        self._open = open_line
        self._monotonic = monotonic
        self._line: L | None = None
        self._broke_at: float | None = None
        self._why = ""

    def use(self, ask: Callable[[L], T]) -> T | Unknown:
        if self._line is None and self._broke_at is not None and self._monotonic() < self._broke_at + RETRY_SECONDS:
            return Unknown(self._why)
        try:
            if self._line is None:
                self._line = self._open()
            return ask(self._line)
        except (XRefused, BusRefused) as error:
            return Unknown(str(error))
        except (XTrouble, BusTrouble, OSError, struct.error, IndexError, ValueError) as error:
            # The last three: an answer that makes no sense.
            self.close()
            self._broke_at, self._why = self._monotonic(), str(error)
            return Unknown(self._why)

    def close(self) -> None:
        if self._line is not None:
            with contextlib.suppress(OSError):
                self._line.close()
            self._line = None
