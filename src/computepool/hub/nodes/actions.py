"""What may be done with a node now. Routes refuse by these, and views tell the same beforehand."""

from computepool.hub.core.errors import PoolError
from computepool.hub.nodes.errors import NodeMoved
from computepool.hub.nodes.tables import JoinToken, Node
from computepool.protocol.states import NodeState


def refuse_change(node: Node) -> PoolError | None:
    """Of name, tags, country or price, and of whatever its owner asks of it."""
    if node.state == NodeState.BANNED:
        return NodeMoved(
            f"{node.name} was taken out of the pool for good.", hint="Its machine can join anew, as another node."
        )
    return None


def is_draining(node: Node, wanted: bool) -> PoolError | None:
    """Nothing would change: the route answers as if it had just done it."""
    if node.drain_requested == wanted:
        return NodeMoved("It takes no new work already." if wanted else "It takes work: there is nothing to resume.")
    return None


def is_revoked(token: JoinToken) -> PoolError | None:
    """The same for a join token that is to be revoked."""
    return NodeMoved("It was revoked already.") if token.revoked_at is not None else None
