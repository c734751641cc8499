"""An explicit pause, kept across restarts of the agent: `pause.json` in its folder.

Within one boot of the machine its end is counted by the clock that only grows; after a reboot by the wall clock, which
may have been set meanwhile: then a pause lasts at most as long as it was asked for.
"""

import contextlib
import math
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from computepool.agent.clock import Clock
from computepool.agent.home import write_atomically
from computepool.agent.owner.readings import Paused

NAME = "pause.json"
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
LONGEST_SECONDS = 10 * 366 * 86_400.0


class _Stored(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    since: datetime
    for_seconds: float | None = Field(default=None, ge=0, le=LONGEST_SECONDS, allow_inf_nan=False)
    boot_id: str = ""
    since_monotonic: float = Field(default=0.0, allow_inf_nan=False)
    by_hub: bool = False


def boot_id() -> str:
    """Differs between two starts of the machine; empty where nobody tells."""
    try:
        return BOOT_ID.read_text().strip()
    except OSError:
        return ""


class PauseBook:
    def __init__(self, folder: Path, clock: Clock, boot: Callable[[], str] = boot_id) -> None:
        self._path = folder / NAME
        self._clock = clock
        self._boot = boot()
        self._since: float | None = None
        """Monotonic; None while there is no pause."""
        self._for_seconds: float | None = None
        self._note = ""
        self.by_hub = False
        """The owner asked for it through the hub, which may also end it."""
        self._load()

    def pause(self, for_seconds: float | None = None, *, by_hub: bool = False) -> None:
        """From now on. The caller acts first and calls `save` then: a slow disk must not keep the owner waiting."""
        if for_seconds is not None and not (math.isfinite(for_seconds) and 0 < for_seconds <= LONGEST_SECONDS):
            raise ValueError("a pause lasts more than no time, and at most ten years")
        self._since, self._for_seconds, self._note = self._clock.monotonic(), for_seconds, ""
        self.by_hub = by_hub

    def resume(self) -> None:
        self._since = None

    def save(self) -> None:
        """Bring the disk up to date. Raises OSError."""
        if self._since is None:
            self._path.unlink(missing_ok=True)
            return
        stored = _Stored(
            since=self._clock.now() - timedelta(seconds=self._clock.monotonic() - self._since),
            for_seconds=self._for_seconds,
            boot_id=self._boot,
            since_monotonic=self._since,
            by_hub=self.by_hub,
        )
        self._path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(self._path, stored.model_dump_json().encode())

    def current(self) -> Paused | None:
        if self._since is None:
            return None
        since = max(0.0, self._clock.monotonic() - self._since)
        if self._for_seconds is None:
            return Paused(since_seconds=since, note=self._note)
        rest = self._for_seconds - since
        if rest <= 0:
            self._since = None
            with contextlib.suppress(OSError):
                # If it stays, it is found to be over at the next start.
                self.save()
            return None
        return Paused(since_seconds=since, remaining_seconds=rest)

    def _load(self) -> None:
        try:
            data = self._path.read_bytes()
        except FileNotFoundError:
            return
        except OSError as error:
            self._damaged(str(error))
            return
        try:
            stored = _Stored.model_validate_json(data)
            wall = self._clock.now() - stored.since
        except (ValidationError, TypeError):
            self._damaged("it is damaged")
            return
        monotonic = self._clock.monotonic()
        if stored.boot_id and stored.boot_id == self._boot and stored.since_monotonic <= monotonic:
            self._since = stored.since_monotonic
        else:
            # A wall clock that was set back would make the pause begin in the future.
            self._since = monotonic - max(0.0, wall.total_seconds())
        self._for_seconds, self.by_hub = stored.for_seconds, stored.by_hub

    def _damaged(self, why: str) -> None:
        """Somebody paused once. Whether it is over cannot be told, so that it is not."""
        self._since, self._for_seconds = self._clock.monotonic(), None
        self._note = f"paused: {NAME} cannot be read ({why}); `computepool agent resume` ends it"
