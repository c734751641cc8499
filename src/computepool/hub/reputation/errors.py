"""
NotFound
└── NoSuchEvent            no event of that number, or not of this node
    └── NoSuchContest      nobody has contested it
Conflict
└── NotContestable         it counts nothing, or was contested already
"""

from computepool.hub.core.errors import Conflict, NotFound


class NoSuchEvent(NotFound):
    code = "no_such_event"

    def __init__(
        self,
        event_id: int,
        words: str = "There is no event {} of this node.",
        hint: str = "List the newest events with: computepool node show NODE",
    ) -> None:
        super().__init__(words.format(event_id), hint=hint)


class NoSuchContest(NoSuchEvent):
    def __init__(self, event_id: int) -> None:
        super().__init__(
            event_id, "There is no contest of an event {}.", "List contests with: computepool admin contests"
        )


class NotContestable(Conflict):
    code = "not_contestable"
