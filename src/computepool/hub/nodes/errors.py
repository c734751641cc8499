"""
Invalid
├── BadJoinToken           unknown, used up or expired
└── BadProof               the request is not signed with the node's keys
Conflict
├── KeyTaken               the key belongs to a node already, or did
├── ReplacedAlready        another node goes on with its record
└── NodeMoved              the node is in a state that does not allow it
Forbidden
└── KeyEnded               the node has replaced the key that signed
NotFound
├── NoSuchNode
└── NoSuchJoinToken
"""

from datetime import datetime

from computepool.hub.core.errors import Conflict, Forbidden, Invalid, NotFound


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
        super().__init__("The request is not signed with the node's keys.")


class KeyTaken(Conflict):
    code = "key_taken"

    def __init__(self) -> None:
        super().__init__(
            "A node with this machine's key already exists.",
            hint="Start it with `computepool agent start`, or delete the agent folder in its home and join again.",
        )


class KeyEnded(Forbidden):
    code = "key_ended"

    def __init__(self, ended_at: datetime) -> None:
        super().__init__(
            f"This node's key was replaced at {ended_at:%Y-%m-%d %H:%M:%S} UTC, but this machine has the old one.",
            hint="If this machine is a copy, delete its agent folder and join it as a new node. If you did not replace "
            "the key, ban the node, and join again with --replace.",
        )


class ReplacedAlready(Conflict):
    code = "replaced_already"

    def __init__(self, node_id: str) -> None:
        super().__init__(
            f"Another node has already replaced {node_id}.",
            hint="Replace the other node, or join this machine as a new node, without --replace.",
        )


class NodeMoved(Conflict):
    code = "node_state"


class NoSuchNode(NotFound):
    code = "no_such_node"

    def __init__(self, node_id: str) -> None:
        super().__init__(f"There is no node {node_id} that you can see.", hint="`computepool nodes` lists yours.")


class NoSuchJoinToken(NotFound):
    code = "no_such_join_token"

    def __init__(self, token_id: str) -> None:
        super().__init__(f"There is no join token {token_id} that you can see.")
