"""Which levels of isolation were proven a moment ago, in a file that only the agent's user can write."""

import contextlib
import json
from pathlib import Path

from computepool.agent.clock import Clock
from computepool.agent.owner.pauses import boot_id
from computepool.protocol.states import IsolationLevel

FRESH_SECONDS = 60.0


class Proof:
    """Good for a minute, in the same boot of the machine, and for the next start alone."""

    def __init__(self, file: Path, clock: Clock) -> None:
        self._file = file
        self._clock = clock
        self._noted: dict[str, float] = {}
        self._earlier = self._read()
        file.unlink(missing_ok=True)

    def is_fresh(self, level: IsolationLevel) -> bool:
        age = self._clock.monotonic() - self._earlier.get(level.value, float("-inf"))
        return 0 <= age < FRESH_SECONDS

    def note(self, level: IsolationLevel) -> None:
        self._noted[level.value] = self._clock.monotonic()
        with contextlib.suppress(OSError):
            self._file.write_text(json.dumps({"boot": boot_id(), "proven": self._noted}))
            self._file.chmod(0o600)

    def _read(self) -> dict[str, float]:
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
            told = json.loads(self._file.read_text())
            if told["boot"] and told["boot"] == boot_id():
                return {str(level): float(at) for level, at in told["proven"].items()}
        return {}
