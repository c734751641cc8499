"""What a hub has one of. Built once by `create_app`, or by the simulation with its own clock and chance; no globals."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import ParamSpec, Protocol, TypeVar

from computepool.hub.core.bus import Bus
from computepool.hub.core.clock import Clock
from computepool.hub.core.db import Database
from computepool.hub.core.ids import RandomBits, new_id
from computepool.hub.core.settings import Settings

P = ParamSpec("P")
R = TypeVar("R")


class Offload(Protocol):
    """Runs blocking work off the event loop: a thread in production, in place in the simulation."""

    def __call__(self, fn: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> Awaitable[R]: ...


@dataclass
class Context:
    settings: Settings
    """What is in force. An admin changes it while the hub runs: read it where it is used, and keep no copy."""
    db: Database
    clock: Clock
    randbits: RandomBits
    bus: Bus
    offload: Offload
    secret_key: bytes
    """At least 32 bytes. Derive a key for each purpose from it; never use it as it is."""
    hub_id: str
    fence_epoch: int
    defaults: Settings = field(init=False)
    """What the environment says, without what admins changed."""

    def __post_init__(self) -> None:
        self.defaults = self.settings

    def now(self) -> datetime:
        return self.clock.now()

    def new_id(self, kind: str) -> str:
        return new_id(kind, self.clock.now(), self.randbits)
