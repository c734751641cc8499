"""What the reader of a view may do next, and why not: no client has to know a state machine.

A view has one field `actions`, a model of its own with an `ActionView` for each thing that its reader could do, such as
`actions.cancel`. The function that decides it is the one by which the route refuses.
"""

from computepool.hub.core.errors import PoolError
from computepool.protocol.model import Documented


class ActionView(Documented):
    """Whether the reader may do it now."""

    allowed: bool
    """Whether it may be done now."""
    reason: str | None = None
    """Why not, as a sentence; null where it is allowed."""


ALLOWED = ActionView(allowed=True)


def refused(reason: str) -> ActionView:
    return ActionView(allowed=False, reason=reason)


def unless(error: PoolError | None) -> ActionView:
    """Allowed, unless there is an error that the route would raise."""
    return ALLOWED if error is None else refused(error.message)
