from collections.abc import Mapping, Sequence
from datetime import datetime

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from computepool.hub.nodes.errors import NodeMoved
from computepool.hub.nodes.tables import JoinToken, Node, NodeKey
from computepool.protocol.states import NODE_NEXT, NodeState, sources_of

EARLIER_KEYS_LIMIT = 20
"""Of a node, that a wrong proof is compared with, only to say what is wrong."""
JOINED_LIMIT = 5_000
"""Nodes that are shown with a page of join tokens."""
FLEET_LIMIT = 200_000
"""More nodes than this need more than one hub's memory."""


def move_node(session: Session, node_id: str, target: NodeState, now: datetime) -> bool:
    """The only write of a node's state. False when it is there already."""
    heard = {} if target in (NodeState.OFFLINE, NodeState.BANNED) else {"last_seen_at": now}
    moved = session.scalar(
        update(Node)
        .where(Node.id == node_id, Node.state.in_(sources_of(NODE_NEXT, target)))
        .values(state=target, **heard)
        .returning(Node.id)
    )
    if moved is None and session.scalar(select(Node.state).where(Node.id == node_id)) != target:
        raise NodeMoved(f"{node_id} cannot become {target} now.")
    return moved is not None


def take_join_token(session: Session, token_hash: str, now: datetime) -> JoinToken | None:
    """Use the token once, if it has a use left. Two machines at the same moment cannot share the last one."""
    return session.scalar(
        update(JoinToken)
        .where(JoinToken.hash == token_hash, JoinToken.uses_left > 0, JoinToken.expires_at > now)
        .where(JoinToken.revoked_at.is_(None))
        .values(uses_left=JoinToken.uses_left - 1)
        .returning(JoinToken)
    )


def list_usable_join_tokens(session: Session, owner_id: str, now: datetime) -> Sequence[JoinToken]:
    """With a lock: no machine takes one meanwhile."""
    usable = select(JoinToken).where(JoinToken.owner_id == owner_id, JoinToken.revoked_at.is_(None))
    return session.scalars(usable.where(JoinToken.uses_left > 0, JoinToken.expires_at > now).with_for_update()).all()


def give_back_join_token(session: Session, token_id: str) -> None:
    session.execute(update(JoinToken).where(JoinToken.id == token_id).values(uses_left=JoinToken.uses_left + 1))


def find_join_token(session: Session, token_hash: str) -> JoinToken | None:
    return session.scalar(select(JoinToken).where(JoinToken.hash == token_hash))


def list_joined(session: Session, token_ids: Sequence[str]) -> Mapping[str, Sequence[Node]]:
    """The nodes that enrolled with each of these tokens."""
    nodes = select(Node).where(Node.join_token_id.in_(token_ids)).order_by(Node.id).limit(JOINED_LIMIT)
    found: dict[str, list[Node]] = {}
    for node in session.scalars(nodes):
        found.setdefault(node.join_token_id or "", []).append(node)
    return found


def list_fleet(session: Session) -> Sequence[Node]:
    """Every node that may ever take work, for the scheduler's memory."""
    return session.scalars(select(Node).where(Node.state != NodeState.BANNED).limit(FLEET_LIMIT)).all()


def find_replacement(session: Session, node_id: str) -> Node | None:
    """The node that took this one's place."""
    return session.scalar(select(Node).where(Node.replaces == node_id).limit(1))


def find_node_by_key(session: Session, sign_key: str) -> Node | None:
    return session.scalar(select(Node).where(Node.sign_key == sign_key))


def find_earlier_key(session: Session, node_id: str, key_id: str) -> NodeKey | None:
    """A key that the node has replaced."""
    return session.scalar(select(NodeKey).where(NodeKey.id == key_id, NodeKey.node_id == node_id))


def list_earlier_keys(session: Session, node_id: str) -> Sequence[NodeKey]:
    """The newest first."""
    keys = select(NodeKey).where(NodeKey.node_id == node_id).order_by(NodeKey.ended_at.desc())
    return session.scalars(keys.limit(EARLIER_KEYS_LIMIT)).all()
