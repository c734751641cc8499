"""What may be done with a node now. Routes refuse by these, and views tell the same beforehand."""

from computepool.hub.core.errors import Forbidden, PoolError
from computepool.hub.core.http import Principal
from computepool.hub.nodes.errors import NodeMoved
from computepool.hub.nodes.tables import JoinToken, Node, NodePolicy
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


def refuse_request(node: Node, policy: NodePolicy | None, caller: Principal) -> PoolError | None:
    """Of whatever its owner asks of its agent through the hub. The agent has the last word. Admins can drain or ban a
    node, but what happens on a machine, and when, is its owner's affair."""
    if node.owner_id not in caller.owner_ids:
        return Forbidden("Only the owner of a machine can ask this of it.", hint="Drain the node instead.")
    if policy is None:
        return NodeMoved(
            "Its agent has not told its policy.", hint="A simulated node has none, and an older agent does not tell it."
        )
    if not policy.remote_edits:
        return NodeMoved(
            "Its policy allows no changes through the hub.",
            hint="On the machine itself: computepool agent policy remote_edits true",
        )
    return refuse_change(node)


def refuse_pause(node: Node, policy: NodePolicy | None, caller: Principal) -> PoolError | None:
    refused = refuse_request(node, policy, caller)
    if refused is None and policy is not None and policy.paused == "machine":
        return NodeMoved("It was paused on the machine itself.", hint="There: computepool agent resume")
    return refused


def is_paused(policy: NodePolicy | None, wanted: bool) -> PoolError | None:
    """As `is_draining`."""
    if (policy is not None and policy.paused == "hub") == wanted:
        return NodeMoved("It is paused already." if wanted else "It is not paused.")
    return None


def is_revoked(token: JoinToken) -> PoolError | None:
    """The same for a join token that is to be revoked."""
    return NodeMoved("It was revoked already.") if token.revoked_at is not None else None
