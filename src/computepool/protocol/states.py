"""What jobs, slices, attempts and nodes may become.

These tables are the only truth: the guarded writes, the tests and the diagrams in the docs read them.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import TypeVar


class JobState(StrEnum):
    """A job's states, and a slice's."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELED = "canceled"


class AttemptState(StrEnum):
    LEASED = "leased"
    PREPARING = "preparing"
    RUNNING = "running"
    SUSPENDED = "suspended"
    FINISHING = "finishing"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    LOST = "lost"
    CANCELED = "canceled"
    SUPERSEDED = "superseded"


class NodeState(StrEnum):
    ONLINE = "online"
    PAUSED = "paused"
    DRAINING = "draining"
    QUARANTINED = "quarantined"
    OFFLINE = "offline"
    BANNED = "banned"


class Verdict(StrEnum):
    """Whose doing the end of an attempt was. It alone decides retry, billing and reputation."""

    OK = "ok"
    RENTER = "renter"
    HOST = "host"
    OWNER = "owner"
    PREEMPTED = "preempted"
    HUB = "hub"
    BUDGET = "budget"


class IsolationLevel(StrEnum):
    """From weakest to strongest; a job states the least it accepts."""

    PROCESS = "process"
    BUBBLEWRAP = "bubblewrap"
    CONTAINER = "container"
    GVISOR = "gvisor"

    @property
    def rank(self) -> int:
        return _RANKS[self._value_]


_RANKS = {level.value: rank for rank, level in enumerate(IsolationLevel)}
"""By the plain text: an enum is slow as a key, and this is asked for every node that is given something."""

TAKES_IMAGES = frozenset({IsolationLevel.CONTAINER, IsolationLevel.GVISOR})
"""The levels that can run a container image."""

State = TypeVar("State", bound=StrEnum)
Table = Mapping[State, frozenset[State]]

J, A, N = JobState, AttemptState, NodeState

JOB_NEXT: Table[JobState] = {
    J.QUEUED: frozenset({J.RUNNING, J.FAILED, J.CANCELED}),
    J.RUNNING: frozenset({J.QUEUED, J.SUCCEEDED, J.FAILED, J.CANCELED}),
    J.SUCCEEDED: frozenset(),
    J.FAILED: frozenset(),
    J.CANCELED: frozenset(),
}
"""A slice goes back to queued when its attempt ended without deciding it."""

_ENDED = frozenset({A.SUCCEEDED, A.FAILED, A.LOST, A.CANCELED, A.SUPERSEDED})

ATTEMPT_NEXT: Table[AttemptState] = {
    A.LEASED: frozenset({A.PREPARING, A.RUNNING, A.FINISHING}) | _ENDED,
    A.PREPARING: frozenset({A.RUNNING, A.FINISHING}) | _ENDED,
    A.RUNNING: frozenset({A.SUSPENDED, A.FINISHING}) | _ENDED,
    A.SUSPENDED: frozenset({A.RUNNING, A.FINISHING}) | _ENDED,
    A.FINISHING: _ENDED,
    # A lost attempt that comes back before its slice was given to another goes on where it was.
    A.LOST: frozenset({A.PREPARING, A.RUNNING, A.FINISHING, A.SUCCEEDED, A.FAILED, A.CANCELED, A.SUPERSEDED}),
    A.SUCCEEDED: frozenset(),
    A.FAILED: frozenset(),
    A.CANCELED: frozenset(),
    A.SUPERSEDED: frozenset(),
}
"""Reports may be lost with the line, so an attempt may skip forward, never back."""

NODE_NEXT: Table[NodeState] = {
    N.OFFLINE: frozenset({N.ONLINE, N.PAUSED, N.DRAINING, N.QUARANTINED, N.BANNED}),
    N.ONLINE: frozenset({N.OFFLINE, N.PAUSED, N.DRAINING, N.QUARANTINED, N.BANNED}),
    N.PAUSED: frozenset({N.OFFLINE, N.ONLINE, N.DRAINING, N.QUARANTINED, N.BANNED}),
    N.DRAINING: frozenset({N.OFFLINE, N.ONLINE, N.PAUSED, N.QUARANTINED, N.BANNED}),
    N.QUARANTINED: frozenset({N.OFFLINE, N.ONLINE, N.PAUSED, N.DRAINING, N.BANNED}),
    N.BANNED: frozenset(),
}
"""A ban is for good: the machine may join again, as another node with another key."""

JOB_FINAL = frozenset({J.SUCCEEDED, J.FAILED, J.CANCELED})
ATTEMPT_ENDED = _ENDED
"""States in which an attempt holds no lease: the final ones, and lost, which may still be taken back."""
ATTEMPT_LIVE = frozenset(A) - ATTEMPT_ENDED
BEFORE_RUNNING = frozenset({A.LEASED, A.PREPARING})
"""States in which no command of the job runs yet."""


def sources_of(table: Table[State], target: State) -> frozenset[State]:
    return frozenset(state for state, after in table.items() if target in after)
