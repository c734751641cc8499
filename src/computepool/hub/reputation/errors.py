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
        hint: str = "`computepool node show NODE` lists the newest.",
    ) -> None:
        super().__init__(words.format(event_id), hint=hint)


class NoSuchContest(NoSuchEvent):
    def __init__(self, event_id: int) -> None:
        super().__init__(event_id, "Nobody has contested an event {}.", "`computepool admin contests` lists them.")


class NotContestable(Conflict):
    code = "not_contestable"
