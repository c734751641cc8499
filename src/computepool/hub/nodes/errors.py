"""
Invalid
├── BadJoinToken           unknown, used up or expired
└── BadProof               whoever enrols does not hold the key
Conflict
├── KeyTaken               the key belongs to a node already
├── ReplacedAlready        another node goes on with its record
└── NodeMoved              the node is in a state that does not allow it
NotFound
└── NoSuchNode
"""

from computepool.hub.core.errors import Conflict, Invalid, NotFound


class BadJoinToken(Invalid):
    code = "bad_join_token"

    def __init__(self) -> None:
        super().__init__(
            "This join token is unknown, used up or expired.",
            hint="Make a new one with `computepool node join-token`, or copy the line that `up` prints.",
        )


class BadProof(Invalid):
    code = "bad_proof"

    def __init__(self) -> None:
        super().__init__("The enrolment is not signed with the key that it brings.")


class KeyTaken(Conflict):
    code = "key_taken"

    def __init__(self) -> None:
        super().__init__(
            "This machine's key belongs to a node already.",
            hint="Start it with `computepool agent start`, or remove the agent folder in its home to join anew.",
        )


class ReplacedAlready(Conflict):
    code = "replaced_already"

    def __init__(self, node_id: str) -> None:
        super().__init__(
            f"Another node has taken the place of {node_id} already.",
            hint="Replace that one, or join this machine as a node of its own, without --replace.",
        )


class NodeMoved(Conflict):
    code = "node_state"


class NoSuchNode(NotFound):
    code = "no_such_node"

    def __init__(self, node_id: str) -> None:
        super().__init__(f"There is no node {node_id} that you can see.", hint="`computepool nodes` lists yours.")
