"""Which kind of line leads: a baton that prefers the WebSocket and polls while that is sick or blocked.

Only the holder of the baton talks to the hub, so there is never a second session to race with. Commands are counted in
the hub's stream, and the proof says how far this node got: whatever line comes next goes on from there.
"""

import random
from dataclasses import dataclass

from computepool.agent.ports import LinkKind

FAILURES_BEFORE_POLLING = 3
BLOCKED_WEIGHT = 2
"""A proxy that answers and refuses is a stronger sign than a line that breaks."""
PROBE_SECONDS = (240.0, 360.0)
"""While polling, how often to try the WebSocket again."""
STABLE_SECONDS = 30.0
"""A line that held this long was a good one."""


@dataclass
class Baton:
    rng: random.Random
    failures: int = 0
    """Of the WebSocket, in a row; a refusal counts double."""
    polling: bool = False
    probe_at: float | None = None
    """When the WebSocket is tried again, on the agent's elapsed-time clock."""

    def choose(self, now: float) -> LinkKind:
        if self.polling and (self.probe_at is None or now < self.probe_at):
            return LinkKind.LONG_POLL
        return LinkKind.WEBSOCKET

    def failed(self, kind: LinkKind, now: float, *, blocked: bool = False, away: bool = False) -> None:
        """The line did not open, its handshake failed, or it broke before it was stable."""
        if away:
            # Nobody is there to poll either; a hub that restarts must not look like a wall.
            return
        if kind is LinkKind.LONG_POLL:
            # Neither works: the hub itself is away. The better kind is tried first when it is back.
            self.polling = False
            self.failures = FAILURES_BEFORE_POLLING - 1
            return
        self.failures += BLOCKED_WEIGHT if blocked else 1
        if self.polling or self.failures >= FAILURES_BEFORE_POLLING:
            self.polling = True
            self.probe_at = now + self.rng.uniform(*PROBE_SECONDS)

    def held(self, kind: LinkKind) -> None:
        """The line was stable, whatever ended it."""
        if kind is LinkKind.WEBSOCKET:
            self.failures = 0
            self.polling = False
            self.probe_at = None

    def hub_restarted(self) -> None:
        """The line broke because the hub went away, which says nothing about its kind."""
        if not self.polling:
            self.failures = 0

    def wants_probe(self, now: float) -> bool:
        """While a polled session runs: is it time to see whether the WebSocket works again?"""
        return self.polling and self.probe_at is not None and now >= self.probe_at

    def probe_failed(self, now: float) -> None:
        self.probe_at = now + self.rng.uniform(*PROBE_SECONDS)
