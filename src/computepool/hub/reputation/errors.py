"""
NotFound
└── NoSuchEvent            no event of that number, or not of this node
Conflict
└── NotContestable         it counts nothing, or was contested already
"""

from computepool.hub.core.errors import Conflict, NotFound


class NoSuchEvent(NotFound):
    code = "no_such_event"

    def __init__(self, event_id: int) -> None:
        super().__init__(
            f"There is no event {event_id} of this node.", hint="`computepool node show NODE` lists the newest."
        )


class NotContestable(Conflict):
    code = "not_contestable"
